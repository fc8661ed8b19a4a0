"""Results go to Arrow, and so to Awkward Array, and come back, and share their numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import arrows as ar
from arrows.data import from_arrow, to_arrow
from arrows.engine.values import Labelled


@st.composite
def results(draw: Any, rows: int, depth: int = 0) -> Any:
    kind = draw(st.sampled_from(["array"] * 2 + ["tuple", "labelled", "ragged"] * (depth < 3)))
    if kind == "array":
        shape = (rows, *draw(st.lists(st.integers(1, 3), max_size=2)))
        dtype = draw(st.sampled_from(["float32", "float64", "int32", "int64", "uint8"]))
        return np.arange(np.prod(shape)).reshape(shape).astype(dtype)
    if kind == "ragged":
        lengths = draw(st.lists(st.integers(0, 3), min_size=rows, max_size=rows))
        offsets = np.cumsum([0, *lengths])
        return ar.Ragged(draw(results(int(offsets[-1]), depth + 1)), offsets)
    items = [draw(results(rows, depth + 1)) for _ in range(draw(st.integers(1, 3)))]
    return tuple(items) if kind == "tuple" else Labelled(items, "abc"[: len(items)])


def leaves(part: Any) -> list[np.ndarray]:
    if isinstance(part, tuple):
        return [leaf for item in part for leaf in leaves(item)]
    return [part.offsets, *leaves(part.values)] if isinstance(part, ar.Ragged) else [part]


def same(left: Any, right: Any) -> bool:
    if isinstance(left, tuple):
        labels = getattr(left, "labels", None) == getattr(right, "labels", None)
        return labels and all(same(a, b) for a, b in zip(left, right, strict=True))
    if isinstance(left, ar.Ragged):
        return np.array_equal(left.offsets, right.offsets) and same(left.values, right.values)
    return left.dtype == right.dtype and np.array_equal(left, right)


def test_results_come_back_without_a_copy():
    pytest.importorskip("pyarrow")

    @given(st.integers(0, 4).flatmap(results))
    def check(result: Any) -> None:
        array = to_arrow(result)
        again = from_arrow(array)
        rows = len(result.offsets) - 1 if isinstance(result, ar.Ragged) else len(leaves(result)[0])
        assert same(result, again) and (isinstance(result, tuple) or len(array) == rows)
        assert not rows or same(from_arrow(array[1:]), from_arrow(to_arrow(again)[1:]))
        for old, new in zip(leaves(result), leaves(again), strict=True):
            assert not old.size or np.shares_memory(old, new)

    check()


def test_arrays_that_others_made():
    arrow, lists = pytest.importorskip("pyarrow"), [[1, 2], [], [3]]
    assert from_arrow(arrow.array(lists)).tolist() == lists
    assert from_arrow(arrow.chunked_array([lists[:1], lists[1:]])).tolist() == lists
    read = from_arrow(arrow.array([[{"x": 1, "y": 2.0}], []]))
    assert read.values["y"].tolist() == [2.0] and read.values.labels == ("x", "y")
    tensors = arrow.FixedShapeTensorArray.from_numpy_ndarray(np.arange(12.0).reshape(2, 3, 2))
    assert from_arrow(tensors).tolist() == np.arange(12.0).reshape(2, 3, 2).tolist()
    assert from_arrow(arrow.array([[], []])).tolist() == [[], []]
    assert to_arrow(np.float32(3)).to_pylist() == [3.0]
    for values in ([[1, None]], ["a"], [[1], None]):
        with pytest.raises(ar.ArrowTypeError, match=r"no numbers to read|missing"):
            from_arrow(arrow.array(values))


def test_awkward_arrays_go_through_arrow():
    arrow, awkward = pytest.importorskip("pyarrow"), pytest.importorskip("awkward")
    states = ar.compile(ar.Map(ar.Vector(2) >> ar.FC(3)))([[[1.0, 2.0]], [], [[0.0, 1.0]] * 2])
    array = awkward.from_arrow(to_arrow(states))
    again = from_arrow(awkward.to_arrow(array, extensionarray=False))
    assert again.tolist() == states.tolist() and arrow is not None
    model = ar.compile(ar.Map(ar.Vector(3)) >> ar.Sum())
    np.testing.assert_allclose(model(array), [item.sum(axis=0) for item in states], rtol=1e-6)


def test_what_has_no_numbers():
    strings, complex_numbers = np.array(["a"], object), np.zeros(2, "complex64")
    for result in (
        None,
        (),
        (None,),
        ar.Ragged(None, np.array([0, 1])),
        strings,
        complex_numbers,
        np.zeros((3, 0)),
    ):
        with pytest.raises(ar.ArrowTypeError, match="no numbers to hand on"):
            to_arrow(result)
    with pytest.raises(ar.ArrowTypeError, match="expected an array of Arrow"):
        from_arrow(np.ones(1))
