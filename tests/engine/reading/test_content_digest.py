"""Equal digests mean content that no function can tell apart; what cannot be told exactly is refused."""

from __future__ import annotations

import collections
import copy
import datetime as dt
import decimal
import enum
import fractions
import functools
import math
import operator
import pickle
import random
import re
import sys
import threading
import types
import weakref
from collections import Counter, OrderedDict, defaultdict, deque
from dataclasses import dataclass, field, make_dataclass
from pathlib import PurePosixPath
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from arrows.engine.reading import Unhashable, content_digest
from arrows.engine.reading.content_digest import digests
from tests.profile import draws


def digest(value: Any) -> str:
    return digests([("value", value)])[0]


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


class Node:
    def __init__(self, value: Any, *others: Any) -> None:
        self.value, self.others = value, list(others)


class Tree(list[Any]):  # as `nltk.Tree`
    label: Any = None


class Words(Counter[str]):
    label: Any = None


class Queue(deque[Any]):
    label: Any = None


class Table(np.ndarray):
    label: Any = None


class Text(str):  # noqa: SLOT000
    label: Any = None


class Number(int):
    label: Any = None


class Day(dt.date):
    label: Any = None


class Price(decimal.Decimal):
    label: Any = None


class Known(dict[Any, Any]):
    def __iter__(self) -> Any:
        return iter(())

    def items(self) -> Any:
        return {}.items()


class Slotted:
    __slots__ = ("x", "y")

    def __init__(self, **values: Any) -> None:
        for name, value in values.items():
            setattr(self, name, value)


class Silent(Node):
    def __getstate__(self) -> Any:
        return {}

    def __reduce__(self) -> Any:
        return Silent, (0,)


@dataclass(frozen=True, slots=True)
class Rule:
    words: tuple[str, ...]
    known: list[Any] = field(default_factory=list)


class Point(NamedTuple):
    x: float
    y: float


class Turned(NamedTuple):
    y: float
    x: float


def labelled(value: Any, label: Any) -> Any:
    value.label = label
    return value


def moved(ordered: OrderedDict[Any, Any]) -> OrderedDict[Any, Any]:
    ordered.move_to_end(next(iter(ordered)))
    return ordered


