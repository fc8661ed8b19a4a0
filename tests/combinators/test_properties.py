"""Random well-typed expressions infer what they were built to have; broken ones are refused."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import arrows as ar
from arrows.typesys import ArrowTypeError
from arrows.typesys import types as T
from tests.combinators.kit import FC

INPUT = T.Input()
TENSORS = st.sampled_from(
    [T.Tensor(()), T.Tensor((2,)), T.Tensor((3,)), T.Tensor((2, 3)), T.Tensor((), "int32")]
)


@st.composite
def outputs(draw: Any, depth: int = 2) -> T.Type:
    """A type without an Input inside."""
    kind = draw(st.integers(0, 4 if depth else 1))
    if kind <= 2:
        return draw(TENSORS)
    if kind == 3:
        return T.Tuple(draw(st.lists(outputs(depth - 1), min_size=1, max_size=3)))
    return T.Sequence(draw(outputs(depth - 1)))


@st.composite
def readers(draw: Any, t: T.Type, depth: int) -> Any:
    """A block from Input to `t`."""
    choices = ["direct"]
    if depth:
        choices += ["field", "choice", "optional", "identity", "fix", "arrow", "shared", "item"]
    kind = draw(st.sampled_from(choices))
    deeper = readers(t, depth - 1)
    if kind == "field":
        return ar.GetItem(draw(st.sampled_from(["a", 0]))) >> draw(deeper)
    if kind == "choice":
        return ar.OneOf(len).case(0, draw(deeper)).case(1, draw(deeper))
    if kind == "optional":
        return ar.Optional(draw(deeper))
    if kind == "identity":
        return ar.Identity() >> draw(deeper) >> ar.Identity()
    if kind == "shared":
        return ar.shared(draw(deeper))
    if kind == "item":
        other = draw(readers(draw(TENSORS), depth - 1))
        pair = draw(st.sampled_from([lambda a, b: a & b, lambda a, b: {"x": a, "y": b}, ar.AllOf]))(
            draw(deeper), other
        )
        return pair >> ar.GetItem(0)
    if kind == "fix":
        leaf, through = draw(deeper), draw(st.booleans())

        def definition(me: Any) -> Any:
            again = ar.GetItem(0) >> me
            again = again >> ar.Identity() if through else again
            first, second = (leaf, again) if draw(st.booleans()) else (again, leaf)
            return ar.OneOf(len).case(0, first).case(1, second)

        return ar.fix(definition)
    if kind == "arrow":
        block = draw(deeper)

        def body(x: Any) -> Any:
            ar.Metric("seen")(ar.Zeros([])(x))
            return ar.Identity()(block(x))

        return ar.arrow(body)
    return draw(direct(t, depth))


@st.composite
def direct(draw: Any, t: T.Type, depth: int) -> Any:
    """A block from Input to `t`, by the shape of `t`."""
    if isinstance(t, T.Tuple):
        parts = [draw(readers(x, max(depth - 1, 0))) for x in t.items]
        if draw(st.booleans()):
            return ar.Record(dict(zip("abc", parts, strict=False)))
        return ar.AllOf(*parts)
    if isinstance(t, T.Sequence):
        return ar.Map(draw(readers(t.element, max(depth - 1, 0))))
    assert isinstance(t, T.Tensor)
    kind = draw(st.sampled_from(["read", "zeros", "function", "sum", "fold", "scan", "rnn"]))
    if kind == "zeros":
        return ar.Zeros(t)
    if depth and kind == "function":
        return draw(readers(t, depth - 1)) >> ar.Function(lambda x: x * 2)
    if depth and kind == "sum":
        return ar.Map(draw(readers(t, depth - 1))) >> ar.Sum()
    if depth and kind == "fold":
        elements = ar.Map(draw(readers(t, depth - 1)))
        return elements >> ar.Fold(ar.Function(lambda s, x: s + x), ar.Zeros(t))
    if depth and kind in ("scan", "rnn"):
        elements = ar.Map(draw(readers(t, depth - 1)))
        reverse = draw(st.booleans())
        if kind == "scan":
            step = ar.Function(lambda x, s: (x, s + x))
            return elements >> ar.Scan(step, ar.Zeros(t), reverse=reverse) >> ar.GetItem(1)
        outputs = elements >> ar.RNN(ar.Function(lambda x, s: s + x), ar.Zeros(t), reverse=reverse)
        return outputs >> ar.GetItem(0) >> ar.Sum()
    return ar.Tensor(list(t.shape), t.dtype)


@st.composite
def typed_readers(draw: Any) -> tuple[Any, T.Type]:
    t = draw(outputs())
    return draw(readers(t, draw(st.integers(0, 4)))), t


@given(typed_readers())
@settings(max_examples=300, deadline=None)
def test_well_typed_expressions_infer(case: tuple[Any, T.Type]) -> None:
    block, t = case
    typed = ar.infer(block)
    assert (typed.input, typed.output) == (INPUT, t)
    assert ar.infer(block).output == t  # inferring leaves nothing behind
    assert ar.infer(block >> ar.Identity()).output == t
    assert repr(block)


@dataclass(frozen=True)
class Breakage:
    what: str
    block: Any


@st.composite
def broken(draw: Any) -> Breakage:
    """A well-typed expression with one thing changed."""
    t = draw(TENSORS)
    other = draw(TENSORS.filter(lambda x: x != t))
    depth = draw(st.integers(0, 3))
    good, bad = draw(readers(t, depth)), draw(readers(other, depth))
    kind = draw(
        st.sampled_from(
            [
                *("size", "case", "fold", "key", "arity", "input", "sequence", "sum", "layer", "none"),
                *("state", "pair", "network", "zip", "zip with", "reverse"),
            ]
        )
    )
    if kind == "size":
        block = (good & bad) >> ar.Function(lambda x, y: x.reshape((*t.shape, 1)) @ y.reshape((7, 1)))
    elif kind == "case":
        block = ar.OneOf(len).case(0, good).case(1, bad)
    elif kind == "fold":
        block = ar.Map(good) >> ar.Fold(ar.GetItem(1), ar.Zeros(other))
    elif kind == "state":
        block = ar.Map(good) >> ar.Scan(ar.GetItem(1) & ar.GetItem(0), ar.Zeros(other))
    elif kind == "pair":
        block = ar.Map(good) >> ar.Scan(ar.GetItem(1), ar.Zeros(t))
    elif kind == "network":
        block = ar.Map(good) >> ar.RNN(ar.GetItem(0), ar.Zeros(other))
    elif kind == "zip":
        block = (ar.Map(good) & bad) >> ar.Zip()
    elif kind == "zip with":
        block = (ar.Map(good) & ar.Map(bad)) >> ar.ZipWith(ar.Sum())
    elif kind == "reverse":
        block = good >> ar.Reverse()
    elif kind == "key":
        block = ar.Record({"a": good, "b": bad}) >> ar.GetItem(draw(st.sampled_from(["c", 2, -3])))
    elif kind == "arity":
        block = (good & bad) >> ar.arrow(lambda x, y, z: (x, y, z))
    elif kind == "input":
        block = good >> ar.InputTransform(len)
    elif kind == "sequence":
        block = good >> ar.Map(ar.Identity())
    elif kind == "sum":
        block = (good & bad) >> ar.Sum()
    elif kind == "layer":
        dense = FC(3)
        block = ar.Vector(2) >> dense & ar.Vector(3) >> dense & good
    else:
        block = ar.Optional(good, ar.Zeros(other))
    return Breakage(kind, draw(wrapped(block, draw(st.integers(0, 3)))))


@st.composite
def wrapped(draw: Any, block: Any, depth: int) -> Any:
    """The block, deep inside another."""
    for _ in range(depth):
        kind = draw(st.sampled_from(["map", "field", "fan", "case", "shared"]))
        if kind == "map":
            block = ar.Map(block)
        elif kind == "field":
            block = {"x": block}
        elif kind == "fan":
            block = ar.AllOf(ar.Scalar(), block)
        elif kind == "case":
            block = ar.OneOf(len, [block, block])
        else:
            block = ar.shared(block)
    return block


@given(broken())
@settings(max_examples=300, deadline=None)
def test_broken_expressions_are_refused(case: Breakage) -> None:
    with pytest.raises(ArrowTypeError) as caught:
        ar.infer(case.block)
    lines = str(caught.value).splitlines()
    assert lines[0].startswith("cannot ")
    assert len(lines) > 2
    assert "test_properties.py:" in str(caught.value) or "kit.py" in str(caught.value)


@given(typed_readers(), typed_readers(), typed_readers())
@settings(max_examples=100, deadline=None)
def test_laws_of_types(a: tuple[Any, T.Type], b: tuple[Any, T.Type], c: tuple[Any, T.Type]) -> None:
    f, g, h = (x[0] for x in (a, b, c))
    assert ar.infer((f & g) >> ar.GetItem(1)).output == b[1]
    assert ar.infer((f & g & h) >> ar.GetItem(2)).output == c[1]
    assert (
        ar.infer(ar.Map(f)).output == ar.infer(ar.Map(ar.Identity()) >> ar.Map(f)).output == T.Sequence(a[1])
    )
    choice = ar.OneOf(len).case(0, f).case(1, f)
    tail = ar.Identity() & ar.Zeros([2])
    split = ar.OneOf(len).case(0, f >> tail).case(1, f >> tail)
    assert ar.infer(choice >> tail).output == ar.infer(split).output
