"""Random straight-line functions of vectors, and models made of them that are held to the reference."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import strategies as st

import arrows as ar
from arrows import ops
from arrows.engine import reference
from arrows.layers import initializers
from arrows.ops import Parameter
from arrows.typesys import types as T
from tests.compare import close

WIDTH = 4
Op = Callable[..., Any]

UNARY: list[Op] = [
    ops.tanh,
    ops.sigmoid,
    lambda a: -a,
    lambda a: a * a,
    lambda a: a * 0.5 + a,
    lambda a: ops.exp(ops.tanh(a)),
    # views, and what is made of views
    lambda a: a[::-1],
    lambda a: a.reshape((2, 2)).T.reshape((4,)),
    lambda a: a.reshape((2, 2))[::-1].reshape((4,)),
    lambda a: ops.concat([a[2:], a[:2]]),
    lambda a: ops.concat([ops.tanh(a[:1]), a[1:] * a[:3]]),
    lambda a: ops.concat([a[:2] + 1.0, a[:2] + 1.0]),
    lambda a: ops.softmax(a),
    lambda a: a * a.sum(),
    lambda a: a - a[1],
    lambda a: a[:1] * a,
]
BINARY: list[Op] = [
    lambda a, b: a + b,
    lambda a, b: a * b,
    lambda a, b: a - b * b,
    lambda a, b: a / (ops.exp(ops.tanh(b)) + 1.0),
    lambda a, b: ops.concat([a[:3], b[3:]]),
    lambda a, b: ops.concat([a, b])[2:6],
    lambda a, b: (a.reshape((2, 2)) @ b.reshape((2, 2))).reshape((4,)),
    lambda a, b: a * b.sum() + b[::-1],
    lambda a, b: ops.concat([(a + b)[:2] * 2.0, (a + b)[2:]]),
]


class Scale(ar.Layer[Any, Any]):
    """A vector of parameters, so that values without rows take part."""

    def parameters(self, input: T.Type) -> tuple[Parameter, ...]:
        return (Parameter("scale", (WIDTH,), "float32", initializers.glorot_uniform),)

    def forward(self, parameters: Any, *args: Any) -> Any:
        (a,) = args
        return a * parameters["scale"] + ops.tanh(parameters["scale"])


@st.composite
def functions(draw: Any, unary: list[Op] = UNARY, binary: list[Op] = BINARY) -> tuple[Any, int]:
    """A straight-line program of two vectors; how many values it returns, some of them inputs or twice."""
    lines: list[tuple[Op | None, int, int]] = []
    known = 2
    for _ in range(draw(st.integers(1, 9))):
        # Mostly of the latest values, so that others die early.
        i, j = (known - 1 - min(draw(st.integers(0, 4)), known - 1) for _ in range(2))
        lines.append((draw(st.sampled_from([*unary, *binary])), i, j))
        known += 1
    results = draw(st.lists(st.integers(0, known - 1), min_size=1, max_size=4))

    def run(a: Any, b: Any) -> Any:
        values = [a, b]
        for op, i, j in lines:
            assert op is not None
            # The values stay within a few units, whatever is multiplied.
            made = op(values[i]) if op in unary else op(values[i], values[j])
            values.append(
                made / (ops.exp(ops.tanh(made * 0.1)) * 2.0) if len(values) % 3 == 0 else made * 0.5
            )
        found = tuple(values[n] for n in results)
        return found if len(found) > 1 else found[0]

    return run, len(results)


def agrees(block: Any, examples: list[Any], device: str) -> None:
    """Values and all gradients, of inputs and parameters, are those of the reference."""
    model = ar.compile(block, loss="loss", float_type="float64", device=device)

    def lookup(owner: Any, spec: Any) -> Any:
        return ar.to_numpy(model.params.of(owner, spec))

    wanted = reference.value_and_grad(
        model.typed, examples, lookup, loss="loss", inputs=["a", "b"], float_type="float64"
    )
    for _ in range(2):  # the second time the memory is full of the first
        value, grads = model.value_and_grad(examples, inputs=["a", "b"])
        assert close(float(ar.to_numpy(value)), wanted.value, 1e-9)
        for name in ("a", "b"):
            found = ar.to_numpy(grads[name])
            for n in range(len(examples)):
                assert close(list(found[n]), wanted.inputs[n][name], 1e-9)
        for name in model.params:
            owner, spec = model.params.owner(name)
            assert close(ar.to_numpy(grads[name]), wanted.parameters[owner, spec.name], 1e-9)
    found = ar.to_numpy(model(examples))
    for n, example in enumerate(examples):
        one = reference.evaluate(model.typed, example, lookup, float_type="float64").value
        parts = found if isinstance(found, tuple) else (found,)
        wholes = one if isinstance(one, tuple) else (one,)
        assert close([part[n] for part in parts], list(wholes), 1e-9)


def numbers(seed: int, *shape: int) -> Any:
    return np.random.default_rng(seed).normal(size=shape)


def two_operations(first: Any, count: int, second: Any, parameters: bool = False) -> ar.Block[Any, Any]:
    """The second reads what the first gives, ``count`` values; with parameters, so do both."""
    scale = Scale()

    @ar.arrow
    def block(x: Any) -> Any:
        a, b = ar.Vector(WIDTH, name="a")(x["a"]), ar.Vector(WIDTH, name="b")(x["b"])
        if parameters:
            b = scale(b)
        found = ar.Function(first)(a, b)
        one = found[0] if count > 1 else found
        other = found[count - 1] if count > 1 else found
        again = ar.Function(second)(one, other)
        ar.Metric("loss")(ar.Function(lambda *parts: sum(total(part) for part in parts))(again, found, b))
        return found

    return block


def total(part: Any) -> Any:
    """The sum of a vector or of a tuple of vectors, each with weights of its own."""
    parts = part if isinstance(part, tuple) else (part,)
    return sum((one * np.linspace(1, 2 + n, WIDTH)).sum() for n, one in enumerate(parts))


def in_a_fold(function: Any, count: int) -> tuple[ar.Block[Any, Any], list[Any]]:
    """A model that folds a program which gives ``count`` values over a sequence, and examples for it."""
    pick = ar.Identity() if count == 1 else ar.GetItem(count - 1)
    step = (ar.GetItem(0) & ar.GetItem(1) >> ar.Vector(WIDTH, name="a")) >> ar.Function(function) >> pick
    state = ar.GetItem("xs") >> ar.Fold(step, ar.Zeros([WIDTH])) & ar.GetItem("b") >> ar.Vector(
        WIDTH, name="b"
    )
    loss = ar.Function(lambda h, b: (h * b).sum()) >> ar.Metric("loss")
    examples = [
        {"xs": list(numbers(n, length, WIDTH)), "b": numbers(n + 9, WIDTH)}
        for n, length in enumerate((3, 0, 2, 5, 5))
    ]
    return state >> (loss & ar.GetItem(0)) >> ar.GetItem(1), examples