SHARED: list[Any] = [1]
UNLIKE: list[Any] = [
    *(
        None,
        ...,
        NotImplemented,
        True,
        False,
        0,
        1,
        2,
        -1,
        2**70,
        0.0,
        -0.0,
        1.0,
        1.5,
        math.inf,
        math.nan,
        1j,
    ),
    *("", "a", "\udc80", "1", b"", b"a", bytearray(b"a"), Text("a"), Number(1), labelled(Text("a"), 1)),
    *([], (), {}, [1], (1,), {1: 1}, {1: 2}, {2: 1}, {"a": 1}, [[1]], [(1,)], ([1],), ["a"], [b"a"], [1, 2]),
    *([2, 1], [1.0], [True], {1.0: 1}, {True: 1}, {"1": 1}, {(1,): 1}, {(True,): 1}, {None: 1, 2: 3}),
    *({2: 3, None: 1}, {1: [1]}, {1: [[1]]}, {"a": [], "b": ()}, {"b": (), "a": []}, [1, [2, [3]]]),
    *([[1, 2], [3]], [[1], [1]], [SHARED, SHARED], range(3), range(4), slice(3), slice(4)),
    *(Tree([1]), Tree([2]), labelled(Tree([1]), 1), labelled(Tree([1]), True), Known({1: 2}), Known({1: 3})),
    *(Counter("ab"), Counter("ba"), Words("ab"), labelled(Words("ab"), 1), labelled(Words("ab"), 2)),
    *(OrderedDict(a=1, b=2), moved(OrderedDict(a=1, b=2)), defaultdict(int), defaultdict(list)),
    *(deque([1]), deque([1], 3), Queue([1]), labelled(Queue([1]), 1), Slotted(x=1), Slotted(y=1), Slotted()),
    *(
        Node(1),
        Node(2),
        Node(1, Node(1)),
        Silent(1),
        Silent(2),
        Rule(("a",)),
        Rule(("b",)),
        Rule(("a",), [1]),
    ),
    *(Point(1, 2), Point(2, 1), Turned(1, 2), (1, 2), Point(1.0, 2), Colour.RED, Colour.BLUE, Colour, Node),
    *(np.int32(1), np.int64(1), np.float32(1), np.bool_(True), np.str_("a"), np.datetime64("2020-01-01")),
    *(
        np.zeros(2),
        np.zeros(3),
        np.zeros((1, 2)),
        np.zeros(2, "f4"),
        np.zeros(2, ">f8"),
        np.ones(2),
        -np.zeros(2),
    ),
    *(np.zeros(0), np.zeros((0, 2)), np.zeros((2, 3), order="F"), np.zeros((2, 3)), np.array(1.0)),
    *(np.array([1, "a"], object), np.array([1, "b"], object), np.array([True, "a"], object), np.array(["a"])),
    *(np.array(["2020"], "M8[Y]"), np.array(["2020"], "M8[D]"), np.array([(1, 2.0)], "i4,f8")),
    *(np.ma.array([1, 2], mask=[0, 1]), np.ma.array([1, 2], mask=[1, 0]), np.zeros(2).view(Table)),
    *(
        labelled(np.zeros(2).view(Table), 1),
        labelled(np.zeros(2).view(Table), 2),
        np.zeros(2).view(np.recarray),
    ),
    *(
        dt.date(2020, 1, 1),
        dt.datetime(2020, 1, 1),  # noqa: DTZ001
        dt.datetime(2020, 1, 1, fold=1),  # noqa: DTZ001
        dt.time(1),
        dt.time(1, fold=1),
    ),
    *(
        dt.datetime(2020, 1, 1, tzinfo=dt.UTC),
        dt.datetime(2020, 1, 1, tzinfo=ZoneInfo("UTC")),
        dt.timedelta(1),
    ),
    *(labelled(Day(2020, 1, 1), 1), labelled(Day(2020, 1, 1), 2), labelled(Price("1.0"), 1), Price("1.0")),
    *(decimal.Decimal("1.0"), decimal.Decimal("1.00"), decimal.Decimal("NaN"), fractions.Fraction(1, 3)),
    *(
        PurePosixPath("a"),
        PurePosixPath("b"),
        re.compile("a"),
        re.compile("a", re.IGNORECASE),
        re.compile(b"a"),
    ),
    *(
        len,
        abs,
        str.lower,
        "a".join,
        "b".join,
        [].append,
        [1].append,
        int,
        dict,
        np.add,
        np.subtract,
        np.zeros,
    ),
    *(random, re, operator.itemgetter(1), operator.itemgetter(2), operator.attrgetter("a"), math.floor),
    *(functools.partial(int, 1), functools.partial(int, base=2), functools.partial(int, base=3)),
    *(
        types.MappingProxyType({1: 1}),
        types.MappingProxyType({1: 2}),
    ),
    *(lambda x: x, lambda x: x + 1, lambda x: x + 2, lambda x, y=1: x, lambda x, y=2: x, lambda *, y=1: y),
    *(lambda x: x in {"a", "b"}, lambda x: x in {"a", "c"}, lambda x: x + 1.0, lambda x: x - 1, lambda *x: x),
    *(functools.lru_cache(lambda x: x + 3), functools.lru_cache(lambda x: x + 4)),
    *(property(lambda self: 1), staticmethod(len), classmethod(len)),
    *({"a", "b"}, {"a", "c"}, frozenset("ab"), set(), {1}, {True}, {0, 8}, {8, 0}, {0.0}, {-0.0}),
    *({}.get, defaultdict(int).__getitem__, defaultdict(list).__getitem__, Known().get),
    *(labelled(Tree(), 1).append, labelled(Tree(), 2).append, np.zeros(2).take, np.ones(2).take),
    *(re.compile("a").findall, re.compile("b").findall, re.compile("a").match),
    *(types.SimpleNamespace(a=1), types.SimpleNamespace(a=2), np.dtype("f4"), np.dtype("f8")),
    *(list[int], list[str], dict[int, str], int | str, int | None),
]


def test_unlike_things_are_told_apart() -> None:
    found: dict[str, Any] = {}
    for thing in UNLIKE:
        for value in (thing, ["wrapped", thing], {"wrapped": [thing]}):
            key = digest(value)
            assert key not in found, (value, found[key])
            found[key] = value


@pytest.mark.parametrize("thing", UNLIKE, ids=lambda thing: type(thing).__name__)
def test_the_same_again_is_the_same(thing: Any) -> None:
    assert digest(thing) == digest(thing) == digests([("a", 1), ("b", thing)])[1]


