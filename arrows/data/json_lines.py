"""Reads JSON Lines: a file with one JSON value a line."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any

from arrows.data.file_examples import FileReader, Lines, Source, decoded
from arrows.typesys import ArrowTypeError, InputError
from arrows.typesys.quoting import quoted, shortened

Fields = Mapping[str, type | tuple[type, ...]]
"""Names of fields, and the Python types that their values may have."""


def read_json_lines(path: Source, *, fields: Fields | None = None, errors: str = "stop") -> FileReader[Any]:
    """Reads a file with a JSON value in each line; blank lines are skipped.

    Args:
        path: the file, in UTF-8, or one that is open; if its name ends in `.gz` or `.zst`, it is
            decompressed.
        fields: what each value must have: a type, or several, by the name of the field, such as
            `{"text": str, "stars": (int, type(None))}`.  A whole number is a `float` too.  None: anything
            goes.
        errors: "stop" at the first error; or "skip": leave out the lines with errors, and list these in the
            reader's `skipped`.

    Returns:
        A reader, which gives the values one after the other; `to_list()` gives a list of them.

    Raises:
        ArrowTypeError: `fields` are no types by name.
        InputError: while reading: a line that holds no JSON value, no object where `fields` are wanted, a
            field that is missing, of another type or in an object twice, or bytes that are not UTF-8; it
            names file, line and field.
        OSError: while reading: the file cannot be read.

    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "reviews.jsonl")
    ...     _ = path.write_text('{"text": "good", "stars": 5}\\n{"text": "bad", "stars": 1}\\n')
    ...     read_json_lines(path, fields={"text": str, "stars": int}).to_list()
    [{'text': 'good', 'stars': 5}, {'text': 'bad', 'stars': 1}]
    """
    fields = {} if fields is None else fields
    types = fields.values() if isinstance(fields, Mapping) else [None]
    if not all(isinstance(t, type) for allowed in types for t in _as_tuple(allowed)):
        raise ArrowTypeError(
            f"read_json_lines: fields should be types by name, such as {{'stars': int}}, not {fields!r}"
        )
    return FileReader("read_json_lines", path, partial(_values, fields), errors)


def _values(fields: Fields, lines: Lines, name: str) -> Iterator[tuple[int, Callable[[], Any]]]:
    for number, raw in lines:
        if raw.strip(b" \t\r\f\v"):
            yield number, partial(parse_json_line, raw, name, number, fields)


def parse_json_line(raw: bytes, source: str, number: int, fields: Fields = MappingProxyType({})) -> Any:
    """The JSON value of a line.

    Args:
        raw: the bytes of the line.
        source: the name of the file in errors.
        number: the line's number, from 1.
        fields: as of `read_json_lines`.

    Raises:
        InputError: as `read_json_lines`.

    >>> parse_json_line(b'{"stars": 5}', "standard input", 1)
    {'stars': 5}
    """
    text, place = decoded(raw, source, number), f"{source}:{number}"
    try:
        value = _DECODER.decode(text)
    except json.JSONDecodeError as error:
        whole = "; of one array, `jq -c '.[]'` makes JSON Lines, a value on each line"
        hint = whole * (number == 1 and text.startswith("["))
        raise InputError(f"{place}:{error.colno}: this is no JSON: {error.msg}{hint}") from error
    except RecursionError as error:
        raise InputError(f"{place}: this JSON value is nested too deeply") from error
    except ValueError as error:  # a field twice, or an integer of more digits than Python reads
        raise InputError(f"{place}: {error}") from error
    if fields and not isinstance(value, dict):
        raise InputError(f"{place}: expected an object with fields, got {type(value).__name__}")
    for name, types in fields.items():
        if name not in value:
            there = shortened(", ".join(map(quoted, value)) or "none", 200)
            raise InputError(f"{place}: the field {quoted(name)} is missing; there are {there}")
        allowed, item = _as_tuple(types), value[name]
        fits = isinstance(item, allowed) or (float in allowed and isinstance(item, int))
        if not fits or (isinstance(item, bool) and bool not in allowed):
            got = "null" if item is None else f"{type(item).__name__}: {shortened(repr(item), 60)}"
            wanted = type_names(allowed, "null")
            raise InputError(f"{place}: the field {quoted(name)} should be of type {wanted}, not {got}")
    return value


def _unique(fields: list[tuple[str, Any]]) -> dict[str, Any]:
    """The fields of an object; refuses a name that is there twice, since one of the values would be lost."""
    unique = dict(fields)
    if len(unique) < len(fields):
        double = next(name for name, count in Counter(name for name, _ in fields).items() if count > 1)
        raise ValueError(f"the field {quoted(double)} is there twice in one object")
    return unique


_DECODER = json.JSONDecoder(object_pairs_hook=_unique)


def _as_tuple(types: Any) -> tuple[Any, ...]:
    return types if isinstance(types, tuple) else (types,)


def type_names(types: tuple[type, ...], none: str) -> str:
    """Types in words; `none` stands for that of None."""
    return " or ".join(none if type_ is type(None) else type_.__name__ for type_ in types)
