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


def test_what_a_function_closes_over_counts() -> None:
    def reads(table: dict[str, int]) -> Any:
        return ar.InputTransform(lambda w: table[w]) >> ar.Scalar()

    prepared = pickle.loads(pickle.dumps(ar.compile(reads({"a": 1, "b": 2})).prepare(["a"])))
    assert ar.compile(reads({"b": 2, "a": 1}))(prepared).tolist() == [1]
    with pytest.raises(ar.ArrowValueError, match="prepared by another model"):
        ar.compile(reads({"a": 2, "b": 1}))(prepared)


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
        "print(fingerprint({'b': {'x', 'y', 'z'}, 'a': (1, 2.0, None, slice(3))}, lambda x: x in {'p', 'q'}))"
    )
    command = [sys.executable, "-c", code]
    found = {
        subprocess.run(
            command, env={"PYTHONHASHSEED": seed, "PYTHONPATH": "."}, capture_output=True, check=True
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(found) == 1 and found != {b""}
