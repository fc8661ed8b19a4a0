"""What models hand out lends its memory: to NumPy by `__array__`, to other libraries by DLPack."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import arrows as ar
from arrows.engine.device import get_device
from arrows.engine.values import Ragged
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
        "ragged": sequences,
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


def test_sequences_of_one_length_are_an_array():
    nested = Ragged(Ragged(np.arange(6), np.array([0, 3, 6])), np.array([0, 1, 2]))
    assert np.asarray(nested).tolist() == [[[0, 1, 2]], [[3, 4, 5]]]
    vectors = Ragged(np.arange(8.0).reshape(4, 2), np.array([0, 2, 4]))
    assert np.asarray(vectors).shape == (2, 2, 2) and np.shares_memory(vectors.to_dense(), vectors.values)
    assert np.asarray(vectors, "float32").dtype == "float32"
    assert not np.shares_memory(np.array(vectors), vectors.values)
    assert np.asarray(Ragged(np.zeros((0, 3)), np.array([0]))).shape == (0, 0, 3)
    assert np.asarray(Ragged(np.zeros(0), np.array([0, 0, 0]))).shape == (2, 0)


def test_what_is_no_array_says_so():
    uneven = Ragged(np.arange(3), np.array([0, 1, 3]))
    for read in (np.asarray, np.from_dlpack):
        with pytest.raises(ar.ArrowValueError, match="sequences of 1 to 2 elements make no array"):
            read(uneven)
    for values in ((np.arange(3),), None):
        with pytest.raises(ar.ArrowTypeError, match="are no tensors"):
            np.asarray(Ragged(values, np.array([0, 3])))
    with pytest.raises(ar.InputError, match=r"make no array|expected"):
        ar.compile(ar.Vector(2))([uneven])


def test_nothing_crosses_from_a_device_unasked():
    array = get_device("fake").to_device(np.arange(4.0))
    with pytest.raises(TypeError):
        np.asarray(Ragged(array, np.array([0, 2, 4])))
