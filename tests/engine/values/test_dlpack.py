"""Arrays of other libraries go in and arrays of models go out by DLPack, without a copy where that can be."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import arrows as ar
from arrows.engine.device import Device, get_device
from arrows.engine.values import ForeignArrayError, convert, import_array
from arrows.training import SGD
from arrows.typesys import types as T
from tests.foreign import Foreign

devices = pytest.mark.parametrize("device", ["cpu", "fake"])
ON_A_GPU = (2, 0)


def test_host_memory_is_read_where_it_lies() -> None:
    memory = np.arange(3.0)
    assert np.shares_memory(import_array(get_device("cpu"), Foreign(memory)), memory)


class Gpu(Device):
    """Says that it is CUDA; its array module takes what lies there."""

    name = "cuda:1"

    def __init__(self) -> None:
        self.xp: Any = SimpleNamespace(from_dlpack=lambda value: value.array, ndarray=Foreign)

    def is_array(self, value: object) -> bool:
        return False

    def to_device(self, array: Any) -> Any:
        return "sent", array.tolist()


def test_device_memory_is_borrowed_and_host_memory_sent() -> None:
    memory = np.arange(3.0)
    assert import_array(Gpu(), Foreign(memory, ON_A_GPU)) is memory
    assert import_array(Gpu(), Foreign(memory)) == ("sent", [0.0, 1.0, 2.0])


@devices
def test_what_cannot_be_taken(device: str) -> None:
    with pytest.raises(ForeignArrayError, match="its memory cannot be read"):
        import_array(get_device(device), Foreign(np.array(["text"])))


# ------------------------------------------------------------------------------------------ examples


def test_tensors_of_examples() -> None:
    vector, model = T.Tensor((2,), "float32"), ar.compile(ar.Vector(2) >> ar.Function(lambda v: v * 2.0))
    read = convert(Foreign(np.array([1.0, 2.0])), vector)
    assert read.dtype == "float32" and read.tolist() == [1.0, 2.0]
    assert model([Foreign(np.float32([1, 2])), [3, 4]]).tolist() == [[2.0, 4.0], [6.0, 8.0]]
    assert ar.compile(ar.Scalar("int32"))([Foreign(np.array(7)), 8]).tolist() == [7, 8]
    with pytest.raises(ar.InputError, match=r"expected float32\[2\]"):
        model([Foreign(np.ones(3))])


# ------------------------------------------------------------------------------------------ gradients


def learner(device: str) -> ar.Model:
    block = ar.Vector(2) >> ar.FC(1, name="fc") >> ar.Function(lambda y: (y[0] - 1.0) ** 2)
    return ar.compile(block, device=device)


@devices
def test_gradients_that_an_optimizer_refuses(device: str) -> None:
    """Those of another device too: an optimizer makes no copy that nobody sees."""
    model = learner(device)
    on_device = model.device.to_device
    host = [] if device == "cpu" else [(np.ones(1, "float32"), ar.ArrowTypeError, "must be an array of the")]
    for gradient, error, reason in [
        *host,
        (Foreign(np.ones(1, "float32")), ar.ArrowTypeError, "must be an array"),
        (on_device(np.ones(2, "float32")), ar.ArrowValueError, r"'fc/bias' is float32\[1\], its gradient is"),
        (on_device(np.ones(1)), ar.ArrowValueError, r"its gradient is float64\[1\]"),
        ([1.0], ar.ArrowTypeError, "must be an array"),
    ]:
        with pytest.raises(error, match=reason):
            SGD(0.1).step(model, {"fc/bias": gradient})


# ------------------------------------------------------------------------------------------ out


def test_torch_reads_it_without_a_copy() -> None:
    torch = pytest.importorskip("torch")
    array = ar.compile(ar.Vector(2) >> ar.FC(1)).params["FC_1/weight"]
    tensor = torch.from_dlpack(array)
    array[0, 0] = 5
    assert tensor[0, 0] == 5
