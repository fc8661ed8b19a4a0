"""A prepared set of another model is taken by models that read examples alike, and by no others: one rule for
sets that are pickled and for those that are not."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import arrows as ar
from arrows.engine.planning import SCHEDULES
from arrows.engine.reading import hashes

REFUSED = "(?s)prepared by another model"
EXAMPLES = ["a", "b", "a", "c"]


def live(prepared: Any) -> Any:
    return prepared


def pickled(prepared: Any) -> Any:
    return pickle.loads(pickle.dumps(prepared))


TRANSPORT = pytest.mark.parametrize("sent", [live, pickled])


def reader(function: Any, **arguments: Any) -> Any:
    return ar.compile(ar.InputTransform(function) >> ar.Scalar(), **arguments)


# ------------------------------------------------------------ the block and its functions


def letters(elements: Any = "abc", stop: int = 2, key: Any = None, size: int = 3, rows: int = 5) -> Any:
    key = key or (lambda w: len(w) > 3)
    one = ar.OneHotFromList(elements)
    choice = ar.OneOf(
        key, {True: ar.Map(one) >> ar.Slice(stop=stop) >> ar.Sum(), False: ar.Map(one) >> ar.Sum()}
    )
    number = ar.GetItem("n") >> ar.Scalar("int32") >> ar.Embedding(rows, size, name="e")
    return (ar.GetItem("w") >> choice >> ar.FC(size, name="fc")) & number


LETTERS = [{"w": "abca", "n": 1}, {"w": "cb", "n": 4}]


@TRANSPORT
@pytest.mark.parametrize("other", [{}, {"key": lambda w: len(w) > 3}, {"size": 7}, {"elements": list("abc")}])
def test_models_that_read_alike(sent: Any, other: dict[str, Any]) -> None:
    prepared = sent(ar.compile(letters()).prepare(LETTERS))
    model = ar.compile(letters(**other))
    for found, wanted in zip(model(prepared), model(LETTERS), strict=True):
        assert found.tolist() == wanted.tolist()
    assert len(model.prepare(prepared)) == 2 and len(model.prepare(prepared[[1]])) == 1


@TRANSPORT
@pytest.mark.parametrize(
    "other",
    [
        {"elements": "cba"},
        {"stop": 1},
        {"rows": 6},
        {"key": lambda w: len(w) > 1},
        {"key": lambda w, least=3: len(w) > least},
    ],
)
def test_models_that_read_otherwise(sent: Any, other: dict[str, Any]) -> None:
    model = ar.compile(letters(**other))
    prepared = sent(ar.compile(letters()).prepare(LETTERS))
    for call in (model, model.prepare):
        for foreign in (prepared, prepared[[0]]):
            with pytest.raises(ar.ArrowValueError, match=REFUSED):
                call(foreign)


@pytest.mark.parametrize("first", SCHEDULES)
@pytest.mark.parametrize("second", SCHEDULES)
def test_a_set_of_another_schedule_gives_the_same_or_is_refused(first: str, second: str) -> None:
    prepared = ar.compile(letters(), schedule=first).prepare(LETTERS)
    model = ar.compile(letters(), schedule=second)
    if "strata" in {first, second} and first != second:
        with pytest.raises(ar.ArrowValueError, match=REFUSED):
            model(prepared)
        return
    for found, wanted in zip(model(prepared[::-1]), model(LETTERS[::-1]), strict=True):
        assert found.tolist() == wanted.tolist()


# ------------------------------------------------------------ what functions hold


class Vocabulary:
    def __init__(self, table: dict[str, int]) -> None:
        self.table = table

    def number(self, word: str) -> int:
        return self.table[word]


def default(table: dict[str, int]) -> Any:
    def number(word: str, known: dict[str, int] = table) -> int:
        return known[word]

    return number


TABLE = {"a": 0, "b": 1, "c": 2}


@TRANSPORT
def test_what_functions_hold_counts_by_content(sent: Any) -> None:
    prepared = sent(reader(default(dict(TABLE))).prepare(EXAMPLES))
    model = reader(default(dict(TABLE)))
    assert model(prepared).tolist() == [0, 1, 0, 2]
    other = reader(default({"a": 0, "b": 5, "c": 2}))
    with pytest.raises(ar.ArrowValueError, match=REFUSED):
        other(prepared)
    assert other(EXAMPLES).tolist() == [0, 5, 0, 2]
    assert model(prepared[[1]]).tolist() == [1]  # taken once, it is taken for good


def test_the_message_names_the_functions() -> None:
    def block(b: Any) -> Any:
        read = ar.InputTransform(rightly) >> ar.Scalar() & ar.InputTransform(b) >> ar.Scalar()
        return ar.compile(read)

    def rightly(word: str) -> int:
        return TABLE[word]

    prepared = block(default(TABLE)).prepare(EXAMPLES)
    with pytest.raises(ar.ArrowValueError) as refused:
        block(default({}))(prepared)
    assert "number (test_fingerprints.py:" in str(refused.value) and "rightly" not in str(refused.value)


# ------------------------------------------------------------ what changes, and when it counts


def numbering(table: dict[Any, int]) -> Any:
    return lambda word: table.setdefault(word, len(table))


@TRANSPORT
def test_a_vocabulary_that_is_filled_counts_as_it_was_in_the_end(sent: Any) -> None:
    table: dict[Any, int] = {}
    model = reader(numbering(table))
    prepared = model.prepare(EXAMPLES)
    assert table == {"a": 0, "b": 1, "c": 2}
    sets = [sent(prepared)]
    model.prepare(["d"])  # the vocabulary goes on
    assert model(prepared).tolist() == [0, 1, 0, 2]  # a live set of the same model is its own
    sets.append(sent(prepared))
    for foreign in sets:
        assert reader(numbering({"a": 0, "b": 1, "c": 2}))(foreign).tolist() == [0, 1, 0, 2]
        for start in ({}, {"a": 0}, {"b": 0, "a": 1, "c": 2}, {"c": 2, "a": 0, "b": 1}, table):
            with pytest.raises(ar.ArrowValueError, match=REFUSED):
                reader(numbering(dict(start)))(foreign)


def test_a_set_once_taken_stays() -> None:
    table = dict(TABLE)
    model = reader(numbering(table))
    prepared = pickled(reader(numbering(dict(TABLE))).prepare(EXAMPLES))
    assert model(prepared).tolist() == [0, 1, 0, 2]
    model.prepare(["d"])
    assert model(prepared).tolist() == [0, 1, 0, 2]
    with pytest.raises(ar.ArrowValueError, match=REFUSED):
        model(pickled(prepared))


# ------------------------------------------------------------ what cannot be told


def unspeakable() -> dict[str, Any]:
    return {
        "an object": Vocabulary({}),
        "a method": Vocabulary({}).number,
        "a model": ar.compile(ar.Scalar()),
        "inside": {"deep": [1, {"x": (Vocabulary({}),)}]},
        "many": [[[]] for _ in range(2000)],
        "a reader of files": lambda: open(__file__),
    }


@pytest.mark.parametrize("what", unspeakable())
def test_what_cannot_be_told_is_said_when_it_matters(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hashes, "MOST_OBJECTS", 1500)

    def block() -> Any:
        thing = unspeakable()[what]
        return lambda word: TABLE[word] if thing is not None else 0

    model = reader(block())
    prepared = model.prepare(EXAMPLES)
    assert model(prepared).tolist() == [0, 1, 0, 2]
    with pytest.raises(ar.ArrowTypeError, match=r"(?s)cannot pickle.*lambda.*holds.*fingerprint='"):
        pickle.dumps(prepared)
    with pytest.raises(ar.ArrowValueError, match=r"(?s)prepared by another model.*nothing shows"):
        reader(block())(prepared)
    stated = reader(block(), fingerprint="May")
    again = stated.prepare(EXAMPLES)
    for sent in (live, pickled):
        assert reader(block(), fingerprint="May")(sent(again)).tolist() == [0, 1, 0, 2]
        for other in (
            reader(block(), fingerprint="June"),
            reader(TABLE.get, fingerprint="May"),
            reader(block()),
        ):
            if other.typed.form.parts[0].function == TABLE.get:
                assert other(sent(again)).tolist() == [0, 1, 0, 2]  # as it says
                continue
            with pytest.raises(ar.ArrowValueError, match=r"(?s)prepared by another model.*fingerprint="):
                other(sent(again))


@pytest.mark.parametrize("stated", [1, b"x", ["a"]])
def test_a_fingerprint_is_a_text(stated: Any) -> None:
    with pytest.raises(ar.ArrowTypeError, match="fingerprint must be a text"):
        reader(len, fingerprint=stated)


def test_a_stated_fingerprint_says_nothing_of_the_block() -> None:
    prepared = ar.compile(letters(), fingerprint="x").prepare(LETTERS)
    with pytest.raises(ar.ArrowValueError, match=r"(?s)its block reads\s+examples otherwise"):
        ar.compile(letters(stop=1) >> ar.GetItem(0), fingerprint="x")(prepared)


# ------------------------------------------------------------ other processes

SCRIPT = """
import functools, pickle, sys
import arrows as ar

