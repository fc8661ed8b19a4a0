"""What the columns of a table hold, so that a model reads each table as it read the one it was fitted to."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Literal

from arrows.data import FileExamples
from arrows.typesys import InputError
from arrows.typesys.quoting import quoted, shortened

ColumnType = Literal["boolean", "integer", "number", "text"]
METADATA = "table columns"
"""Under this name a model file keeps the types of columns."""

_SEPARATORS = {".csv": ",", ".tsv": "\t"}
_TRUTH = {"true": True, "false": False}


def separator_of(path: Path) -> str | None:
    """What stands between the fields of a table, by its name; None if the file is no table.

    >>> separator_of(Path("a.csv")), separator_of(Path("a.tsv.gz")), separator_of(Path("a.jsonl"))
    (',', '\\t', None)
    """
    name = path.stem if path.suffix in {".gz", ".zst"} else path.name
    return _SEPARATORS.get(Path(name).suffix.lower())


def column_types(rows: Sequence[Mapping[str, str]]) -> dict[str, ColumnType]:
    """The type of each column: truth values or numbers where all fields are that are not blank.

    >>> column_types([{"a": "1", "b": "007", "c": "True"}, {"a": "2.5", "b": "8", "c": ""}])
    {'a': 'number', 'b': 'text', 'c': 'boolean'}
    """
    return {name: _column_type([row[name].strip() for row in rows]) for name in (rows[0] if rows else {})}


def _column_type(texts: Sequence[str]) -> ColumnType:
    filled = [text for text in texts if text]
    if filled and all(text.lower() in _TRUTH for text in filled):
        return "boolean"
    if filled and all(_is_number(text, int) for text in filled):
        return "integer"
    return "number" if filled and all(_is_number(text, float) for text in filled) else "text"


def _is_number(text: str, read: Callable[[str], float]) -> bool:
    # 007 is a name; and so is what Python reads beside plain numbers, such as 1_000 and nan.
    digits = text.lstrip("+-")
    if "_" in text or (digits[:1] == "0" and digits[1:2].isdigit()):
        return False
    try:
        return math.isfinite(read(text))
    except (ValueError, OverflowError):
        return False


def typed_row(row: Mapping[str, str], types: Mapping[str, ColumnType], place: str) -> dict[str, object]:
    """A row as a JSON object: null where it is blank.

    Raises:
        InputError: a field is not of the type of its column; it names place and column.

    >>> typed_row({"a": "1", "b": ""}, {"a": "number"}, "t.csv:2")
    {'a': 1.0, 'b': None}
    """
    return {
        name: _typed(text, types.get(name, "text"), name, place) if text.strip() else None
        for name, text in row.items()
    }


def _typed(text: str, kind: ColumnType, name: str, place: str) -> object:
    match kind:
        case "text":
            return text
        case "boolean" if text.strip().lower() in _TRUTH:
            return _TRUTH[text.strip().lower()]
        case "integer" if _is_number(text.strip(), int):
            return int(text)
        case "integer" | "number" if _is_number(text.strip(), float):
            return float(text)
    wanted = "true or false" if kind == "boolean" else "a number"
    raise InputError(f"{place}: the column {quoted(name)} should hold {wanted}, not {quoted(text)}")


def typed_rows(
    rows: FileExamples[dict[str, str]], types: Mapping[str, ColumnType]
) -> list[dict[str, object] | InputError]:
    """The rows of a table as JSON objects, or what is wrong with them."""
    documents: list[dict[str, object] | InputError] = []
    for row, place in zip(rows, rows.places, strict=True):
        try:
            documents.append(typed_row(row, types, place))
        except InputError as error:
            documents.append(error)
    return documents


def require_columns(row: Mapping[str, str], types: Mapping[str, ColumnType], path: Path) -> None:
    """Refuses a table that lacks a column of the one that a model was fitted to.

    Raises:
        InputError: it names the column.
    """
    missing = [name for name in types if name not in row]
    if missing:
        there = shortened(", ".join(map(quoted, row)), 200)
        raise InputError(f"{path}:1: no column has the name {quoted(missing[0])}; there are {there}")


def types_text(types: Mapping[str, ColumnType]) -> str:
    """Types of columns as a text, which `types_of_text` reads."""
    return json.dumps(types)


def types_of_text(text: str | None, model: Path) -> dict[str, ColumnType]:
    """Reads what `types_text` gave.

    Raises:
        InputError: None or another text: the model was not fitted to a table.
    """
    types: dict[str, ColumnType] = {}
    try:
        items = json.loads(text or "null").items()
    except (ValueError, AttributeError, RecursionError):
        raise InputError(
            f"{model} was not fitted to a table, so nothing says what columns hold; give it JSON Lines"
        ) from None
    for name, kind in items:
        match kind:
            case "boolean" | "integer" | "number" | "text":
                types[name] = kind
            case _:
                raise InputError(f"{model}: the column {quoted(name)} has no type that there is")
    return types
