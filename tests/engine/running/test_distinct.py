"""Repeated rows are found, and computed once, with the same numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import arrows as ar
from arrows import ops
from arrows.engine.device import Upload
from arrows.engine.program import Program
from arrows.engine.reading import structural_hash
from arrows.engine.running import batch_plan
from arrows.engine.running.batch_plan import find_distinct
from tests.agree import agrees as agrees_with_reference

WORDS, WIDTH = 6, 2
SENTENCES = [[0, 1, 0, 0], [5], [], [1, 1, 2, 1, 0, 1], [5, 0]]


@pytest.fixture(autouse=True)
def _always(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also of narrow rows, and in sets that are too small for equal words to be looked for."""
    monkeypatch.setattr(batch_plan, "_WORTH", 0)
    monkeypatch.setattr(structural_hash, "_FEWEST_A_LEVEL", 0)


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


def sentences(step: Any, words: Any = None, size: int = 3) -> Any:
    if words is None:
        words = ar.Scalar("int32") >> ar.Embedding(WORDS, WIDTH, name="words")
    return ar.Map(words) >> ar.Fold(step, ar.Zeros([size])) >> ar.Function(lambda h: h.sum(), name="sum")


def agrees(model: ar.Model, examples: list[Any]) -> None:
    """Values and gradients of a prepared set, in which equal words are one, are those of the reference."""
    prepared = model.prepare(examples)
    agrees_with_reference(model, examples, prepared)
    values = ar.to_numpy(model(prepared))
    assert np.allclose(values, [model.eval(example) for example in examples], rtol=1e-12, atol=1e-12)


def recurrent() -> Any:
    """`tanh(x @ A + h @ B + c)`; of parameters, so that all kinds of gradients flow."""
    both = ar.Function(lambda h, x: ops.concat([x, h]))
    return both >> ar.FC(3, ops.tanh, name="cell")


@pytest.mark.parametrize("device", ["cpu", "fake"])
def test_a_cell_on_words(device: str, sizes: list[tuple[int, int]]) -> None:
    model = ar.compile(sentences(recurrent()), device=device, float_type="float64")
    agrees(model, SENTENCES)
    assert sizes == [(4, 12), (4, 12)]  # trained, and run; the 5 that two sentences begin with is one
    codes = model.executors.get(training=True, gradients=True).codes.values()
    (repeated,) = [code.program.distinct for code in codes if code.program.distinct is not None]
    assert repeated is not None and len(repeated.products) == 1
    agrees(model, [[0, 1, 2, 3, 4, 5], []])  # all distinct
    agrees(model, [[3] * 40])
    agrees(model, [[]])
