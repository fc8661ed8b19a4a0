"""Records of every kind: mappings, objects with attributes, dataclasses, NamedTuples, TypedDicts."""

from __future__ import annotations

import types
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, NamedTuple

import pytest

import arrows as ar
from arrows.engine.planning import SCHEDULES
from tests.generation.parts import Indexed


@dataclass
class Word:
    word: int


class Broken:
    """Its attribute is there, and cannot be had."""

    left = property(attrgetter("nothing"))


class Other(NamedTuple):
    a: Any
    b: Any


everywhere = pytest.mark.parametrize("schedule", SCHEDULES)


@pytest.mark.parametrize(
    ("example", "reason"),
    [
        (Word(1), r"there is no 'left' among the attributes word of a value of type Word"),
        (types.SimpleNamespace(lefts=1), r"there is no 'left' among the attributes lefts of a value of type"),
        (Other(1, 2), r"there is no 'left' among the attributes a, b of a Other of 2"),
        ({"lefts": 1}, r"there is no 'left' among the keys 'lefts'"),
        (None, r"expected something with the item 'left', got None"),
        (3, r"expected something with the item 'left', got 3"),
        ("left", r"expected something with the item 'left', got 'left'"),
        ((1, 2), r"expected something with the item 'left', got a tuple of 2"),
        (object(), r"expected something with the item 'left', got a value of type object"),
        (Indexed.__new__(Indexed), r"the item 'left': AttributeError: 'Indexed' object has no attribute"),
        (Broken(), r"the item 'left': AttributeError: .*nothing"),
    ],
)
@everywhere
def test_what_is_not_there_is_named(example: Any, reason: str, schedule: str) -> None:
    model = ar.compile(ar.Record({"left": ar.Scalar()}) >> ar.GetItem(0), schedule=schedule)
    for run in (model, model.prepare):
        with pytest.raises(
            ar.InputError, match=f"^example 1: {reason}(.|\n)*GetItem\\('left'\\).*test_items"
        ):
            run([{"left": 1}, example])
    with pytest.raises(ar.InputError, match=f"^{reason}"):
        model.eval(example)


@everywhere
def test_a_default_stands_for_what_is_not_there(schedule: str) -> None:
    def word(default: Any) -> Any:
        return ar.GetItem("word", default=default) >> ar.Optional(
            ar.Scalar("int32"), ar.Constant(-1, "int32")
        )

    for default, nothing in ((7, 7), (None, -1)):
        model = ar.compile(word(default), schedule=schedule)
        examples = [{"word": 3}, {}, {"word": None}, types.SimpleNamespace(), types.SimpleNamespace(word=4)]
        assert model(examples).tolist() == [3, nothing, -1, nothing, 4]
        assert model.prepare(examples)[[1, 0]] is not None
        assert [int(model.eval(x)) for x in examples] == [3, nothing, -1, nothing, 4]
    last = ar.compile(ar.GetItem(-1, default=0) >> ar.Scalar(), schedule=schedule)
    assert last([[1, 2], []]).tolist() == [2, 0]
    with pytest.raises(ar.InputError, match="expected something with the item 'word', got None"):
        model([None])
