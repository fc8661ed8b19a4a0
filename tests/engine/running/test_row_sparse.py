"""Gradients of tables on a device with kernels: the host sorts the indices that examples hold."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import arrows as ar
from arrows import ops
from arrows.ops import RowSparse
from arrows.training import Adam
from tests.compare import dense
from tests.marks import needs_compiler

pytestmark = needs_compiler

SENTENCES = [[3, 1, 3], [], [8, 1, 0, 3]]


def words(index: Any) -> Any:
    """A loss of looked up rows."""
    table = ar.Embedding(9, 5, name="table")
    loss = ar.Function(lambda x: ops.sum(x * x))
    return ar.Map(ar.Scalar("int32") >> index >> table >> loss) >> ar.Sum()


def gradient(index: Any, device: str) -> RowSparse:
    model = ar.compile(words(index), device=device)
    model.params["table/weight"] = np.arange(45.0).reshape(9, 5).astype("float32")
    _, gradients = model.value_and_grad(SENTENCES)
    result = gradients["table/weight"]
    assert isinstance(result, RowSparse)
    return result


@pytest.mark.parametrize("device", ["fake", "fake-kernels"])
@pytest.mark.parametrize("index", [ar.Identity(), ar.Function(lambda n: ops.maximum(n, 1))])
def test_gradients_are_those_of_numpy(index: Any, device: str) -> None:
    np.testing.assert_allclose(dense(gradient(index, device)), gradient(index, "cpu").to_dense(np), rtol=1e-6)


def test_each_row_comes_once_and_in_order() -> None:
    rows = gradient(ar.Identity(), "fake-kernels")
    assert rows.distinct and ar.to_numpy(rows.rows).tolist() == [0, 1, 3, 8]


def test_computed_indices_are_left_to_the_device() -> None:
    assert not gradient(ar.Function(lambda n: ops.maximum(n, 1)), "fake-kernels").distinct


def test_the_optimizer_sorts_nothing_again() -> None:
    counts = []
    for index in (ar.Identity(), ar.Function(lambda n: ops.maximum(n, 1))):
        model, optimizer = ar.compile(words(index), device="fake-kernels"), Adam(0.1)
        _, gradients = model.value_and_grad(SENTENCES)
        optimizer.step(model, gradients)
        before = model.device.counts
        optimizer.step(model, gradients)
        counts.append(model.device.counts - before)
    known, computed = counts
    # Rows are sorted, ranked and added up, or are there; then they and their counts change.
    assert (known.launches, computed.launches) == (2, 5)
    assert known.uploads == known.downloads == known.synchronizations == 0
