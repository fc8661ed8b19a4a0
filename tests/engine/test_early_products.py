"""What early operands alone give runs once, before the steps; which, and with the same numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import arrows as ar
from arrows import ops
from arrows.engine.planning import SCHEDULES
from arrows.layers import initializers
from arrows.ops import Parameter
from tests.agree import agrees, equation_names, programs


def recurrent(step: Any, size: int = 3) -> Any:
    return ar.Map(ar.Vector(2)) >> ar.Fold(step, ar.Zeros([size])) >> ar.Function(lambda h: h.sum())


class Dense(ar.Layer[Any, Any]):
    """`tanh(concat(x, h) @ weight + bias)`, a simple recurrent cell."""

    size: int

    def __init__(self, size: int) -> None:
        super().__init__(name="dense")
        self.size = size

    def parameters(self, input: Any) -> tuple[Parameter, ...]:
        wide = sum(item.shape[0] for item in input.items)
        uniform = initializers.uniform(1.0)
        return (
            Parameter("weight", (wide, self.size), "float32", uniform),
            Parameter("bias", (self.size,), "float32", uniform),
        )

    def forward(self, parameters: Any, *args: Any) -> Any:
        return ops.tanh(ops.concat(args) @ parameters["weight"] + parameters["bias"])


DENSE = Dense(3)
SEQUENCES = [np.random.default_rng(n).normal(size=(n, 2)).tolist() for n in (4, 1, 0, 6)]


@pytest.mark.parametrize("device", ["cpu", "fake"])
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_the_product_of_a_word_runs_early(device: str, schedule: str) -> None:
    model = ar.compile(recurrent(DENSE), device=device, float_type="float64", schedule=schedule)
    agrees(model, SEQUENCES)
    (program,) = programs(model)["dense"]
    if schedule == "none":  # what batching is measured against: everything where it stands
        assert not program.region("early")
        return
    assert not program.region("late")  # words are data, their gradients nobody wants
    # The bias is added early as well; in the step, one product is left.
    assert equation_names(program, "early") == ["matmul", "add"]
    assert equation_names(program, "step").count("matmul") == 1
