"""Reads sentences with parts of speech, and their trees: the CoNLL-U files of Universal Dependencies.

A sentence is a list of words, and a word a plain dict: `{"word": form, "tag": part of speech}`, with the
keys "head" and "relation" where its tree is read too, "lemma" and "features" where these are.
"""

from __future__ import annotations

import re
from codecs import BOM_UTF8
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

from arrows.data.file_examples import FileExamples, FileStream, collected, lines_of
from arrows.data.utf8 import decoded
from arrows.files import require_path
from arrows.typesys import InputError
from arrows.typesys.quoting import quoted

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
    path: str | Path,
    *,
    trees: bool = False,
    lemmas: bool = False,
    features: bool = False,
    errors: str = "stop",
) -> FileExamples[Sentence]:
    """Reads a file in the CoNLL-U format: words, their universal parts of speech, and what else is asked for.

    Lines end with a line feed, and tabs separate columns; other blanks have no meaning. A byte-order mark,
    comments, ranges of words, empty nodes, and blank lines between sentences are skipped.

    Args:
        path: the file, in UTF-8; if its name ends in `.gz` or `.zst`, it is decompressed.
        trees: also read the head of each word, and its relation to the head.
        lemmas: also read the lemma of each word.
        features: also read the morphological features of each word.
        errors: "stop" at the first error; or "skip": leave out the sentences with errors, and list these in
            the result's `skipped`.

    Returns:
        A list of sentences, which also knows the `places` where they begin. A sentence is a list of
        `{"word": form, "tag": one of TAGS}`. With `trees`, each word also has a "head", the number of a word
        as text, "0" for the root, and a "relation"; with `lemmas` a "lemma"; with `features` the "features",
        a dict such as `{"Number": "Sing"}`.

    Raises:
        InputError: a line without ten columns, words that are not numbered 1, 2, ..., a word without form, a
            tag that is not in `TAGS`, a sentence without words, or bytes that are not UTF-8; with `trees`, a
            head that is no word of the sentence, a word without relation, or heads that form a cycle; with
            `lemmas`, a word without lemma; with `features`, one without name or value, or a name twice. The
            error names file, line and column (in characters, from 1).
        OSError: the file cannot be read.

    Source: universaldependencies.org/format.html, "CoNLL-U Format".

    >>> import os, tempfile
    >>> rows = [["1", "Trees", "tree", "NOUN"], ["2", "grow", "grow", "VERB"]]
    >>> text = "# a comment\\n" + "".join("\\t".join([*row, *"______"]) + "\\n" for row in rows)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "two.conllu")
    ...     with open(path, "w", encoding="utf-8") as file:
    ...         _ = file.write(text + "\\n")
    ...     read_conllu(path)
    [[{'word': 'Trees', 'tag': 'NOUN'}, {'word': 'grow', 'tag': 'VERB'}]]
    """
    path = require_path("read_conllu: path", path)
    columns = Columns(trees=trees, lemmas=lemmas, features=features)
    return collected(path, _sentences(lines_of(path), path, columns), errors)


def iterate_conllu(
    path: str | Path,
    *,
    trees: bool = False,
    lemmas: bool = False,
    features: bool = False,
    errors: str = "stop",
) -> FileStream[Sentence]:
    """As `read_conllu`, but one sentence after the other, for a file that is larger than memory.

    With `errors="skip"`, the result's `skipped` lists what has been left out so far.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "one.conllu")
    ...     _ = path.write_text("1\\tTrees\\t_\\tNOUN\\t_\\t_\\t_\\t_\\t_\\t_\\n")
    ...     next(iterate_conllu(path))
    [{'word': 'Trees', 'tag': 'NOUN'}]
    """
    path = require_path("iterate_conllu: path", path)
    columns = Columns(trees=trees, lemmas=lemmas, features=features)
    return FileStream(path, _sentences(lines_of(path), path, columns), errors)


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """Which columns of a CoNLL-U file are read besides the form.

    Attributes:
        trees, lemmas, features: as in `read_conllu`.
        tags: whether each word must have a tag; else a word whose tag is `_` has none.
    """

    trees: bool = False
    lemmas: bool = False
    features: bool = False
    tags: bool = True


def parse_conllu(data: bytes, source: object, columns: Columns) -> list[Sentence]:
    """Reads the bytes of a CoNLL-U file; otherwise as `read_conllu`.

    Args:
        data: the bytes.
        source: the name of the text in errors.
        columns: what to read.

    >>> row = b"1\\tTrees\\t_\\t_\\t_\\t_\\t_\\t_\\t_\\t_"
    >>> parse_conllu(row, "standard input", Columns(tags=False))
    [[{'word': 'Trees'}]]
    """
    lines = enumerate(data.split(b"\n"), start=1)
    return [read() for _, read in _sentences(lines, source, columns)]


