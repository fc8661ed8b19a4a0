"""Records of every kind: mappings, objects with attributes, dataclasses, NamedTuples, TypedDicts."""

from __future__ import annotations

import types
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest

import arrows as ar
from arrows.engine.planning import SCHEDULES
from arrows.engine.values import Labelled


@dataclass
class Word:
    word: int


@dataclass(frozen=True, slots=True)
class Pair:
    left: Any
    right: Any


class Named(NamedTuple):
    left: Any
    right: Any


class Other(NamedTuple):
    a: Any
    b: Any


class Slotted:
    """Attributes in slots, one of them by a property."""

    __slots__ = ("_both",)

    def __init__(self, left: Any, right: Any) -> None:
        self._both = left, right

    @property
    def left(self) -> Any:
        return self._both[0]

    @property
    def right(self) -> Any:
        return self._both[1]


class Indexed:
    """What can be indexed is, whatever attributes it has."""

    left = right = "an attribute"

    def __init__(self, left: Any, right: Any) -> None:
        self.items = {"left": left, "right": right}

    def __getitem__(self, key: str) -> Any:
        return self.items[key]


def plain(left: Any, right: Any) -> Any:
    return {"left": left, "right": right}


def namespace(left: Any, right: Any) -> Any:
    return types.SimpleNamespace(left=left, right=right)


def mapping(left: Any, right: Any) -> Any:
    return types.MappingProxyType({"left": left, "right": right})


def labelled(left: Any, right: Any) -> Any:
    """What a model itself hands out."""
    return Labelled((left, right), ("left", "right"))


KINDS = [plain, Pair, Named, Slotted, Indexed, namespace, mapping, labelled]
everywhere = pytest.mark.parametrize("schedule", SCHEDULES)
every_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)

table = ar.Embedding(4, 3, name="words")


@ar.fix
def tree(me: Any) -> Any:
    leaf = ar.GetItem("word") >> ar.Scalar("int32") >> table
    pair = ar.Record({"left": me, "right": me}) >> ar.Function(lambda a, b: ar.ops.tanh(a + b * 0.5))
    return ar.OneOf(lambda t: isinstance(t, Word)).case(True, leaf).case(False, pair)


score = tree >> ar.Function(lambda x: x.sum())


@everywhere
@every_kind
def test_every_kind_of_record_means_the_same(kind: Any, schedule: str) -> None:
    def grown(kind: Any) -> list[Any]:
        return [kind(Word(1), kind(Word(2), Word(3))), Word(0), kind(kind(Word(1), Word(1)), Word(2))]

    model = ar.compile(score, schedule=schedule)
    value, grads = model.value_and_grad(grown(kind))
    assert np.allclose(model(grown(kind)), [model.eval(example) for example in grown(kind)])
    same, as_dicts = model.value_and_grad(grown(plain))
    assert value == same
    assert np.array_equal(grads["words/weight"].to_dense(np), as_dicts["words/weight"].to_dense(np))


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
        (Slotted.__new__(Slotted), r"the item 'left': AttributeError: .*_both"),
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
