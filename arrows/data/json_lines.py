"""Reads JSON Lines: a file with one JSON value a line."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

from arrows.data.file_examples import FileExamples, FileStream, collected, lines_of
from arrows.data.utf8 import decoded
from arrows.files import require_path
from arrows.typesys import ArrowTypeError, InputError
from arrows.typesys.quoting import quoted, shortened

Fields = Mapping[str, type | tuple[type, ...]]
"""Names of fields, and the Python types that their values may have."""


def read_json_lines(
    path: str | Path, *, fields: Fields | None = None, errors: str = "stop"
) -> FileExamples[Any]:
    """Reads a file with a JSON value in each line; blank lines are skipped.

    Args:
        path: the file, in UTF-8; if its name ends in `.gz` or `.zst`, it is decompressed.
        fields: what each value must have: a type, or several, by the name of the field, such as
            `{"text": str, "stars": (int, type(None))}`.  A whole number is a `float` too.  None: anything
            goes.
        errors: "stop" at the first error; or "skip": leave out the lines with errors, and list these in the
            result's `skipped`.

    Returns:
        A list of the values, which also knows the `places` where they stood.

    Raises:
        ArrowTypeError: `fields` are no types by name.
        InputError: a line that holds no JSON value, no object where `fields` are wanted, a field that is
            missing, of another type or in an object twice, or bytes that are not UTF-8; it names file, line,
            column and field.
        OSError: the file cannot be read.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "reviews.jsonl")
    ...     _ = path.write_text('{"text": "good", "stars": 5}\\n{"text": "bad", "stars": 1}\\n')
    ...     read_json_lines(path, fields={"text": str, "stars": int})
    [{'text': 'good', 'stars': 5}, {'text': 'bad', 'stars': 1}]
    """
    path, fields = require_path("read_json_lines: path", path), _checked_fields(fields)
    return collected(path, _values(path, fields), errors)


def iterate_json_lines(
    path: str | Path, *, fields: Fields | None = None, errors: str = "stop"
) -> FileStream[Any]:
    """As `read_json_lines`, but one value after the other, for a file that is larger than memory.

    With `errors="skip"`, the result's `skipped` lists what has been left out so far.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "numbers.jsonl")
    ...     _ = path.write_text("1\\n2\\n")
    ...     sum(iterate_json_lines(path))
    3
    """
    path, fields = require_path("iterate_json_lines: path", path), _checked_fields(fields)
    return FileStream(path, _values(path, fields), errors)


def _checked_fields(fields: Fields | None) -> Fields:
    fields = {} if fields is None else fields
    types = fields.values() if isinstance(fields, Mapping) else [None]
    if not all(isinstance(t, type) for allowed in types for t in _as_tuple(allowed)):
        raise ArrowTypeError(
            f"read_json_lines: fields should be types by name, such as {{'stars': int}}, not {fields!r}"
        )
    return fields


def _values(path: Path, fields: Fields) -> Iterator[tuple[int, Callable[[], Any]]]:
    for number, raw in lines_of(path):
        if raw.strip(b" \t\r\f\v"):
            yield number, partial(parse_json_line, raw, path, number, fields)


def parse_json_line(raw: bytes, source: object, number: int, fields: Fields = MappingProxyType({})) -> Any:
    """The JSON value of a line.

    Args:
        raw: the bytes of the line.
        source: the name of the text in errors, a file's name for example.
        number: the line's number, from 1.
        fields: as of `read_json_lines`.

    Raises:
        InputError: as `read_json_lines`.

    >>> parse_json_line(b'{"stars": 5}', "standard input", 1)
    {'stars': 5}
    """
    text = decoded(raw, source, number)
    try:
        value = _DECODER.decode(text)
    except json.JSONDecodeError as error:
        raise InputError(f"{source}:{number}:{error.colno}: this is no JSON: {error.msg}") from error
    except RecursionError as error:
        raise InputError(f"{source}:{number}:1: this JSON value is nested too deeply") from error
    except ValueError as error:  # a field twice, or an integer of more digits than Python reads
        raise InputError(f"{source}:{number}:1: {error}") from error
    if fields:
        _check_fields(value, fields, text, f"{source}:{number}")
    return value


def _unique(fields: list[tuple[str, Any]]) -> dict[str, Any]:
    """The fields of an object; refuses a name that is there twice, since one of the values would be lost."""
    unique = dict(fields)
    if len(unique) < len(fields):
        double = next(name for name, count in Counter(name for name, _ in fields).items() if count > 1)
        raise ValueError(f"the field {quoted(double)} is there twice in one object")
    return unique


_DECODER = json.JSONDecoder(object_pairs_hook=_unique)


def _check_fields(value: object, fields: Fields, text: str, place: str) -> None:
    """Refuses a value that lacks a field, or has one of another type; `text` is the value's."""
    start = _after_blanks(text, 0)
    if not isinstance(value, dict):
        raise InputError(f"{place}:{start + 1}: expected an object with fields, got {type(value).__name__}")
    for name, types in fields.items():
        if name not in value:
            there = ", ".join(map(quoted, value)) or "none"
            raise InputError(
                f"{place}:{start + 1}: the field {quoted(name)} is missing; there are {shortened(there, 200)}"
            )
        allowed = _as_tuple(types)
        item = value[name]
        fits = isinstance(item, allowed) or (float in allowed and isinstance(item, int))
        if not fits or (isinstance(item, bool) and bool not in allowed):
            wanted = type_names(allowed, "null")
            got = "null" if item is None else f"{type(item).__name__}: {shortened(repr(item), 60)}"
            column = _column(text, name)
            raise InputError(
                f"{place}:{column}: the field {quoted(name)} should be of type {wanted}, not {got}"
            )


def _column(text: str, name: str) -> int:
    """Where the value of a field begins in the text of an object, from 1.

    >>> _column('{"text": "}", "stars": "5"}', "stars")
    24
    """
    decoder, column, place = json.JSONDecoder(), 1, text.index("{")
    while text[place] != "}":
        key, place = decoder.raw_decode(text, _after_blanks(text, place + 1))
        start = _after_blanks(text, text.index(":", place) + 1)
        _, place = decoder.raw_decode(text, start)
        if key == name:
            column = start + 1
        place = _after_blanks(text, place)
    return column


def _after_blanks(text: str, place: int) -> int:
    return len(text) - len(text[place:].lstrip(" \t\n\r"))


def _as_tuple(types: Any) -> tuple[Any, ...]:
    return types if isinstance(types, tuple) else (types,)


def type_names(types: tuple[type, ...], none: str) -> str:
    """Types in words; `none` stands for that of None."""
    return " or ".join(none if type_ is type(None) else type_.__name__ for type_ in types)
