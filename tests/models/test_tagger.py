"""The tagger: its vocabularies, its two blocks, its batches, what it learns."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import arrows as ar
from arrows.data import TAGS
from arrows.models import tagger, tagger_vocabularies
from arrows.training import Adam, train

SIZES: dict[str, Any] = {"size": 6, "embedding": 5, "character_size": 4, "character_embedding": 3}


def sentence(text: str) -> list[dict[str, str]]:
    """`the/DET tree/NOUN` as the reader returns it."""
    return [dict(zip(("word", "tag"), word.rsplit("/", 1), strict=True)) for word in text.split()]


SENTENCES = [
    sentence("the/DET tree/NOUN grows/VERB ./PUNCT"),
    sentence("Trees/NOUN grow/VERB"),
    [],
    sentence("the/DET old/ADJ trees/NOUN of/ADP the/DET town/NOUN grow/VERB slowly/ADV ./PUNCT"),
]
WORDS, CHARACTERS = tagger_vocabularies(SENTENCES)


def test_words_count_without_case_and_from_twice_on() -> None:
    assert set(WORDS) == {"<unknown>", "the", ".", "trees", "grow"}
    assert {"T", "t", "."} < set(CHARACTERS) and "é" not in CHARACTERS
    assert "town" in tagger_vocabularies(SENTENCES, min_freq=1)[0]
    judge = ar.compile(tagger(WORDS, CHARACTERS, **SIZES).judge)
    the, capital, town = (judge.eval([{"word": word}]) for word in ("the", "THE", "town"))
    assert not np.array_equal(the, capital)  # one embedding, but another spelling
    assert not np.array_equal(town, the)


def test_learning_and_judging_share_their_layers() -> None:
    blocks = tagger(WORDS, CHARACTERS, **SIZES, dropout=0.5)
    model = ar.compile(blocks.learn, loss="loss")
    judge = ar.compile(blocks.judge, params=model.params)
    assert sorted(judge.params) == sorted(model.params)
    assert model.params["classify/weight"].shape == (12, len(TAGS))


def test_it_learns() -> None:
    blocks = tagger(WORDS, CHARACTERS, **SIZES)
    model = ar.compile(blocks.learn, loss="loss", seed=1)
    judge = ar.compile(blocks.judge, params=model.params)
    train(model, SENTENCES, Adam(0.03), epochs=40, batch_size=2, progress=False)
    for sentence, scores in zip(SENTENCES, judge.predict(SENTENCES), strict=True):
        assert [TAGS[number] for number in np.argmax(scores, axis=-1)] == [word["tag"] for word in sentence]


def test_a_tag_that_is_none_is_reported_with_its_place() -> None:
    model = ar.compile(tagger(WORDS, CHARACTERS, **SIZES).learn, loss="loss")
    with pytest.raises(ar.InputError, match=r"example 0: .*\[1\] > tag: 'NONE' is not in the vocabulary"):
        model.prepare([sentence("a/DET b/NONE")])
