"""Vocabularies number words, read them as a typed leaf, and come back from their file."""

from __future__ import annotations

import copy
import json
import pickle
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, strategies as st

import arrows as ar
from arrows.data import Vocabulary


@given(st.lists(st.text(max_size=3)), st.integers(1, 3), st.none() | st.integers(0, 4))
def test_the_most_frequent_words_come_first(words, least, most):
    vocabulary = Vocabulary.of(words, min_freq=least, max_tokens=most)
    kept = vocabulary.words[1:]
    counts = [words.count(word) for word in kept]
    assert vocabulary.words[0] == vocabulary.unknown == "<unknown>"
    assert counts == sorted(counts, reverse=True) and all(count >= least for count in counts)
    assert most is None or len(kept) <= most
    if most is None:
        assert set(kept) == {word for word in words if words.count(word) >= least}
    for number, word in enumerate(kept, 1):
        assert vocabulary[word] == number and word in vocabulary
    assert (
        Vocabulary.of(reversed(words), min_freq=least, max_tokens=most) == vocabulary
    )  # the order does not matter


@given(st.lists(st.text(), unique=True, min_size=1), st.none() | st.just("?"))
def test_what_was_kept_gives_the_same_vocabulary(words, unknown):
    vocabulary = Vocabulary([word for word in words if word != unknown] or ["x"], unknown=unknown)
    kept = Vocabulary.of_content(json.loads(json.dumps(vocabulary.content())), "words.json")
    for other in (kept, pickle.loads(pickle.dumps(vocabulary)), copy.deepcopy(vocabulary)):
        assert other == vocabulary and other.numbers(words[:1]) == vocabulary.numbers(words[:1])


@given(st.lists(st.text(), unique=True, min_size=1), st.none() | st.just("<unknown>"))
def test_words_and_numbers_are_each_others_inverse(words, unknown):
    vocabulary = Vocabulary([word for word in words if word != unknown] or ["x"], unknown=unknown)
    assert len(vocabulary) == len(list(vocabulary)) and all(word in vocabulary for word in vocabulary)
    assert vocabulary.numbers(vocabulary) == list(range(len(vocabulary)))
    for number, word in enumerate(vocabulary.words):
        assert vocabulary[word] == number and vocabulary[number] == vocabulary[np.int32(number)] == word
    for number in (-1, len(vocabulary)):
        with pytest.raises(IndexError, match="has no number"):
            vocabulary[number]


@given(st.floats() | st.none() | st.booleans() | st.binary() | st.just(("a",)), st.booleans())
def test_what_is_no_text_has_no_number(word, closed):
    vocabulary = Vocabulary(["a", "b"], unknown=None if closed else "<unknown>")
    assert word not in vocabulary
    for ask in (lambda: vocabulary[word], lambda: vocabulary.numbers([word])):
        with pytest.raises(ar.ArrowTypeError, match="words are texts"):
            ask()


def test_misuse_of_a_vocabulary_says_what_to_write():
    vocabulary = Vocabulary(["a", "b"])
    with pytest.raises(ar.ArrowTypeError, match=r"'ab' is one text and no list of words"):
        vocabulary.numbers("ab")
    for misuse in (lambda: ar.Map(vocabulary), lambda: vocabulary >> ar.Embedding(3, 2)):
        with pytest.raises(ar.ArrowTypeError, match=r"no block yet\n.*vocabulary\.block\(\)"):
            misuse()


def test_words_whose_order_or_count_is_not_told():
    for words in ({"b": 2, "a": 1}, {"a", "b"}, frozenset("ab"), Counter("aab")):
        with pytest.raises(ar.ArrowTypeError, match=r"numbered in their order, and a .* give a list"):
            Vocabulary(words)
    assert Vocabulary.of({"b", "a"}).words[1:] == ("a", "b")
    assert Vocabulary({"b": 1, "a": 2}.keys()).words[1:] == ("b", "a")
    with pytest.raises(ar.ArrowTypeError, match=r"counter.elements\(\)"):
        Vocabulary.of(Counter("abb"), min_freq=2)
    assert Vocabulary.of(Counter("abb").elements(), min_freq=2).words[1:] == ("b",)


def test_unknown_words():
    vocabulary = Vocabulary(["a"])
    assert vocabulary.numbers(["a", "b", "<unknown>"]) == [1, 0, 0]
    assert "b" not in vocabulary and "<unknown>" in vocabulary and list(vocabulary) == ["<unknown>", "a"]
    with pytest.raises(KeyError):
        Vocabulary(["a"], unknown=None)["b"]
    assert Vocabulary.of(["<unknown>", "a"]).words == ("<unknown>", "a")


def test_its_block_in_a_model():
    vocabulary = Vocabulary.of(["the", "cat", "saw", "the", "dog"])
    block = ar.Map(vocabulary.block() >> ar.Embedding(len(vocabulary), 2)) >> ar.Mean()
    model = ar.compile(block)
    results = model([["the", "cow"], ["dog"]])
    table = ar.to_numpy(next(iter(model.params.values())))
    np.testing.assert_allclose(results, [(table[1] + table[0]) / 2, table[3]], rtol=1e-6)


def test_what_its_block_refuses():
    block = ar.Map(Vocabulary(["noun", "verb"], unknown=None).block())
    with pytest.raises(ar.InputError, match="'adverb' is not in the vocabulary") as refusal:
        ar.compile(block)([["noun"], ["verb", "adverb"]])
    assert "example 1" in str(refusal.value) and "[1]" in str(refusal.value)
    with pytest.raises(ar.InputError, match="expected a text, got int"):
        block.eval([3])


@pytest.mark.parametrize(
    ("build", "error", "words"),
    [
        (lambda: Vocabulary.of("abc"), ar.ArrowTypeError, "one text"),
        (lambda: Vocabulary.of([["a"]]), ar.ArrowTypeError, r"texts, not \['a'\]"),
        (lambda: Vocabulary(["a"], unknown=0), ar.ArrowTypeError, "texts, not 0"),
        (lambda: Vocabulary(["a", "a"]), ar.ArrowValueError, "'a' is there twice"),
        (lambda: Vocabulary(["<unknown>"]), ar.ArrowValueError, "the name of unknown words"),
        (lambda: Vocabulary.of(["a"], min_freq=0), ar.ArrowValueError, "min_freq counts from 1"),
        (lambda: Vocabulary.of(["a"], max_tokens=-1), ar.ArrowValueError, "max_tokens from 0, not 1, -1"),
    ],
)
def test_what_is_no_vocabulary(build, error, words):
    with pytest.raises(error, match=words):
        build()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ([1], "indices"),
        ({"words": ["a"]}, "unknown"),
        ({"words": ["a", "a"], "unknown": None}, "there twice"),
    ],
)
def test_contents_that_are_no_vocabulary(content, words):
    with pytest.raises(ar.InputError, match=f"^words.json is no vocabulary: .*{words}"):
        Vocabulary.of_content(content, "words.json")
