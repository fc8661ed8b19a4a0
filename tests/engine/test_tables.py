"""A parameter that functions read as they like: whole, in slices, by rows, for examples and for elements."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import arrows as ar
from arrows import ops
from arrows.engine.program.instructions import Accumulate
from tests.agree import agree, agrees, programs
from tests.generation import parts
from tests.generation.tables import USES, Table, number, to

ONE = ([[0.1, 0.2, 0.3], [1.0, 2.0, -1.0]], 1, [1.0, 0.5, -0.5])
SUM = ar.Function(ops.sum)
EXAMPLES = [ONE, ([], 2, [0.3, -0.2, 0.8]), (ONE[0][1:], 0, [0.1, 0.2, 0.3])]


@pytest.mark.parametrize("use", USES, ids=range(len(USES)))
def test_every_use_for_each_example_and_for_each_element(use: Any) -> None:
    table = Table((4, 3))

    def function(xs: Any, i: Any, v: Any) -> Any:
        elements = to(use(table(xs), xs, i, number(xs))) + xs
        return ops.sum(ops.segment_sum(ops.tanh(elements))) + ops.sum(to(use(table(v), v, i, number(v))))

    read = ar.GetItem(0) >> ar.Map(ar.Vector(3)), ar.GetItem(1) >> ar.Scalar("int32"), ar.GetItem(2)
    agree(ar.AllOf(*read[:2], read[2] >> ar.Vector(3)) >> ar.Function(function), EXAMPLES)


def test_vectors_matrices_and_tables_of_one_number() -> None:
    """They keep their axes wherever a function takes them for more than a number."""
    table = ar.Scalar("int32") >> ar.Embedding(1, 1)
    vector = ar.Vector(3) >> ar.FC(3) >> ar.Function(parts.single)
    agree(ar.AllOf(ar.GetItem(0) >> table, ar.GetItem(1) >> vector) >> ar.Concat() >> SUM, [(0, ONE[2])] * 2)


def test_each_piece_is_written_in_place() -> None:
    table = Table((4, 4))
    read = ar.Function(lambda x: (x @ table(x)[:2] + x @ table(x)[2:]).sum(), name="reads")
    model = ar.compile(ar.Vector(2) >> read, float_type="float64")
    agrees(model, [[1.0, 2.0]])
    (program,) = programs(model)["reads"]
    regions = {made.region for made in program.region("deferred") if isinstance(made, Accumulate)}
    assert regions == {((0, 2), (0, 4)), ((2, 4), (0, 4))}


def test_slices_of_all_kinds() -> None:
    """Overlapping, strided, reversed, of several axes, used twice: their gradients are summed."""

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

    batch = np.random.default_rng(0).normal(size=(4, 6))
    agree(ar.Vector(6, name="z") >> ar.Function(one), list(batch), inputs=["z"])
