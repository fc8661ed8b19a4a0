"""What an example is told that does not fit: where, and why; alike however it is read."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from enum import Enum, IntEnum
from operator import attrgetter
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest

import arrows as ar
from arrows.engine.planning import SCHEDULES
from tests.generation.parts import Indexed

GET, NUMBER, READ = ar.GetItem, ar.Scalar(), ar.Scalar("int32")
NUMBERS, NONE = ar.Map(NUMBER), ar.Constant(1.0)
FIRST, SECOND, PAIR = GET(0), GET(1), GET(0) & GET(1)
TOTAL = ar.Function(lambda x, total: (total, total + x))
STATE = ar.Zeros([])


@dataclass
class Word:
    word: int


class Broken:
    """Its attribute is there, and cannot be had."""

    left = property(attrgetter("nothing"))


class Other(NamedTuple):
    a: Any
    b: Any


class Sort(Enum):
    NOUN = 1
    VERB = 2


class Count(IntEnum):
    ONE = 1


def broken(x: Any) -> Any:
    raise LookupError("mine")


def first_key(x: Any) -> str:
    return str(next(iter(x)))


@ar.fix
def tree(me: Any) -> Any:
    both = (GET("left") >> me & GET("right") >> me) >> ar.Function(lambda x, y: x + y)
    return ar.OneOf(lambda t: "word" in t).case(True, GET("word") >> READ).case(False, both)


@ar.fix
def statement(me: Any) -> Any:
    """A statement holds expressions, which hold statements."""

    @ar.fix
    def expression(again: Any) -> Any:
        more = GET("plus") >> ar.Map(again) >> ar.Sum()
        return ar.OneOf(first_key, {"plus": more, "of": GET("of") >> me, "n": GET("n") >> NUMBER})

    cases = {"do": GET("do") >> ar.Map(me) >> ar.Sum(), "to": GET("to") >> expression}
    return ar.OneOf(first_key, cases)


NOWHERE, _ = ar.fix(lambda a, b: (ar.OneOf(len, {0: STATE, 1: b}), ar.OneOf(len, {0: STATE, 1: a})))
LEFT = ar.Record({"left": NUMBER}) >> FIRST
NTH, AT = ar.Nth() >> NUMBER, (FIRST >> NUMBERS & SECOND >> READ) >> ar.At(name="best")
ZIPPED = ar.Zip() >> ar.Map(FIRST >> NUMBER)
BESIDE = (GET("a") & GET("b") >> ar.Broadcast()) >> ar.ZipWith(FIRST >> NUMBER & SECOND >> NUMBER)
ENDLESS = (FIRST >> NUMBERS & SECOND & ar.Zeros([]) >> ar.Broadcast()) >> ar.ZipWith(FIRST)
OBJECTS = ar.Scan((FIRST >> NUMBER & SECOND) >> TOTAL, STATE, reverse=True)
STARTED = (GET("of") & GET("from") >> NUMBER) >> ar.Scan(
    (FIRST >> NUMBER & SECOND) >> TOTAL, initial_state_from_input=True
)
ROWS = GET("rows") >> ar.Map(ar.Vector(2)) >> ar.Sum()
UNIT = ar.Record({"n": ar.OneHot(2, 5), "tag": ar.OneHotFromList(["noun", "verb"])})
EDGES = (GET("nodes") >> NUMBERS & GET("edges")) >> ar.MessagePassing(FIRST, name="bonds")
GROUPS = (GET("words") >> NUMBERS & GET("of") & GET("people")) >> ar.GroupBy() >> ar.Map(ar.Max(default=-1))
FEATURES = (FIRST >> NUMBERS & SECOND & GET(2) >> NUMBERS) >> ar.MessagePassing(FIRST, features=True)
EMPTY, NOTHING = ar.Map(NUMBERS), "there are no elements, and so no {}; ar.{}(default=...) says what to give"
REDUCTIONS = {"Max": ar.Max(), "Min": ar.Min(), "Mean": ar.Mean(), "Attention": ar.Attention(ar.Identity())}
UNEVEN = "the sequences have different lengths: item {} has {}, and item {} more"


SHARED = ar.fix(output_type=[])(lambda me: ar.shared(ar.Map(me) >> ar.Sum()))
RING: list[Any] = []
RING.append([RING])
LOOP: dict[str, Any] = {"right": {"word": 1}}
LOOP["left"] = {"left": LOOP, "right": {"word": 2}}


def choice(*keys: Any) -> Any:
    return ar.OneOf(lambda x: x, dict.fromkeys(keys, NONE))


def edges(*of: Any) -> Any:
    return {"nodes": [1, 2], "edges": of}


def groups(*of: Any) -> Any:
    return {"people": "ab", "words": [1, 3, 2], "of": of}


REFUSED: list[tuple[Any, Any, str]] = [
    # Leaves.
    (READ, None, "expected int, got None"),
    (NUMBERS, [1, None], "[1]: expected a number, got None"),
    (GET("a") >> READ, {"a": "x"}, "a: expected int, got 'x'"),
    (GET("two words") >> ar.Map(READ), {"two words": [0.5]}, "'two words' > [0]: expected int, got 0.5"),
    (FIRST >> GET("b") >> READ, [{"b": None}], "[0] > b: expected int, got None"),
    ((GET("a") & GET("b")) >> SECOND >> READ, {"a": 1, "b": None}, "b: expected int, got None"),
    (ROWS, {"rows": [[1, 2], [1]]}, "rows > [1]: expected float32[2], got a list of 1"),
    (ROWS, {"rows": [[1, None]]}, "rows > [0]: expected a number at [1], got None"),
    (ROWS, {"rows": np.zeros((2, 3))}, "rows > [0]: expected float32[2], got an array float64[3]"),
    (ROWS, {"rows": 5}, "rows: expected a sequence, got 5"),
    (ROWS, {}, "there is no item 'rows' in a dict of 0"),
    (UNIT, {"n": 5}, "n: expected an int from 2 to 4, got 5\n  in  OneHot(2, 5)  test_ref"),
    (UNIT, {"n": 1}, "n: expected an int from 2 to 4, got 1"),
    (UNIT, {"n": "3"}, "n: expected an int from 2 to 4, got '3'"),
    (UNIT, {"n": 3.0}, "n: expected an int from 2 to 4, got 3.0"),
    (UNIT, {"n": 4, "tag": "adverb"}, "tag: 'adverb' is not among the elements ['noun', 'verb']\n  in  One"),
    (UNIT, {"n": 4, "tag": []}, "tag: [] is not among the elements ['noun', 'verb']"),
    # Items.
    (LEFT, Word(1), "there is no 'left' among the attributes word of a value of type Word"),
    (LEFT, SimpleNamespace(lefts=1), "there is no 'left' among the attributes lefts of a value of"),
    (LEFT, Other(1, 2), "there is no 'left' among the attributes a, b of a Other of 2"),
    (LEFT, {"lefts": 1}, "there is no 'left' among the keys 'lefts'"),
    (LEFT, None, "expected something with the item 'left', got None"),
    (LEFT, "left", "expected something with the item 'left', got 'left'"),
    (LEFT, (1, 2), "expected something with the item 'left', got a tuple of 2\n  in  GetItem('left')"),
    (LEFT, object(), "expected something with the item 'left', got a value of type object"),
    (LEFT, Indexed.__new__(Indexed), "the item 'left': AttributeError: 'Indexed' object has no attribute"),
    (LEFT, Broken(), "the item 'left': AttributeError: 'Broken' object has no attribute 'nothing'"),
    (NUMBERS >> GET(3), [1, 2], "there is no item 3 in a list of 2"),
    # Functions and choices.
    (ar.InputTransform(lambda x: [][x]) >> READ, 0, "IndexError: list index out of range"),
    (ar.InputTransform(lambda x: next(iter(x))) >> READ, [], "StopIteration"),
    (ar.InputTransform(broken) >> READ, 1, "LookupError: mine\n  in  InputTransform(broken)  test"),
    (ar.InputTransform(str.split) >> ar.Map(ar.InputTransform(int) >> READ), "1 x", "[1]: ValueError: in"),
    (ar.OneOf(lambda x: x["k"], {"a": NONE}), {}, "the key function raised KeyError: 'k'"),
    (choice("a", "b"), "c", "there is no case for the key 'c'; there are 'a', 'b'"),
    (choice("a"), [], "there is no case for the key a list of 0; there are 'a'"),
    (choice(int, Word), str, "the key <class 'str'>; there are <class 'int'>, <class"),
    (choice(Sort.NOUN), Sort.VERB, "the key Sort.VERB; there are Sort.NOUN"),
    (choice(3), Count.ONE, "the key Count.ONE; there are 3"),
    (choice(("NP", 2)), ("VP", 1), "the key ('VP', 1); there are ('NP', 2)"),
    (choice(("NP",)), (Sort.VERB,), "the key (Sort.VERB,); there are ('NP',)"),
    (choice(1), tuple(range(100)), "the key a tuple of 100; there are 1"),
    # Recursion.
    (tree, {"left": {"word": 1}, "right": {"word": None}}, "tree > right > word: expected int, got None"),
    (statement, {"do": [{"to": {"plus": [{"n": 1}, {"of": {"do": [{"to": {"n": "x"}}]}}]}}]},
     "statement > do > [0] > to > plus > [1] > of > do > [0] > to > n: expected a number, got 'x'"),
    (tree, LOOP, "left > left: endless: the recursion is back at the value of tree"),
    (SHARED, RING, "cyclic: this object contains itself"),
    (NOWHERE, [1], "endless: the recursion is back at the value of a"),
    # Sequences.
    (GET("a") >> ar.Map(READ), {"a": 3}, "a: expected a sequence, got 3"),
    (ar.Reverse() >> NUMBERS, 3, "expected a list or another sequence that has slices, got 3"),
    (ar.Slice(stop=1) >> NUMBERS, {"a": 1}, "expected a list or another sequence that has slices"),
    (ar.NGrams(2) >> ar.Length(), {"a": 1}, "expected a list or another sequence that has slices"),
    (ar.Length(), 5, "expected something with a length, got 5"),
    (ar.Length("uint8"), [0] * 300, "the length 300 does not fit uint8 (0 to 255)"),
    (NTH, ([1, 2], 2), "[0]: there is no element 2 in a list of 2"),
    (NTH, ([1, 2], "a"), "expected an integer as the place of an element, got 'a'"),
    (NTH, ([1, 2], slice(1)), "expected an integer as the place"),
    (NTH, ({0: 1}, 0), "expected a list or another sequence, got a dict of 1"),
    (NTH, 5, "expected the pair of a sequence and a place, got 5"),
    (NTH, ([1, None], 1), "[0] > [1]: expected a number, got None"),
    ((FIRST >> NUMBERS & SECOND) >> ar.Nth(), ([1], -2), "there is no element -2 in a list of 1"),
    (ZIPPED, [[1], 2], "[1]: expected a sequence, got 2"),
    (ZIPPED, 7, "expected a sequence, got 7"),
    (ZIPPED, [["x"]], "[0] > [0]: expected a number"),
    (ZIPPED, ([1, 2], [3]), UNEVEN.format(1, "1 element", 0)),
    (ZIPPED, ([1, 2], [3]), "hint  with strict=False the result ends with"),
    (ar.Record({"a": NUMBERS, "b": NUMBERS}) >> ar.ZipWith(FIRST), {"a": [], "b": [1]},
     UNEVEN.format("'a'", "0 elements", "'b'")),
    (ENDLESS, ([1, 2], itertools.repeat(1)), UNEVEN.format(0, "2 elements", 1)),
    (BESIDE, {"a": [1, "x"], "b": 1}, "a > [1]: expected a number"),
    (BESIDE, {"a": [1, 2], "b": "x"}, "b: expected a number"),
    (OBJECTS, [1, None], "[1]: expected a number"),
    (STARTED, {"of": [1, None], "from": 0}, "of > [1]: expected a number, got None"),
    (STARTED, {"of": [1], "from": None}, "from: expected a number, got None"),
    (NUMBERS >> ar.Scan(TOTAL, STATE) >> FIRST >> GET(4), [1], "there is no item 4"),
    (GET("of") >> NUMBERS >> ar.Stack(2), {"of": [1]}, "of: expected 2 items to take apart, got 1\n  in  St"),
    (GET("of") >> NUMBERS >> ar.Stack(2), {"of": [1, 2, 3]}, "of: expected 2 items to take apart, got 3"),
    *((EMPTY >> ar.Map(reduction), [[1], []], f"[1]: {NOTHING.format(name.lower(), name)}\n  in  {name}")
      for name, reduction in REDUCTIONS.items()),
    # Graphs.
    (EDGES, edges([0, 1], [0, 2]), "edges > [1]: there is no element 2 in a list of 2\n  in  bonds"),
    (EDGES, edges([2, 0]), "edges > [0]: there is no element 2 in a list of 2"),
    (EDGES, edges([0, -1]), "edges > [0]: there is no element -1 in a list of 2"),
    (EDGES, edges([0, "1"]), "edges > [0]: expected an integer as the place of an element, got '1'"),
    (EDGES, edges([0]), "edges > [0]: there is no item 1 in a list of 1"),
    (FEATURES, ([1, 2], [[0, 1]], [1, 2]), "the sequences have different lengths"),
    (GROUPS, groups(0, 0, 2), "of > [2]: there is no element 2 in a list of 2"),
    (GROUPS, groups(0, -1, 1), "of > [1]: there is no element -1 in a list of 2"),
    (GROUPS, groups(0, 1), "there are 3 elements, and 2 places"),
    (GROUPS, groups(0, 0.5, 1), "of > [1]: expected an integer as the place of an element, got 0.5"),
]  # fmt: skip


def without_hint(error: ar.InputError) -> str:
    """A hint may be about the batch, which the reference does not see."""
    return str(error).partition("\n  hint")[0]


@pytest.mark.parametrize(("block", "example", "text"), REFUSED, ids=[text[:50] for _, _, text in REFUSED])
def test_what_does_not_fit_is_told_with_its_place_however_it_is_read(
    block: Any, example: Any, text: str
) -> None:
    with pytest.raises(ar.InputError) as alone:
        block.eval(example)
    assert text in str(alone.value)
    for schedule in SCHEDULES:
        model = ar.compile(block, schedule=schedule)
        for call in (model, model.prepare):
            with pytest.raises(ar.InputError) as told:
                call([example])
            assert without_hint(told.value) == f"example 0: {without_hint(alone.value)}"


def test_what_takes_the_length_is_no_scalar() -> None:
    with pytest.raises(ar.InputError) as caught:
        ar.Length("uint8").eval([0] * 300)
    assert "hint" not in str(caught.value)
