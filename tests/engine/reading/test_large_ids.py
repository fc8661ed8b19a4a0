"""Value ids beyond 32 bits: nodes times outputs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import arrows as ar
from arrows.engine.planning import plan
from arrows.engine.scheduling import row_lookup
from tests.agree import agree

pair = ar.Function(lambda x, y: (x + y, x * y))
add = ar.Function(lambda a, b: ar.ops.tanh(a + b * 0.5))
tree = ar.fix(
    lambda me: (
        ar.OneOf(lambda t: isinstance(t, list))
        .case(False, (ar.Scalar(name="x") & ar.Constant(0.5)) >> pair)
        .case(True, (ar.GetItem(0) >> me >> add & ar.GetItem(1) >> me >> add) >> pair)
    )
)
BLOCKS: dict[str, tuple[Any, list[Any]]] = {
    "recursion": (tree >> add, [[[1, 2], [3, [4, 5]]], 2, [1, 1]]),
    "sequences": (
        ar.Map((ar.Scalar(name="x") & ar.Constant(2.0)) >> pair) >> ar.Map(add) >> ar.Sum(),
        [[1, 2, 3], [], [2]],
    ),
    "rows of a function": (
        ar.Map(ar.Scalar(name="x")) >> ar.Function(lambda rows: (rows * 2.0, ar.ops.segment_sum(rows)))
        >> (ar.GetItem(0) >> ar.Sum() & ar.GetItem(1)) >> add,
        [[1, 2, 3], [2]],
    ),
}  # fmt: skip


@pytest.mark.nightly
@pytest.mark.parametrize("bits", [26, 33])
@pytest.mark.parametrize("name", BLOCKS)
def test_ids_need_more_than_32_bits(name: str, bits: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """As with 2**26 outputs and more: a few nodes have ids that int32 cannot hold."""
    monkeypatch.setattr(plan, "bits_for", lambda outputs: bits)
    block, examples = BLOCKS[name]
    agree(block, examples, inputs=["x"])
    model = ar.compile(block)
    prepared = model.prepare(examples * 40)
    assert prepared.wirings.sources.values.dtype == np.int64
    wanted = [float(model.eval(x)) for x in examples] * 40
    assert np.allclose(model(prepared), wanted)
    assert np.allclose(model(prepared[[4, 2, 4]]), [wanted[4], wanted[2], wanted[4]])


@pytest.mark.parametrize("name", BLOCKS)
def test_rows_are_computed_where_a_table_is_too_large(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_lookup, "_MOST_IDS", 0)
    block, examples = BLOCKS[name]
    agree(block, examples, inputs=["x"])
