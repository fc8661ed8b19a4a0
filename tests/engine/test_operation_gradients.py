"""What is computed for the gradients of an operation, of zeros, and of parameters alone."""

from __future__ import annotations

from itertools import chain
from typing import Any

import numpy as np
import pytest

import arrows as ar
from arrows import ops
from arrows.engine import reference
from arrows.engine.program.program import Held
from arrows.layers import initializers
from arrows.ops import Parameter
from arrows.typesys import types as T
from tests.agree import agrees, programs
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


@pytest.mark.parametrize("device", ["cpu", "fake"])
def test_a_parameter_used_in_many_ways(device: str) -> None:
    """By rows, by its transpose, by slices, elementwise, in a sequence, and not at all by some examples."""
    table = ar.Embedding(4, 3)

    class Odd(ar.Layer[Any, Any]):
        def parameters(self, input: T.Type) -> tuple[Parameter, ...]:
            return (Parameter("w", (3, 3), "float32", initializers.glorot_uniform),)

        def forward(self, parameters: Any, *args: Any) -> Any:
            x, rows = args
            w = parameters["w"]
            y = (
                (x @ w) * w[0]
                + w.T @ x
                - (w * w).sum()
                + ops.segment_sum(rows @ w[:, ::-1])
                + w[1:2].reshape((3,))
            )
            return (y * (x @ w[:, :2])[:1]).sum() + w[2, 1]

    x = ar.GetItem("x") >> ar.OneOf(
        lambda x: isinstance(x, int), {True: ar.Scalar("int32") >> table, False: ar.Vector(3)}
    )
    block = (x & ar.GetItem("rows") >> ar.Map(ar.Vector(3))) >> Odd()
    model = ar.compile(block, device=device, float_type="float64")
    batch = [
        {"x": [1, -1, 2], "rows": [[1, 2, 3], [0, 1, 0]]},
        {"x": 2, "rows": []},
        {"x": 2, "rows": [[1, 1, 1]]},
    ]
    for some in (batch, batch[:1], batch[1:2], [batch[1], batch[1]]):
        agrees(model, some)