words = [f"word {n}" for n in range(50)]
table = {word: len(word) for word in words}


def block(name):
    function = {
        "get": table.get,
        "lambda": lambda word: table[word] if word in words and word not in {"x", "y", "z"} else 0,
        "partial": functools.partial(table.get, *()),
    }[name]
    return ar.InputTransform(function) >> ar.Scalar()


for name in ("get", "lambda", "partial"):
    model = ar.compile(block(name))
    path = f"{sys.argv[1]}/{name}"
    if sys.argv[2] == "write":
        with open(path, "wb") as file:
            pickle.dump(model.prepare(["word 1", "word 22"]), file)
    else:
        with open(path, "rb") as file:
            print(name, model(pickle.load(file)).tolist())
"""


def test_sets_go_from_process_to_process(tmp_path: Path) -> None:
    """Whatever hashes texts have there."""
    script = tmp_path / "somebodys.py"
    script.write_text(SCRIPT, encoding="utf-8")
    root = str(Path(ar.__file__).parents[1])
    for seed, mode in (("1", "write"), ("2", "read"), ("random", "read")):
        done = subprocess.run(
            [sys.executable, str(script), str(tmp_path), mode],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": root},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        lines = [f"{name} [6.0, 7.0]" for name in ("get", "lambda", "partial")]
        assert done.stdout.splitlines() == (lines if mode == "read" else [])
