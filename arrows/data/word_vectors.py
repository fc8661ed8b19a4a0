"""Reads pretrained word vectors from text files, which may be much larger than memory."""

from __future__ import annotations

from collections.abc import Iterable
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np

from arrows.data.utf8 import decoded
from arrows.files import require_path
from arrows.typesys import InputError
from arrows.typesys.quoting import quoted

IN_NUMBERS = b"0123456789+-.eE"  # `float` also reads 1_0, which is not a number in a file
Vector = np.ndarray[Any, np.dtype[np.float32]]


def read_vectors(path: str | Path, words: Iterable[str]) -> dict[str, Vector]:
    """Reads the vectors of the given words from a file in the text format of GloVe.

    In that format (Pennington, Socher, Manning, "GloVe: Global Vectors for Word Representation", EMNLP 2014)
    a line is a word and its numbers, separated by single spaces, in UTF-8. A few of the published words
    contain spaces: the numbers are the last fields of a line, and the first line says how many there are.

    The file is streamed, and only the vectors of `words` take memory. If a word occurs twice, its first line
    counts.

    Args:
        path: the file.
        words: the words whose vectors to read.

    Returns:
        Word -> vector, float32 `[size of the file's vectors]`, for the words in the file, in its order.

    Raises:
        InputError: a row that is shorter than the first one, a field that is not a number or that float32
            cannot hold, bytes that are not UTF-8, or a file without vectors; it names file, line and column.
            Numbers are checked in the rows of `words` only, everything else in every row.
        OSError: the file cannot be read.

    >>> import tempfile, os
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "vectors.txt")
    ...     with open(path, "w", encoding="utf-8") as file:
    ...         _ = file.write("the 0.1 0.2\\nfilm -1 2\\n. . . 3 4\\n")
    ...     {word: vector.tolist() for word, vector in read_vectors(path, ["film", "cast", ". . ."]).items()}
    {'film': [-1.0, 2.0], '. . .': [3.0, 4.0]}
    """
    path = require_path("read_vectors: path", path)
    wanted = set(words)
    vectors: dict[str, Vector] = {}
    size = 0
    with open(path, "rb") as file:
        for number, raw in enumerate(file, start=1):
            line = raw.rstrip(b"\r\n ")
            blanks = line.count(b" ")
            size = size or blanks
            if not size or blanks < size:
                _refuse_row(path, number, line, blanks, size)
            head = line.rsplit(b" ", size)[0] if blanks > size else line.partition(b" ")[0]
            word = decoded(head, path, number)
            if word in wanted and word not in vectors:
                vectors[word] = _vector(path, number, line, size)
    if not size:
        raise InputError(f"{path}: there are no vectors in this file")
    return vectors


def _refuse_row(path: Path, number: int, line: bytes, blanks: int, size: int) -> None:
    text = decoded(line, path, number)
    expected = f"{size} numbers, as in the first row" if size else "numbers"
    raise InputError(f"{path}:{number}:{len(text) + 1}: expected a word and {expected}, got {blanks}")


def _vector(path: Path, number: int, line: bytes, size: int) -> Vector:
    fields = line.rsplit(b" ", size)

    def error(position: int, expected: str) -> InputError:
        before = b" ".join(fields[:position]).decode("utf-8", "replace")
        text = fields[position].decode("utf-8", "replace")
        return InputError(f"{path}:{number}:{len(before) + 2}: expected {expected}, got {quoted(text)}")

    values = []
    for position, field in enumerate(fields[1:], start=1):
        try:
            value = float(field) if not field.translate(None, IN_NUMBERS) else float("nan")
        except ValueError:
            value = float("nan")
        if not isfinite(value):
            raise error(position, "a number")
        values.append(value)
    with np.errstate(over="ignore"):
        vector = np.array(values, np.float32)
    overflows = np.flatnonzero(~np.isfinite(vector))
    if overflows.size:
        raise error(int(overflows[0]) + 1, "a number that float32 can hold")
    return vector
