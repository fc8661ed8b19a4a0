"""Objects of equal content have equal digests, and others have not."""

from __future__ import annotations

import copy
import copyreg
import datetime as dt
import decimal
import enum
import fractions
import pickle
import random
import re
import threading
import weakref
from pathlib import PurePosixPath
from typing import Any

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


UNLIKE: list[Any] = [
    *(
        None,
        ...,
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
        float("inf"),
        1j,
        "",
        "a",
        "\udc80",
        b"",
        b"a",
    ),
    *(
        [],
        (),
        {},
        set(),
        [1],
        (1,),
        {1},
        {1: 1},
        {1: 2},
        {2: 1},
        {"a": 1},
        [[1]],
        [(1,)],
        ["a"],
        [b"a"],
        [1, 2],
        [2, 1],
    ),
    *(
        [1.0],
        [True],
        {1.0: 1},
        {(1,): 1},
        {None: 1, 2: 3},
        {1: [1]},
        {1: [[1]]},
        {1: {1}},
        [1, [2, [3]]],
        [[1, 2], [3]],
    ),
    *(
        range(3),
        range(4),
        slice(3),
        slice(4),
        bytearray(b"a"),
        frozenset({5}),
        frozenset({(5, "a")}),
        frozenset("ab"),
    ),
    *(np.int32(1), np.int64(1), np.float32(1), np.bool_(True), np.str_("a"), np.datetime64("2020-01-01")),
    *(
        np.zeros(2),
        np.zeros(3),
        np.zeros((1, 2)),
        np.zeros(2, "f4"),
        np.ones(2),
        np.zeros(0),
        np.zeros((0, 2)),
    ),
    *(np.array([1, "a"], object), np.array([1, "b"], object), np.array(["a"]), np.array(["2020"], "M8[Y]")),
    *(np.ma.array([1, 2], mask=[0, 1]), np.ma.array([1, 2], mask=[1, 0]), np.array([(1, 2.0)], "i4,f8")),
    *(dt.date(2020, 1, 1), decimal.Decimal("1.0"), fractions.Fraction(1, 3), PurePosixPath("a")),
    *(
        re.compile("a"),
        re.compile("a", re.IGNORECASE),
        Colour.RED,
        Colour.BLUE,
        Colour,
        Node,
        Node(1),
        Node(2),
        Node(1, Node(1)),
    ),
    *(len, abs, str.lower, "a".join, "b".join, [].append, int, dict, np.add, np.zeros, random, re),
    *(lambda x: x, lambda x: x + 1, lambda x: x + 2, lambda x, y=1: x, lambda x, y=2: x, lambda *, y=1: y),
    *(property(lambda self: 1), staticmethod(len), classmethod(len), iter([1, 2]), iter([1, 3])),
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
    assert digest(thing) == digest(thing) == digests([("a", [thing]), ("b", thing)])[1]
    try:
        again = pickle.loads(pickle.dumps(thing))
    except Exception:  # noqa: BLE001  functions that are written here
        return
    assert digest(again) == digest(thing)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
        ({"a": [1], "b": [2]}, {"b": [2], "a": [1]}),
        ({1, 2, 3, "a", None}, {"a", None, 3, 2, 1}),
        ({"a": 1, 2: "b", None: 3.0}, {None: 3.0, 2: "b", "a": 1}),
        ([threading.Lock()], [threading.Lock()]),
        (weakref.WeakKeyDictionary(), weakref.WeakKeyDictionary({Node: 1})),
    ],
)
def test_order_counts_where_it_does_for_equality(one: Any, other: Any) -> None:
    assert digest(one) == digest(other)
    assert digest([1, 2]) != digest([2, 1])


# ----------------------------------------------------------------------- circles and depth


def ring(values: list[Any], start: int = 0) -> Node:
    nodes = [Node(value) for value in values]
    for node, following in zip(nodes, nodes[1:] + nodes[:1], strict=True):
        node.others.append(following)
    return nodes[start]


def test_circles() -> None:
    loop: list[Any] = [1]
    loop.append(loop)
    longer: list[Any] = [2]
    longer.append(longer)
    assert digest(loop) == digest(copy.deepcopy(loop)) != digest(longer) != digest([1])
    assert (
        digest(ring([1, 2, 3]))
        == digest(ring([1, 2, 3]))
        == digest(ring([3, 1, 2], 1))
        != digest(ring([1, 3, 2]))
    )
    assert digest(ring([1] * 100 + [2])) != digest(ring([1] * 100 + [3])) != digest(ring([1] * 99 + [3, 1]))
    assert digest({n: ring([1, 2, 3], n) for n in range(3)}) == digest(
        {n: ring([1, 2, 3], n) for n in (2, 0, 1)}
    )


def test_functions_that_call_one_another() -> None:
    """In whatever order they are come to."""

    def pair(last: int) -> tuple[Any, Any]:
        def even(n: int) -> Any:
            return last if n == 0 else odd(n - 1)

        def odd(n: int) -> Any:
            return not last if n == 0 else even(n - 1)

        return even, odd

    (even, odd), (again, also) = pair(1), pair(1)
    assert digests([("", even), ("", odd)]) == [digest(again), digest(also)]
    assert digests([("", odd), ("", even)]) == [digest(also), digest(again)]
    assert digest({"f": even, "g": odd}) == digest({"g": also, "f": again}) != digest({"g": again, "f": also})
    assert digest(even) != digest(pair(0)[0])


