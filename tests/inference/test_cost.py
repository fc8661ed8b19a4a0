"""What inference costs: each function runs once for each type, and errors cost in proportion to the block."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, strategies as st

import arrows as ar
from arrows.typesys import ArrowTypeError
from tests.profile import draws


class Noted:
    """A function of tensors that notes the types that it is run on."""

    def __init__(self, compute: Callable[..., Any]) -> None:
        self.compute = compute
        self.types: list[str] = []

    def __call__(self, *items: Any) -> Any:
        self.types.append(", ".join(str(x.type) for x in items))
        return self.compute(*items)


def product(*items: Any) -> Any:
    return items[0] @ items[-1]


@draws(60, 1000)
@given(data=st.data())
def test_a_function_runs_once_for_each_type(data: st.DataObject) -> None:
    """Also where there is an error, a layer in several places, a guess what was meant, a random number."""
    noted = Noted(data.draw(st.sampled_from([product, lambda *items: items[0] * 2.0])))
    function = ar.Function(noted)
    read = data.draw(
        st.sampled_from(
            [
                ar.GetItem(0) >> ar.Vector(2) & ar.GetItem(1) >> ar.Tensor([3, 2]),
                ar.GetItem(0) >> ar.Tensor([3, 2]) & ar.GetItem(1) >> ar.Vector(2),
                ar.AllOf(ar.Record({"a": ar.Vector(2)})),
                ar.Vector(2),
                ar.Map(ar.Vector(2)),
            ]
        )
    )
    block = read >> function
    around = data.draw(st.lists(st.sampled_from(["layer", "dropout", "twice", "fan", "map", "error"])))
    layer = ar.FC(2)
    for kind in around:
        if kind == "layer":
            block = ar.AllOf(block, ar.Vector(4) >> layer, ar.Vector(4) >> layer)
        elif kind == "dropout":
            block = ar.AllOf(block, ar.Vector(4) >> ar.Dropout(0.5))
        elif kind == "twice":
            block = ar.AllOf(block, read >> function)
        elif kind == "fan":
            block = block & block
        elif kind == "map":
            block = ar.Map(block)
        else:
            block = ar.AllOf(block, ar.Scalar() >> layer, ar.Vector(4) >> layer)
    with contextlib.suppress(ArrowTypeError):
        ar.infer(block)
    assert len(set(noted.types)) == len(noted.types), noted.types


def test_a_failure_is_remembered_beside_a_layer_in_two_places() -> None:
    noted = Noted(product)
    pair = ar.GetItem(0) >> ar.Vector(2) & ar.GetItem(1) >> ar.Tensor([3, 2])
    layer = ar.FC(2)
    block = ar.AllOf(pair >> ar.Function(noted), ar.Vector(4) >> layer, ar.Vector(4) >> layer)
    with pytest.raises(ArrowTypeError, match="the other way round"):
        ar.infer(block)
    assert noted.types == ["float32[2], float32[3, 2]", "float32[3, 2], float32[2]"]


def calls(block: Any) -> int:
    """How many Python functions inference calls."""
    count = 0

    def note(frame: object, event: str, arg: object) -> None:
        nonlocal count
        count += event == "call"

    sys.setprofile(note)
    try:
        ar.infer(block)
    except ArrowTypeError:
        pass
    finally:
        sys.setprofile(None)
    return count


AROUND: dict[str, Callable[[Any], Any]] = {
    "maps": lambda block: ar.Map(block & ar.Void()),
    "chains": lambda block: ar.AllOf(block >> ar.Identity()),
    "choices": lambda block: ar.Optional(block),
    "recursions": lambda block: ar.fix(lambda me: ar.OneOf(len, [block, ar.GetItem(0) >> me])),
}


def inside(around: str, block: Any, n: int) -> Any:
    """A block that stands so deep in others, or beside so many."""
    if around == "a fan":
        return ar.AllOf(*[ar.Vector(3)] * n, block)
    if around == "a chain":
        return ar.Pipe(block, *[ar.Identity()] * n)
    for _ in range(n):
        block = AROUND[around](block)
    return block


WRONG = {
    "a layer that takes no object": ar.Scalar() >> ar.FC(2),
    "a clash of sizes": ar.Vector(3) >> ar.FC(2) >> ar.Function(lambda x: x) >> ar.Vector(3),
    "a swapped pair": (ar.GetItem(0) >> ar.Vector(2) & ar.GetItem(1) >> ar.Tensor([3, 2]))
    >> ar.Function(product),
    "a lost key": ar.OneOf(len, [ar.Record({"a": ar.Scalar()}), ar.Record({"b": ar.Scalar()})])
    >> ar.GetItem("a"),
    "an open type": ar.Optional(ar.fix(lambda me: ar.GetItem(0) >> me)),
}


@pytest.mark.parametrize("around", [*AROUND, "a fan", "a chain"])
@pytest.mark.parametrize("wrong", WRONG)
def test_an_error_costs_in_proportion_to_the_block(wrong: str, around: str) -> None:
    """Twice the depth is twice the calls, and no more than a few times what success costs."""
    short, long = (calls(inside(around, WRONG[wrong], n)) for n in (60, 120))
    assert long < 2.5 * short
    assert long < 4 * calls(inside(around, ar.Vector(3) >> ar.FC(2), 120)) + 5_000
