"""Reads JSON Lines: a file with one JSON value a line."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from arrows.data.file_examples import FileReader, Source, by_line
from arrows.typesys import InputError, quoted


def read_json_lines(path: Source, *, errors: str = "stop") -> FileReader[Any]:
    """Reads a file with a JSON value in each line; blank lines are skipped.

    Args:
        path: the file, in UTF-8, or one that is open; decompressed if its name ends in `.gz`.
        errors: "stop" at the first error; or "skip": leave out the lines with errors, and list these in the
            reader's `skipped`.

    Returns:
        A reader, which gives the values one after the other; `to_list()` gives a list of them.

    Raises:
        InputError: while reading: a line that holds no JSON value, such as NaN, a field that is in an object
            twice, or bytes that are not UTF-8; it names file and line.
        OSError: while reading: the file cannot be read.

    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "reviews.jsonl")
    ...     _ = path.write_text('{"text": "good", "stars": 5}\\n{"text": "bad", "stars": 1}\\n')
    ...     read_json_lines(path).to_list()
    [{'text': 'good', 'stars': 5}, {'text': 'bad', 'stars': 1}]
    """
    return by_line("read_json_lines", path, _value, errors)


def _value(text: str, source: str, number: int) -> Any:
    """The JSON value of a line."""
    place = f"{source}:{number}"
    try:
        return _DECODER.decode(text)
    except json.JSONDecodeError as error:
        whole = "; of one array, `jq -c '.[]'` makes JSON Lines, a value on each line"
        hint = whole * (number == 1 and text.startswith("["))
        raise InputError(f"{place}:{error.colno}: this is no JSON: {error.msg}{hint}") from error
    except RecursionError as error:
        raise InputError(f"{place}: this JSON value is nested too deeply") from error
    except ValueError as error:  # a field twice, NaN, or an integer of more digits than Python reads
        raise InputError(f"{place}: {error}") from error


def _unique(fields: list[tuple[str, Any]]) -> dict[str, Any]:
    """The fields of an object; refuses a name that is there twice, since one of the values would be lost."""
    unique = dict(fields)
    if len(unique) < len(fields):
        double = next(name for name, count in Counter(name for name, _ in fields).items() if count > 1)
        raise ValueError(f"the field {quoted(double)} is there twice in one object")
    return unique


def _refused(name: str) -> None:
    """Refuses NaN, Infinity and -Infinity, which Python reads though JSON does not have them."""
    raise ValueError(f"JSON has no {name}; null stands for a missing number")


_DECODER = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_refused)
