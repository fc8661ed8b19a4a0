"""Row-wise code in blocks of rows gives the same numbers, whatever the blocks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import arrows as ar
from arrows import ops
from arrows.engine.program import row_blocks
from tests.engine.program.test_codegen import (
    WIDTH,
    agrees,
    fewer,
    functions,
    in_a_fold,
    numbers,
    two_operations,
)


@pytest.fixture(autouse=True)
def _always(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every run of equations goes in blocks, where a step has rows for one."""
    monkeypatch.setattr(row_blocks, "_FEWEST_EQUATIONS", 1)
    monkeypatch.setattr(row_blocks, "_FEWEST_BLOCKS", 1)


@fewer
@given(drawn=functions(), late=functions(), parameters=st.booleans(), rows=st.integers(1, 3))
def test_random_programs_of_rows(drawn: Any, late: Any, parameters: bool, rows: int) -> None:
    (first, count), (second, _) = drawn, late
    block = two_operations(first, count, second, parameters)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(row_blocks, "_rows", lambda width: rows)
        agrees(block, [{"a": numbers(n, WIDTH), "b": numbers(n + 9, WIDTH)} for n in range(5)], "cpu")


@fewer
@given(drawn=functions(), rows=st.integers(1, 3))
def test_random_programs_in_a_fold(drawn: Any, rows: int) -> None:
    block, examples = in_a_fold(*drawn)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(row_blocks, "_rows", lambda width: rows)
        agrees(block, examples, "cpu")


def test_pieces_that_are_made_before_a_run_stay_where_they_are() -> None:
    """One half of a concat is made, then a product, then the rest: all rows of the half must be there."""
    weight = np.linspace(-1, 1, WIDTH * WIDTH).reshape(WIDTH, WIDTH)

    def function(a: Any, b: Any) -> Any:
        half = ops.tanh(a) * 2.0
        joined = ops.concat([half, (b @ weight) * 0.5])
        return ops.tanh(joined) * joined + 1.0

    block = (
        (ar.GetItem("a") >> ar.Vector(WIDTH, name="a") & ar.GetItem("b") >> ar.Vector(WIDTH, name="b"))
        >> ar.Function(function)
        >> (
            ar.Function(lambda v: (v * np.linspace(1, 2, 2 * WIDTH)).sum()) >> ar.Metric("loss")
            & ar.Identity()
        )
        >> ar.GetItem(1)
    )
    for rows in (1, 2, 3):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(row_blocks, "_rows", lambda width, rows=rows: rows)
            agrees(block, [{"a": numbers(n, WIDTH), "b": numbers(n + 9, WIDTH)} for n in range(7)], "cpu")


@pytest.mark.parametrize("count", [7, 8, 9, 16, 17])
def test_only_steps_of_many_rows_go_in_blocks(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_blocks, "_FEWEST_BLOCKS", 4)
    monkeypatch.setattr(row_blocks, "_rows", lambda width: 2)
    rows: list[int] = []
    square = np.square

    def noting(x: Any, out: Any = None) -> Any:
        rows.append(len(x))
        return square(x, out=out)

    monkeypatch.setattr(np, "square", noting)
    model = ar.compile(ar.Vector(3) >> ar.Function(lambda v: ops.square(v) * v + 1.0), jit=False)
    values = np.random.default_rng(0).normal(size=(count, 3)).astype(np.float32)
    assert np.allclose(model(list(values)), values**3 + 1, atol=1e-5)
    assert rows == ([count] if count < 8 else [2] * (count // 2) + [1] * (count % 2))


def test_wide_rows_are_a_block_each() -> None:
    assert row_blocks._rows(2**22) == 1 and row_blocks._rows(2**10) == 1024
