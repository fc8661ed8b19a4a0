"""Gathers of several operands at once."""

from __future__ import annotations

import numpy as np
import pytest

import arrows as ar
from arrows.engine.scheduling import merge
from tests import compare
from tests.agree import programs

GRID = ar.Tensor([2, 3], "float64")


def close(found, wanted):
    """The same numbers, to the last digits."""
    return compare.close(ar.to_numpy(found), ar.to_numpy(wanted), 1e-9)


def joined_gathers(model):
    """The gathers of several operands in the program of the operation ``pair``."""
    (program,) = programs(model, gradients=False)["pair"]
    return [gather for _, gather in program.gathers if len(gather.operands) > 1]


def sums(function, leaf=GRID):
    """A tree whose pairs are computed by `function` of both sides."""

    @ar.fix
    def tree(me):
        pair = (ar.GetItem(0) >> me & ar.GetItem(1) >> me) >> ar.Function(function, name="pair")
        return ar.OneOf(lambda t: isinstance(t, tuple)).case(True, pair).case(False, leaf)

    return tree


def grids(seed):
    generator = np.random.default_rng(seed)

    def grow(depth):
        if depth == 0 or generator.random() < 0.3:
            return generator.normal(size=(2, 3))
        return grow(depth - 1), grow(depth - 1)

    return [grow(depth) for depth in (0, 1, 3, 5)]


@pytest.mark.parametrize("device", ["cpu", "fake"])
@pytest.mark.parametrize("schedule", ["strata", "depth", "agenda", "none"])
@pytest.mark.parametrize(
    ("axis", "joined"), [(0, 1), (1, 0), (-2, 1), (-1, 0)], ids=["first", "last", "-first", "-last"]
)
def test_a_concat_of_ports_is_one_gather(axis, joined, schedule, device):
    def pair(x, y):
        z = ar.ops.concat([x, y, x], axis=axis)
        return ar.ops.tanh(z[:2, :3] * 0.5 + z[-2:, -3:] * z[-2:, -3:])

    block = sums(pair) >> ar.Function(lambda x: x.sum())
    model = ar.compile(block, schedule=schedule, device=device)
    assert len(joined_gathers(model)) == joined
    batch = grids(0)
    assert close(model(batch), np.array([block.eval(x) for x in batch]))


def test_gradients_pass_a_joint():
    read = ar.Tensor([2, 3], "float64", name="x")
    weight = ar.FC(6, name="weight")

    def pair(x, y):
        return ar.ops.reshape(weight(ar.ops.reshape(ar.ops.concat([x, y]), (12,))), (2, 3))

    block = sums(pair, read) >> ar.Function(lambda x: (x * x).sum())
    model = ar.compile(block)
    assert joined_gathers(model)
    alone = ar.compile(block, schedule="none", params=model.params)
    batch = grids(1)
    loss, grads = model.value_and_grad(batch, inputs=["x"])
    expected, wanted = alone.value_and_grad(batch, inputs=["x"])
    assert close(loss, expected)
    assert close(grads["weight/weight"], wanted["weight/weight"])
    assert close(grads["x"].values, wanted["x"].values)


def test_rows_that_lie_together_are_a_view():
    pair = (
        ar.GetItem(0) >> ar.Vector(2, "float64") & ar.GetItem(1) >> ar.Vector(2, "float64")
    ) >> ar.Function(lambda x, y: ar.ops.tanh(ar.ops.concat([x, y])), name="pair")
    model = ar.compile(pair)
    batch = [([1, 2], [3, 4]), ([5, 6], [7, 8])]
    assert close(model(batch), np.tanh(np.reshape(batch, (2, 4))))
    prepared = model.prepare(batch)
    executor = model.executors.get()
    planned = executor.plan_batch(merge(model.plan, prepared[:].wired))
    (gather,) = [gather for operation in planned.operations.values() for gather in operation.gathers]
    assert len(gather.layout.operands) == 2
    assert gather.start == 0 and gather.index is None


def test_operands_of_two_kinds_are_joined_by_copies():
    block = (ar.GetItem(0) >> ar.Vector(2, "float64") & ar.GetItem(1) >> ar.Vector(3, "float64")) >> (
        ar.Function(lambda x, y: ar.ops.tanh(ar.ops.concat([x, y])), name="pair")
    )
    model = ar.compile(block)
    assert not joined_gathers(model)
    assert close(model([([1, 2], [3, 4, 5])]), np.tanh([[1, 2, 3, 4, 5]]))
