"""`Reduce`, `Sum`, `Min`, `Max`, `Mean`, `Stack`, `Attention`: what they mean, and in how many steps."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import arrows as ar
from arrows import ops
from arrows.engine.scheduling import merge

NUMBERS = ar.Map(ar.Scalar(name="x"))
VECTORS = ar.Map(ar.Vector(2, name="x"))
LISTS: list[Any] = [[1.5, -2, 0.25], [], [4], [3, 8, -1, 2, 0.5, 7, 6]]
ROWS = [np.random.default_rng(n).normal(size=(n, 2)).tolist() for n in (3, 1, 6)]


def steps(block: Any, examples: Any, schedule: str = "strata") -> list[str]:
    """The operations that a batch takes, one for each step."""
    model = ar.compile(block, schedule=schedule)
    operations = model.plan.operations
    found = [operations[number] for number, _ in merge(model.plan, model.prepare(examples)[:].wired).steps]
    return [one.name for one in found if one.computes]


# ------------------------------------------------------------------------------------------ Reduce


def test_a_reduce_visits_its_pairs_in_order() -> None:
    combine = ar.Function(lambda x, y: x + y) >> (ar.Identity() & ar.Metric("sums")) >> ar.GetItem(0)
    model = ar.compile(NUMBERS >> ar.Reduce(combine))
    model([[1, 2, 3, 4, 5]])
    assert model.metrics["sums"].tolist() == [[3, 7, 10, 15]]


@pytest.mark.parametrize("n", [1, 2, 3, 5, 8, 100])
def test_a_reduce_takes_about_log_n_steps(n: int) -> None:
    combine = ar.Function(lambda x, y: x * y)
    assert len(steps(NUMBERS >> ar.Reduce(combine), [[1.0] * n, [2.0]])) == math.ceil(math.log2(n))


# ------------------------------------------------------------------------------------------ Min, Max, Mean


@pytest.mark.parametrize("reduction", [ar.Max, ar.Min, ar.Mean])
def test_nothing_is_the_default(reduction: Any) -> None:
    found = ar.compile(ar.Map(ar.Vector(2)) >> reduction(default=-7))([[[1, 2]], []])
    assert found.tolist() == [[1, 2], [-7, -7]]


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "int64", "uint64", "float16", "float64"])
def test_every_element_type(dtype: str) -> None:
    limits: Any = np.finfo(dtype) if dtype.startswith("float") else np.iinfo(dtype)
    plain = float if dtype.startswith("float") else int
    low, high = plain(limits.min), plain(limits.max)
    read = ar.Map(ar.Scalar(dtype))
    for device in ("cpu", "fake"):
        for block, wanted in (
            (read >> ar.Max(default=1), [high, low, 1]),
            (read >> ar.Min(default=1), [low, low, 1]),
            (read >> ar.Reduce(ar.Function(ops.maximum)), [high, low, 0]),
            (read >> ar.Slice(stop=1) >> ar.Sum(), [low, low, 0]),
        ):
            found = ar.compile(block, device=device)([[low, plain(3), high], [low], []])
            assert ar.to_numpy(found).dtype == dtype
            assert ar.to_numpy(found).tolist() == wanted
    assert float((read >> ar.Max()).eval([plain(2), plain(5)])) == 5


# ------------------------------------------------------------------------------------------ Stack


# ------------------------------------------------------------------------------------------ steps


@pytest.mark.parametrize("reduction", [ar.Sum, ar.Max, ar.Min, ar.Mean])
@pytest.mark.parametrize("schedule", ["strata", "depth"])
def test_a_reduction_is_one_step_whatever_the_lengths(reduction: Any, schedule: str) -> None:
    block = NUMBERS >> reduction()
    for examples in ([[1.0]], [[1.0] * n for n in (3, 7, 1, 30, 2)], [[1.0] * 1000]):
        assert steps(block, examples, schedule) == [reduction.__name__]


def test_attention_is_a_score_and_one_step_more() -> None:
    block = VECTORS >> ar.Attention(ar.FC(1))
    for lengths in ([1], [3, 7, 1, 30, 2], [1000]):
        assert steps(block, [[[1.0, 2.0]] * n for n in lengths]) == ["FC", "Attention"]
    two = VECTORS >> ar.Attention(ar.FC(1), ar.FC(3), need_weights=True)
    assert sorted(steps(two, [[[1.0, 2.0]] * n for n in (5, 2)])) == ["Attention", "FC", "FC"]
    pool = ar.compile(block).plan.operations
    (trace,) = (one.trace for one in pool if one.name == "Attention")
    names = [equation.primitive.name for equation in trace.equations if equation.primitive.segmented]
    assert names == ["segment_softmax", "segment_sum"]
