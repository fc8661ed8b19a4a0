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
# What pandas and R read as missing, and what the tables of the UCI repository, of SAS and of people have.
_MISSING = frozenset(
    {
        "na",
        "n/a",
        "#n/a",
        "<na>",
        "#na",
        "n.a.",
        "nan",
        "-nan",
        "null",
        "none",
        "nil",
        "missing",
        "unknown",
        "?",
        "-",
        "--",
        ".",
        "1.#qnan",
        "-1.#ind",
        "#null!",
        "#value!",
    }
)
_MOSTLY = 0.9  # a column of text is likely meant for numbers if so many of its fields are some


def separator_of(path: Path) -> str | None:
    """What stands between the fields of a table, by its name; None if the file is no table.

    >>> separator_of(Path("a.csv")), separator_of(Path("a.tsv.gz")), separator_of(Path("a.jsonl"))
    (',', '\\t', None)
    """
    name = path.stem if path.suffix in {".gz", ".zst"} else path.name
    return _SEPARATORS.get(Path(name).suffix.lower())


def is_missing(text: str) -> bool:
    """Whether a field of a column of numbers or truth values says that there is none.

    >>> is_missing(" "), is_missing("NaN"), is_missing("N/A"), is_missing("0")
    (True, True, True, False)
    """
    bare = text.strip().lower()
    return not bare or bare in _MISSING


def column_types(rows: Sequence[Mapping[str, str]]) -> dict[str, ColumnType]:
    """The type of each column: truth values or numbers where all fields are that are not missing.

    >>> column_types([{"a": "1", "b": "007", "c": "True"}, {"a": "NA", "b": "8", "c": ""}])
    {'a': 'integer', 'b': 'text', 'c': 'boolean'}
    """
    return {name: _column_type([row[name].strip() for row in rows]) for name in (rows[0] if rows else {})}


def _column_type(texts: Sequence[str]) -> ColumnType:
    filled = [text for text in texts if not is_missing(text)]
    if filled and all(text.lower() in _TRUTH for text in filled):
        return "boolean"
    if filled and all(_is_number(text, int) for text in filled):
        return "integer"
    return "number" if filled and all(_is_number(text, float) for text in filled) else "text"


def column_notes(rows: FileExamples[dict[str, str]], types: Mapping[str, ColumnType]) -> list[str]:
    """What a reader of a table should know: how missing numbers are written, and what spoils a column.

    >>> rows = FileExamples([{"a": "1"}, {"a": "NA"}], places=["t.csv:2", "t.csv:3"], skipped=[])
    >>> column_notes(rows, {"a": "integer"})
    ["note: the column 'a' has 1 missing value, written 'NA'"]
    """
    notes = []
    for name, kind in types.items():
        texts = [row[name].strip() for row in rows]
        words = dict.fromkeys(text for text in texts if text and is_missing(text))
        if kind != "text" and words:
            count = sum(map(is_missing, texts))
            written = shortened(", ".join(map(quoted, words)), 100)
            plural = "" if count == 1 else "s"
            notes.append(
                f"note: the column {quoted(name)} has {count:,} missing value{plural}, written {written}"
            )
        others = [
            number
            for number, text in enumerate(texts)
            if kind == "text" and not is_missing(text) and not _is_number(text, float)
        ]
        numbers = sum(_is_number(text, float) for text in texts) if others else 0
        if others and numbers >= _MOSTLY * (numbers + len(others)):
            notes.append(
                f"warning: the column {quoted(name)} holds {numbers:,} numbers, and is read as text because "
                f"of {quoted(texts[others[0]])} in {rows.places[others[0]]}"
                + (f" and {len(others) - 1:,} more" if len(others) > 1 else "")
            )
    return notes


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
    """A row as a JSON object: null where it is blank, or says that a number or truth value is missing.

    Raises:
        InputError: a field is not of the type of its column; it names place and column.

    >>> typed_row({"a": "1", "b": "", "c": "NA", "d": "NA"}, {"a": "number", "c": "number"}, "t.csv:2")
    {'a': 1.0, 'b': None, 'c': None, 'd': 'NA'}
    """
    return {
        name: _typed(text, types.get(name, "text"), name, place) if text.strip() else None
        for name, text in row.items()
    }


def _typed(text: str, kind: ColumnType, name: str, place: str) -> object:
    if kind != "text" and is_missing(text):
        return None
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
