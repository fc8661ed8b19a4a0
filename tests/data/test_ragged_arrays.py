"""Ragged values go to Awkward Array and Arrow and come back, and share their numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import arrows as ar
from arrows.data import from_arrow, from_awkward, from_lists, to_arrow, to_awkward
from arrows.engine.values import Labelled

FORMATS = {"awkward": ("awkward", to_awkward, from_awkward), "arrow": ("pyarrow", to_arrow, from_arrow)}


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


@pytest.mark.parametrize("name", FORMATS)
def test_results_come_back_without_a_copy(name):
    module, there, back = FORMATS[name]
    pytest.importorskip(module)

    @given(st.integers(0, 4).flatmap(results))
    def check(result: Any) -> None:
        array = there(result)
        again = back(array)
        rows = len(result.offsets) - 1 if isinstance(result, ar.Ragged) else len(leaves(result)[0])
        assert same(result, again) and (isinstance(result, tuple) or len(array) == rows)
        for old, new in zip(leaves(result), leaves(again), strict=True):
            assert not old.size or np.shares_memory(old, new)

    check()


@pytest.mark.parametrize("name", FORMATS)
def test_a_part_of_an_array_is_read(name):
    module, there, back = FORMATS[name]
    pytest.importorskip(module)
    ragged = ar.Ragged((np.arange(6.0).reshape(3, 2), np.arange(3)), np.array([0, 2, 2, 3]))
    assert back(there(ragged)[1:]).tolist() == ragged.tolist()[1:]
    assert back(there(ragged)[:0]).tolist() == []


def test_arrays_that_others_made():
    awkward, arrow = pytest.importorskip("awkward"), pytest.importorskip("pyarrow")
    lists = [[1, 2], [], [3]]
    assert from_awkward(awkward.Array(lists)).tolist() == from_arrow(arrow.array(lists)).tolist() == lists
    assert from_awkward(awkward.Array(lists)[[2, 0]]).tolist() == [[3], [1, 2]]  # rows in another order
    assert from_arrow(arrow.chunked_array([lists[:1], lists[1:]])).tolist() == lists
    records = [[{"x": 1, "y": 2.0}], []]
    for read in (from_awkward(awkward.Array(records)), from_arrow(arrow.array(records))):
        assert read.values["y"].tolist() == [2.0] and read.values.labels == ("x", "y")


@pytest.mark.parametrize("values", [[[1, None]], ["a"], [[1], None]])
def test_values_that_are_no_numbers(values):
    awkward, arrow = pytest.importorskip("awkward"), pytest.importorskip("pyarrow")
    for read, array in ((from_awkward, awkward.Array(values)), (from_arrow, arrow.array(values))):
        with pytest.raises(ar.ArrowTypeError, match=r"no numbers to read|missing"):
            read(array)


def test_what_has_no_numbers():
    for there in (to_awkward, to_arrow):
        for result in (None, (), (np.ones(1), None), ar.Ragged(None, np.array([0, 1]))):
            with pytest.raises(ar.ArrowTypeError, match="no numbers to hand on"):
                there(result)
    for back in (from_awkward, from_arrow):
        with pytest.raises(ar.ArrowTypeError, match="expected an array of"):
            back(np.ones(1))


def test_lists_of_lists():
    assert from_lists([[1, 2], []], "int64").values.dtype == "int64"
    assert from_lists([]).tolist() == [] and from_lists([[[]], []]).tolist() == [[[]], []]
    for wrong in (3, [1], [[1, [2]]], [[1], 2]):
        with pytest.raises(ar.ArrowTypeError, match="lists"):
            from_lists(wrong)


@pytest.mark.parametrize(
    ("lists", "dtype", "words"),
    [
        ([[None]], "float32", "element 0 of the innermost lists: expected a number, got None"),
        ([[1], [2, "a"]], "float32", "element 2 .*expected a number, got .a."),
        ([[1.5]], "int32", "expected int, got 1.5"),
        ([[300]], "uint8", "300 does not fit uint8"),
        ([[np.ones(2)], [np.ones(3)]], "float32", "element 1 "),
        ([[1]], "float31", "float31"),
    ],
)
def test_lists_of_what_is_no_number(lists, dtype, words):
    with pytest.raises(ar.ArrowTypeError, match=words):
        from_lists(lists, dtype)


def test_lists_of_arrays_and_deep_lists():
    rows = from_lists([[np.arange(2.0)], [], [[3, 4]]][:2])
    assert rows.values.tolist() == [[0.0, 1.0]] and rows.values.dtype == "float32"
    deep: list[object] = [1]
    for _ in range(5000):
        deep = [deep]
    ragged = from_lists(deep)
    depth = 0
    while isinstance(ragged, ar.Ragged):
        ragged, depth = ragged.values, depth + 1
    assert depth == 5000 and ragged.tolist() == [1.0]


def test_arrays_of_odd_kinds():
    awkward, arrow = pytest.importorskip("awkward"), pytest.importorskip("pyarrow")
    for make in (arrow.list_view, arrow.large_list_view):
        views = arrow.array([[1, 2], [], [3]], type=make(arrow.int64()))
        assert from_arrow(views).tolist() == [[1, 2], [], [3]]
        assert from_arrow(views[1:]).tolist() == [[], [3]]
    tensors = arrow.FixedShapeTensorArray.from_numpy_ndarray(np.arange(12.0).reshape(2, 3, 2))
    assert from_arrow(tensors).tolist() == np.arange(12.0).reshape(2, 3, 2).tolist()
    for empty in (from_awkward(awkward.Array([[], []])), from_arrow(arrow.array([[], []]))):
        assert empty.tolist() == [[], []]
    assert to_awkward(np.float32(3)).to_list() == to_arrow(np.float32(3)).to_pylist() == [3.0]
    for there in (to_awkward, to_arrow):
        for array in (np.array(["a"], object), np.zeros(2, "complex64")):
            with pytest.raises(ar.ArrowTypeError, match="no numbers to hand on"):
                there(array)
    with pytest.raises(ar.ArrowTypeError, match=r"no rows without numbers, as an array of \[3, 0\] has"):
        to_arrow(np.zeros((3, 0)))
    assert from_awkward(to_awkward(np.zeros((3, 0)))).shape == (3, 0)


def test_arrays_that_might_have_missing_values():
    awkward, arrow = pytest.importorskip("awkward"), pytest.importorskip("pyarrow")
    for lists in ([[1, 2], [], [3]], [{"x": [1.5]}, {"x": []}], [[[1]], []]):
        for array in (awkward.from_arrow(arrow.array(lists)), awkward.Array([*lists, None])[:-1]):
            assert awkward.to_list(to_awkward(from_awkward(array))) == lists
            turned = awkward.to_list(to_awkward(from_awkward(array[::-1][[1, 0]])))
            assert turned == lists[::-1][1::-1]
    shared = np.arange(3)
    option = awkward.Array(awkward.contents.UnmaskedArray(awkward.contents.NumpyArray(shared)))
    assert np.shares_memory(from_awkward(option), shared)
    for values in (np.array(["2024-01-01"], "M8[D]"), np.array([3], "m8[s]"), np.array([1j])):
        with pytest.raises(ar.ArrowTypeError, match="no numbers to read"):
            from_awkward(awkward.Array([[value] for value in values]))
        with pytest.raises(ar.ArrowTypeError, match="no numbers to read"):
            from_awkward(awkward.Array(values))


def test_a_model_reads_what_it_has_given():
    pytest.importorskip("awkward")
    states = ar.compile(ar.Map(ar.Vector(2) >> ar.FC(3)))([[[1.0, 2.0]], [], [[0.0, 1.0]] * 2])
    array = to_awkward(states)
    model = ar.compile(ar.Map(ar.Vector(3)) >> ar.Sum())
    np.testing.assert_allclose(model(array), [item.sum(axis=0) for item in states], rtol=1e-6)
