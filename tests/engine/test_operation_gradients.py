"""What is computed for the gradients of an operation, of zeros, and of parameters alone."""

from __future__ import annotations

from itertools import chain
from typing import Any

import numpy as np
import pytest

import arrows as ar
from arrows import ops
from arrows.engine import reference
from arrows.engine.program import Program
from arrows.engine.program.instructions import Accumulate, SumRows, equations_of
from arrows.engine.program.program import Held
from arrows.layers import initializers
from arrows.ops import INVARIANT, Parameter
from arrows.typesys import types as T
from tests.agree import agrees, equation_names, programs
from tests.compare import close

# ------------------------------------------------------------------------------------------ slices


def slice_gradients(model: ar.Model) -> list[str]:
    """The joins and paddings of slices in what computes the gradients of the input ``z``."""
    by_operation = programs(model, inputs=("z",)).values()
    equations = {id(program): equation_names(program, "step_back") for own in by_operation for program in own}
    return [name for names in equations.values() for name in names if name in ("concat", "pad_slice")]


def test_gradients_of_slices_become_one_concat() -> None:
    """The gates of a cell: four slices of one product."""

    def gates(z: Any) -> Any:
        return (ops.sigmoid(z[:2]) * ops.tanh(z[2:4]) + z[4:6] * z[6:]).sum()

    model = ar.compile(ar.Vector(8, name="z") >> ar.Function(gates))
    assert slice_gradients(model) == ["concat"]


def test_slices_with_a_gap_are_filled_up_with_zeros() -> None:
    def some(z: Any) -> Any:
        return z[1:3] * 2.0 + z[5:7]

    model = ar.compile(ar.Vector(8, name="z") >> ar.Function(some) >> ar.Function(lambda v: v.sum()))
    assert slice_gradients(model) == ["concat"]
    _, grads = model.value_and_grad([[0] * 8], inputs=["z"])
    assert grads["z"][0].tolist() == [[0, 2, 2, 0, 0, 1, 1, 0]]


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


@pytest.mark.parametrize("device", ["cpu", "fake"])
def test_gradients_of_parameters_run_once_an_operation(device: str) -> None:
    dense = ar.FC(2, ops.tanh, name="dense")
    fold = ar.Fold((ar.GetItem(0) & ar.GetItem(1) >> ar.Vector(2)) >> ar.Concat() >> dense, ar.Zeros([2]))
    model = ar.compile(fold >> ar.Function(lambda h: h.sum()), device=device, float_type="float64")
    agrees(model, [np.random.default_rng(1).normal(size=(n, 2)).tolist() for n in (9, 4, 1)])
    (program,) = programs(model)["dense"]  # the same operation whether the state is zeros or not
    # The product over all rows is deferred.
    assert "outer" not in equation_names(program, "step_back")
    accumulates = [each for each in program.region("deferred") if isinstance(each, Accumulate)]
    assert {each.spec.name for each in accumulates} == {"weight", "bias"}


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


# ------------------------------------------------------------------------------------------ zeros


def products(program: Program) -> list[tuple[int, ...]]:
    """The shapes of the matrices that rows are multiplied by."""
    return [
        equation.operands[1].type.shape
        for instruction in program.region("step")
        for equation in equations_of(instruction)
        if equation.primitive.name == "matmul" and equation.result.rows != INVARIANT
    ]


@pytest.mark.parametrize("device", ["cpu", "fake"])
def test_zeros_of_a_leaf_are_folded_away(device: str) -> None:
    size, word = 4, 3
    cell, table = ar.TreeLSTM(size, children=2, name="cell"), ar.Embedding(9, word)

    @ar.fix
    def tree(me: Any) -> Any:
        leaf = (ar.Scalar("int32") >> table & ar.Zeros((cell.state, cell.state))) >> cell
        pair = (ar.Zeros([word]) & (ar.GetItem(0) >> me & ar.GetItem(1) >> me)) >> cell
        return ar.OneOf(lambda t: isinstance(t, tuple), {True: pair, False: leaf})

    model = ar.compile(tree >> ar.Function(lambda h, c: (h * c).sum()), float_type="float64", device=device)
    rows = sorted(shape[0] for program in programs(model)["cell"] for shape in products(program))
    assert rows == [word, 2 * size]  # the whole matrix has word + 2 * size
    agrees(model, [((1, 2), (3, (4, 5))), 7, (7, 7)])


