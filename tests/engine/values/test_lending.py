"""What models hand out lends its memory: to NumPy by `__array__`, to other libraries by DLPack."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import arrows as ar
from arrows.ops import RowSparse

WORDS = ar.Vocabulary(["a", "b"])
VECTORS = WORDS.block() >> ar.Embedding(3, 2, name="embed")


def handed_out() -> dict[str, Any]:
    """Arrays of every origin, by what they are."""
    sequences = ar.compile(ar.Map(VECTORS))([["a", "b"], ["b", "a"]])
    square = ar.Function(lambda x: (x * x).sum())
    model = ar.compile(ar.Map(VECTORS >> ar.FC(2, name="fc")) >> ar.Sum() >> square)
    _, grads = model.value_and_grad([["a"], ["b", "b"]])
    rows = grads["embed/weight"]
    assert isinstance(rows, RowSparse)
    return {
        "result": model([["a"]]),
        "values": sequences.values,
        "offsets": sequences.offsets,
        "parameter": model.params["fc/weight"],
        "gradient": grads["fc/weight"],
        "rows": rows.rows,
        "row values": rows.values,
    }


@pytest.mark.parametrize("name", list(handed_out()))
def test_everything_is_an_array_to_numpy_and_by_dlpack(name):
    value = handed_out()[name]
    whole = np.asarray(value)
    np.testing.assert_array_equal(np.from_dlpack(value), whole)
    assert whole.dtype.kind in "fi" and value.__dlpack_device__()[0] == 1
    assert np.shares_memory(np.from_dlpack(value), np.asarray(value))


@pytest.mark.parametrize("name", list(handed_out()))
def test_everything_is_a_tensor_of_pytorch(name):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    value = handed_out()[name]
    np.testing.assert_array_equal(torch.from_dlpack(value).numpy(), np.asarray(value))


def test_a_parameter_lends_its_live_memory():
    model = ar.compile(ar.Vector(2) >> ar.FC(1, name="fc"))
    borrowed = np.from_dlpack(model.params["fc/bias"])
    model.params["fc/bias"][...] = 7
    assert borrowed.tolist() == [7]