def test_parameters_that_are_called_by_name_count() -> None:
    """`minus(a=1, b=2)` differs though the code's instructions do not."""

    def one() -> Any:
        def minus(a: int, b: int) -> int:
            return a - b

        return minus

    def other() -> Any:
        def minus(b: int, a: int) -> int:
            return b - a

        return minus

    assert one().__code__.co_code == other().__code__.co_code
    assert digest(one()) != digest(other()) and digest(one()) == digest(one())


def made_by(text: str) -> Any:
    """What a module of the user's has under the name `made`."""
    module = types.ModuleType("somebodys")
    sys.modules["somebodys"] = module  # where `dataclass` looks for it
    vars(module).update(functools=functools, enum=enum, dataclass=dataclass, field=field)
    exec(text, vars(module))
    return module.made


@pytest.mark.parametrize(
    "text",
    [
        "class A:\n    def f(self): return {0}\nmade = A()",
        "class A:\n    @property\n    def f(self): return {0}\nmade = A()",
        "class A:\n    @functools.cached_property\n    def f(self): return {0}\nmade = A()",
        "class A(list):\n    f = {0}\nmade = A()",
        "class B:\n    f = {0}\nclass A(B): pass\nmade = A()",
        "class M(type):\n    f = {0}\nclass A(metaclass=M): pass\nmade = A()",
        "class A:\n    __call__ = functools.partial(max, {0})\nmade = A()",
        "class A(enum.Enum):\n    RED = 1\n    def f(self): return {0}\nmade = A.RED",
        "class A(enum.Enum):\n    RED = 1\n    BLUE = {0}\nmade = A.RED",
        "@dataclass\nclass A:\n    x: int = 1\n    def __repr__(self): return '{0}'\nmade = A()",
        "@dataclass\nclass A:\n    x: int = {0}\nmade = A(3)",
        "@dataclass(order={0} > 1)\nclass A:\n    x: int = 1\nmade = A(3)",
        "def g(): return {0}\ndef made(): return g()",
        "def g(): return {0}\ndef made(): return (lambda: g())()",
        "made = lambda x, k={0}: x",
        "def outer(k):\n    def f(): return k\n    return f\nmade = outer({0})",
        "@functools.wraps(len)\ndef made(x): return {0}",
        "len = {0}\n@functools.wraps(max)\ndef made(x): return len",
        "def made(): return made.__name__\nmade.__name__ = 'a{0}'",
        "class A:\n    'The rule {0}.'\nmade = A()",
        "class A:\n    __match_args__ = ('a{0}',)\nmade = A",
        "class A:\n    def __hash__(self): return {0}\nmade = A()",
        "class A:\n    _abc_words = {0}\nmade = A()",
        "class A(dict):\n    def __missing__(self, key): return {0}\nmade = A().__getitem__",
        "class A(property):\n    pass\nclass B:\n    x = A(lambda self: {0})\nmade = B()",
        "@dataclass\nclass A:\n    x: int = field(default=0, kw_only={0} > 1)\n    y: int = 0\nmade = A",
        "@dataclass\nclass A:\n    x: (str, int, float)[{0}]\nmade = A",
        "@dataclass\nclass A:\n    x: int = field(metadata=dict(column={0}))\nmade = A",
        "class A(enum.Enum):\n    RED = 1\n    BLUE = 2\nA.BLUE.size = {0}\nmade = lambda name: A[name].size",
        "@functools.singledispatch\ndef made(x): return 0\n@made.register\ndef _(x: int): return {0}",
        "class A:\n f = functools.singledispatchmethod(len)\n f.register(int, lambda *x: {0})\nmade = A",
    ],
)  # fmt: skip
def test_what_classes_and_functions_do_counts(text: str) -> None:
    one, again, other = (made_by(text.replace("{0}", number)) for number in ("1", "1", "2"))
    assert digest(one) == digest(again) != digest(other)


def test_of_modules_of_the_user_what_a_function_reads_there_counts() -> None:
    def made(text: str, **values: Any) -> Any:
        inner, outer = types.ModuleType("somebodys.inner"), types.ModuleType("somebodys")
        vars(inner).update(values)
        vars(outer).update(inner=inner, other=values)
        names = {"__name__": "somebodys_model", "outer": outer, "inner": inner}
        exec(f"made = {text}", names)
        return names["made"]

    for text in ("lambda w: inner.table[w]", "lambda w: [outer.inner.table for _ in w]"):
        one, again, other = (made(text, table=[n], untouched=k) for k, n in enumerate((1, 1, 2)))
        assert digest(one) == digest(again) != digest(other)
    for text in (
        "lambda w: getattr(inner, w)",
        "lambda w: (inner if w else outer).table",
        "lambda w: inner.nowhere",
        "lambda w: outer.inner",
    ):
        with pytest.raises(Unhashable, match="is a module of yours"):
            digest(made(text, table=[1]))


