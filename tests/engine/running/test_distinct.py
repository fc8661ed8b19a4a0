"""Repeated rows are found, and computed once, with the same numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import arrows as ar
from arrows import ops
from arrows.engine.device import Upload
from arrows.engine.planning import plan
from arrows.engine.planning.plan import plan_slabs
from arrows.engine.program import Program
from arrows.engine.reading import hashes
from arrows.engine.running import batch_plan
from arrows.engine.running.batch_plan import find_distinct
from tests.agree import agrees as agrees_with_reference

WORDS, WIDTH = 6, 3
SENTENCES = [[0, 1, 0, 0], [5], [], [1, 1, 2, 1, 0, 1], [5, 0]]


@pytest.fixture(autouse=True)
def _always(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also of narrow rows, and in sets that are too small for equal words to be looked for."""
    monkeypatch.setattr(batch_plan, "_WORTH", 0)
    monkeypatch.setattr(hashes, "_FEWEST_A_LEVEL", 0)


@pytest.fixture
def sizes(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """How many distinct rows there were, and of how many."""
    seen: list[tuple[int, int]] = []

    def watched(program: Program, rows: Any, upload: Upload) -> Any:
        planned = find_distinct(program, rows, upload)
        if planned is not None:
            seen.append((planned.count, rows.count))
        return planned

    monkeypatch.setattr(batch_plan, "find_distinct", watched)
    return seen


# ------------------------------------------------------------------------------------------------- models


def agrees(model: ar.Model, examples: list[Any]) -> None:
    """Values and gradients of a prepared set, in which equal words are one, are those of the reference."""
    prepared = model.prepare(examples)
    agrees_with_reference(model, examples, prepared)
    alone = [model.eval(example) for example in examples]
    assert np.allclose(ar.to_numpy(model(prepared)), alone, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("device", ["cpu", "fake"])
@pytest.mark.parametrize("by_type", [False, True])
def test_a_cell_on_words(
    device: str, by_type: bool, sizes: list[tuple[int, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """On the fly, words as wide as the state are rows of its slab; so they are with `by_type`."""
    monkeypatch.setattr(plan, "plan_slabs", lambda *of, **_: plan_slabs(*of, by_type=by_type))
    words = ar.Map(ar.Scalar("int32") >> ar.Embedding(WORDS, WIDTH, name="words"))
    # `tanh(x @ A + h @ B + c)`; of parameters, so that all kinds of gradients flow
    cell = ar.Function(lambda h, x: ops.concat([x, h])) >> ar.FC(WIDTH, ops.tanh, name="cell")
    block = words >> ar.Fold(cell, ar.Zeros([WIDTH])) >> ar.Function(lambda h: h.sum(), name="sum")
    model = ar.compile(block, device=device, float_type="float64")
    agrees(model, SENTENCES)
    assert sizes == [(4, 12), (4, 12)]  # trained, and run; the 5 that two sentences begin with is one
    codes = model.executors.get(training=True, gradients=True).codes.values()
    assert [len(each.products) for code in codes if (each := code.program.distinct) is not None] == [1]
    agrees(model, [[0, 1, 2, 3, 4, 5], []])  # all distinct
    agrees(model, [[3] * 40])
    agrees(model, [[]])
