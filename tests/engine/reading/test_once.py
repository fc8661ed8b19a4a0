"""Whatever reads an example reads it once: iterators and one-shot containers are as good as lists."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import arrows as ar
from arrows.training import SGD, train

NUMBERS = ar.Map(ar.Scalar())
BLOCK = ar.arrow(
    lambda xs: (
        (NUMBERS >> ar.Sum())(xs),
        (NUMBERS >> ar.Max(default=0))(xs),
        (ar.Map(ar.Scalar("int32") >> ar.Embedding(9, 1, name="e")) >> ar.Sum())(xs),
        (NUMBERS >> ar.Mean())(xs),
    )
)
# 100 is read as a number, and is no row of the embedding.
EXAMPLES = st.lists(
    st.lists(st.one_of(st.integers(0, 8), st.sampled_from([100, "x", None])), max_size=4).filter(
        lambda xs: sum(type(x) is not int or x > 8 for x in xs) < 2
    ),
    min_size=1,
    max_size=8,
)


class OneShot:
    """Hands out one iterator again and again."""

    def __init__(self, values: list[Any]) -> None:
        self.values = iter(values)

    def __iter__(self) -> Iterator[Any]:
        return self.values


class Sized(OneShot):
    """Knows its length, and makes a generator over one iterator each time."""

    def __init__(self, values: list[Any]) -> None:
        super().__init__(values)
        self.length = len(values)

    def __len__(self) -> int:
        return self.length

    def __iter__(self) -> Iterator[Any]:
        yield from self.values


KINDS: dict[str, Callable[[list[Any]], Any]] = {
    "list": list,
    "iterator": iter,
    "generator": lambda xs: (x for x in xs),
    "filter": lambda xs: filter(lambda x: True, xs),
    "one-shot": OneShot,
    "sized": Sized,
}


def by_one(model: ar.Model, examples: list[Any]) -> list[Any]:
    """For each example, read alone, its result or whose error it is."""
    rows: list[Any] = []
    for number, example in enumerate(examples):
        try:
            rows.append(tuple(float(x.reshape(())) for x in model.eval(example)))
        except ar.InputError:
            rows.append(f"example {number}")
    return rows


def told(row: Any) -> Any:
    if isinstance(row, ar.InputError):
        return str(row).partition(":")[0]  # where in it is said of lists alone
    return tuple(float(np.reshape(x, ())) for x in row)


def read_whole(model: ar.Model, way: str, examples: list[Any]) -> list[Any]:
    """The rows of a way of reading that stops at the first error."""
    with TemporaryDirectory() as folder:
        if way == "call":
            result = model(examples)
        elif way == "threads":
            with ThreadPoolExecutor(2) as executor:
                result = model(model.prepare(examples, executor=executor))
        elif way == "cache":
            result = model(model.prepare(iter(examples), cache=Path(folder, "set"), data="drawn"))
        else:
            result = model(model.prepare(examples, processes=2 if way == "processes" else 1))
        return [told(row) for row in zip(*map(np.asarray, result), strict=True)]


@pytest.fixture(scope="module")
def model() -> ar.Model:
    model = ar.compile(BLOCK, fingerprint="once")
    (name,) = model.params
    model.params[name][...] = np.arange(9)[:, None]  # whole numbers, whose sums are exact in any order
    return model


@settings(max_examples=60)
@given(lists=EXAMPLES, kinds=st.lists(st.sampled_from(list(KINDS)), min_size=8, max_size=8), data=st.data())
def test_however_examples_are_read_they_are_read_once(
    model: ar.Model, lists: list[list[Any]], kinds: list[str], data: st.DataObject
) -> None:
    def examples() -> list[Any]:
        return [KINDS[kind](xs) for kind, xs in zip(kinds, lists, strict=False)]

    expected = by_one(model, lists)
    size = data.draw(st.integers(1, 8))
    rows = model.predict(examples(), batch_size=size, errors="return")
    assert [told(row) for row in rows] == expected
    errors = [row for row in expected if isinstance(row, str)]
    got: list[Any] = []
    stream = model.predict_stream(iter(examples()), batch_size=size)
    if errors:
        with pytest.raises(ar.InputError) as caught:
            got.extend(stream_into(stream, got))
        assert told(caught.value) == errors[0] and got == expected[: expected.index(errors[0])]
    else:
        assert [told(row) for row in stream] == expected
    way = data.draw(st.sampled_from(["call", "prepare", "threads", "cache", "processes"]))
    if errors:
        with pytest.raises(ar.InputError) as caught:
            read_whole(model, way, examples())
        assert told(caught.value) in errors
    else:
        np.testing.assert_allclose(read_whole(model, way, examples()), expected, rtol=1e-6)


def stream_into(stream: Iterator[Any], got: list[Any]) -> list[Any]:
    for row in stream:
        got.append(told(row))
    return []


def in_objects(iterator: Any) -> Any:
    array = np.empty(1, object)
    array[0] = iterator
    return array


class Hidden:
    __slots__ = ("__of",)

    def __init__(self, of: Any) -> None:
        self.__of = of


@pytest.mark.parametrize(
    "hold",
    [
        lambda it: it,
        lambda it: deque([it]),
        in_objects,
        lambda it: lambda: it,
        lambda it: partial(list, it),
        lambda it: MappingProxyType({"of": it}),
        lambda it: {"of": it}.values(),
        lambda it: {it: 1},
        Hidden,
    ],
    ids=["itself", "deque", "array", "closure", "partial", "proxy", "values", "key", "slot"],
)
def test_a_program_takes_no_iterators_wherever_an_example_holds_them(hold: Callable[[Any], Any]) -> None:
    net, layer = ar.OnTheFly(), ar.FC([], name="f")
    learner = net.learner(lambda g, _: layer(g.tensor([1.0])))
    with pytest.raises(ar.InputError, match=r"(?s)example 1.*use up.*make lists"):
        train(learner, [2.0, hold(iter([1.0]))], SGD(0.0), progress=False)
