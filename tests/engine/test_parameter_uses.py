"""One parameter used in two ways: all ordered pairs of uses, in one operation, in two, in recursion and out.

A use is dense or reads rows (its gradient is row-sparse), and the two gradients meet in one array.  Each test
has one first use and a table for each second use, all in one model.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import arrows as ar
from arrows import ops
from arrows.engine import reference
from tests.compare import close
from tests.profile import NIGHTLY, sampled
from tests.reuse.check import dense
from tests.reuse.uses import WIDTH, Table, number, to, use

USES = (
    "row",
    "look-up",
    "product from the left",
    "product from the right",
    "transposed, from the left",
    "transposed, from the right",
    "element by element",
    "softmax",
    "normalised rows",
    "sum",
    "column by index",
    "slice of columns",
    "joined with itself",
    "two look-ups",
    "look-up of a function",
    "look-up in the transposed",
)
SETTINGS = [("cpu", "strata"), ("cpu", "depth")]
if NIGHTLY:
    SETTINGS += [("cpu", "agenda"), ("cpu", "none"), ("fake", "strata"), ("fake", "depth")]
SHAPE = (4, WIDTH)

LEAVES = [(2, [0.5, -0.25, 1.0]), (0, [0.125, 0.75, -0.5]), (0, [-1.0, 0.25, 0.5])]
EXAMPLES: list[Any] = [
    {"of": LEAVES[0], "kids": [{"of": LEAVES[1], "kids": []}, {"of": LEAVES[2], "kids": []}]},
    {"of": LEAVES[1], "kids": []},
    {"of": LEAVES[2], "kids": [{"of": LEAVES[0], "kids": [{"of": LEAVES[0], "kids": []}]}]},
]
pair = ar.GetItem("of") >> (ar.GetItem(0) >> ar.Scalar("int32") & ar.GetItem(1) >> ar.Vector(WIDTH, name="x"))


def function(arguments: str, text: str, table: Table) -> Any:
    """A function of an integer `i` and a vector `a`."""
    names = {"ops": ops, "np": np, "to": to, "number": number, "w": table}
    return ar.Function(eval(f"lambda {arguments}: ops.tanh({text})", names))


def used(kind: str) -> str:
    return use(kind, "w(a)", SHAPE, "a", "i", "number(a)")


def together(first: str, second: str, table: Table) -> Any:
    return pair >> function("i, a", f"{used(first)} * 0.5 + {used(second)}", table)


def apart(first: str, second: str, table: Table) -> Any:
    both = function("i, a", used(first), table) & function("i, a", used(second), table)
    return pair >> both >> ar.Sum()


def inside_and_outside(first: str, second: str, table: Table) -> Any:
    """The first use at every node of a tree, of what comes up from its children; the second once."""

    @ar.fix
    def tree(me: Any) -> Any:
        below = ar.Function(lambda own, sums: (own[0], ops.tanh(own[1] + sums)))
        inner = (pair & ar.GetItem("kids") >> ar.Map(me) >> ar.Sum()) >> below
        states = ar.OneOf(lambda t: bool(t["kids"])).case(True, inner).case(False, pair)
        return states >> function("i, a", used(first), table)

    return (tree & pair >> function("i, a", used(second), table)) >> ar.Sum()


PLACES = {"one operation": together, "two operations": apart, "recursion and outside": inside_and_outside}


@pytest.mark.parametrize("first", sampled(USES, 5))
@pytest.mark.parametrize("place", PLACES)
def test_both_gradients_arrive(place: str, first: str) -> None:
    sums = [PLACES[place](first, second, Table(*SHAPE, name=second)) for second in USES]
    block = ar.AllOf(*sums) >> ar.Sum() >> ar.Function(ops.sum)
    models = [
        ar.compile(block, float_type="float64", device=device, schedule=schedule)
        for device, schedule in SETTINGS
    ]
    lookup = models[0].params.of
    for batch in (EXAMPLES, EXAMPLES[1:2]):
        wanted = reference.value_and_grad(models[0].typed, batch, lookup, inputs=["x"], float_type="float64")
        for model, setting in zip(models, SETTINGS, strict=True):
            value, grads = model.value_and_grad(batch, inputs=["x"])
            assert close(float(ar.to_numpy(value)), wanted.value, 1e-9), setting
            for second in USES:
                owner, spec = model.params.owner(f"{second}/w")
                right = wanted.parameters[owner, spec.name]
                assert close(dense(grads[f"{second}/w"]), right, 1e-9), (setting, second)
            for found, one in zip(ar.to_numpy(grads["x"]), wanted.inputs, strict=True):
                assert close(list(found), one["x"], 1e-9), setting
