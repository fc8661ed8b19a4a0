"""A block that stands at several places on the same value is one occurrence, however often it is repeated."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import pytest

import arrows as ar

LEVELS = 60
"""Twice as often at each of them: 2**60 places, which nothing could go through."""


def _half(a: Any, b: Any) -> Any:
    return (a + b) * 0.5


half = ar.Function(_half)
first = ar.GetItem(0)

DOUBLED: dict[str, Callable[[Any], Any]] = {
    "and": lambda b: (b & b) >> half,
    "all of": lambda b: ar.AllOf(b, b >> ar.Identity()) >> half,
    "record": lambda b: ar.AllOf(b, b) >> first,
    "arrow": lambda b: ar.arrow(lambda x: half(b(x), b(x))),
    "named": lambda b: ar.Pipe(ar.AllOf(b, b), half, name="level"),
    "recursion": lambda b: ar.fix(lambda me: ar.OneOf(_always, {True: ar.AllOf(b, b) >> half, False: me})),
    "shared": lambda b: ar.shared((b & b) >> half),
    "case": lambda b: ar.OneOf(_always, {True: (b & b) >> half, False: ar.Scalar()}),
}


def _always(x: Any) -> bool:
    return True


def grown(kind: str, levels: int = LEVELS) -> Any:
    block: Any = ar.Scalar()
    for _ in range(levels):
        block = DOUBLED[kind](block)
    return block


def occurrences(block: Any) -> int:
    return sum(1 for _ in ar.infer(block).walk())


@pytest.mark.parametrize("kind", DOUBLED)
def test_twice_in_twice_is_as_large_as_what_was_written(kind: str) -> None:
    block = grown(kind)
    sizes = [occurrences(grown(kind, levels)) for levels in (20, 40, 60)]
    assert sizes[2] - sizes[1] == sizes[1] - sizes[0] <= 20 * 8
    model = ar.compile(block)
    assert model([1, 3]).tolist() == [1, 3] and float(block.eval(5)) == 5
    prepared = model.prepare([1, 3])
    assert len(prepared.wirings.site.values) == 2 * (1 + (LEVELS if kind != "record" else 0))
    assert float(model.value_and_grad(prepared)[0]) == 2
    with pytest.raises(ar.InputError, match="expected a number, got 'no'"):
        model(["no"])


@pytest.mark.nightly
@pytest.mark.parametrize("kind", DOUBLED)
def test_it_is_shown_copied_and_pickled_so(kind: str) -> None:
    block = grown(kind)
    text = repr(block)
    assert len(text) < 60_000
    assert len(str(ar.infer(block)).splitlines()) < 20 * LEVELS
    assert "(as above)" in str(ar.infer(block))
    assert block.label
    assert block._repr_html_()
    assert repr(copy.deepcopy(block)) == text
    assert repr(pickle.loads(pickle.dumps(block))) == text


WIDE: dict[str, Callable[[], Any]] = {
    "all of": lambda: _wide(ar.Scalar(), lambda b: ar.AllOf(b, b)),
    "objects": lambda: _wide(ar.Identity(), lambda b: b & b),
    "objects into a function": lambda: (
        _wide(ar.Identity(), lambda b: ar.AllOf(b, b)) >> ar.InputTransform(len)
    ),
    "objects and numbers": lambda: _wide(ar.Identity() & ar.Scalar(), lambda b: ar.AllOf(b, b)) >> first,
    "elements": lambda: ar.Map(_wide(ar.Identity(), lambda b: b & b)) >> ar.Map(first),
    "state": lambda: ar.Fold(_wide(ar.GetItem(1), lambda b: ar.AllOf(b, b)) >> ar.Scalar(), ar.Zeros([])),
    "constants": lambda: _wide(ar.Zeros([2]), lambda b: ar.AllOf(b, b)),
}


def _wide(block: Any, double: Callable[[Any], Any]) -> Any:
    for _ in range(LEVELS):
        block = double(block)
    return block


@pytest.mark.parametrize("kind", WIDE)
def test_a_type_of_so_many_parts_is_refused(kind: str) -> None:
    with pytest.raises(ar.ArrowTypeError, match=r"here are more than 100,000 parts") as told:
        ar.compile(WIDE[kind]())
    assert "test_repeats.py" in str(told.value) and len(str(told.value)) < 3000


@pytest.mark.nightly
def test_what_has_so_many_places_on_values_of_their_own_is_refused() -> None:
    block: Any = ar.InputTransform(len)
    for _ in range(LEVELS):
        block = ar.Pipe(block, block, name="again")
    with pytest.raises(ar.ArrowTypeError, match="more than 500,000 places") as told:
        ar.infer(block)
    assert "again" in str(told.value) and "@ar.arrow" in str(told.value)


def test_what_is_one_occurrence() -> None:
    f, g = ar.GetItem("f") >> ar.Scalar(), ar.Function(lambda x: x * 2)
    total = ar.Function(lambda *xs: sum(xs[1:], xs[0]))

    def places(block: Any, form: Any) -> int:
        return sum(t.form is form for t in ar.infer(block).walk())

    scalar = f.parts[1]
    assert places((f & f >> g) >> total, scalar) == 1  # the beginning of a chain
    assert places(ar.AllOf(ar.AllOf(f, f >> g) >> total, f) >> total, scalar) == 1  # deeper, and then above
    assert places((f & ar.GetItem("f") >> scalar) >> total, scalar) == 2  # another GetItem: another value
    assert places((ar.GetItem(0) >> f & ar.GetItem(1) >> f) >> total, scalar) == 2
    choice = ar.OneOf(len, {0: (f & f) >> total, 1: f})
    assert places((f & choice) >> total, scalar) == 3  # each case has values of its own
    assert places(ar.Map((f & f) >> total), scalar) == 1
    assert places((ar.Map(f) & ar.Map(f)), scalar) == 2  # two blocks
    assert places(ar.arrow(lambda x: total(f(x), g(f(x)), total(f(x), f(x)), total(f(x), f(x)))), total) == 2
    key = ar.InputTransform(len)
    assert places((ar.OneOf(key, {0: f}) & ar.OneOf(key, {0: f >> g})) >> total, key) == 1


def test_effects_happen_at_each_place() -> None:
    read = ar.Scalar()
    scored = (read & read >> ar.Metric("m")) >> ar.GetItem(0)
    typed = ar.infer((scored & scored & read) >> ar.Sum())
    assert sum(t.form.kind == "Metric" for t in typed.walk()) == 2
    assert sum(t.form is read for t in typed.walk()) == 1
    model = ar.compile((scored & scored & read) >> ar.Sum(), loss="m")
    model([2, 3])
    assert model.metrics["m"].tolist() == [[2, 2], [3, 3]]

    tapped = read >> ar.Tap("t")
    model = ar.compile((tapped & tapped) >> ar.Sum())
    model([2])
    assert model.taps["t"].tolist() == [[2, 2]]


def test_a_reference_has_the_effects_of_what_it_stands_for() -> None:
    leaf = (ar.Scalar() & ar.Scalar() >> ar.Metric("m")) >> ar.GetItem(0)
    by_fix = ar.fix(
        lambda me: ar.OneOf(
            lambda x: isinstance(x, list), {True: ar.GetItem(0) >> (me & me) >> ar.Sum(), False: leaf}
        )
    )
    several, _ = ar.fix(
        lambda a, b: (
            ar.OneOf(
                lambda x: isinstance(x, list), {True: ar.GetItem(0) >> (b & b) >> ar.Sum(), False: leaf}
            ),
            a,
        )
    )
    for block in (by_fix, several):
        model = ar.compile(block)
        assert model([[[3]]]).tolist() == [12]
        assert model.metrics["m"].tolist() == [[3, 3, 3, 3]]


def test_without_effects_a_recursion_on_one_value_runs_once() -> None:
    calls: list[int] = []

    def seen(x: Any) -> Any:
        calls.append(1)
        return x

    deep: Any = 1
    for _ in range(50):
        deep = [deep]
    tree = ar.fix(
        lambda me: ar.OneOf(
            lambda x: isinstance(x, list),
            {True: ar.GetItem(0) >> (me & me) >> half, False: ar.InputTransform(seen) >> ar.Scalar()},
        )
    )
    assert float(tree.eval(deep)) == 1 and len(calls) == 1  # not 2**50 times
    assert ar.compile(tree)([deep]).tolist() == [1] and len(calls) == 2


def test_an_error_names_the_first_place() -> None:
    wrong = ar.Vector(3) >> ar.Function(lambda x: x @ x.T.reshape(2))
    with pytest.raises(ar.ArrowTypeError, match="part 1 of 2 > step 2 of 2"):
        ar.infer(ar.AllOf(wrong, wrong >> half))
    with pytest.raises(ar.ArrowTypeError, match="part 1 of 2 > step 1 of 2 > part 1 of 1 > step 2 of 2"):
        ar.infer(ar.AllOf(ar.AllOf(wrong) >> first, wrong))
