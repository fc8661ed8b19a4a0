"""What is computed for the gradients of an operation, of zeros, and of parameters alone."""

from __future__ import annotations

from itertools import chain
from typing import Any

import numpy as np
import pytest

import arrows as ar
from arrows.engine import reference
from arrows.engine.program.program import Held
from tests.agree import programs
from tests.compare import close

# ------------------------------------------------------------------------------------------ slices


@pytest.mark.parametrize("device", ["cpu", "fake"])
def test_slices_of_all_kinds(device: str) -> None:
    """Overlapping, strided, reversed, of several axes, used twice: the sum is right."""

    def one(z: Any) -> Any:
        return (
            (z[0:3] * z[1:4]).sum()
            + (z[::2] * 3.0).sum()
            + (z[::-1][:2] * z[4:]).sum()
            + z[3] * z[0]
            + (z.reshape((2, 3))[1] * z.reshape((2, 3))[:, ::-1][0]).sum()
            + (z.reshape((2, 3))[:, 1:].T[0] * 2.0).sum()
            + z[2:2].sum()
            + (z[0:3] * z[0:3]).sum()
        )

    model = ar.compile(ar.Vector(6, name="z") >> ar.Function(one), float_type="float64", device=device)
    batch = np.random.default_rng(0).normal(size=(4, 6))
    _, grads = model.value_and_grad(list(batch), inputs=["z"])
    wanted = reference.value_and_grad(
        model.typed, list(batch), lambda o, p: None, inputs=["z"], float_type="float64"
    )
    for n in range(4):
        assert close(list(ar.to_numpy(grads["z"])[n]), wanted.inputs[n]["z"], 1e-9)


# ------------------------------------------------------------------------------------------ parameters


def test_no_gradient_no_program() -> None:
    """Nothing is derived for what the loss does not reach, or what nothing learns from."""
    block = ar.Vector(2) >> ar.Function(lambda x: x * 2.0) >> ar.FC(1, name="used")
    block = block >> (ar.FC(3, name="unused") & ar.Function(lambda x: x.sum()) >> ar.Metric("loss"))
    training = programs(ar.compile(block, loss="loss"))
    (unused,), (used,) = training["unused"], training["used"]
    assert not unused.region("step_back") and not unused.region("deferred")
    assert used.region("deferred") and not used.scatters
    inference = programs(ar.compile(block, loss="loss"), gradients=False).values()
    for program in chain.from_iterable(inference):
        assert set(program.regions) <= {"once", "step"}
        assert not any(isinstance(memory, Held) for memory in program.memory.values())


# ------------------------------------------------------------------------------------------ prologue
