"""Word vectors that others trained, from text files that may be much larger than memory."""

from __future__ import annotations

from collections.abc import Iterable
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np

from arrows.data.utf8 import decoded
from arrows.typesys.errors import InputError
from arrows.typesys.quoting import quoted

IN_NUMBERS = b"0123456789+-.eE"  # what `float` would read besides, such as 1_0, is no number in a file
Vector = np.ndarray[Any, np.dtype[np.float32]]


def read_vectors(path: str | Path, words: Iterable[str]) -> dict[str, Vector]:
    """Reads the vectors of some words from a file in the text format of GloVe.

    Pennington, Socher, Manning, "GloVe: Global Vectors for Word Representation", EMNLP 2014: a line is a word
    and its numbers, parted by single blanks, in UTF-8. Words may hold blanks themselves, as a few of the
    published ones do: the numbers are the last fields of a line, and the first line says how many they are.

    The file is streamed. Memory is needed for the vectors of `words` only; of a word that is there twice the
    first line counts.

    Args:
        path: the file.
        words: whose vectors are wanted.

    Returns:
        The words that the file has, with their vectors, each float32 of the file's size, in the file's order.

    Raises:
        InputError: a row that is shorter than the first one, a field that is no number or one that float32
            cannot hold, bytes that are not UTF-8, or a file without vectors; it names file, line and column.
            Numbers are looked at in the wanted rows only, all else in every row.
        OSError: the file cannot be read.

    >>> import tempfile, os
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "vectors.txt")
    ...     with open(path, "w", encoding="utf-8") as file:
    ...         _ = file.write("the 0.1 0.2\\nfilm -1 2\\n. . . 3 4\\n")
    ...     {word: vector.tolist() for word, vector in read_vectors(path, ["film", "cast", ". . ."]).items()}
    {'film': [-1.0, 2.0], '. . .': [3.0, 4.0]}
    """
    path = Path(path)
    wanted = set(words)
    found: dict[str, Vector] = {}
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
            if word in wanted and word not in found:
                found[word] = _numbers(path, number, line, size)
    if not size:
        raise InputError(f"{path}: there are no vectors in this file")
    return found


def _refuse_row(path: Path, number: int, line: bytes, blanks: int, size: int) -> None:
    text = decoded(line, path, number)
    expected = f"{size} numbers, as in the first row" if size else "numbers"
    raise InputError(f"{path}:{number}:{len(text) + 1}: expected a word and {expected}, got {blanks}")


def _numbers(path: Path, number: int, line: bytes, size: int) -> Vector:
    fields = line.rsplit(b" ", size)
    values = []
    for place, field in enumerate(fields[1:], start=1):
        try:
            value = float(field) if not field.translate(None, IN_NUMBERS) else float("nan")
        except ValueError:
            value = float("nan")
        if not isfinite(value):
            before = b" ".join(fields[:place]).decode("utf-8", "replace")
            text = field.decode("utf-8", "replace")
            raise InputError(f"{path}:{number}:{len(before) + 2}: expected a number, got {quoted(text)}")
        values.append(value)
    with np.errstate(over="ignore"):
        vector = np.array(values, np.float32)
    if not np.isfinite(vector).all():
        place = int(np.flatnonzero(~np.isfinite(vector))[0]) + 1
        before = b" ".join(fields[:place]).decode("utf-8", "replace")
        text = fields[place].decode("utf-8", "replace")
        raise InputError(
            f"{path}:{number}:{len(before) + 2}: expected a number that float32 can hold, got {text!r}"
        )
    return vector
