"""Fused chains: the same numbers as equation by equation, whatever is sliced, joined and read elsewhere."""

from __future__ import annotations

import importlib
import math
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from arrows import ops
from arrows.engine.program import codegen, program_writer
from arrows.engine.program.fuse import Chain, fuse
from arrows.ops import Trace, trace
from arrows.typesys import types as T
from tests.compare import close
from tests.engine.program.test_codegen import (
    BINARY,
    UNARY,
    WIDTH,
    agrees,
    functions,
    in_a_fold,
    numbers,
    two_operations,
)

compiling = importlib.import_module("arrows.engine.compile")  # the function has its name

fewer = settings(max_examples=max(settings.default.max_examples // 2, 1))


def interpreted(source: str) -> Any:
    """A chain's function as plain Python, on float64."""
    names: dict[str, Any] = {
        "F": float,
        "tanh": math.tanh,
        "sigmoid": lambda x: 1 / (1 + math.exp(-x)) if x > -700 else math.exp(x),
        "sqrt": math.sqrt,
        "relu": lambda x: max(x, 0.0),
        "sign": lambda x: float(np.sign(x)),
    }
    exec(source, names)
    return names["chain"]


@contextmanager
def fused() -> Iterator[list[str]]:
    """Models run their chains fused, by plain Python; gives the sources."""
    sources: list[str] = []

    def compiled(source: str, dtype: str) -> Any:
        sources.append(source)
        return interpreted(source)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(codegen, "fuse", partial(fuse, dtype="float64"))
        patch.setattr(program_writer, "compiled", compiled)
        patch.setattr(compiling, "use_jit", lambda jit, device: True)
        yield sources


@fewer
@given(drawn=functions(), late=functions())
def test_random_programs(drawn: Any, late: Any) -> None:
    (first, count), (second, _) = drawn, late
    examples = [{"a": numbers(n, WIDTH), "b": numbers(n + 9, WIDTH)} for n in range(3)]
    with fused():
        agrees(two_operations(first, count, second), examples, "cpu")


SMOOTH = [*UNARY[:5], UNARY[9], UNARY[10], UNARY[11], UNARY[14], UNARY[15]]


@fewer
@given(drawn=functions(SMOOTH, BINARY[:6]))
def test_random_programs_that_fuse_well(drawn: Any) -> None:
    block, examples = in_a_fold(*drawn)
    with fused():
        agrees(block, examples, "cpu")


def chains(function: Any, input: Any) -> tuple[list[Any], Trace]:
    traced = trace(function, T.as_type(input))
    return fuse(traced.equations, traced.results), traced


def test_a_cell_is_one_loop() -> None:
    def cell(z: Any, c: Any) -> Any:
        i, f, u = (ops.sigmoid(z[:4]), ops.sigmoid(z[4:8]), ops.tanh(z[8:]))
        new = i * u + f * c
        return ops.tanh(new), new

    (chain,), traced = chains(cell, ([12], [4]))
    assert isinstance(chain, Chain)
    assert chain.outputs == tuple(sorted(set(traced.results), key=lambda v: v.id))
    assert chain.source.count("for ") == 2  # rows, and the places of all gates together
    z, c, h, new = numbers(0, 5, 12), numbers(1, 5, 4), np.empty((5, 4)), np.empty((5, 4))
    arrays = dict(zip(traced.inputs, (z, c), strict=True)) | {traced.results[0]: h, traced.results[1]: new}
    interpreted(chain.source)(*(arrays[v] for v in (*chain.inputs, *chain.outputs)))
    gate = [1 / (1 + np.exp(-z[:, k : k + 4])) for k in (0, 4)]
    assert close(new, gate[0] * np.tanh(z[:, 8:]) + gate[1] * c, 1e-12)
    assert close(h, np.tanh(new), 1e-12)


def test_products_and_sums_stand_between_chains() -> None:
    def function(x: Any) -> Any:
        y = ops.tanh(x) * 2.0
        z = (y * y).sum()
        return ops.relu(y * z) + y

    units, _ = chains(function, [6])
    kinds = ["chain" if isinstance(unit, Chain) else unit.primitive.name for unit in units]
    assert kinds.count("chain") == 2 and "sum" in kinds


def test_one_equation_alone_stays_as_it_is() -> None:
    units, _ = chains(lambda x: ops.tanh(x), [6])
    assert [type(unit).__name__ for unit in units] == ["Equation"]


def test_integers_matrices_and_strides_are_left_to_numpy() -> None:
    for function, kind in (
        (lambda x: x * x + x, ([3], "int32")),
        (lambda x: x * x + x, ([2, 3], "float32")),
    ):
        units, _ = chains(function, T.Tensor(*kind))
        assert not any(isinstance(unit, Chain) for unit in units)
    units, _ = chains(lambda x: (x[::2] * 2.0 + 1.0) * x[::2], [6])
    assert [isinstance(unit, Chain) for unit in units].count(True) == 1
    assert "index" in [unit.primitive.name for unit in units if not isinstance(unit, Chain)]


def test_views_of_a_chain_follow_it() -> None:
    def function(x: Any) -> Any:
        y = ops.tanh(x) + 1.0
        return y[:2], y[1:] * 2.0

    units, traced = chains(function, [4])
    chain, view = units
    assert isinstance(chain, Chain) and view.primitive.name == "index"
    assert view.operands[0] in chain.outputs and traced.results[1] in chain.outputs


@pytest.mark.parametrize("many_places", [False, True])
def test_a_run_that_would_take_the_compiler_minutes_is_left_to_numpy(many_places: bool) -> None:
    """Of many equations, or of few that are cut into many pieces."""

    def long(x: Any) -> Any:
        return sum((x * (n + 0.5) for n in range(1, 600)), x)

    def cut(x: Any) -> Any:
        for _ in range(8):
            x = ops.tanh(ops.concat([x[n : n + 1] for n in reversed(range(100))])) * 2.0
        return x

    units, traced = chains(cut if many_places else long, [100])
    assert not any(isinstance(unit, Chain) for unit in units)
    assert units == list(traced.equations)