def test_depth_is_no_limit() -> None:
    def nested(depth: int, inner: Any) -> Any:
        for _ in range(depth):
            inner = [inner]
        return inner

    assert digest(nested(10_000, 1)) == digest(nested(10_000, 1)) != digest(nested(10_001, 1))
    assert digest(nested(10_000, {})) != digest(nested(10_000, set()))
    deep: Any = ()
    for _ in range(5000):
        deep = (deep, deep)  # 2 ** 5000 leaves
    assert digest(deep) == digest(deep) != digest(deep[0])
    chain = Node(0)
    for number in range(500):
        chain = Node(number, chain)
    chain.others[0].others.append(chain)
    assert digest(chain)


def test_large_tables_of_plain_values_are_no_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    words = {f"word {number}": number for number in range(100_000)}
    shuffled = list(words.items())
    random.Random(0).shuffle(shuffled)
    with monkeypatch.context() as patch:
        patch.setattr(content_digest, "MOST", 60)
        digests([("table", words.get), ("words", set(words)), ("pairs", shuffled), ("counts", Node(words))])
    assert digest(words) == digest(dict(shuffled)) != digest(words | {"word 7": 8})
    assert digest(set(words)) == digest(set(dict(shuffled)))


def test_a_name_without_a_value() -> None:
    def outer(bound: bool) -> Any:
        def inner() -> Any:
            return later, nowhere  # type: ignore[name-defined]  # noqa: F821

        if bound:
            later = 0
        return inner

    assert digest(outer(False)) == digest(outer(False)) != digest(outer(True))


class Awkward:
    def __init__(self) -> None:
        self.told = 1

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


class Raises:
    def __reduce_ex__(self, protocol: Any) -> Any:
        raise RuntimeError("no")


class Refuses:
    def __getattribute__(self, name: str) -> Any:
        if name == "__class__":
            return Refuses
        raise RuntimeError("no")


class Nonsense:
    """Is reduced to nothing that `pickle` knows."""


copyreg.pickle(Nonsense, lambda value: 5)  # type: ignore[arg-type,return-value]


def test_objects_that_do_not_like_to_be_looked_at() -> None:
    assert digest([Awkward()]) == digest([Awkward()])
    assert digest({Awkward(): 1}) == digest({Awkward(): 1})
    assert digest([Raises()]) == digest([Raises()])
    with pytest.raises(Unhashable, match=r"is a .*Refuses, whose content cannot be told"):
        digest([Refuses()])
    with pytest.raises(Unhashable, match="cannot be looked at: TypeError"):
        digest([Nonsense()])


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
    | st.integers(-3, 3)
    | st.floats(allow_nan=False, width=16)
    | st.text("ab", max_size=2)
)
KEYS = PLAIN | st.tuples(PLAIN, PLAIN) | st.frozensets(PLAIN, max_size=2)
THINGS = st.recursive(
    PLAIN,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.tuples(inner, inner)
        | st.dictionaries(KEYS, inner, max_size=4)
        | st.sets(KEYS, max_size=4)
        | st.builds(Node, inner, inner)
        | st.builds(lambda x: [x, x], inner)
    ),
    max_leaves=20,
)


def shuffled(value: Any, generator: random.Random) -> Any:
    """The same content made anew, in other orders; what was one object may be two."""
    if isinstance(value, (list, tuple)):
        return type(value)([shuffled(item, generator) for item in value])
    if isinstance(value, dict):
        items = [(shuffled(key, generator), shuffled(item, generator)) for key, item in value.items()]
        generator.shuffle(items)
        return dict(items)
    if isinstance(value, (set, frozenset)):
        items = [shuffled(item, generator) for item in value]
        generator.shuffle(items)
        return type(value)(items)
    if isinstance(value, Node):
        return Node(shuffled(value.value, generator), *(shuffled(other, generator) for other in value.others))
    return value


def text(value: Any) -> str:
    """What is said of a value where equal content means equal text."""
    if isinstance(value, (list, tuple)):
        return f"{type(value).__name__}({','.join(map(text, value))})"
    if isinstance(value, dict):
        return f"dict({','.join(sorted(f'{text(key)}:{text(item)}' for key, item in value.items()))})"
    if isinstance(value, (set, frozenset)):
        return f"set({','.join(sorted(map(text, value)))})"
    if isinstance(value, Node):
        return f"Node({text(value.value)},{text(value.others)})"
    return f"{type(value).__name__} {value!r}"


@draws(200, 5_000)
@given(st.lists(THINGS, min_size=2, max_size=6), st.integers(0, 10**6))
def test_equal_content_and_no_other_has_equal_digests(things: list[Any], seed: int) -> None:
    generator = random.Random(seed)
    told = {}
    for thing in things:
        key = digest(thing)
        assert key == digest(shuffled(thing, generator)) == digest(pickle.loads(pickle.dumps(thing)))
        assert told.setdefault(key, text(thing)) == text(thing)
    assert len(told) == len({text(thing) for thing in things})
