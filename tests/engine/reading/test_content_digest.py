"""Equal digests mean the same content; what cannot be told exactly is refused."""

from __future__ import annotations

import copy
import datetime as dt
import functools
import math
import operator
import pickle
import random
import re
import sys
import threading
import types
from decimal import Decimal
from typing import Any, NamedTuple

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

import arrows as ar
from arrows.engine.reading import Unhashable, digest, hashes
from tests.profile import draws


class Node:
    def __init__(self, value: Any) -> None:
        self.value = value


class Tree(list[Any]):  # as `nltk.Tree`
    label: Any = None


class Text(str):  # noqa: SLOT000
    label: Any = None


class Numbers(np.ndarray):
    pass


class Words(ar.Vocabulary):
    pass


class Point(NamedTuple):
    x: float
    y: float


NUMBERS = np.float32(1), np.int32(1), np.int64(1), np.bool_(True), np.str_("a"), np.datetime64("2020")
AB, BA = ar.Vocabulary(["a", "b"]), ar.Vocabulary(["b", "a"])
UNLIKE: list[Any] = [
    *(None, ..., True, False, 0, 1, 2, -1, 2**70, 0.0, -0.0, 1.0, 1.5, math.inf, math.nan, 1j),
    *("", "a", "\udc80", "1", b"", b"a", [], (), {}, [1], (1,), [[1]], [(1,)], ([1],), ["a"], [b"a"], [1, 2]),
    *([2, 1], [1.0], [True], {1: 1}, {1: 2}, {2: 1}, {"a": 1}, {1.0: 1}, {True: 1}, {"1": 1}, {(1,): 1}),
    *({(True,): 1}, {None: 1, 2: 3}, {2: 3, None: 1}, {1: [1]}, {1: [[1]]}, {"a": [], "b": ()}),
    *({"b": (), "a": []}, [1, [2, [3]]], [[1, 2], [3]], [[1], [1]], range(3), range(4)),
    *(slice(3), slice(4), {"a", "b"}, {"a", "c"}, frozenset("ab"), set(), *NUMBERS, np.array(["a"])),
    *(np.zeros(2), np.zeros(3), np.zeros((1, 2)), np.zeros(2, "f4"), np.zeros(2, ">f8"), np.ones(2)),
    *(-np.zeros(2), np.zeros(0), np.zeros((0, 2)), np.array(1.0), np.array(["2020"], "M8[Y]")),
    *(np.array(["2020"], "M8[D]"), np.array([(1, 2.0)], "i4,f8"), dt.date(2020, 1, 1), dt.time(1)),
    *(dt.time(1, fold=1), dt.timedelta(1), dt.datetime(2020, 1, 1, tzinfo=dt.UTC), Decimal("1.0")),
    *(Decimal("1.00"), Decimal("NaN"), re.compile("a"), re.compile("a", re.IGNORECASE), re.compile(b"a")),
    *(len, abs, str.lower, "a".join, "b".join, [].append, [1].append, int, dict, np.add, np.subtract),
    *(np.zeros, random, re, {}.get, {1: 2}.get, np.zeros(2).take, np.ones(2).take, re.compile("a").findall),
    *(operator.itemgetter(1), operator.itemgetter(2), operator.attrgetter("a"), math.floor, math.ceil),
    *(functools.partial(int, 1), functools.partial(int, base=2), functools.partial(int, base=3)),
    *(AB, BA, ar.Vocabulary(["ab"])),
    *(AB.__contains__, BA.__contains__, lambda: 0, lambda: -0.0, lambda: False, lambda: 0.0, lambda: 0j),
    *(lambda x: x, lambda x: x + 1, lambda x: x + 2, lambda x, y=1: x, lambda x, y=2: x, lambda *, y=1: y),
    *(lambda x: x in {"a", "b"}, lambda x: x in {"a", "c"}, lambda x: x + 1.0, lambda x: x - 1, lambda *x: x),
    *(lambda: (0, 1), lambda: (False, 1), iter([1, 2]), iter([1, 3]), bytearray(b"a"), bytearray(b"b")),
    *(np.array([text], np.dtypes.StringDType()) for text in ("a", "b")),
    *(np.array([1, "a"], object), np.array([1, "b"], object)),
    *(np.random.default_rng(0), np.random.default_rng(1)),
]


def test_unlike_things_are_told_apart() -> None:
    found: dict[str, Any] = {}
    for thing in UNLIKE:
        for value in (thing, ["wrapped", thing], {"wrapped": [thing]}):
            key = digest(value)
            assert key not in found, (value, found[key])
            found[key] = value
            assert key == digest(value)


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
    vars(module).update(functools=functools)
    exec(text, vars(module))
    return module.made  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "text",
    [
        "def g(): return {0}\ndef made(): return g()",
        "def g(): return {0}\ndef made(): return (lambda: g())()",
        "def made(again=True): return made(False) if again else {0}",
        "TABLE = dict(a={0})\nmade = lambda word: TABLE[word]",
        "TABLE = dict(a={0})\ndef made(word): return [TABLE[w] for w in word]",
        "made = lambda x, k={0}: x",
        "def outer(k):\n    def f(): return k\n    return f\nmade = outer({0})",
        "@functools.wraps(len)\ndef made(x): return {0}",
        "len = {0}\n@functools.wraps(max)\ndef made(x): return len",
        "def made(): return made.table\nmade.table = [{0}]",
    ],
)
def test_what_functions_hold_counts(text: str) -> None:
    one, again, other = (made_by(text.replace("{0}", number)) for number in ("1", "1", "2"))
    assert digest(one) == digest(again) != digest(other)


