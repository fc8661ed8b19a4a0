"""Input errors say which block takes the value, or what was meant."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import arrows as ar

NUMBERS = ar.Map(ar.Scalar())
OF = ar.GetItem("of")
NAMES = ar.Vocabulary(["cat", "cow"], unknown=None)
WORD = ar.GetItem("word") >> ar.Scalar("int32")
NONE = "where it may be None, put ar.Optional(f) around what reads it: None gives zeros, or what you say"
ANY_LENGTH = "ar.Map(ar.Scalar()) takes lists of any length"

MISSING = "where it may be missing: ar.GetItem('word', default=...)"
ROUND = "; to round it: ar.InputTransform(round) >> ar.Scalar('int32')"
WORDS = "words become numbers by a vocabulary in its place: ar.Vocabulary.of(words).block()"


class Hostile:
    """An object with an attribute that raises anything."""

    @property
    def columns(self) -> Any:
        raise RuntimeError


def hint(block: Any, batch: Any) -> str:
    """The hint of the error for a batch, which the reference gives too; empty if there is none."""
    model = ar.compile(block)
    with pytest.raises(ar.InputError) as caught:
        model(batch)
    lines = str(caught.value).splitlines()
    return lines[-1].removeprefix("  hint  ") if lines[-1].startswith("  hint  ") else ""


CASES: list[tuple[Any, Any, str]] = [
    (ar.Scalar(), None, NONE),
    (ar.Vector(3), None, NONE),
    (NUMBERS, None, NONE),
    (WORD, None, NONE),
    (ar.Vector(2), [None, 1], ""),
    (OF >> NAMES.block(), {"of": ["cat", 3]}, ""),
    (OF >> ar.OneHot(3), {"of": [1, 5]}, ""),
    (WORD, {"wrod": 1}, "did you mean 'wrod'? W" + MISSING[1:]),
    (WORD, {"tag": 1}, MISSING),
    (WORD, {3: 1}, MISSING),
    (WORD, SimpleNamespace(words=1), "did you mean 'words'? W" + MISSING[1:]),
    (WORD, 3, ""),
    (WORD, ["word"], ""),
    (ar.GetItem(3) >> ar.Scalar(), [1], "where it may be missing: ar.GetItem(3, default=...)"),
    (ar.Scalar("int32"), 1.5, "ar.Scalar('float32') takes it" + ROUND),
    (ar.Scalar("int32"), float("nan"), "ar.Scalar('float32') takes it"),
    (ar.Vector(2, "int32"), [1, 2.5], "ar.Vector(2, 'float32') takes it"),
    (ar.Scalar("int8"), 300, "ar.Scalar('int64') takes it"),
    (ar.Scalar("int8"), 2**70, ""),
    (ar.Scalar(), "3", "text of a number: ar.InputTransform(float) >> ar.Scalar()"),
    (ar.Scalar("int32"), "3", "text of a number: ar.InputTransform(int) >> ar.Scalar('int32')"),
    (ar.Scalar("int32"), "dog", WORDS),
    (ar.Scalar(), [1, 2], f"ar.Vector(2) takes it; {ANY_LENGTH}"),
    (ar.Scalar(), [[1], [2]], ""),
    (ar.Scalar(), np.zeros((2, 3)), "ar.Tensor([2, 3]) takes it"),
    (ar.Vector(3), [1, 2], f"ar.Vector(2) takes it; {ANY_LENGTH}"),
    (ar.Vector(3), [], ANY_LENGTH),
    (ar.Vector(3), 1, "a number alone is read by ar.Scalar()"),
    (ar.Scalar(), {"price": 1}, "take a field out of it: ar.GetItem('price') >> ar.Scalar()"),
    (ar.Scalar(), object(), ""),
    (ar.Vector(2), Hostile(), ""),
]  # fmt: skip


@pytest.mark.parametrize(("block", "example", "wanted"), CASES)
def test_the_hint(block: Any, example: Any, wanted: str) -> None:
    assert hint(block, [example]) == wanted
    with pytest.raises(ar.InputError) as caught:
        ar.compile(block).eval(example)
    assert wanted in str(caught.value)


@ar.fix
def GREATEST(me: Any) -> Any:
    pair = (ar.GetItem(0) >> me & ar.GetItem(1) >> me) >> ar.Function(ar.ops.maximum)
    return ar.OneOf(lambda x: isinstance(x, list)).case(True, pair).case(False, ar.Scalar("int32"))


UNIT = GREATEST >> ar.Function(lambda x: ar.ops.sum(ar.ops.one_hot(x, 4)))
ONE = "the list itself is an example, and a batch is a list of these: [example]"
TWICE = "its first item is an example: model(batch), not model([batch])"


@pytest.mark.parametrize(
    ("block", "batch", "wanted"),
    [
        (ar.Vector(3), [1.0, 2.0, 3.0], ONE),
        (ar.Vector(3), np.zeros(3), ONE),
        (NUMBERS, [1.0, 2.0, 3.0], ONE),
        (NUMBERS, (1.0,), ONE),
        (NUMBERS, [[1.0], 2.0, [3.0]], ""),  # the first item is an example
        (NUMBERS, [1.0, "a"], ""),  # the whole is none either
        (ar.Vector(2), [1.0, 2.0, 3.0], "a number alone is read by ar.Scalar()"),
        (NUMBERS, [1.0] * 2000, ""),
        (WORD, [[{"word": 1}, {"word": 2}]], TWICE),
        (WORD, [({"word": 1},)], TWICE),
        (WORD, [[]], ""),
        (WORD, [[3]], ""),
        (WORD, [[{"word": 1}, 3]], ""),  # not all of its items are examples
        (UNIT, [[[0, 0], 9]], ""),  # it is an example, of which one id is wrong
        (WORD, [{"word": 1}, [{"word": 1}]], ""),  # the first is an example
        (ar.Map(NUMBERS), [[[]], 3.0], ""),  # so is this, and its first item too
        (ar.Vector(2), [[[1.0, 2.0], [3.0, 4.0]]], TWICE),
        (ar.Scalar(), [[1.0, 2.0]], f"ar.Vector(2) takes it; {ANY_LENGTH}"),  # or a batch too many
    ],
)
def test_one_example_in_place_of_a_batch(block: Any, batch: Any, wanted: str) -> None:
    assert hint(block, batch) == wanted
    with pytest.raises(ar.InputError):
        ar.compile(block)(batch)


@pytest.mark.parametrize(
    ("block", "batch", "wanted"),
    [
        (NUMBERS, [1.0, 2.0, 3.0], ONE),
        (NUMBERS, iter([1.0]), ""),  # whoever has no list, has not forgotten one around it
        (WORD, [[{"word": 1}, {"word": 2}]], TWICE),
        (WORD, [({"word": 1},), ({"word": 1},)], TWICE),
    ],
)
@pytest.mark.parametrize("way", ["predict", "stream", "threads", "cache"])
def test_the_hint_is_about_what_the_user_hands_in_not_about_a_part_of_it(
    block: Any, batch: Any, wanted: str, way: str, tmp_path: Path
) -> None:
    model = ar.compile(block, fingerprint="hints")

    def by_threads(batch: Any) -> None:
        with ThreadPoolExecutor(1) as executor:
            model.prepare(batch, executor=executor)

    ways: dict[str, Callable[[Any], Any]] = {
        "predict": lambda batch: model.predict(batch, batch_size=1),
        "stream": lambda batch: list(model.predict_stream(batch, batch_size=2)),
        "threads": by_threads,
        "cache": lambda batch: model.prepare(batch, cache=tmp_path / "set", data="hints"),
    }
    with pytest.raises(ar.InputError) as caught:
        ways[way](copy(batch))
    assert caught.value.details.hint == wanted
