"""Integers and things as unit vectors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import arrows as ar
from arrows.engine.planning import SCHEDULES
from tests.profile import sampled

SETTINGS = [(device, schedule) for device in ("cpu", "fake") for schedule in SCHEDULES]
everywhere = pytest.mark.parametrize(("device", "schedule"), sampled(SETTINGS, 3))
TAGS = ["noun", None, ("compound", "noun"), 3.5]


@pytest.mark.parametrize(
    ("block", "data", "rows"),
    [
        (ar.OneHot(3), [0, 2, True, np.int8(1), np.array(2)], [0, 2, 1, 1, 2]),
        (ar.OneHot(-2, 1, "int32"), [-2, 0, np.False_], [0, 2, 2]),
        (ar.OneHot(-3, 0), [-1, -3], [2, 0]),
        (ar.OneHot(5, 8, "float64"), [6], [1]),
        (ar.OneHotFromList([2, 0, 1]), [0, 1.0, np.int64(2), True], [1, 2, 0, 2]),
        (ar.OneHotFromList(TAGS, "bool"), [("compound", "noun"), None, 3.5, "noun"], [2, 1, 3, 0]),
        (ar.OneHotFromList("ACGT"), list("GATTACA"), [2, 0, 3, 3, 0, 1, 0]),
        (ar.OneHotFromList(["a"], strict=False), ["a", "b", None, []], [0, 1, 1, 1]),
        (ar.OneHotFromList([], strict=False), ["a", {}], [0, 0]),
    ],
    ids=str,
)
@everywhere
def test_places_of_values(block: Any, data: Any, rows: Any, device: str, schedule: str) -> None:
    of = ar.infer(block).output
    assert isinstance(of, ar.types.Tensor)
    expected = np.vstack([np.eye(of.shape[0]), np.zeros((1, of.shape[0]))])[rows]
    found = ar.to_numpy(ar.compile(block, device=device, schedule=schedule)(data))
    assert found.dtype == of.dtype and np.array_equal(found, expected)
    for one, row in zip(data, expected, strict=True):
        assert np.array_equal(block.eval(one), row)
    assert ar.to_numpy(ar.compile(block, device=device, schedule=schedule)([])).shape == (0, *of.shape)
