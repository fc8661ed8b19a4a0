"""Row-sparse arrays agree with the dense arrays that a plain loop makes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arrows.engine.device import get_device
from arrows.ops import RowSparse
from arrows.typesys import ArrowValueError


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
