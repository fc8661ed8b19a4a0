"""Columns that nobody reads are not computed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import arrows as ar
from arrows import ops
from arrows.engine import reference
from arrows.engine.program.instructions import equations_of
from arrows.ops import Parameter
from arrows.typesys import types as T
from tests.agree import programs


class Product(ar.Layer[Any, Any]):
    """`body` of x @ weight + bias, twelve columns."""

    def __init__(self, body: Callable[[Any], Any]) -> None:
        super().__init__(name="product")
        self.body = body

    def parameters(self, input: T.Type) -> tuple[Parameter, ...]:
        return (
            Parameter(
                "weight", (3, 12), "float64", lambda generator, shape, dtype: generator.normal(size=shape)
            ),
            Parameter("bias", (12,), "float64", lambda generator, shape, dtype: generator.normal(size=shape)),
        )

    def forward(self, parameters: Any, *args: Any) -> Any:
        return self.body(args[0] @ parameters["weight"] + parameters["bias"])


CASES: list[tuple[str, Callable[[Any], Any], int]] = [
    ("all", lambda v: ops.tanh(v), 12),
    ("one slice", lambda v: ops.tanh(v)[3:5], 2),
    ("the range that covers two", lambda v: v[2:4] * v[7:9], 7),
    ("a slice of a slice", lambda v: ops.tanh(v)[2:10][3:5], 2),
    ("slices of a function of a slice", lambda v: ops.tanh(v[:4]) * ops.sigmoid(v[4:])[:4], 8),
    ("a slice of a function of a slice of a function", lambda v: ops.sigmoid(ops.tanh(v)[4:])[1:3], 2),
    ("a slice that a sum needs whole", lambda v: ops.tanh(v[4:]).sum() * v[5:6], 8),
]


@pytest.mark.parametrize(("body", "columns"), [pytest.param(b, n, id=name) for name, b, n in CASES])
def test_a_product_has_the_columns_that_are_read(body: Callable[[Any], Any], columns: int) -> None:
    model = ar.compile(ar.Vector(3, "float64") >> Product(body))
    (program,) = programs(model, gradients=False)["product"]
    equations = [equation for each in program.region("step") for equation in equations_of(each)]
    (width,) = [each.result.type.shape[-1] for each in equations if each.primitive.name == "matmul"]
    assert width == columns


@pytest.mark.parametrize("body", [pytest.param(b, id=name) for name, b, _ in CASES])
def test_and_the_same_numbers(body: Callable[[Any], Any]) -> None:
    model = ar.compile(ar.Vector(3, "float64") >> Product(lambda v: body(v).sum()), float_type="float64")
    examples = np.random.default_rng(0).normal(size=(5, 3)).tolist()
    value, grads = model.value_and_grad(examples)
    wanted = reference.value_and_grad(model.typed, examples, model.params.of, float_type="float64")
    assert float(value) == pytest.approx(wanted.value)
    for name in model.params:
        owner, spec = model.params.owner(name)
        np.testing.assert_allclose(grads[name], wanted.parameters[owner, spec.name], atol=1e-12)
