"""A layer that stands on several types: allowed where its parameters are the same for all."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import arrows as ar
from arrows import ops
from arrows.typesys import ArrowTypeError, types as T
from tests.agree import agree

PAIR = ar.GetItem(0) >> ar.Vector(3), ar.GetItem(1) >> ar.Vector(2)


class Scale(ar.Layer[Any, Any]):
    """A number times anything; what its parameter is may depend on the type."""

    def __init__(self, make: Callable[[T.Tensor], tuple[ops.Parameter, ...]]) -> None:
        super().__init__()
        self.make = make

    def parameters(self, input: Any) -> tuple[ops.Parameter, ...]:
        return self.make(input)

    def forward(self, parameters: Any, *args: Any) -> Any:
        return args[0] * parameters["scale"]


def times(factor: float) -> Callable[..., Any]:
    return lambda generator, shape, dtype: np.full(shape, factor, dtype)


def scale(initializer: Any, shape: tuple[int, ...] = (), trainable: bool = True) -> tuple[ops.Parameter, ...]:
    return (ops.Parameter("scale", shape, "float32", initializer, trainable),)


def both(layer: Any) -> Any:
    return PAIR[0] >> layer & PAIR[1] >> layer


SAME = {
    "one initializer": lambda t: scale(ar.initializers.ones),
    "functions made anew": lambda t: scale(times(0.5)),
}
DIFFERENT = {
    "shapes": (lambda t: scale(ar.initializers.ones, t.shape), "float32[3] at ..., and float32[2] at ..."),
    "trained or not": (
        lambda t: scale(ar.initializers.ones, (), t.shape == (3,)),
        "trained at ..., and frozen at ...",
    ),
}


@pytest.mark.parametrize("kind", SAME)
def test_a_layer_stands_on_several_types_where_its_parameters_are_the_same(kind: str) -> None:
    layer = Scale(SAME[kind])
    typed = ar.infer(both(layer))
    assert typed.output == T.as_type(([3], [2]))
    model = ar.compile(both(layer))
    assert list(model.params) == ["Scale_1/scale"]


@pytest.mark.parametrize("kind", DIFFERENT)
@pytest.mark.parametrize("place", ["block", "Function", "one Function"])
def test_else_both_places_and_both_parameters_are_named(kind: str, place: str) -> None:
    make, words = DIFFERENT[kind]
    layer = Scale(make)
    a, b = words.split(", and ")
    if place == "one Function":
        block = (PAIR[0] & PAIR[1]) >> ar.Function(lambda x, y: (layer(x), layer(y)))
        with pytest.raises(ArrowTypeError) as caught:
            ar.infer(block)
        text = " ".join(str(caught.value).split())
        assert "is called on two types for which its parameter 'scale' comes out differently" in text
        assert f"{a.removesuffix(' at ...')} at test_layer_types.py:" in text
        assert f"{b.removesuffix(' at ...')} here" in text
        return
    used: Any = layer if place == "block" else None
    # Two Functions, since one of them would have to be one occurrence on two types.
    functions = [used if place == "block" else ar.Function(lambda x: layer(x)) for _ in PAIR]
    with pytest.raises(ArrowTypeError) as caught:
        ar.infer(PAIR[0] >> functions[0] & PAIR[1] >> functions[1])
    text = " ".join(str(caught.value).split())
    assert "parameter 'scale' would be " + a.replace("...", "part 1 of 2 > step 3 of 3") in text
    assert b.replace("...", "part 2 of 2 > step 3 of 3") in text


def test_an_error_elsewhere_is_not_blamed_on_the_layer() -> None:
    layer = Scale(SAME["one initializer"])
    with pytest.raises(ArrowTypeError, match="cannot apply FC") as caught:
        ar.infer(both(layer) & ar.GetItem(0) >> ar.Scalar() >> ar.FC(2))
    assert "several types" not in str(caught.value)


def test_a_place_that_stays_open_takes_the_type_of_another() -> None:
    """What one place says counts for another, though a third one has another type."""
    table = ar.Embedding(5, 2)
    known = ar.GetItem(0) >> ar.Scalar("int32") >> table & ar.GetItem(1) >> ar.Vector(2, "int64") >> table
    step = ar.arrow(lambda state, x: (ar.Function(ops.tanh)(state), table(x)))
    last = ar.GetItem(2) >> ar.Fold(step >> ar.Function(lambda s, x: s + x), ar.Zeros([2]))
    with pytest.raises(ArrowTypeError):
        ar.infer(known & last)  # a Python object at the third place, which no other place can make a number
    loose = ar.GetItem(2) >> ar.Scalar("int32") >> ar.Identity() >> table
    assert ar.infer(known & loose).output == T.as_type(([2], [2, 2], [2]))


def test_one_layer_on_two_types_computes_and_learns() -> None:
    table, norm, xent = ar.Embedding(5, 3), Scale(SAME["functions made anew"]), ar.SoftmaxCrossEntropy()
    word = ar.GetItem("word") >> ar.Scalar("int32") >> table
    words = ar.GetItem("words") >> ar.Vector(2, "int64") >> table
    flat = words >> norm >> ar.Function(lambda x: ar.ops.reshape(x, (6,)))
    label = ar.GetItem("label") >> ar.Scalar("int32")
    block = ((word >> norm & label) >> xent & (flat & label) >> xent) >> ar.Sum()
    examples = [{"word": 1, "words": [2, 1], "label": 2}, {"word": 4, "words": [0, 0], "label": 0}]
    agree(block, examples)