def test_classes_that_a_package_makes_count_by_content() -> None:
    """Their module says that they belong to the package, and it has no such name."""
    one, other = (make_dataclass("Made", [(name, int)])(1) for name in "ab")
    assert digest(one) != digest(other)
    pair = [collections.namedtuple("Pair", names)(1, 2) for names in ("a b", "b a")]  # type: ignore[misc]  # noqa: PYI024
    assert digest(pair[0]) != digest(pair[1])


# ----------------------------------------------------------------------- circles, shared parts and depth


def ring(values: list[Any], start: int = 0) -> Node:
    nodes = [Node(value) for value in values]
    for node, following in zip(nodes, nodes[1:] + nodes[:1], strict=True):
        node.others.append(following)
    return nodes[start]


def rings(sizes: list[int]) -> list[Node]:
    """Rings that all lead to one hub, which leads to all."""
    atoms = []
    for size in sizes:
        first = ring([0] * size)
        atoms.append(first)
        while atoms[-1].others[0] is not first:
            atoms.append(atoms[-1].others[0])
    hub = Node(1, *atoms)
    for atom in atoms:
        atom.others.append(hub)
    return atoms


def test_circles() -> None:
    loop: list[Any] = [1]
    loop.append(loop)
    longer: list[Any] = [2]
    longer.append(longer)
    assert digest(loop) == digest(copy.deepcopy(loop)) != digest(longer) != digest([1])
    assert digest(ring([1, 2, 3])) == digest(ring([3, 1, 2], 1)) != digest(ring([1, 3, 2]))
    assert digest(ring([1] * 100 + [2])) != digest(ring([1] * 100 + [3])) != digest(ring([1] * 99 + [3, 1]))
    assert digest(rings([6])) != digest(rings([3, 3])) == digest(rings([3, 3]))


def test_depth_is_no_limit() -> None:
    def nested(depth: int, inner: Any) -> Any:
        for _ in range(depth):
            inner = [inner]
        return inner

    assert digest(nested(10_000, 1)) == digest(nested(10_000, 1)) != digest(nested(10_001, 1))
    chain = Node(0)
    for number in range(500):
        chain = Node(number, chain)
    chain.others[0].others.append(chain)
    assert digest(chain)


def test_what_would_take_too_long_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    deep: Any = ()
    for _ in range(100):
        deep = (deep, deep)  # 2 ** 100 leaves
    with pytest.raises(Unhashable, match="too many to look at"):
        digest(deep)
    words = {f"word {number}": number for number in range(100_000)}
    monkeypatch.setattr(content_digest, "MOST", 60)
    digests([("table", words.get), ("counts", Node(words)), ("words", list(words))])


# ----------------------------------------------------------------------- what cannot be told


class Awkward:
    def __repr__(self) -> str:
        raise RuntimeError("no words for it")

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("nothing is like it")

    def __hash__(self) -> int:
        return 1

    def __len__(self) -> int:
        raise RuntimeError("no end of it")

    def __bool__(self) -> bool:
        raise RuntimeError("neither is it")

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise RuntimeError("no")


class Refuses:
    def __getattribute__(self, name: str) -> Any:
        if name == "__class__":
            return Refuses
        raise RuntimeError("no")


class Held(Node):
    """A user's class around what cannot be told."""


