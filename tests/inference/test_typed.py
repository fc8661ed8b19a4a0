"""The typed tree as text: what stands in it, and what each part is for."""

from __future__ import annotations

import copy
import io
import pickle
from types import FunctionType
from typing import Any

import pytest
from hypothesis import given, strategies as st

import arrows as ar
from arrows.combinators import title
from arrows.combinators.base.printing import LABEL
from tests.generate import cases


def lines(block: object) -> list[str]:
    return str(ar.infer(block)).splitlines()


def test_cases_and_fields_say_what_they_are_for() -> None:
    record = ar.Record({"a": ar.Scalar(), "two words": ar.Zeros([2])})
    block = ar.OneOf(lambda x: x["k"]).case(1, record).case("b", record)
    assert lines(block) == [
        "OneOf(lambda): Input -> (a: float32, 'two words': float32[2])",
        "  case 1 = Record('a', 'two words'): Input -> (a: float32, 'two words': float32[2])",
        "    a = GetItem('a') >> Scalar('float32'): Input -> float32",
        "      GetItem('a'): Input -> Input",
        "      Scalar('float32'): Input -> float32",
        "    'two words' = Zeros(float32[2]): Input -> float32[2]",
        "  case 'b' = Record('a', 'two words'): Input -> (a: float32, 'two words': float32[2])",
        *lines(block)[2:6],
    ]


def test_a_fold_shows_its_step_and_its_initial_state() -> None:
    add = ar.Function(lambda a, b: a + b, name="add")
    assert lines(ar.Map(ar.Scalar()) >> ar.Fold(add, ar.Zeros([])))[3:] == [
        "  Fold(add, Zeros(float32)): Sequence(float32) -> float32",
        "    step = add: (float32, float32) -> float32",
        "    initial_state = Zeros(float32): Void -> float32",
    ]


def test_what_a_block_is_made_of_behind_its_name_is_left_out() -> None:
    cell = ar.LSTMCell(2, name="cell")
    both = lines(ar.Map(ar.Vector(2)) >> ar.Bidirectional(cell, cell))
    assert [line.strip().partition(":")[0] for line in both][3:] == [
        "Bidirectional(cell, cell)",
        "cell",
        "cell",
    ]
    one = lines(ar.Map(ar.Vector(2)) >> ar.RNN(cell))
    assert [line.strip().partition(":")[0] for line in one][3:] == ["RNN(cell)", "cell"]


def test_the_recursion_is_told_from_its_definition() -> None:
    tree = ar.fix(lambda me: ar.Optional(ar.GetItem("next") >> me, ar.Zeros([2])))
    names = [line.strip().partition(":")[0] for line in lines(tree)]
    assert names[0] == "lambda"
    assert names.count("lambda (again)") == 1


@pytest.mark.parametrize("width", [12, 20, LABEL])
def test_titles_have_a_width(width: int) -> None:
    chain = ar.GetItem("a long key") >> ar.Scalar() >> ar.Function(lambda x: x, name="x" * 100)
    for block in (chain, chain & chain, ar.Map(chain), chain.parts[-1], ar.Zeros(([1], [2], [3], [4], [5]))):
        assert 0 < len(title(block, width)) <= width


class _Pickler(pickle.Pickler):
    """Pickles functions by identity, since those of random blocks are closures."""

    def __init__(self, file: io.BytesIO, functions: list[Any]) -> None:
        super().__init__(file)
        self.functions = functions

    def persistent_id(self, x: Any) -> int | None:
        if not isinstance(x, FunctionType):
            return None
        self.functions.append(x)
        return len(self.functions) - 1


class _Unpickler(pickle.Unpickler):
    def __init__(self, file: io.BytesIO, functions: list[Any]) -> None:
        super().__init__(file)
        self.functions = functions

    def persistent_load(self, place: Any) -> Any:
        return self.functions[place]


def pickled(block: Any) -> Any:
    """The block as it comes out of a pickle."""
    file, functions = io.BytesIO(), list[Any]()
    _Pickler(file, functions).dump(block)
    file.seek(0)
    return _Unpickler(file, functions).load()


@pytest.mark.parametrize("production", [None, "prepared_choice"])
@given(data=st.data())
def test_the_tree_of_a_copy_is_that_of_the_block(production: str | None, data: st.DataObject) -> None:
    block = data.draw(cases(depth=2, max_examples=1, production=production)).block
    for copied in (pickled(block), copy.deepcopy(block)):
        assert repr(copied) == repr(block)
        assert str(ar.infer(copied)) == str(ar.infer(block))
