"""The same block on the same value is one occurrence: the numbers are those of an expression written out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

import arrows as ar
from arrows.combinators.base.copying import parts_first
from arrows.engine import reference
from arrows.inference import Inference, Typed
from tests.compare import close, random_parameters
from tests.generate import Case, cases
from tests.profile import draws
from tests.reference_gradients import value_and_grad


def written_out(block: Any, float_type: str | None = None) -> Typed:
    """The typed expression in which each place is an occurrence of its own."""
    apart = {id(part) for part in parts_first(block)}
    try:
        return Inference(block, float_type, apart).infer(None)
    except ar.ArrowTypeError:  # a layer stands on several types
        return Inference(block, float_type, apart, layers_share_types=False).infer(None)


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
    one, other = (value_and_grad(t, case.examples, lookup, **options) for t in (once, apart))
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


@draws(10, 1500)
@given(data=st.data())
def test_what_stands_twice_gives_the_numbers_of_each_place(data: st.DataObject) -> None:
    production = data.draw(st.sampled_from(["repeated", "repeated_effect", None]))
    both_ways(data.draw(cases(production=production, depth=2)))


def test_each_place_has_a_mask_of_its_own() -> None:
    read, drop = ar.Vector(8), ar.Function(lambda x: ar.ops.dropout(x, 0.5))
    model = ar.compile((read >> drop & read >> drop) >> ar.Function(lambda a, b: ar.ops.stack([a, b])))
    for a, b in model([[1.0] * 8] * 9, training=True).tolist():
        assert a != b


@pytest.mark.parametrize("where", ["repeated", "in a chain", "fanned out", "zipped", "of the example"])
def test_each_block_that_reads_an_iterator_reads_all_of_it(where: str) -> None:
    """A function that stands at several places runs once, and what it gives may be an iterator."""
    numbers = ar.InputTransform(lambda text: map(float, text.split()))
    rows = ar.InputTransform(lambda text: (map(float, text.split()) for _ in range(2)))
    total = ar.Map(ar.Scalar()) >> ar.Sum()
    top = ar.Map(ar.Scalar()) >> ar.Max(default=0)
    zipped, again = (ar.Zip() >> ar.Map(ar.GetItem(0) >> ar.Scalar()) for _ in range(2))
    blocks: dict[str, Any] = {
        "repeated": (numbers >> total) & (numbers >> top),
        "in a chain": (ar.Identity() >> numbers >> total) & (ar.Identity() >> numbers >> top),
        "fanned out": numbers >> (total & top),
        "zipped": (rows >> zipped >> ar.Sum()) & (rows >> again >> ar.Max(default=0)),
        "of the example": ar.GetItem(0) >> (total & top),
    }
    model = ar.compile(blocks[where])
    for _ in range(2):
        texts = ["1 2 3", "4 5", ""]
        examples = [[map(float, text.split())] for text in texts] if where == "of the example" else texts
        sums, tops = model(examples)
        assert (sums.tolist(), tops.tolist()) == ([6, 9, 0], [3, 5, 0])
    example = [map(float, ["1", "2"])] if where == "of the example" else "1 2"
    assert [float(x) for x in model.eval(example)] == [3, 2]
