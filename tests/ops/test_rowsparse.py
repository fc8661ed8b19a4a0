"""Row-sparse arrays: each row once, with the sums of a plain loop."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arrows.engine.device import get_device
from arrows.ops import RowSparse


@pytest.mark.parametrize("device", ["cpu", "fake", pytest.param("cuda", marks=pytest.mark.gpu)])
@given(
    rows=st.one_of(
        st.lists(st.integers(0, 9), max_size=12),
        st.lists(st.integers(0, 1), min_size=20, max_size=60),  # long segments
    ),
    shape=st.sampled_from([(), (1,), (3, 4), (20,), (0,)]),
)
def test_coalesce_adds_up_what_repeats(device, rows, shape):
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


def test_what_is_in_order_is_handed_back_as_it_is():
    gradient = RowSparse(np.array([0, 3, 7]), np.ones((3, 2)), (9, 2))
    assert gradient.coalesce(np) is gradient