# ----------------------------------------------------------------------- depth and size


def test_depth_is_no_limit() -> None:
    def nested(depth: int) -> Any:
        inner: Any = 1
        for _ in range(depth):
            inner = [inner]
        return inner

    assert digest(nested(10_000)) == digest(nested(10_000)) != digest(nested(10_001))


def test_what_would_take_too_long_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    deep: Any = ()
    for _ in range(100):
        deep = (deep, deep)  # 2 ** 100 leaves
    ring: list[Any] = [1]
    ring.append(ring)
    for endless in (deep, ring):
        with pytest.raises(Unhashable, match="more than 300,000 objects"):
            digest(endless)
    words = {f"word {number}": number for number in range(100_000)}
    monkeypatch.setattr(hashes, "MOST_OBJECTS", 60)
    digest([words.get, list(words)])


# ----------------------------------------------------------------------- what cannot be told


def labelled(value: Any) -> Any:
    value.label = 1
    return value


def reads_a_module() -> Any:
    module = types.ModuleType("somebodys_config")
    names = {"__name__": "somebodys_model", "config": module}
    exec("def number(word): return config.TABLE[word]", names)
    return names["number"]


def imports() -> Any:
    def number(word: str) -> Any:
        from somebodys_words import TABLE  # type: ignore[import-not-found]

        return TABLE[word]

    return number


REFUSED: dict[str, Any] = {
    "a set": {(1, 2)},
    "a lock": threading.Lock(),
    "a file": sys.__stderr__,
    "a user's ufunc": np.frompyfunc(len, 1, 1),
    "a subclass of an array": np.zeros(2).view(Numbers),
    "a subclass of a list": labelled(Tree([1])),
    "a subclass of a text": labelled(Text("a")),
    "a subclass of a class of ours": Words(["ab"]),
    "a named tuple": Point(1, 2),
    "an object": Node(1),
    "its method": Node(1).__eq__,
    "a class": Node,
    "a cache": functools.lru_cache(lambda x: x),
    "a function that reads a file": lambda: open("a"),  # noqa: SIM115
    "a function that evaluates": lambda text: eval(text),
    "a function that hashes": lambda text: hash(text),
    "a function that makes objects": lambda text: Node(text),
    "a module": reads_a_module(),
    "an import": imports(),
    "a model": ar.compile(ar.Scalar()),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_told_is_refused(name: str) -> None:
    thing = REFUSED[name]
    for value in (thing, [thing], {"a": thing}, lambda: thing, functools.partial(len, thing)):
        with pytest.raises(Unhashable):
            digest(value)


# ----------------------------------------------------------------------- random things

PLAIN = (
    st.none()
    | st.booleans()
    | st.integers(-2, 2)
    | st.floats(width=16)
    | st.sampled_from(["", "a", "1", "True", b"a", b"1", -0.0, 1.0])
)
ARRAYS = st.builds(
    lambda values, dtype: np.array(values, dtype),
    st.sampled_from([[0, 1], [1, 0], [[0, 1], [1, 0]], [[0, 1]], []]),
    st.sampled_from(["<i4", ">i4", "i8", "f8", "?", "M8[D]"]),
)
KEYS = st.sampled_from([1, True, 1.0, "1", b"1", None, (1,), (True,), ("1",)])
THINGS = st.recursive(
    PLAIN | ARRAYS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.tuples(inner, inner) | st.dictionaries(KEYS, inner, max_size=3)
    ),
    max_leaves=8,
)


def seen(value: Any) -> str:
    """All that a function can see of a value, but for which parts are one object: types, bits, order."""
    kind = type(value)
    if kind is float:
        return f"float {np.float64(value).tobytes().hex()}"
    if kind is np.ndarray:
        return f"{value.dtype.str} {value.shape} {value.tobytes().hex()}"
    if kind is dict:
        return f"dict({','.join(f'{seen(k)}:{seen(v)}' for k, v in value.items())})"
    return f"{kind.__name__}({','.join(map(seen, value))})" if kind in (list, tuple) else f"{kind} {value!r}"


@draws(60, 20_000)
@given(st.lists(THINGS, min_size=2, max_size=6))
def test_equal_digests_mean_that_no_function_sees_a_difference(things: list[Any]) -> None:
    for thing in things:
        assert (digest(thing) == digest(copy.deepcopy(thing))) == (seen(thing) == seen(copy.deepcopy(thing)))
    told = {digest(thing): seen(thing) for thing in things}
    assert len(told) == len({seen(thing) for thing in things})
    assert all(told[digest(thing)] == seen(thing) for thing in things)


@draws(30, 1_000)
@given(st.recursive(PLAIN, lambda inner: st.lists(inner) | st.dictionaries(KEYS, inner), max_leaves=8))
def test_what_was_pickled_has_the_same_digest(things: Any) -> None:
    assert digest(pickle.loads(pickle.dumps(things))) == digest(things)
