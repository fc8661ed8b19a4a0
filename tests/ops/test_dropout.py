"""Masks of dropout have the right rates, differ from key to key, and depend on the row's key alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from arrows import ops
from arrows.ops import EagerEvaluation, ShapeError, trace
from arrows.ops.random_numbers import dropout_by_key
from arrows.typesys import types as T
from tests.ops.lifted import run_lifted

KEY = T.Tensor((), "uint64")


def masks(keys: np.ndarray[Any, Any], size: int, rate: float) -> np.ndarray[Any, Any]:
    """One row for each key, True where an element is kept."""
    t = trace(lambda x, key: dropout_by_key(x, key, rate), T.Tuple((T.Tensor((size,)), KEY)))
    (result,) = run_lifted(t, [np.ones((len(keys), size), "float32"), keys], {}, {})
    return np.asarray(result) > 0


@pytest.mark.parametrize("rate", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("step", [1, 2**32, 0x9E3779B97F4A7C15])
def test_rates_and_independence(rate: float, step: int) -> None:
    keys = np.arange(2000, dtype="uint64") * np.uint64(step)
    kept = masks(keys, 50, rate)
    deviation = (rate * (1 - rate)) ** 0.5
    assert abs(kept.mean() - (1 - rate)) < 5 * deviation / 100_000**0.5
    for means, count in ((kept.mean(axis=0), 2000), (kept.mean(axis=1), 50)):
        assert abs(means - (1 - rate)).max() < 5.5 * deviation / count**0.5
    centred = kept - (1 - rate)
    for other in (np.roll(centred, 1, axis=0), np.roll(centred, 1, axis=1)):
        assert abs((centred * other).mean()) < 5 * deviation**2 / 100_000**0.5


def test_the_expectation_stays() -> None:
    x = np.full(100_000, 3.0)
    assert abs(dropout_by_key(x, np.uint64(5), 0.3).mean() - 3.0) < 0.05
    np.testing.assert_array_equal(dropout_by_key(x, np.uint64(5), 0), x)


def test_the_mask_of_a_row_is_that_of_its_key_alone() -> None:
    keys = np.array([7, 2**64 - 1, 7, 0], "uint64")
    together = masks(keys, 20, 0.5)
    np.testing.assert_array_equal(together[0], together[2])
    for key, row in zip(keys, together, strict=True):
        np.testing.assert_array_equal(np.asarray(dropout_by_key(np.ones(20), key, 0.5)) > 0, row)


def test_many_rows_are_hashed_in_parts() -> None:
    keys = np.random.default_rng(0).integers(0, 2**64, 700, "uint64")
    together = masks(keys, 100, 0.5)
    np.testing.assert_array_equal(together[[0, 163, 164, 699]], masks(keys[[0, 163, 164, 699]], 100, 0.5))


def test_elements_of_a_sequence_have_masks_of_their_own() -> None:
    def both(lengths: list[int]) -> Any:
        kind = T.Tuple((T.Sequence(T.Tensor((16,))), KEY))
        t = trace(lambda rows, key: dropout_by_key(rows, key, 0.5), kind)
        keys = np.arange(len(lengths), dtype="uint64")
        segments = ops.Segments.of(np, np.cumsum([0, *lengths]))
        (result,) = run_lifted(t, [np.ones((sum(lengths), 16), "float32"), keys], {}, {0: segments})
        return np.asarray(result)

    together = both([3, 0, 4])
    assert len({row.tobytes() for row in together}) == 7
    np.testing.assert_array_equal(together[:3], both([3]))
    np.testing.assert_array_equal(together[3:], both([0, 0, 4]))


def test_one_mask_for_a_parameter_of_each_example() -> None:
    evaluation = EagerEvaluation()
    w = evaluation.constant(np.ones((2, 3)))
    y = dropout_by_key(w, evaluation.value(np.asarray(3, "uint64")), 0.5)
    assert (y.rows, y.shape) == (ops.ROW, (2, 3))


@pytest.mark.parametrize("rate", [1, -0.1, True, "0.5"])
def test_bad_rates(rate: Any) -> None:
    with pytest.raises(ShapeError, match="the rate is a number with 0 <= rate < 1"):
        dropout_by_key(np.ones(3), np.uint64(1), rate)


def test_bad_operands() -> None:
    with pytest.raises(ShapeError, match="dropout takes floating numbers"):
        dropout_by_key(np.ones(3, "int32"), np.uint64(1), 0.5)
