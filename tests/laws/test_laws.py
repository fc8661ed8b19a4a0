"""Every law of the table, by values and gradients, batched and one by one.

Both sides are compiled, run on the same batch with the same parameters, and differentiated through one
weighing of their results; the reference runs both sides too.
"""

from __future__ import annotations

import inspect
import re
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, strategies as st

import arrows as ar
import arrows.combinators
import tests.generate  # noqa: F401  (it registers what the strategies draw from)
from arrows import ops
from arrows.engine import reference
from arrows.engine.planning import SCHEDULES
from arrows.typesys import types as T
from tests.agree import plain
from tests.compare import close, dense, meets_kink
from tests.generation.build import Build
from tests.laws import choices, elements, graphs, layers, plumbing, reductions, sequences
from tests.laws.law import TABLE, Law
from tests.profile import NIGHTLY, draws

FILES = (plumbing, choices, sequences, elements, graphs, reductions, layers)

UNCLAIMED = {
    "Block": "what all blocks are; `>>` and `&` are Pipe and Fan",
    "Layer": "what all layers are",
    "Wire": "what the body of an arrow is called on",
    "Metric": "an effect: laws hold for blocks without",
    "Tap": "an effect, as Metric is",
}
"""Public names that claim no law, and why."""


def weigh(t: T.Type) -> Any:
    """A block from `t` to a float scalar that tells any two values apart."""
    if isinstance(t, T.Tensor):
        weights = np.cos(np.arange(np.prod(t.shape, dtype=int))).reshape(t.shape)
        return ar.Function(lambda x: ops.sum(ops.sin(ops.cast(x, "float64")) * weights))
    if isinstance(t, T.Tuple):
        items = [ar.GetItem(i) >> weigh(item) for i, item in enumerate(t.items)]
        return ar.AllOf(*items, ar.Zeros(T.Tensor((), "float64"))) >> ar.Function(
            lambda *xs: sum((0.5 + i) * x for i, x in enumerate(xs))
        )
    if isinstance(t, T.Sequence):
        step = ar.Function(lambda state, x: state * 0.7 + x + 1.0)
        return ar.Map(weigh(t.element)) >> ar.Fold(step, ar.Zeros(T.Tensor((), "float64")))
    assert isinstance(t, T.Void)
    return ar.Zeros(T.Tensor((), "float64"))


def side(block: Any, params: Any = None, schedule: str = "strata") -> ar.Model:
    """The model of one side: its result, and a loss made of it."""
    output = ar.infer(block).output
    weighed = block >> ar.AllOf(ar.Identity(), weigh(output) >> ar.Metric("weight"))
    return ar.compile(weighed, loss="weight", float_type="float64", params=params, schedule=schedule)


def by_layer(model: ar.Model, grads: Any) -> dict[tuple[int, str], Any]:
    """Gradients of parameters, by layer and name, without those of layers that have no part in the result."""
    made = {}
    for name in model.params:
        owner, spec = model.params.owner(name)
        if spec.has_gradient:
            made[id(owner), spec.name] = dense(grads[name])
    return made


def same(a: dict[Any, Any], b: dict[Any, Any], tolerance: float) -> bool:
    """Whether two gradients are one; what one side lacks is zero on the other."""
    zero = np.zeros(())
    return all(
        close(a.get(k, zero) + 0 * b.get(k, zero), b.get(k, zero) + 0 * a.get(k, zero), tolerance)
        for k in a | b
    )


def check(left: Any, right: Any, examples: list[Any], inputs: list[str], schedule: str) -> None:
    both = ar.compile(ar.AllOf(left, right), float_type="float64")
    first, second = side(left, both.params, schedule), side(right, both.params, schedule)
    assert first.typed.output == second.typed.output
    for model in (first, second):
        assume(not meets_kink(model.typed, examples, model.params.of, "float64"))
    for example in examples:
        one, other = (
            reference.evaluate(model.typed, example, model.params.of, float_type="float64")
            for model in (first, second)
        )
        assert close(one.value, other.value, 1e-9)
    assert close(plain(first(examples)), plain(second(examples)), 1e-9)
    value, grads = first.value_and_grad(examples, inputs=known(first, inputs))
    other_value, other_grads = second.value_and_grad(examples, inputs=known(second, inputs))
    assert close(value, other_value, 1e-9)
    assert same(by_layer(first, grads), by_layer(second, other_grads), 1e-9)
    for name in set(known(first, inputs)) & set(known(second, inputs)):
        # One side may read an object in another order, or once where the other reads it twice.
        for one, other in zip(grads[name], other_grads[name], strict=True):
            one, other = sum(one), sum(other)
            assert close(one + 0 * other, other + 0 * one, 1e-9), name


def known(model: ar.Model, names: list[str]) -> tuple[str, ...]:
    """Those of the named inputs that stand in a model."""
    found, todo = set(), [model.typed]
    seen = set()
    while todo:
        typed = todo.pop()
        found.add(typed.form.name)
        body = [typed.knot.body] if typed.knot is not None and id(typed.knot) not in seen else []
        seen.add(id(typed.knot))
        todo.extend([*typed.parts, *body])
    return tuple(name for name in names if name in found)


@pytest.mark.parametrize("law", TABLE, ids=lambda law: law.name)
def test_law(law: Law, record_property: Any) -> None:
    tried = ran = 0

    @draws(1, 20, law.name)
    @given(data=st.data())
    def holds(data: st.DataObject) -> None:
        nonlocal tried, ran
        tried += 1
        build = Build(data.draw, effects=False, noise=False)
        left, right, objects = law.draw(build)
        examples = data.draw(st.lists(objects, min_size=1, max_size=3))
        schedule = data.draw(st.sampled_from(SCHEDULES))
        check(left, right, examples, sorted(build.named), schedule)
        ran += 1

    holds()
    record_property("laws", ran)
    # Some draws meet a kink and are given up; laws with few parts have fewer draws than are asked for.
    assert ran >= min((1, 16)[NIGHTLY], max(tried // 2, 3))


def test_what_is_not_trained_has_no_gradient_to_compare() -> None:
    model = side(ar.Scalar("int32") >> ar.Embedding(4, 3, trainable=False) >> ar.FC(2))
    assert [name for _, name in by_layer(model, model.value_and_grad([1, 3])[1])] == ["weight", "bias"]


def test_every_combinator_claims_a_law_or_says_why_not() -> None:
    public = set(arrows.__all__) & vars(arrows.combinators).keys()
    claimed = {name for file in FILES for name in re.findall(r"\bar\.(\w+)", inspect.getsource(file))}
    missing = sorted(public - claimed - UNCLAIMED.keys())
    assert not missing, f"add a law of {missing} to LAWS in a file of tests/laws, or say in UNCLAIMED why not"
    assert not UNCLAIMED.keys() & claimed
    assert UNCLAIMED.keys() <= public
