"""Ill-typed expressions are refused before anything runs, all of them, with an error that says why."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import assume, given, strategies as st

import arrows as ar
from arrows.combinators import parts_first, title
from arrows.engine.planning import parameters as params
from arrows.inference.messages import NAME
from tests.generate import PRODUCTIONS, cases
from tests.generation import parts
from tests.generation.build import Build
from tests.mutations import additions, later, structure, tensors
from tests.mutations.mutation import TABLE, Mutation, expression, planted, replaced
from tests.mutations.nodes import EXCHANGES, Exchange
from tests.profile import NIGHTLY, draws

FILES = (structure, tensors, later, additions)
EACH = (4, 60)

SITE = re.compile(r"\b\w+\.py:\d+")


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the parameters whose first values are made."""
    names: list[str] = []
    first_values = params.first_values

    def noted(spec: Any, seed: int, name: str, owner: object) -> Any:
        names.append(name)
        return first_values(spec, seed, name, owner)

    monkeypatch.setattr(params, "first_values", noted)
    return names


def refused(block: Any, check: Any) -> str:
    """The text with which a block is refused."""
    with pytest.raises((ar.ArrowTypeError, ar.ArrowValueError)) as caught:
        check(block())
    return str(caught.value)


@pytest.mark.parametrize("mutation", TABLE, ids=lambda m: f"{m.kind} {m.name}")
def test_mutants_are_refused(mutation: Mutation, made: list[str], record_property: Any) -> None:
    mutants = 0

    @draws(*EACH, mutation.name)
    @given(data=st.data())
    def mutant(data: st.DataObject) -> None:
        nonlocal mutants
        build = Build(data.draw)
        good, bad = mutation.make(build)
        alone = build.one_of(True, False)
        good = planted(good, alone)
        around = expression(build, good, build.one_of(2, 0, 1, 3))
        ar.infer(around)
        before = len(parts.runs), len(made)
        for check in (ar.infer, ar.compile):
            text = refused(lambda: replaced(around, good, planted(bad(), alone)), check)
            assert SITE.search(text), text
            assert len(text.splitlines()) > 1 and text.startswith("cannot "), text
            assert not alone or not mutation.told(text), f"{mutation.told(text)} is not in\n{text}"
        assert (len(parts.runs), len(made)) == before, "something ran"
        mutants += 1

    mutant()
    record_property("mutants", mutants)
    assert mutants >= EACH[NIGHTLY] * 9 // 10


@pytest.mark.parametrize("exchange", EXCHANGES, ids=lambda e: e.name)
def test_broken_expressions_are_refused(exchange: Exchange, made: list[str], record_property: Any) -> None:
    """One block of a random expression is exchanged for another that cannot stand there."""
    mutants = 0

    @draws(*EACH, exchange.name)
    @given(data=st.data())
    def mutant(data: st.DataObject) -> None:
        nonlocal mutants
        outermost = data.draw(st.sampled_from(exchange.within or PRODUCTIONS))
        case = data.draw(cases(production=outermost))
        places = [block for block in parts_first(case.block) if exchange.fits(block)]
        assume(places)
        place = data.draw(st.sampled_from(places))
        ar.infer(case.block)
        before = len(parts.runs), len(made)
        for check in (ar.infer, ar.compile):
            text = refused(lambda: replaced(case.block, place, exchange.broken(place)), check)
            named = (*parts_first(case.block), *parts_first(exchange.broken(place)))
            assert any(title(block, NAME) in text for block in named), text
            assert SITE.search(text), text
            assert len(text.splitlines()) > 1 and text.startswith("cannot "), text
        assert (len(parts.runs), len(made)) == before, "something ran"
        mutants += 1

    mutant()
    record_property("mutants", mutants)
    assert mutants >= EACH[NIGHTLY] * 8 // 10


def test_what_runs_is_seen(made: list[str]) -> None:
    """Nothing above would be proven if nobody noticed."""
    block = ar.InputTransform(parts.watched(lambda x: x)) >> ar.Vector(3) >> ar.FC(2)
    before = len(parts.runs)
    model = ar.compile(block)
    assert made == ["FC_1/weight", "FC_1/bias"]
    assert len(parts.runs) == before
    model([[1, 2, 3]])
    assert len(parts.runs) == before + 1


@pytest.mark.parametrize("production", PRODUCTIONS)
@draws(2, 20)
@given(data=st.data())
def test_the_well_typed_stay_so(production: str, data: st.DataObject) -> None:
    """A block exchanged for its like changes nothing, wherever it stands."""
    build = Build(data.draw, first=production)
    good = planted(ar.Vector(parts.WIDTH), alone=False)
    around = expression(build, good, 2)
    like = planted(ar.Vector(parts.WIDTH), alone=False)
    other = replaced(around, good, like)
    assert ar.infer(other).output == ar.infer(around).output
    assert other is not around
