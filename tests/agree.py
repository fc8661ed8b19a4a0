"""Holds a model to the reference: values, metrics and gradients, by several schedules, on two devices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import arrows as ar
from arrows.engine import reference
from arrows.engine.planning import SCHEDULES
from arrows.engine.program import Program
from arrows.engine.scheduling import merge
from arrows.engine.values import collate
from tests.compare import close, dense
from tests.engine.scheduling.specification import verify
from tests.profile import NIGHTLY
from tests.reference_gradients import value_and_grad

EVERY = [(device, schedule) for device in ("cpu", "fake") for schedule in SCHEDULES]
BY_DAY = [(("cpu", "fake")[n % 2], name) for n, name in enumerate(SCHEDULES) if name != "none"]
SETTINGS = EVERY if NIGHTLY else BY_DAY
TOLERANCE = 1e-9


def agree(block: Any, examples: Sequence[Any], *, loss: str = "", inputs: Sequence[str] = ()) -> list[Any]:
    """Asserts that batched is one by one, in float64.

    Args:
        block: what to compile.
        examples: the batch; the empty batch and its reverse are tried too.
        loss: the metric to differentiate; empty: the scalar result; "-": nothing.
        inputs: named inputs whose gradients are compared as well.

    Returns:
        The reference's value of each example.
    """
    outcomes: list[Any] = []
    for device, schedule in SETTINGS:
        differ = loss != "-"
        model = ar.compile(
            block,
            loss=(loss or None) if differ else None,
            float_type="float64",
            device=device,
            schedule=schedule,
            seed=3,
        )

        def lookup(owner: Any, spec: Any, model: ar.Model = model) -> Any:
            return ar.to_numpy(model.params.of(owner, spec))

        outcomes = [reference.evaluate(model.typed, x, lookup, float_type="float64") for x in examples]
        for order in (list(range(len(examples))), list(range(len(examples)))[::-1], []):
            batch = model.prepare(examples)[order]
            verify(model.plan, merge(model.plan, batch.wired))
            wanted = plain(collate(model.typed.output, [outcomes[i].value for i in order]))
            assert close(plain(model(batch)), wanted, TOLERANCE), (device, schedule)
            for name in model.metrics:
                found = plain(model.metrics[name])["values"]
                values = [v for i in order for v in outcomes[i].metrics.get(name, [])]
                assert len(found) == len(values)
                assert close(list(found), values, TOLERANCE), (device, schedule, name)
            if not differ:
                continue
            value, grads = model.value_and_grad(batch, inputs=tuple(inputs))
            if not order:
                assert float(ar.to_numpy(value)) == 0
                continue
            right = value_and_grad(
                model.typed,
                [examples[i] for i in order],
                lookup,
                loss=loss or None,
                inputs=tuple(inputs),
                float_type="float64",
            )
            assert close(float(ar.to_numpy(value)), right.value, TOLERANCE), (device, schedule)
            for name in model.params:
                owner, spec = model.params.owner(name)
                gradient = right.parameters[owner, spec.name]
                assert close(dense(grads[name]), gradient, TOLERANCE), (device, schedule, name)
            for name in inputs:
                given = ar.to_numpy(grads[name])
                for n in range(len(order)):
                    assert close(list(given[n]), right.inputs[n][name], TOLERANCE), name
    return [outcome.value for outcome in outcomes]


def agrees(model: ar.Model, examples: Sequence[Any], prepared: Any = None) -> None:
    """Asserts that value and gradients of a model are those of the reference.

    Args:
        model: in float64, with a loss.
        examples: the batch.
        prepared: the same examples, prepared, to run instead.
    """

    def lookup(owner: Any, spec: Any) -> Any:
        return ar.to_numpy(model.params.of(owner, spec))

    value, grads = model.value_and_grad(examples if prepared is None else prepared)
    wanted = value_and_grad(model.typed, examples, lookup, float_type="float64")
    assert close(float(ar.to_numpy(value)), wanted.value, TOLERANCE)
    for name in model.params:
        owner, spec = model.params.owner(name)
        assert close(dense(grads[name]), wanted.parameters[owner, spec.name], TOLERANCE), name


def programs(
    model: ar.Model, *, gradients: bool = True, inputs: tuple[str, ...] = ()
) -> dict[str, list[Program]]:
    """The programs of a model by the blocks that stand there: those for training, or for inference.

    Args:
        model: the model.
        gradients: whether the loss is differentiated.
        inputs: the inputs whose gradients are wanted.
    """
    by_name: dict[str, list[Program]] = {}
    executor = model.executors.get(inputs, training=gradients, gradients=gradients)
    for code in executor.codes.values():
        for name in code.operation.name.split(" >> "):
            by_name.setdefault(name, []).append(code.program)
    return by_name


def equation_names(program: Program, *regions: str) -> list[str]:
    """What the equations of a program compute; without ``regions``, of all of them."""
    return [equation.primitive.name for equation in program.equations(*regions)]


def plain(result: Any) -> Any:
    """A result as arrays, tuples and dicts of (values, offsets)."""
    if isinstance(result, ar.Ragged):
        return {"values": plain(result.values), "offsets": result.offsets}
    if isinstance(result, tuple):
        return [plain(item) for item in result]
    return None if result is None else ar.to_numpy(result)
