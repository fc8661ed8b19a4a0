"""What the columns of a table hold, so that a model reads each table as it read the one it was fitted to."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from arrows.data import FileExamples, lines_of
from arrows.training import read_metadata
from arrows.typesys import InputError, counted, quoted, shortened

METADATA = "table columns"
"""Under this name a model file keeps the types of columns."""

_TRUTH = {"true": True, "false": False}
# What pandas and R read as missing, and what the tables of the UCI repository, of SAS and of people have.
_MISSING = frozenset({
    "na", "n/a", "#n/a", "<na>", "#na", "n.a.", "nan", "-nan", "1.#qnan", "-1.#ind", "null", "#null!",
    "none", "nil", "missing", "unknown", "#value!", "?", "-", "--", ".",
})  # fmt: skip
_MOSTLY = 0.9  # a column of text is likely meant for numbers if so many of its fields look like some


def separator_of(path: Path) -> str | None:
    """What stands between the fields of a table; None if its name says that the file is no table.

    In a .csv file it is what the first line has most of: commas, semicolons or tabs.

    Raises:
        InputError, OSError: a .csv file cannot be read.

    >>> separator_of(Path("a.tsv.gz")), separator_of(Path("a.jsonl"))
    ('\\t', None)
    """
    name = path.stem if path.suffix == ".gz" else path.name
    kind = Path(name).suffix.lower()
    if kind == ".tsv":
        return "\t"
    if kind != ".csv":
        return None
    if not path.is_file():  # a pipe can be read but once
        return ","
    _, header = next(lines_of(path, name), (1, b""))
    bare = re.sub(rb'"[^"]*"', b"", header).decode("latin-1")
    return max(",;\t", key=bare.count)


def is_missing(text: str) -> bool:
    """Whether a field of a column of numbers or truth values says that there is none.

    >>> is_missing(" "), is_missing("NaN"), is_missing("N/A"), is_missing("0")
    (True, True, True, False)
    """
    bare = text.strip().lower()
    return not bare or bare in _MISSING


def _number(text: str) -> float:
    """A finite number; raises a ValueError or OverflowError if it is none."""
    # 007 is a name; and so is what Python reads beside plain numbers, such as 1_000.
    digits = text.strip().lstrip("+-")
    whole = digits.isdigit()
    value = int(text) if whole else float(text)
    if "_" in text or (digits[:1] == "0" and digits[1:2].isdigit()) or not math.isfinite(value):
        raise ValueError(text)
    return value


_READERS: Mapping[str, tuple[Callable[[str], object], str]] = {
    "boolean": (lambda text: _TRUTH[text.strip().lower()], "true or false"),
    "number": (_number, "a number"),
    "text": (str, "a text"),
}
"""What reads a field of each type of columns, and its name; the first that reads all fields is a column's."""


def field_of(kind: str, text: str) -> object:
    """What a field says: None where it is blank, or says that a number or truth value is missing.

    Raises:
        ValueError: it is not of the type of its column.

    >>> field_of("number", "1.5"), field_of("number", "NA"), field_of("text", "NA"), field_of("text", "")
    (1.5, None, 'NA', None)
    """
    if not text.strip() or (kind != "text" and is_missing(text)):
        return None
    read, name = _READERS[kind]
    try:
        return read(text)
    except (KeyError, OverflowError, ValueError):
        raise ValueError(f"expected {name}, not {quoted(text)}") from None


def _reads(kind: str, text: str) -> bool:
    try:
        field_of(kind, text)
    except ValueError:
        return False
    return True


def column_types(rows: Sequence[Mapping[str, str]]) -> dict[str, str]:
    """The type of each column: "boolean" or "number" where all fields are that are not missing.

    >>> column_types([{"a": "1", "b": "007", "c": "True"}, {"a": "NA", "b": "8", "c": ""}])
    {'a': 'number', 'b': 'text', 'c': 'boolean'}
    """
    types = {}
    for name in rows[0] if rows else ():
        filled = [row[name] for row in rows if not is_missing(row[name])]
        fits = (kind for kind in _READERS if all(_reads(kind, text) for text in filled))
        types[name] = next(fits) if filled else "text"
    return types


def column_notes(rows: FileExamples[dict[str, str]], types: Mapping[str, str]) -> list[str]:
    """What a reader of a table should know: which numbers are missing, and what spoils a column of numbers.

    >>> rows = FileExamples([{"a": "1"}, {"a": "NA"}, {"a": ""}], places=["2", "3", "4"], skipped=[])
    >>> column_notes(rows, {"a": "number"})
    ["note: the column 'a' has 2 missing values, written '' and 'NA'"]
    """
    notes = []
    for name, kind in types.items():
        texts = [row[name].strip() for row in rows]
        missing = [text for text in texts if is_missing(text)]
        if kind != "text" and missing:
            written = shortened(" and ".join(map(quoted, sorted({*missing}))), 100)
            values = counted(len(missing), "missing value")
            notes.append(f"note: the column {quoted(name)} has {values}, written {written}")
        others = [number for number, text in enumerate(texts) if not _reads("number", text)]
        if kind != "text" or not others:
            continue
        # 1,5 and 1,000 are meant for numbers too.
        meant = [
            text for text in texts if any(_reads("number", text.replace(",", sign)) for sign in ("", "."))
        ]
        numbers = len(meant) - len(missing)
        if numbers >= _MOSTLY * (len(texts) - len(missing)):
            more = f" and {len(others) - 1:,} more" * (len(others) > 1)
            notes.append(
                f"warning: the column {quoted(name)} holds {numbers:,} numbers, and is read as text because "
                f"of {quoted(texts[others[0]])} in {rows.places[others[0]]}{more}"
            )
    return notes


def readers_of(types: Mapping[str, str]) -> dict[str, Callable[[str], object]]:
    """What reads the fields of each column, for `read_csv`."""
    return {name: partial(field_of, kind) for name, kind in types.items()}


def readers_of_model(model: Path) -> dict[str, Callable[[str], object]]:
    """What reads the fields of each column of a table as when a model was fitted to one.

    Raises:
        InputError: the model was not fitted to a table.
    """
    try:
        types: dict[str, str] = json.loads(read_metadata(model).get(METADATA, "null"))
        if _READERS.keys() >= {*types.values()}:
            return readers_of(types)
    except (AttributeError, RecursionError, TypeError, ValueError):
        pass  # as below
    raise InputError(
        f"{model} was not fitted to a table, so nothing says what columns hold; give it JSON Lines"
    )
