"""The reference: it runs on every random block, and its gradients are the slopes of its values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings, strategies as st

import arrows as ar
from arrows.engine import reference
from arrows.engine.reference import evaluate, interpret
from arrows.typesys.errors import InputError
from tests.compare import close, meets_kink, random_parameters
from tests.generate import Case, cases
from tests.profile import NIGHTLY
from tests.reference_gradients import loss_terms, value_and_grad


@given(cases())
def test_float32_is_near_float64(case: Case) -> None:
    """So that 1e-4 is a fair demand on the engine: the values stay bounded."""
    lookup = random_parameters()
    narrow, wide = ar.infer(case.block), ar.infer(case.block, float_type="float64")
    for example in case.examples:
        a = evaluate(narrow, example, lookup)
        b = evaluate(wide, example, lookup, float_type="float64")
        assert close(a.value, b.value, 1e-4)
        assert close(a.metrics, b.metrics, 1e-4)


class Nudged(reference.ArraySemantics):
    """The reference, with what is read under a name moved along a direction."""

    def __init__(self, typed: Any, lookup: Any, step: float, directions: dict[str, list[Any]]) -> None:
        super().__init__(typed, lookup, "float64", record=False)
        self.step = step
        self.directions = {name: iter(steps) for name, steps in directions.items()}

    def read(self, typed: Any, leaf: object) -> Any:
        value = super().read(typed, leaf)
        if typed.form.name in self.directions:
            value.array = value.array + self.step * next(self.directions[typed.form.name])
        return value


@settings(max_examples=1000 if NIGHTLY else 20)
@given(
    # Half of the other results have no loss.  What an example draws depends on its place in the batch.
    st.sampled_from(["scalar", "void"]).flatmap(lambda result: cases(result=result, noise=False)),
    st.integers(0, 3),
)
def test_gradients_are_slopes(case: Case, seed: int) -> None:
    assume(case.examples)
    lookup = random_parameters(seed)
    typed = ar.infer(case.block, float_type="float64")
    assume(not meets_kink(typed, case.examples, lookup, "float64", tolerance=1e-4))
    gradient = value_and_grad(
        typed, case.examples, lookup, loss=case.loss, inputs=case.inputs, float_type="float64"
    )
    generator = np.random.default_rng(seed)
    along = {key: generator.normal(size=g.shape) for key, g in gradient.parameters.items()}
    directions = [
        {name: [generator.normal(size=g.shape) for g in gs] for name, gs in example.items()}
        for example in gradient.inputs or [{} for _ in case.examples]
    ]

    def loss(step: float) -> float:
        def moved(owner: Any, parameter: Any) -> Any:
            return lookup(owner, parameter) + step * along[owner, parameter.name]

        total = 0.0
        for example, direction in zip(case.examples, directions, strict=True):
            arrays = Nudged(typed, moved, step, direction)
            value = interpret(typed, example, arrays)
            seeds = loss_terms(arrays, value, case.loss)
            total += sum(weight * float(seed.array.sum()) for seed, weight in seeds)
        return total / len(case.examples)

    slope = (loss(1e-5) - loss(-1e-5)) / 2e-5
    expected = sum(float((g * along[key]).sum()) for key, g in gradient.parameters.items())
    for given_, direction in zip(gradient.inputs, directions, strict=False):
        for name, gs in given_.items():
            expected += sum(float((g * d).sum()) for g, d in zip(gs, direction[name], strict=True))
    assert gradient.value == pytest.approx(loss(0.0), abs=1e-12)
    assert slope == pytest.approx(expected, rel=1e-6, abs=1e-7)


# One thing at a time


def test_an_empty_batch_has_loss_0_and_zero_gradients() -> None:
    typed = ar.infer(ar.Vector(2) >> ar.FC(1) >> ar.Function(ar.ops.sum))
    gradient = value_and_grad(typed, [], random_parameters())
    assert gradient.value == 0
    assert [g.tolist() for g in gradient.parameters.values()] == [[[0], [0]], [0]]


def test_numbers_that_do_not_fit_are_an_error_of_the_input() -> None:
    block = ar.Map(ar.GetItem("word") >> ar.Scalar("int32") >> ar.Embedding(4, 2))
    with pytest.raises(InputError, match=r"\[1\] > word: index 9 is out of range"):
        evaluate(ar.infer(block), [{"word": 1}, {"word": 9}], random_parameters())
