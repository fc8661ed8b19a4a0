"""Reads sentences with parts of speech, and their trees: the CoNLL-U files of Universal Dependencies.

A sentence is a list of words, and a word a plain dict: `{"word": form, "tag": part of speech}`, with the
keys "head" and "relation" where its tree is read too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain
from typing import Any

from arrows.data.file_examples import FileReader, Lines, Source, decoded
from arrows.typesys import InputError, quoted

Word = dict[str, Any]
Sentence = list[Word]

TAGS = (
    *("ADJ", "ADP", "ADV", "AUX", "CCONJ", "DET", "INTJ", "NOUN", "NUM"),
    *("PART", "PRON", "PROPN", "PUNCT", "SCONJ", "SYM", "VERB", "X"),
)
"""The universal parts of speech (Nivre et al., "Universal Dependencies v2", LREC 2020, section 3)."""

COLUMNS = 10
# A range (3-4) is one written word that counts as several; an empty node (5.1) is not written at all.
NO_WORD = re.compile(r"[0-9]+[-.][0-9]+")
NUMBER = re.compile(r"[1-9][0-9]{0,8}")
HEAD = re.compile(r"0|[1-9][0-9]{0,8}")


def read_conllu(
    path: Source, *, tags: bool = True, trees: bool = False, errors: str = "stop"
) -> FileReader[Sentence]:
    """Reads a file in the CoNLL-U format: words, their universal parts of speech, and their trees.

    Lines end with a line feed, and tabs separate columns; other blanks have no meaning. A byte-order mark,
    comments, ranges of words, empty nodes, and blank lines between sentences are skipped.

    Args:
        path: the file, in UTF-8, or one that is open; decompressed if its name ends in `.gz`.
        tags: each word must have a tag; False: a word whose tag is `_` has none.
        trees: also read the head of each word, and its relation to the head.
        errors: "stop" at the first error; or "skip": leave out the sentences with errors, and list these in
            the reader's `skipped`.

    Returns:
        A reader, which gives the sentences one after the other; `to_list()` gives a list of them. A sentence
        is a list of `{"word": form, "tag": one of TAGS}`. With `trees`, each word also has a "head", the
        number of a word as text, "0" for the root, and a "relation".

    Raises:
        InputError: while reading: a line without ten columns, words that are not numbered 1, 2, ..., a word
            without form, a tag that is not in `TAGS`, a sentence without words, or bytes that are not UTF-8;
            with `trees`, a head that is no word of the sentence, a word without relation, or heads that form
            a cycle. The error names file and line.
        OSError: while reading: the file cannot be read.

    Source: universaldependencies.org/format.html, "CoNLL-U Format".

    >>> import tempfile, pathlib
    >>> rows = [["1", "Trees", "tree", "NOUN"], ["2", "grow", "grow", "VERB"]]
    >>> text = "# a comment\\n" + "".join("\\t".join([*row, *"______"]) + "\\n" for row in rows)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "two.conllu")
    ...     _ = path.write_text(text + "\\n")
    ...     read_conllu(path).to_list()
    [[{'word': 'Trees', 'tag': 'NOUN'}, {'word': 'grow', 'tag': 'VERB'}]]
    """
    return FileReader("read_conllu", path, partial(_sentences, tags, trees), errors)


def _sentences(
    tags: bool, trees: bool, lines: Lines, name: str
) -> Iterator[tuple[int, Callable[[], Sentence]]]:
    """For each sentence, its first line, and a function that reads it; blank lines end sentences."""
    block: list[tuple[int, bytes]] = []
    for number, raw in chain(lines, [(0, b"")]):
        if raw.removesuffix(b"\r"):
            block.append((number, raw))
        elif block:
            yield block[0][0], partial(_sentence, block, name, tags, trees)
            block = []


def _sentence(block: list[tuple[int, bytes]], name: str, tags: bool, trees: bool) -> Sentence:
    sentence: Sentence = []
    places: list[str] = []  # of the line of each word
    for number, raw in block:
        text, place = decoded(raw, name, number).removesuffix("\r"), f"{name}:{number}"
        if text.startswith("#"):
            if sentence:
                raise InputError(
                    f"{place}: a comment stands inside a sentence; end the sentence by a blank line"
                )
            continue
        word = _word(text.split("\t"), place, len(sentence) + 1, tags, trees)
        if word is not None:
            sentence.append(word)
            places.append(place)
    if not sentence:
        raise InputError(f"{name}:{block[0][0]}: the sentence that begins here has no words")
    if trees:
        _check_tree([int(word["head"]) for word in sentence], places)
    return sentence


def _check_tree(heads: list[int], places: list[str]) -> None:
    """Refuses heads outside of the sentence, and words whose chain of heads does not end at the root."""
    for head, place in zip(heads, places, strict=True):
        if head > len(heads):
            raise InputError(f"{place}: the head is word {head}, and the sentence has {len(heads)} words")
    hangs = {0}
    for first in range(1, len(heads) + 1):
        path: set[int] = set()
        node = first
        while node not in hangs:
            if node in path:
                raise InputError(f"{places[first - 1]}: the heads form a cycle")
            path.add(node)
            node = heads[node - 1]
        hangs |= path


def _word(columns: list[str], place: str, expected: int, tags: bool, trees: bool) -> Word | None:
    """The word in a line; None if it holds a range or an empty node."""
    if len(columns) != COLUMNS:
        raise InputError(f"{place}: expected {COLUMNS} columns with tabs between them, got {len(columns)}")
    identity, form, _, tag, _, _, head, relation, _, _ = columns
    if NO_WORD.fullmatch(identity):
        return None
    if not NUMBER.fullmatch(identity) or int(identity) != expected:
        raise InputError(f"{place}: expected the number {expected} of the next word, got {quoted(identity)}")
    if not form:
        raise InputError(f"{place}: this word has no form")
    word: Word = {"word": form}
    if tag != "_" or tags:
        if tag not in TAGS:
            raise InputError(f"{place}: expected a universal part of speech such as NOUN, got {quoted(tag)}")
        word["tag"] = tag
    if trees:
        if not HEAD.fullmatch(head):
            raise InputError(
                f"{place}: expected the number of the head, or 0 for the root, got {quoted(head)}"
            )
        if relation in ("", "_"):
            raise InputError(f"{place}: this word has no relation to its head")
        word |= {"head": head, "relation": relation}
    return word
