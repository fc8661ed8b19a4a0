"""What early operands alone give runs once, before the steps; which, and with the same numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import arrows as ar
from arrows import ops
from arrows.engine.scheduling import merge
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
@pytest.mark.parametrize("schedule", ["strata", "depth", "agenda", "none"])
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


@pytest.mark.parametrize("device", ["cpu", "fake"])
def test_gradients_of_early_operands_wait(device: str) -> None:
    words = ar.Scalar("int32") >> ar.Embedding(7, 2)
    block = ar.Map(words) >> ar.Fold(DENSE, ar.Zeros([3])) >> ar.Function(lambda h: h.sum())
    model = ar.compile(block, device=device, float_type="float64")
    sentences = [[0, 1, 2], [5, 5, 5, 6], [3]]
    agrees(model, sentences)
    (program,) = programs(model)["dense"]
    assert {region for region, _ in program.scatters} == {"step_back", "late"}
    executor = model.executors.get(training=True, gradients=True)
    planned = executor.plan_batch(merge(model.plan, model.prepare(sentences)[:].wired))
    (operation,) = [each for each in planned.operations.values() if each.code.late is not None]
    assert operation.parts == [0, 8]  # eight words, all at once


def test_a_cell_shared_by_two_layers_runs_early_in_each() -> None:
    cell = Dense(2)

    def layer() -> Any:
        return ar.RNN(cell, ar.Zeros([2])) >> ar.GetItem(0)

    block = ar.Map(ar.Vector(2)) >> layer() >> layer() >> ar.Sum() >> ar.Function(lambda h: h.sum())
    model = ar.compile(block, float_type="float64")
    agrees(model, SEQUENCES)
    (program,) = programs(model)["dense"]
    assert program.region("early") and program.region("late")


@pytest.mark.parametrize(
    "step",
    [
        lambda h, x: ops.tanh(h * 0.5) + x.sum(),  # no product
        lambda h, x: ops.tanh(h * (x @ np.ones((2, 3)))),  # a product of early operands, not joined
        lambda h, x: ops.concat([x, h, x]) @ np.ones((7, 3)),  # early parts that are no neighbours
        lambda h, x: ops.concat([h, ops.tanh(x)]) @ np.ones((5, 3)) + x.sum(),  # more early values added
        lambda h, x: h @ np.ones((3, 3)) + (x @ np.ones((2, 4)))[1:],  # a view of what is made early
        lambda h, x: ops.concat([ops.concat([h, x]), x]) @ np.ones((7, 3)),  # joins of joins
        lambda h, x: (x @ np.ones((2, 3))) * h + (x @ np.ones((2, 3))),  # read twice
    ],
)
@pytest.mark.parametrize("trained", [False, True])
def test_all_kinds_of_steps(step: Any, trained: bool) -> None:
    dense = ar.FC(2, name="in") if trained else ar.Identity()
    block = (
        ar.Map(ar.Vector(2) >> dense)
        >> ar.Fold(ar.Function(step), ar.Zeros([3]))
        >> ar.Function(lambda h: h.sum())
        >> ar.Function(lambda y: y * 1.0)
    )
    scale = ar.Vector(2) >> ar.FC(1, name="scale") >> ar.Function(lambda y: y.sum())
    model = ar.compile({"a": block, "b": scale} >> ar.Function(lambda a, b: a * b), float_type="float64")
    agrees(model, [{"a": sequence, "b": [0.3, -0.2]} for sequence in SEQUENCES])


def test_what_is_returned_and_made_early() -> None:
    step = ar.Function(lambda x, h: (x @ np.ones((2, 3)) * 2.0, x @ np.ones((2, 3))))
    block = (
        ar.Map(ar.Vector(2))
        >> ar.Scan(step, ar.Zeros([3]))
        >> ar.GetItem(0)
        >> ar.Map(ar.Function(lambda y: y * y))
        >> ar.Sum()
    )
    model = ar.compile(block >> ar.FC(1, name="out") >> ar.Function(lambda y: y.sum()), float_type="float64")
    agrees(model, SEQUENCES)
