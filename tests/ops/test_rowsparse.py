"""Row-sparse arrays agree with the dense arrays that a plain loop makes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from arrows.engine.device import get_device
from arrows.ops import RowSparse
from arrows.typesys import ArrowTypeError, ArrowValueError


@pytest.mark.parametrize("device", ["cpu", "fake", pytest.param("cuda", marks=pytest.mark.gpu)])
@given(
    rows=st.one_of(
        st.lists(st.integers(0, 9), max_size=12),
        st.lists(st.integers(0, 1), min_size=20, max_size=60),  # long segments
    ),
    shape=st.sampled_from([(), (1,), (3, 4), (20,), (0,)]),
)
def test_repeated_rows_are_summed(device, rows, shape):
    place = get_device(device)
    values = np.random.default_rng(len(rows)).normal(size=(len(rows), *shape))
    gradient = RowSparse(place.to_device(np.array(rows, np.int64)), place.to_device(values), (10, *shape))
    once = gradient.coalesce(place.xp)
    assert place.to_numpy(once.rows).tolist() == sorted(set(rows))
    expected = np.zeros((10, *shape))
    np.add.at(expected, np.array(rows, np.intp), values)
    np.testing.assert_allclose(place.to_numpy(once.values), expected[sorted(set(rows))], atol=1e-12)
    np.testing.assert_allclose(place.to_numpy(once.to_dense(place.xp)), expected, atol=1e-12)
    np.testing.assert_allclose(place.to_numpy(gradient.to_dense(place.xp)), expected, atol=1e-12)
    triple = gradient.add(gradient * 2, place.xp)
    np.testing.assert_allclose(place.to_numpy(triple.to_dense(place.xp)), 3 * expected, atol=1e-12)


def test_coalescing_rows_in_order_returns_the_same_array():
    gradient = RowSparse(np.array([0, 3, 7]), np.ones((3, 2)), (9, 2))
    assert gradient.coalesce(np) is gradient


def test_sums_of_different_shapes_are_refused():
    gradient = RowSparse(np.array([3, 1]), np.ones((2, 2)), (5, 2))
    assert (gradient + gradient).rows.tolist() == [3, 1, 3, 1]
    with pytest.raises(
        ArrowValueError, match=r"cannot add row-sparse arrays of shapes \[5, 2\] and \[5, 3\]"
    ):
        gradient + RowSparse(np.zeros(0, int), np.zeros((0, 3)), (5, 3))


@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def test_arithmetic_is_that_of_the_whole_arrays(device):
    place = get_device(device)
    random = np.random.default_rng(0)

    def sparse(*rows):
        values = random.normal(size=(len(rows), 2))
        return RowSparse(place.to_device(np.array(rows, np.int64)), place.to_device(values), (4, 2))

    def whole(x):
        return place.to_numpy(x.to_dense() if isinstance(x, RowSparse) else x)

    a, b, c = sparse(1, 3, 1), sparse(), sparse(0)
    dense = random.normal(size=(4, 2))
    there = place.to_device(dense)
    for found, wanted, kind in [
        (a / 2, whole(a) / 2, RowSparse),
        (np.float64(3.0) * a, 3 * whole(a), RowSparse),
        (place.to_device(np.asarray(3.0)) * a, 3 * whole(a), RowSparse),
        (sum([a, b, c]), whole(a) + whole(c), RowSparse),
        (a + there, whole(a) + dense, object),
        (there + a, whole(a) + dense, object),
        (sum([a, there, c]), whole(a) + dense + whole(c), object),
    ]:
        assert isinstance(found, kind) and isinstance(found, RowSparse) == (kind is RowSparse)
        np.testing.assert_allclose(whole(found), wanted, atol=1e-14)
    np.testing.assert_array_equal(place.to_numpy(there), dense)  # not added in place


def test_numpy_takes_the_whole_array():
    a = RowSparse(np.array([1, 1]), np.array([[1.0], [2.0]], "float32"), (3, 1))
    assert np.asarray(a).tolist() == [[0], [3], [0]] and np.asarray(a).dtype == "float32"
    assert np.asarray(a, "float64").dtype == "float64"
    assert np.linalg.norm(a) == 3 and np.shape(a) == (3, 1)
    with pytest.raises(ValueError, match="no dense array to lend"):
        np.array(a, copy=False)
    place = get_device("fake")
    there = RowSparse(place.to_device(a.rows), place.to_device(a.values), a.shape)
    with pytest.raises(TypeError, match=r"np\.asarray\(ar\.to_numpy\(gradient\)\)"):
        np.asarray(there)


@pytest.mark.parametrize(
    "factor", [np.ones(2), np.ones((3, 1)), [1.0], RowSparse(np.array([0]), np.ones(1), (3,))]
)
def test_a_factor_is_a_number(factor):
    a = RowSparse(np.array([1, 1]), np.array([[1.0], [2.0]]), (3, 1))
    for attempt in (lambda: a * factor, lambda: a / factor):
        with pytest.raises(TypeError):
            attempt()
    with pytest.raises(ArrowTypeError, match="is multiplied by a number, not by"):
        a * factor


def test_other_shapes_and_other_things_are_not_added():
    a = RowSparse(np.array([1]), np.ones((1, 2)), (3, 2))
    with pytest.raises(ArrowValueError, match=r"of shape \[3, 2\] and an array of shape \[2\]"):
        a + np.ones(2)
    for other in (1, 0.5, "a", None):
        with pytest.raises(TypeError):
            a + other


def test_distinct_rows_stay_distinct():
    rows = RowSparse(np.array([1, 3]), np.ones((2, 2)), (4, 2), distinct=True)
    assert all(x.distinct for x in (rows * 2, rows / 2))
    assert not (rows + rows).distinct
