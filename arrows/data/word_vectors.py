"""Reads pretrained word vectors from text files, which may be much larger than memory."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np

from arrows.data.file_examples import decoded, lines_of
from arrows.storage import require_path
from arrows.typesys import ArrowTypeError, InputError, quoted

Vector = np.ndarray[Any, np.dtype[np.float32]]


def read_vectors(path: str | Path, words: Iterable[str]) -> dict[str, Vector]:
    """Reads the vectors of the given words from a text file: of GloVe, word2vec or fastText.

    In these formats a line is a word and its numbers, separated by single spaces, in UTF-8. A few of the
    published words contain spaces: the numbers are the last fields of a line. How many there are is said by
    the first line: that of word2vec and fastText (`.vec`) holds two whole numbers alone, how many words there
    are and how many numbers each has; that of GloVe is a word with its numbers already. (Pennington, Socher,
    Manning, "GloVe: Global Vectors for Word Representation", EMNLP 2014; Bojanowski, Grave, Joulin, Mikolov,
    "Enriching Word Vectors with Subword Information", TACL 2017.)

    The file is streamed, and only the vectors of `words` take memory. If a word occurs twice, its first line
    counts.

    Args:
        path: the file; decompressed while it is read if its name ends in `.gz`.
        words: the words whose vectors to read.

    Returns:
        Word -> vector, float32 `[size of the file's vectors]`, for the words in the file, in its order.

    Raises:
        InputError: a row that is shorter than the first line says, a field that is not a number or that
            float32 cannot hold, bytes that are not UTF-8, or a file without vectors; it names file and line.
            Numbers are checked in the rows of `words` only, everything else in every row.
        ArrowTypeError: `words` is one text.
        OSError: the file cannot be read.

    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "vectors.txt")
    ...     _ = path.write_text("3 2\\nthe 0.1 0.2\\nfilm -1 2\\n. . . 3 4\\n")
    ...     {word: vector.tolist() for word, vector in read_vectors(path, ["film", "cast", ". . ."]).items()}
    {'film': [-1.0, 2.0], '. . .': [3.0, 4.0]}
    """
    path = require_path("read_vectors: path", path)
    if isinstance(words, str):
        raise ArrowTypeError(
            f"read_vectors: words is one text, {quoted(words)}, and should be a list of them"
        )
    wanted = set(words)
    vectors: dict[str, Vector] = {}
    lines = ((number, raw.rstrip(b"\r\n ")) for number, raw in lines_of(path, str(path)))
    first = list(islice(lines, 2))
    size = _size_in_header(first)
    header = size is not None
    for number, line in chain(first[header:], lines):
        blanks = line.count(b" ")
        size = size or blanks
        if not size or blanks < size:
            decoded(line, str(path), number)
            source = "the first line says" if header else "in the first row"
            expected = f"{size} numbers, as {source}" if size else "numbers"
            raise InputError(f"{path}:{number}: expected a word and {expected}, got {blanks}")
        # Of most rows the word alone is read, and most words have no space.
        head = line.rsplit(b" ", size)[0] if blanks > size else line.partition(b" ")[0]
        word = decoded(head, str(path), number)
        if word in wanted and word not in vectors:
            vectors[word] = _vector(line.rsplit(b" ", size)[1:], f"{path}:{number}")
    if not size or len(first) == header:
        raise InputError(f"{path}: there are no vectors in this file")
    return vectors


def _size_in_header(first: Sequence[tuple[int, bytes]]) -> int | None:
    """How many numbers a row has, from the first two lines; None if the first is a row and no header."""
    fields = first[0][1].split(b" ") if first else []
    if len(fields) != 2 or not all(field.isdigit() for field in fields) or not int(fields[1]):
        return None
    size = int(fields[1])
    # Where each row is a word and one number, a first word may be a number.
    one_number = len(first) > 1 and first[1][1].count(b" ") == 1
    return None if one_number and size != 1 else size


def _vector(fields: Sequence[bytes], place: str) -> Vector:
    with np.errstate(over="ignore"), suppress(ValueError):
        vector = np.array([*map(float, fields)], np.float32)
        if np.isfinite(vector).all():
            return vector
    text = quoted(b" ".join(fields).decode("utf-8", "replace"))
    raise InputError(f"{place}: expected {len(fields)} numbers that float32 can hold, got {text}")
