"""Recursion over several blocks: what two definitions share, and how many there may be."""

from __future__ import annotations

import time
from typing import Any

import pytest

import arrows as ar
from arrows.engine.planning import SCHEDULES


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_layer_of_two_definitions_is_one_operation(schedule: str) -> None:
    layer = ar.FC(2, name="layer")

    def node(other: Any) -> Any:
        return (ar.GetItem(0) >> ar.Vector(2) & ar.GetItem(1) >> ar.Optional(other)) >> ar.Sum() >> layer

    even, _ = ar.fix(lambda even, odd: (node(odd), node(even)))
    model = ar.compile(even, schedule=schedule)
    names = [one.name for one in model.plan.operations if one.computes]
    assert sum("layer" in name for name in names) == 1
    assert list(model.params) == ["layer/weight", "layer/bias"]


@pytest.mark.nightly
def test_thousands_of_definitions_compile_and_run() -> None:
    count, halve = 4_000, ar.Function(lambda x: x * 0.5)
    declarations = [ar.ForwardDeclaration(name=f"d{i}") for i in range(count)]
    references = [d() for d in declarations]
    for i, declaration in enumerate(declarations):
        following = ar.GetItem(0) >> references[(i + 1) % count] >> halve
        declaration.resolve_to(ar.OneOf(bool).case(False, ar.Constant(1.0)).case(True, following))
    start = time.process_time()
    model = ar.compile(references[0])
    assert model([[[[]]], []]).tolist() == [0.25, 1.0]
    assert time.process_time() - start < 120
