"""Records of every kind: mappings, objects with attributes, dataclasses, NamedTuples, TypedDicts."""

from __future__ import annotations

import types
from dataclasses import dataclass
from typing import Any

import pytest

import arrows as ar
from arrows.engine.planning import SCHEDULES
from tests.agree import agree
from tests.generation.parts import RECORDS


@dataclass(slots=True)
class Fields:
    """Fields in slots, and one that is a property."""

    of: Any

    @property
    def a(self) -> Any:
        return self.of["a"]

    @property
    def b(self) -> Any:
        return self.of["b"]


everywhere = pytest.mark.parametrize("schedule", SCHEDULES)


@pytest.mark.parametrize("kind", [dict, Fields, *RECORDS])
def test_every_kind_of_record_is_read_alike(kind: Any) -> None:
    total = ar.Record({"b": ar.Scalar(), "a": ar.Scalar()}) >> ar.Function(lambda b, a: b * 10.0 + a)
    assert agree(total, [kind({"a": 1, "b": 2}), kind({"b": 4, "a": 3})]) == [21, 43]


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
