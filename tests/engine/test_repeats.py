"""The same block on the same value is one occurrence: the numbers are those of an expression written out."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import arrows as ar
from arrows.combinators.infer import Inference
from arrows.combinators.typed import Typed
from arrows.engine import reference
from tests.compare import close, random_parameters
from tests.generate import Case, cases
from tests.profile import draws


def written_out(block: Any, float_type: str | None = None) -> Typed:
    """The typed expression in which each place is an occurrence of its own."""
    return Inference(block, float_type, apart=None).infer(None)


def both_ways(case: Case) -> None:
    """Compares what an expression computes with what it computes when it is written out."""
    once, apart = ar.infer(case.block, float_type="float64"), written_out(case.block, "float64")
    assert once.output == apart.output and str(once.output) == str(apart.output)
    lookup = random_parameters()
    options = {"float_type": "float64"}
    for example in case.examples:
        one, other = (reference.evaluate(typed, example, lookup, **options) for typed in (once, apart))
        assert close(plain(one.value), plain(other.value), 1e-12)
        assert one.metrics.keys() == other.metrics.keys()
        for name, values in one.metrics.items():
            assert close(values, other.metrics[name], 1e-12)
            assert list(map(repr, one.labels[name])) == list(map(repr, other.labels[name]))
        assert [tap for tap, _, _ in one.tapped] == [tap for tap, _, _ in other.tapped]
        for (_, _, value), (_, _, wanted) in zip(one.tapped, other.tapped, strict=True):
            assert close(plain(value), plain(wanted), 1e-12)
    if case.loss == "":
        return
    options |= {"loss": case.loss, "inputs": case.inputs}
    one, other = (reference.value_and_grad(t, case.examples, lookup, **options) for t in (once, apart))
    assert close(one.value, other.value, 1e-12)
    assert one.parameters.keys() == other.parameters.keys()
    for key, gradient in one.parameters.items():
        assert close(gradient, other.parameters[key], 1e-9)
    for found, wanted in zip(one.inputs, other.inputs, strict=True):
        for name in case.inputs:
            assert close(total(found[name]), total(wanted[name]), 1e-9)


def plain(value: Any) -> Any:
    """A value of the reference; Python objects, which have no numbers, as their text."""
    if isinstance(value, (tuple, list)):
        return [plain(item) for item in value]
    return value if isinstance(value, np.ndarray) or value is None else repr(value)


def total(gradients: list[Any]) -> float:
    return sum(float(gradient.sum()) for gradient in gradients)


@draws(40, 1500)
@given(data=st.data())
def test_what_stands_twice_gives_the_numbers_of_each_place(data: st.DataObject) -> None:
    production = data.draw(st.sampled_from(["repeated", "repeated_effect", None]))
    both_ways(data.draw(cases(production=production, depth=2)))