REFUSED: dict[str, Any] = {
    "a set": {(1, 2)},
    "a frozen set": frozenset([None]),
    "a subclass of a set": type("Words", (set,), {})("a"),
    "a lock": threading.Lock(),
    "a weak reference": weakref.WeakKeyDictionary(),
    "an iterator": iter([1, 2]),
    "a generator": (n for n in ()),
    "a file": open(__file__, encoding="utf-8"),  # noqa: SIM115
    "a memory view": memoryview(b"a"),
    "a ufunc": np.frompyfunc(len, 1, 1),
    "texts of any length": np.array(["a"], np.dtypes.StringDType()),
    "fields of objects": np.array([(1, "a")], [("n", int), ("o", object)]),
    "a generator of numbers": np.random.default_rng(0),
    "an object that raises": Refuses(),
    "a function that reads a file": lambda: open("a"),  # noqa: SIM115
    "a function that evaluates": lambda text: eval(text),
    "a subclass that C made": type("Sub", (random.Random,), {})(1),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_told_is_refused(name: str) -> None:
    thing = REFUSED[name]
    for value in (thing, [thing], {"a": thing}, Held(thing), lambda: thing):
        with pytest.raises(Unhashable):
            digest(value)


def test_methods_of_objects_are_not_called() -> None:
    assert digest([Awkward()]) == digest([Awkward()])
    assert digest({Awkward(): 1}) == digest({Awkward(): 1})


def test_how_one_comes_to_what_cannot_be_told() -> None:
    inner = Node({"x": [1, (n for n in ())]})

    def function() -> Any:
        return inner

    with pytest.raises(Unhashable, match="is a generator, whose content cannot be told") as refused:
        digests([("function", function)])
    assert refused.value.path == "function > inner.value['x'][1]"


# ----------------------------------------------------------------------- random things

PLAIN = (
    st.none()
    | st.booleans()
    | st.integers(-2, 2)
    | st.floats(width=16)
    | st.sampled_from(["", "a", "1", "True", b"a", b"1", -0.0, 1.0])
)
ARRAYS = st.builds(
    lambda values, dtype, order: np.array(values, dtype, order=order),
    st.sampled_from([[0, 1], [1, 0], [[0, 1], [1, 0]], [[0, 1]], []]),
    st.sampled_from(["<i4", ">i4", "i8", "f8", "?", "M8[D]", "O"]),
    st.sampled_from("CF"),
)
KEYS = st.sampled_from([1, True, 1.0, "1", b"1", None, (1,), (True,), ("1",)])
THINGS = st.recursive(
    PLAIN | ARRAYS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.tuples(inner, inner)
        | st.dictionaries(KEYS, inner, max_size=3)
        | st.builds(Node, inner, inner)
        | st.builds(Point, inner, inner)
        | st.builds(Turned, inner, inner)
        | st.builds(lambda items, label: labelled(Tree(items), label), st.lists(inner, max_size=2), PLAIN)
        | st.builds(lambda x, y: Slotted(x=x, y=y), inner, inner)
        | st.builds(lambda x: [x, x], inner)
        | st.builds(lambda x: [x, copy.deepcopy(x)], inner)
        | st.integers(1, 4).map(lambda size: ring([0] * size))
        | st.lists(st.integers(1, 3), min_size=1, max_size=3).map(rings)
    ),
    max_leaves=8,
)


def seen(value: Any) -> str:
    """All that a function can see of a value: types, bits, order, and what is one object."""
    told: dict[int, int] = {}

    def text(value: Any) -> str:
        kind = type(value)
        if isinstance(value, (type(None), bool, bytes)) or kind in (int, str):
            return f"{kind.__name__} {value!r}"
        if kind is float:
            return f"float {np.float64(value).tobytes().hex()}"
        if not isinstance(value, tuple):
            if id(value) in told:
                return f"again {told[id(value)]}"
            told[id(value)] = len(told)
        name = kind.__name__
        if isinstance(value, np.ndarray):
            content = text(value.tolist()) if value.dtype == object else value.tobytes().hex()
            return f"{value.dtype.str} {value.shape} {value.strides} {content}"
        attributes = {
            n: getattr(value, n) for n in ("label", "value", "others", "x", "y") if hasattr(value, n)
        }
        held = ",".join(f"{n}:{text(v)}" for n, v in attributes.items())
        if isinstance(value, dict):
            return f"{name}({','.join(f'{text(k)}:{text(v)}' for k, v in value.items())};{held})"
        items = ",".join(map(text, value)) if isinstance(value, (list, tuple)) else ""
        return f"{name}({items};{held})"

    return text(value)


@draws(100, 20_000)
@given(st.lists(THINGS, min_size=2, max_size=6))
def test_equal_digests_mean_that_no_function_sees_a_difference(things: list[Any]) -> None:
    for thing in things:
        again = copy.deepcopy(thing)  # which puts the axes of some arrays in another order
        assert (digest(thing) == digest(again)) == (seen(thing) == seen(again))
    told = {digest(thing): seen(thing) for thing in things}
    assert len(told) == len({seen(thing) for thing in things})
    for thing in things:
        assert told[digest(thing)] == seen(thing)


@draws(50, 1_000)
@given(st.recursive(PLAIN, lambda inner: st.lists(inner) | st.dictionaries(KEYS, inner), max_leaves=8))
def test_what_was_pickled_has_the_same_digest(things: Any) -> None:
    assert digest(pickle.loads(pickle.dumps(things))) == digest(things)
