"""Rows of results: one for each example, whatever the structure."""

from __future__ import annotations

import numpy as np
import pytest

import arrows as ar
from arrows.engine.device import get_device
from arrows.engine.values import Labelled, Ragged, get_row, rows_of


def test_every_structure():
    sequences = Ragged(np.arange(6).reshape(3, 2), np.array([0, 1, 3]))
    rows = rows_of((np.array([1, 2]), np.ones((2, 3)), sequences, None, ()), 2)
    assert rows[1][0] == 2 and type(rows[1][0]) is int and rows[1][1].tolist() == [1, 1, 1]
    assert rows[1][2].tolist() == [[2, 3], [4, 5]] and rows[1][3:] == (None, ())
    nested = Ragged(Ragged(np.array([1, 2]), np.array([0, 2, 2])), np.array([0, 0, 2]))
    assert [[x.tolist() for x in row] for row in rows_of(nested, 2)] == [[], [[1, 2], []]]
    records = Ragged(Labelled((np.array([True, False]), None), ("a", "b")), np.array([0, 2]))
    assert rows_of(records, 1) == [[{"a": True, "b": None}, {"a": False, "b": None}]]
    assert rows_of(Labelled((np.array([1]),), (3,)), 1) == [(1,)]
    assert rows_of(Labelled((), ()), 2) == [{}, {}] and rows_of(None, 3) == [None] * 3
    assert rows_of(np.zeros((0, 2)), 0) == [] and rows_of((np.zeros(0),), 0) == []


def test_rows_are_those_of_the_result():
    model = ar.compile(ar.Map(ar.Vector(2)) >> ar.Map(ar.FC(3)))
    examples = [[[1, 2]], [], [[3, 4], [5, 6]]]
    result = model(examples)
    for i, row in enumerate(rows_of(result, 3)):
        np.testing.assert_array_equal(row, get_row(result, i))


def test_rows_come_down_from_a_device():
    array = get_device("fake").to_device(np.array([1.5, 2.5], "float32"))
    assert rows_of((array, Ragged(array, np.array([0, 2, 2]))), 2)[0][1].tolist() == [1.5, 2.5]


@pytest.mark.parametrize("depth", [3000])
def test_deep_results(depth):
    result: object = np.array([1.0])
    for _ in range(depth):
        result = (result,)
    (row,) = rows_of(result, 1)
    for _ in range(depth):
        (row,) = row
    assert row == 1.0