def _sentences(
    lines: Iterable[tuple[int, bytes]], source: object, columns: Columns
) -> Iterator[tuple[int, Callable[[], Sentence]]]:
    """For each sentence, its first line, and a function that reads it; blank lines end sentences."""
    block: list[tuple[int, bytes]] = []
    for number, raw in chain(lines, [(0, b"")]):
        text = raw.removeprefix(BOM_UTF8) if number == 1 else raw
        if text.removesuffix(b"\r"):
            block.append((number, raw))
        elif block:
            yield block[0][0], partial(_sentence, block, source, columns)
            block = []


def _sentence(block: list[tuple[int, bytes]], source: object, columns: Columns) -> Sentence:
    sentence: Sentence = []
    rows: list[_ConlluLine] = []  # the line of each word
    for number, raw in block:
        line = _ConlluLine(source, number, raw)
        if line.text.startswith("#"):
            if sentence:
                raise line.error(0, "a comment stands inside a sentence; end the sentence by a blank line")
            continue
        word = line.word(len(sentence) + 1, columns)
        if word is not None:
            sentence.append(word)
            rows.append(line)
    if not sentence:
        raise InputError(f"{source}:{block[0][0]}:1: the sentence that begins here has no words")
    if columns.trees:
        _check_tree(sentence, rows)
    return sentence


def _check_tree(sentence: Sentence, rows: list[_ConlluLine]) -> None:
    """Refuses heads outside of the sentence, and words whose chain of heads does not end at the root."""
    heads = [int(word["head"]) for word in sentence]
    for head, line in zip(heads, rows, strict=True):
        if head > len(heads):
            reason = f"the head is word {head}, and the sentence has {len(heads)} words"
            raise line.error(line.start(6), reason)
    hangs = {0}
    for first in range(1, len(heads) + 1):
        path: set[int] = set()
        node = first
        while node not in hangs:
            if node in path:
                raise rows[first - 1].error(rows[first - 1].start(6), "the heads form a cycle")
            path.add(node)
            node = heads[node - 1]
        hangs.update(path)


class _ConlluLine:
    """One line of a file; its errors name file, line and column."""

    def __init__(self, source: object, number: int, raw: bytes) -> None:
        self.source, self.number = source, number
        self.text = decoded(raw, source, number).removesuffix("\r")

    def error(self, position: int, reason: str) -> InputError:
        return InputError(f"{self.source}:{self.number}:{position + 1}: {reason}")

    def word(self, expected: int, wanted: Columns) -> Word | None:
        """The word in this line; None if it holds a range or an empty node."""
        columns = self.text.split("\t")
        identity = columns[0]
        if len(columns) != COLUMNS:
            reason = f"expected {COLUMNS} columns with tabs between them, got {len(columns)}"
            raise self.error(len(self.text) if len(columns) < COLUMNS else self.start(COLUMNS), reason)
        if NO_WORD.fullmatch(identity):
            return None
        if not NUMBER.fullmatch(identity) or int(identity) != expected:
            raise self.error(0, f"expected the number {expected} of the next word, got {quoted(identity)}")
        form, tag = columns[1], columns[3]
        if not form:
            raise self.error(self.start(1), "this word has no form")
        word: Word = {"word": form}
        if tag != "_" or wanted.tags:
            if tag not in TAGS:
                reason = f"expected a universal part of speech such as NOUN, got {quoted(tag)}"
                raise self.error(self.start(3), reason)
            word["tag"] = tag
        if wanted.lemmas:
            if columns[2] == "" or (columns[2] == "_" and form != "_"):
                raise self.error(self.start(2), "this word has no lemma")
            word["lemma"] = columns[2]
        if wanted.features:
            word["features"] = self._features(columns[5])
        if not wanted.trees:
            return word
        head, relation = columns[6], columns[7]
        if not HEAD.fullmatch(head):
            reason = f"expected the number of the head, or 0 for the root, got {quoted(head)}"
            raise self.error(self.start(6), reason)
        if relation in ("", "_"):
            raise self.error(self.start(7), "this word has no relation to its head")
        return word | {"head": head, "relation": relation}

    def _features(self, text: str) -> dict[str, str]:
        """The features of a column such as `Case=Nom|Number=Sing`; `_` is none."""
        features: dict[str, str] = {}
        place = self.start(5)
        for feature in [] if text == "_" else text.split("|"):
            name, equals, value = feature.partition("=")
            if not (name and equals and value):
                raise self.error(place, f"expected a feature such as Number=Sing, got {quoted(feature)}")
            if name in features:
                raise self.error(place, f"the feature {quoted(name)} is there twice")
            features[name] = value
            place += len(feature) + 1
        return features

    def start(self, column: int) -> int:
        """The position where a column starts."""
        return sum(len(text) + 1 for text in self.text.split("\t")[:column])
