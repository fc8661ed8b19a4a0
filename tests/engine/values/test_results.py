"""What a model hands out: putting together, taking apart, bringing down."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

from arrows.engine.device import get_device
from arrows.engine.values import Labelled, Ragged, collate, to_numpy
from arrows.ops import RowSparse
from arrows.testing.fake import FakeArray
from arrows.typesys import types as T

VECTOR, INDEX = T.Tensor((2,)), T.Tensor((), "int32")


def test_labelled() -> None:
    pair = Labelled((1, 2), ("left", "right"))
    assert pair["left"] == pair[0] == pair[-2] == 1
    assert pair == (1, 2)
    assert pair.keys() == ("left", "right")
    assert dict(zip(pair.keys(), pair, strict=True)) == {"left": 1, "right": 2}
    assert repr(pair) == "(left: 1, right: 2)"
    left, right = pair
    assert (left, right) == (1, 2)
    assert pair[1:].keys() == ("right",)
    with pytest.raises(KeyError, match="no 'up' among left, right"):
        pair["up"]
    with pytest.raises(IndexError):
        pair[2]


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_labelled_is_copied_with_its_keys(duplicate: Any) -> None:
    pair = duplicate(Labelled((1, [2]), ("left", "right")))
    assert isinstance(pair, Labelled)
    assert pair["right"] == [2]


def test_ragged() -> None:
    r = Ragged(np.arange(6).reshape(3, 2), np.array([0, 2, 2, 3]))
    assert len(r) == 3
    assert r.lengths.tolist() == [2, 0, 1]
    assert r.tolist() == [[[0, 1], [2, 3]], [], [[4, 5]]]
    assert [part.tolist() for part in r] == r.tolist()
    assert r[-1].tolist() == [[4, 5]]
    assert r[1].shape == (0, 2)
    assert np.shares_memory(r[0], r.values)
    assert repr(r) == "Ragged(int64[3, 2] in 3 sequences)"
    for i in (3, -4):
        with pytest.raises(IndexError, match="out of range"):
            r[i]
    assert r[np.int64(2)].tolist() == [[4, 5]]
    wrong: Any
    for wrong in ("x", 1.0, [0, 1], np.array([True, False, True]), None):
        with pytest.raises(TypeError, match="integer"):
            r[wrong]


def test_to_numpy_brings_every_part_down() -> None:
    up = get_device("fake").to_device
    result = {
        "a": [up(np.ones(2)), None],
        "b": Labelled((Ragged(up(np.arange(3)), np.array([0, 3])),), ("r",)),
        "c": RowSparse(up(np.array([1])), up(np.ones((1, 2))), (3, 2)),
    }
    down = to_numpy(result)
    assert down["a"][0].tolist() == [1, 1]
    assert down["a"][1] is None
    assert isinstance(down["b"], Labelled)
    assert down["b"]["r"].tolist() == [[0, 1, 2]]
    assert down["c"].to_dense(np).tolist() == [[0, 0], [1, 1], [0, 0]]
    assert isinstance(result["a"][0], FakeArray)
    assert result["b"]["r"].tolist() == [[0, 1, 2]]  # asking for a list is asking for a transfer
    array = np.ones(2)
    assert to_numpy(array) is array
    with pytest.raises(TypeError, match="expected an array, got str"):
        to_numpy(["x"])


def test_deep_types() -> None:
    output: T.Type = INDEX
    value: Any = np.int32(7)
    for _ in range(5_000):
        output, value = T.Tuple((T.Sequence(output),)), ([value],)
    result = to_numpy(collate(output, [value]))
    for _ in range(5_000):
        result = result[0].values
    assert result.tolist() == [7]
