"""What no kernel computes: calls of the array module, and models of float16, give the CPU's numbers."""

from __future__ import annotations

import pytest

import arrows as ar

ROWS = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [1.0, 0.0, 2.0]]


def test_kernels_refuse_float16_and_say_what_to_do() -> None:
    block, examples = ar.Vector(3, "float16") >> ar.FC(2), ROWS
    words = r"cannot compute in float16 on 'fake-kernels'\n.*kernels.*\n.*float_type=\"float32\""
    with pytest.raises(ar.ArrowValueError, match=words):
        ar.compile(block, device="fake-kernels")
    model = ar.compile(block)
    with pytest.raises(ar.ArrowValueError, match=words):
        model.to("fake-kernels")
    assert model.device.name == "cpu" and len(ar.to_numpy(model(examples))) == len(examples)
    ar.compile(block, device="fake-kernels", float_type="float32")(examples)


def test_a_network_on_the_fly_refuses_float16_likewise() -> None:
    net = ar.OnTheFly(device="fake-kernels", float_type="float16")
    with net.batch() as g, pytest.raises(ar.ArrowValueError, match="cannot compute in float16"):
        (g.tensor([1.0, 2.0]) * 2.0).numpy()
