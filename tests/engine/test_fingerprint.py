"""A prepared set from a file is taken by models that read examples alike, and by no others."""

from __future__ import annotations

import pickle
import subprocess
import sys
from typing import Any

import pytest

import arrows as ar
from arrows.engine.fingerprint import fingerprint


def letters(elements: Any = "abc", stop: int = 2, key: Any = None) -> Any:
    key = key or (lambda w: len(w) > 3)
    one = ar.OneHotFromList(elements)
    choice = ar.OneOf(
        key, {True: ar.Map(one) >> ar.Slice(stop=stop) >> ar.Sum(), False: ar.Map(one) >> ar.Sum()}
    )
    return ar.GetItem("w") >> choice


def from_a_file(block: Any) -> Any:
    return pickle.loads(pickle.dumps(ar.compile(block).prepare([{"w": "abca"}, {"w": "cb"}])))


def test_models_that_read_alike() -> None:
    model = ar.compile(letters())
    found = model(from_a_file(letters()))
    assert found.tolist() == [[1, 1, 0], [0, 1, 1]]
    assert model(from_a_file(letters(key=lambda word: len(word) > 3))).tolist() == found.tolist()


@pytest.mark.parametrize(
    "other",
    [
        {"elements": "cba"},
        {"stop": 1},
        {"key": lambda w: len(w) > 1},
        {"key": lambda w, least=3: len(w) > least},
    ],
)
def test_models_that_read_otherwise(other: dict[str, Any]) -> None:
    model = ar.compile(letters(**other))
    with pytest.raises(ar.ArrowValueError, match="prepared by another model"):
        model(from_a_file(letters()))


def test_numbers_and_texts_that_a_function_keeps_count() -> None:
    def reads(least: Any) -> Any:
        return ar.InputTransform(lambda w: len(w) > least) >> ar.Scalar()

    prepared = pickle.loads(pickle.dumps(ar.compile(reads(3)).prepare(["abcd"])))
    assert ar.compile(reads(3))(prepared).tolist() == [1]
    with pytest.raises(ar.ArrowValueError, match="prepared by another model"):
        ar.compile(reads(4))(prepared)


class Awkward:
    def __repr__(self) -> str:
        raise RuntimeError("no words for it")


@pytest.mark.parametrize("start", [dict, lambda: {Awkward(): 1}, lambda: {len: 1, lambda: 0: 2}])
def test_what_a_function_fills_while_it_works_does_not_count(start: Any) -> None:
    def reads() -> Any:
        seen = start()
        return ar.InputTransform(lambda w: seen.setdefault(w, len(w))) >> ar.Scalar()

    prepared = pickle.loads(pickle.dumps(ar.compile(reads()).prepare(["a", "bcd"])))
    assert ar.compile(reads())(prepared).tolist() == [1, 3]


def test_memos_of_shared_blocks_do_not_count() -> None:
    def block() -> Any:
        shared = ar.shared(ar.GetItem("x") >> ar.Scalar())
        return shared & shared

    model = ar.compile(block())
    model([{"x": 1.0}])
    assert model.lowerer.fingerprint == ar.compile(block()).lowerer.fingerprint


def test_what_contains_itself_and_names_without_a_value() -> None:
    loop: list[Any] = [1]
    loop.append(loop)
    assert fingerprint(loop) == fingerprint(loop) != fingerprint([1])
    deep: Any = ()
    for _ in range(5000):
        deep = (deep, deep)
    assert fingerprint(deep[:1]) == fingerprint(deep[:1])

    def outer() -> Any:
        def again(n: int) -> int:
            return later + again(n - 1)

        if loop:
            return again
        later = 0  # never bound
        return later

    assert fingerprint(outer()) == fingerprint(outer())


def test_it_is_the_same_in_another_process() -> None:
    """Whatever order sets and hashes have there."""
    code = (
        "from arrows.engine.fingerprint import fingerprint\n"
        "print(fingerprint({'b': frozenset('xyz'), 'a': (1, 2.0, slice(3))}, lambda x: x in {'p', 'q'}))"
    )
    found = set()
    for seed in ("1", "2", "3"):
        environment = {"PYTHONHASHSEED": seed, "PYTHONPATH": "."}
        run = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, check=True)
        found.add(run.stdout)
    assert len(found) == 1 and found != {b""}
