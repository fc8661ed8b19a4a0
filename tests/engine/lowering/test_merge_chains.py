"""Functions that always follow one another are one operation; others stay their own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import arrows as ar
from arrows import ops
from arrows.engine.lowering import compose
from arrows.engine.planning import ApplyOperation
from arrows.ops import trace
from arrows.typesys import types as T
from arrows.typesys.errors import InputError
from tests.agree import agrees


def operations(block: Any) -> list[str]:
    """The names of what computes in a model of the block."""
    return sorted(one.name for one in ar.compile(block).plan.operations if isinstance(one, ApplyOperation))


double = ar.Function(lambda x: x * 2.0, name="double")
total = ar.Function(lambda x: x.sum(), name="total")
VECTOR = ar.Vector(3)


def test_a_chain_is_one_operation() -> None:
    dense = ar.FC(2, ops.tanh, name="dense")
    assert operations(VECTOR >> double >> dense >> total) == ["double >> dense >> total"]


def test_what_stands_elsewhere_too_stays_alone() -> None:
    dense = ar.FC(3, ops.tanh, name="dense")
    both = (VECTOR >> double >> dense) & (VECTOR >> dense)
    assert "dense" in operations(both >> ar.Function(lambda a, b: (a * b).sum()))
    # After different functions: the layer runs for both at once.
    both = (VECTOR >> double >> dense) & (VECTOR >> ar.Function(ops.tanh) >> dense)
    assert "dense" in operations(both >> ar.Function(lambda a, b: (a * b).sum()))
    # The same two together in two places are one operation for both.
    both = (VECTOR >> double >> dense) & (ar.GetItem(slice(3)) >> VECTOR >> double >> dense)
    assert "double >> dense" in operations(both >> ar.Function(lambda a, b: (a * b).sum()))


def test_metrics_and_taps_in_between_are_kept() -> None:
    dense = ar.FC(3, name="dense")

    @ar.arrow
    def tapped(x: Any) -> Any:
        y = (VECTOR >> double >> ar.Tap("twice") >> dense)(x)
        ar.Metric("score")(y)
        return total(y)

    model = ar.compile(tapped, float_type="float64")
    agrees(model, [[1.0, 2.0, 3.0]])
    assert ar.to_numpy(model.taps["twice"].values).tolist() == [[2.0, 4.0, 6.0]]
    assert operations(tapped) == ["dense", "double", "total"]


def test_dropout_keeps_its_own_chance() -> None:
    block = VECTOR >> double >> ar.Dropout(0.5) >> total
    assert len(operations(block)) == 3


def test_sequences_stay_alone() -> None:
    block = ar.Map(VECTOR) >> ar.Function(lambda xs: xs * 2.0) >> ar.Sum() >> total
    agrees(ar.compile(block, float_type="float64"), [[[1.0, 2.0, 3.0]] * 3, []])


@pytest.mark.parametrize("schedule", ["strata", "depth", "agenda", "none"])
@pytest.mark.parametrize("device", ["cpu", "fake"])
def test_in_a_recursion(schedule: str, device: str) -> None:
    @ar.fix
    def tree(me: Any) -> Any:
        pair = (
            (ar.GetItem(0) >> me & ar.GetItem(1) >> me)
            >> ar.Concat()
            >> ar.FC(2, name="a")
            >> ar.Function(ops.tanh)
        )
        leaf = ar.Scalar("int32") >> ar.Embedding(9, 2, name="e") >> ar.FC(2, ops.tanh, name="b")
        return ar.OneOf(lambda t: isinstance(t, tuple), {True: pair, False: leaf})

    block = tree >> ar.Function(lambda h: (h * h).sum())
    assert "e >> b" in operations(block)
    assert any(name.startswith("Concat >> a >> ") for name in operations(block))
    model = ar.compile(block, float_type="float64", schedule=schedule, device=device)
    agrees(model, [((1, 2), (3, (4, 5))), 7, (7, 7)])


def test_long_chains_are_cut() -> None:
    def plus(number: float) -> Any:
        return ar.Function(lambda x: x + number)

    block: Any = VECTOR
    for number in range(250):
        block = block >> plus(float(number))
    model = ar.compile(block >> total, float_type="float64")
    assert 2 < len([one for one in model.plan.operations if isinstance(one, ApplyOperation)]) < 6
    agrees(model, [[1.0, 2.0, 3.0]])


def test_results_that_are_inputs_and_constants() -> None:
    first = trace(lambda x: (x, x * 2.0), T.as_type([3]))
    second = trace(lambda a, b: (b, a, a + b), T.as_type(([3], [3])))
    both = compose([first, second])
    assert len(both.equations) == 2
    assert both.results[1] == both.inputs[0]
    block = VECTOR >> ar.Function(lambda x: (x, x * 2.0)) >> ar.Function(lambda a, b: (a + b).sum())
    agrees(ar.compile(block, float_type="float64"), [[1.0, 2.0, 3.0]])


def test_what_a_part_refuses_names_it() -> None:
    table, zero = np.arange(6.0).reshape(3, 2), ar.FC([], name="zero", initializer=ar.initializers.zeros)
    # What depends on a parameter is not checked before it runs.
    after = ar.Function(lambda i: i + 1 + zero(ops.cast(i, "float32")[None]).cast("int32"), name="next")
    look = ar.Function(lambda i: ops.lookup(table, i), name="look")
    block = ar.Scalar("int32") >> after >> look >> total
    model = ar.compile(block)
    assert operations(block) == ["next >> look >> total"]
    with pytest.raises(InputError, match=r"look"):
        model([0, 1, 5])
    prepared = model.prepare([0, 1, 5])
    with pytest.raises(InputError, match=r"look"):
        model(prepared)
