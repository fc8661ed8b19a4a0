"""Vocabularies: words, or other categories, and their numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import SupportsIndex, overload

import numpy as np

from arrows.combinators import AnyBlock, InputTransform, Scalar, Unfit
from arrows.typesys import ArrowTypeError, ArrowValueError, InputError, quoted


@dataclass(frozen=True, slots=True, init=False)
class Vocabulary:
    """Words and their numbers, from 0.

    `vocabulary["film"]` is the number of a word, and `vocabulary[3]` the word of a number.
    `Vocabulary.of` builds one from data.  `block` reads a word as its number, `len` says how many rows an
    embedding of it has: `vocabulary.block() >> ar.Embedding(len(vocabulary), 64)`.

    Args:
        words: texts in the order of their numbers, each once, without that for unknown ones.
        unknown: the name of the number 0, which all other words get; None: another word is an error.

    Attributes:
        words: the names of all numbers, that of unknown words included.
        unknown: as given.

    Raises:
        ArrowTypeError: something else than texts, one text alone, or a set or a dict of them.
        ArrowValueError: a word twice.

    Example:
        >>> words = Vocabulary.of("the cat saw the dog".split())
        >>> words["the"], words["cow"], words[2], words.words
        (1, 0, 'cat', ('<unknown>', 'the', 'cat', 'dog', 'saw'))
        >>> words.block().eval("cat").item()
        2
    """

    block_hint = "its method block() gives the block: vocabulary.block()"
    words: tuple[str, ...]
    unknown: str | None
    _numbers: dict[str, int] = field(repr=False, compare=False)

    def __init__(self, words: Iterable[str], *, unknown: str | None = "<unknown>") -> None:
        if isinstance(words, set | frozenset | Mapping):
            raise ArrowTypeError(
                f"a Vocabulary: words are numbered in their order, and a {type(words).__name__} may have "
                "another; give a list. Vocabulary.of(words) counts them"
            )
        listed = (*_texts([] if unknown is None else [unknown]), *_texts(words))
        numbers = {word: number for number, word in enumerate(listed)}
        if len(numbers) < len(listed):
            word = next(word for number, word in enumerate(listed) if numbers[word] != number)
            raise ArrowValueError(
                f"a Vocabulary: {quoted(word)} is there twice, or the name of unknown words; "
                "Vocabulary.of(words) builds one from words of a text"
            )
        object.__setattr__(self, "words", listed)
        object.__setattr__(self, "unknown", unknown)
        object.__setattr__(self, "_numbers", numbers)

    @classmethod
    def of(
        cls,
        words: Iterable[str],
        *,
        min_freq: int = 1,
        max_tokens: int | None = None,
        unknown: str | None = "<unknown>",
    ) -> Vocabulary:
        """Builds a vocabulary from all words of some data, frequent ones first, else by the alphabet.

        Args:
            words: all words, each as often as it occurs.
            min_freq: words that occur less often are unknown.
            max_tokens: so many words at most, without that for unknown ones: the most frequent.
            unknown: the name of the number 0, which all other words get; None: another word is an error.

        Raises:
            ArrowTypeError: something else than texts, or a dict, such as a Counter.
            ArrowValueError: `min_freq` below 1, or `max_tokens` below 0.

        Example:
            >>> Vocabulary.of(["b", "a", "b"], min_freq=2).words
            ('<unknown>', 'b')
        """
        if isinstance(words, Mapping):
            raise ArrowTypeError(
                f"Vocabulary.of: a {type(words).__name__} has each word once; give a list of all words, or "
                "counter.elements()"
            )
        if min_freq < 1 or (max_tokens is not None and max_tokens < 0):
            raise ArrowValueError(
                f"Vocabulary.of: min_freq counts from 1 and max_tokens from 0, not {min_freq}, {max_tokens}"
            )
        counts = Counter(_texts(words))
        if unknown is not None:
            del counts[unknown]
        frequent = [word for word, count in counts.items() if count >= min_freq]
        kept = sorted(frequent, key=lambda word: (-counts[word], word))[:max_tokens]
        return cls(kept, unknown=unknown)

    def __len__(self) -> int:
        """How many numbers there are, that of unknown words included."""
        return len(self.words)

    def __contains__(self, word: object) -> bool:
        """Whether a word is one of `words`."""
        return word in self._numbers

    def __iter__(self) -> Iterator[str]:
        return iter(self.words)

    @overload
    def __getitem__(self, key: str, /) -> int: ...
    @overload
    def __getitem__(self, key: SupportsIndex, /) -> str: ...
    def __getitem__(self, key: str | SupportsIndex, /) -> int | str:
        """The number of a word, or the word of a number.

        Raises:
            ArrowTypeError: neither a text nor a whole number.
            IndexError: no word has that number.
            KeyError: the word is unknown, and so is what to do.
        """
        if isinstance(key, str):
            return self._numbers[key] if self.unknown is None else self._numbers.get(key, 0)
        if isinstance(key, bool) or not isinstance(key, (int, np.integer)):
            raise ArrowTypeError(f"a Vocabulary: words are texts, not {key!r:.60}")
        number = int(key)
        if not 0 <= number < len(self.words):
            raise IndexError(f"a Vocabulary of {len(self):,} words has no number {number}")
        return self.words[number]

    def numbers(self, words: Iterable[str]) -> list[int]:
        """The numbers of words.

        Raises:
            ArrowTypeError: one text instead of several, or something else than texts.
            KeyError: a word is unknown, and so is what to do.

        Example:
            >>> Vocabulary(["cat", "dog"]).numbers(["dog", "cow"])
            [2, 0]
        """
        return [self[word] for word in _texts(words)]

    def block(self, *, name: str | None = None) -> AnyBlock:
        """A block that reads a word as its number, an `int32`.

        Args:
            name: the name in messages.

        Raises:
            InputError: at evaluation, something else than a text, or an unknown word where none may be.

        Example:
            >>> import arrows as ar
            >>> tags = Vocabulary(["noun", "verb"], unknown=None)
            >>> tags.block().eval("verb").item()
            1
        """
        return _FromVocabulary(_Numbers(self), name=name) >> Scalar("int32")

    def content(self) -> dict[str, object]:
        """The vocabulary as plain JSON, to keep in a file by `json.dumps`; `of_content` reads it.

        >>> Vocabulary(["a"]).content()
        {'unknown': '<unknown>', 'words': ['a']}
        """
        return {"unknown": self.unknown, "words": list(self.words[self.unknown is not None :])}

    @classmethod
    def of_content(cls, content: object, source: str) -> Vocabulary:
        """The vocabulary of plain JSON that `content` gave.

        Args:
            content: what was read.
            source: what it is called in errors.

        Raises:
            InputError: it is no vocabulary; it says why.

        >>> Vocabulary.of_content(Vocabulary(["a"]).content(), "words.json") == Vocabulary(["a"])
        True
        """
        try:
            words, unknown = content["words"], content["unknown"]  # type: ignore[index]
            return cls(words, unknown=unknown)
        except (KeyError, TypeError, ArrowTypeError, ArrowValueError) as error:
            raise InputError(f"{source} is no vocabulary: {error}") from error


def _texts(words: Iterable[str]) -> Iterator[str]:
    """Words, which are texts; refuses one text alone, whose letters would be taken for words."""
    if isinstance(words, str):
        raise ArrowTypeError(
            f"a Vocabulary: {quoted(words)} is one text and no list of words; split it, or give [text], or "
            "list(text) for its letters"
        )
    for word in words:
        if not isinstance(word, str):
            raise ArrowTypeError(f"a Vocabulary: words are texts, not {word!r:.60}; str(x) makes one")
        yield word


class _Numbers:
    """From a word to its number, with an error that says which word has none."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary
        self.__name__ = f"{len(vocabulary):,} words"

    def __call__(self, word: object) -> int:
        if not isinstance(word, str):
            raise Unfit(f"expected a text, got {type(word).__name__}")
        # Not `vocabulary[word]`: another call in Python for each word of each example.
        number = self.vocabulary._numbers.get(word)
        if number is not None:
            return number
        if self.vocabulary.unknown is None:
            raise Unfit(
                f"{quoted(word)} is not in the vocabulary; one with unknown='<unknown>' has a number for it"
            )
        return 0


class _FromVocabulary(InputTransform[str, int]):
    """From a word to its number; in messages it is the vocabulary that it stands for."""

    kind = "Vocabulary"
