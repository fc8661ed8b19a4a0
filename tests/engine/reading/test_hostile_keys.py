"""Keys and elements that cannot be hashed, and containers that have more elements than fits in memory."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest

import arrows as ar


class Unhashable:
    """Nothing of it can be relied on."""

    def __hash__(self) -> int:
        raise RuntimeError("no hash today")

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("no comparison today")

    def __repr__(self) -> str:
        raise RuntimeError("no text today")


class Fickle(Unhashable):
    """It can be hashed, and not compared."""

    def __hash__(self) -> int:
        return hash(0)


MADE: dict[str, Callable[[Any], Any]] = {
    "case": lambda key: ar.OneOf(len).case(0, ar.Scalar()).case(key, ar.Scalar()),
    "cases": lambda key: ar.OneOf(len, [(0, ar.Scalar()), (key, ar.Scalar())]),
    "record": lambda key: ar.Record([(0, ar.Scalar()), (key, ar.Scalar())]),
    "elements": lambda key: ar.OneHotFromList([0, key]),
}


@pytest.mark.parametrize("bad", [Unhashable, Fickle])
@pytest.mark.parametrize("make", MADE.values(), ids=MADE)
def test_a_key_that_cannot_be_hashed_is_told_at_once(make: Callable[[Any], Any], bad: type[Any]) -> None:
    with pytest.raises(
        ar.ArrowTypeError, match=r"a value of type .* cannot be hashed: it raised RuntimeError"
    ):
        make(bad())


@pytest.mark.parametrize("bad", [Unhashable, Fickle])
def test_a_key_of_the_data_that_cannot_be_hashed_is_told(bad: type[Any]) -> None:
    number = ar.GetItem(1) >> ar.Scalar()
    for block in (ar.OneOf(lambda x: x[0], {0: number}), ar.OneOf(ar.GetItem(0), {0: number})):
        model = ar.compile(block)
        for run in (lambda m=model: m([(0, 1), (bad(), 1)]), lambda b=block: b.eval((bad(), 1))):
            with pytest.raises(
                ar.InputError, match=r"there is no case for the key a value of type .*; there are 0"
            ) as told:
                run()
            assert "OneOf" in str(told.value)
        assert model([(0, 1)]).tolist() == [1]


MANY = range(10**9)
OVER: dict[str, tuple[Any, Any]] = {
    "map": (ar.Map(ar.Scalar()) >> ar.Sum(), MANY),
    "nothing read": (ar.Map(ar.Constant(1.0)) >> ar.Sum(), MANY),
    "objects": (ar.Map(ar.Identity()) >> ar.Length(), MANY),
    "fold": (ar.Fold(ar.GetItem(0), ar.Zeros([])), MANY),
    "scan": (ar.Scan(ar.GetItem(1) & ar.GetItem(1), ar.Zeros([])) >> ar.GetItem(1), MANY),
    "zip": (ar.Zip() >> ar.Map(ar.GetItem(0) >> ar.Scalar()) >> ar.Sum(), (MANY, MANY)),
    "zip of two": (
        (ar.GetItem(0) & ar.GetItem(1)) >> ar.Zip() >> ar.Map(ar.GetItem(0) >> ar.Scalar()) >> ar.Sum(),
        (MANY, MANY),
    ),
    "inside": (ar.Map(ar.GetItem("of") >> ar.Map(ar.Scalar()) >> ar.Sum()) >> ar.Sum(), [{"of": MANY}]),
    "more than a machine word": (ar.Map(ar.Scalar()) >> ar.Sum(), range(10**30)),
}


@pytest.mark.parametrize(("block", "example"), OVER.values(), ids=OVER)
def test_more_elements_than_nodes_are_refused_before_they_are_read(block: Any, example: Any) -> None:
    model = ar.compile(block, max_nodes=1000)
    for run in (lambda: model([example]), lambda: model.eval(example), lambda: model.prepare([example])):
        with pytest.raises(ar.InputError, match="more than 1,000 elements; raise max_nodes if it is meant"):
            run()


@pytest.mark.parametrize("block", [ar.Vector(3), ar.Scalar()])
def test_a_list_of_another_length_is_not_converted(block: Any) -> None:
    model = ar.compile(block)
    tracemalloc.start()
    try:
        with pytest.raises(ar.InputError, match="got a value of type range"):
            model([range(10**7)])
        assert tracemalloc.get_traced_memory()[1] < 10**7  # all numbers would take 80 MB
    finally:
        tracemalloc.stop()