@pytest.mark.parametrize(
    ("function", "kept"),
    [
        (lambda x, z: x + z, []),
        (lambda x, z: z + x, []),
        (lambda x, z: x - z, []),
        (lambda x, z: z - x, ["subtract"]),
        (lambda x, z: x * z, []),
        (lambda x, z: x / (z + 1.0), ["divide"]),
        (lambda x, z: x.sum() + z, ["sum", "reshape", "add"]),
    ],
)
def test_zeros_fold(function: Any, kept: list[str]) -> None:
    """Where `z` is zeros: only what has rows counts."""
    alone = ar.compile((ar.Vector(3) & ar.Zeros([3])) >> ar.Function(function, name="zeros"))
    (program,) = programs(alone, gradients=False)["zeros"]
    assert equation_names(program, "step") == kept
    block = (ar.Vector(3) & ar.Zeros([3])) >> ar.Function(function) >> ar.Function(lambda v: v.sum())
    model = ar.compile(block, float_type="float64")
    agrees(model, [[1, 2, 3], [0, -1, 5]])
    assert close(float(model([[1, 2, 3]])[0]), float(model.eval([1, 2, 3])), 1e-12)


def test_zeros_are_known_by_the_site_not_by_the_data() -> None:
    """Zeros of an example are multiplied like all other numbers."""
    block = (
        (ar.Vector(2) & ar.Vector(2))
        >> ar.Concat()
        >> ar.FC(2, name="dense")
        >> ar.Function(lambda v: v.sum())
    )
    (program,) = programs(ar.compile(block))["dense"]
    assert products(program) == [(4, 2)]


# ------------------------------------------------------------------------------------------ prologue


class Normal(ar.Layer[Any, Any]):
    """A product with a matrix of normalised columns, and back through its transpose."""

    def __init__(self, size: int, *, back: bool = False) -> None:
        super().__init__()
        self.size, self.back = size, back

    def parameters(self, input: T.Type) -> tuple[Parameter, ...]:
        assert isinstance(input, T.Tensor)
        return (
            Parameter("v", (input.shape[0], self.size), input.dtype, initializers.glorot_uniform),
            Parameter("g", (self.size,), input.dtype, initializers.ones),
        )

    def forward(self, parameters: Any, *args: Any) -> Any:
        (x,) = args
        v = parameters["v"]
        weight = v * (parameters["g"] / ops.sqrt((v * v).sum(axis=0)))
        hidden = ops.tanh(x @ weight)
        return hidden @ weight.T if self.back else hidden


@pytest.mark.parametrize("device", ["cpu", "fake"])
@pytest.mark.parametrize("back", [False, True])
def test_what_depends_on_parameters_alone_runs_once(device: str, back: bool) -> None:
    layer = Normal(3, back=back)
    step = (ar.GetItem(0) & ar.GetItem(1) >> ar.Vector(3)) >> ar.Function(lambda h, x: h + x) >> layer
    model = ar.compile(
        ar.Fold(step, ar.Zeros([3])) >> ar.Function(lambda h: (h * h).sum()),
        device=device,
        float_type="float64",
    )
    agrees(model, [np.random.default_rng(2).normal(size=(n, 3)).tolist() for n in (5, 2)])
    (program,) = programs(model)["Normal"]
    # Nothing of the norm, nor of the way back through it, is done step by step.
    in_steps = equation_names(program, "early", "step", "step_back", "late")
    assert {"sqrt", "divide"}.isdisjoint(in_steps)
    assert "sqrt" in equation_names(program, "once") and "divide" in equation_names(program, "deferred")
    over_rows = [each for each in program.region("deferred") if isinstance(each, SumRows)]
    assert len(over_rows) <= 2  # the matrix, and its transpose if that is read


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
