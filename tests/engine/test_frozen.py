"""Parameters that are not trained have no gradient, and what stands behind them is not differentiated."""

from __future__ import annotations

import numpy as np
import pytest

import arrows as ar


@pytest.mark.parametrize("device", ["cpu", "fake"])
@pytest.mark.parametrize("schedule", ["strata", "none"])
def test_a_frozen_table_stays_as_it_is(device, schedule):
    table = np.arange(8, dtype="float32").reshape(4, 2)
    frozen = ar.Embedding.of(table, trainable=False, name="given")
    block = ar.Scalar("int32") >> frozen >> ar.FC(1, name="dense") >> ar.Function(lambda v: v.sum())
    model = ar.compile(block, device=device, schedule=schedule)
    _, grads = model.value_and_grad([0, 3, 3])
    assert set(model.params) == {"given/weight", "dense/weight", "dense/bias"}
    assert set(grads) == {"dense/weight", "dense/bias"}
    assert np.allclose(ar.to_numpy(grads["dense/weight"])[:, 0], table[[0, 3, 3]].mean(axis=0))
    assert np.array_equal(ar.to_numpy(model.params["given/weight"]), table)
