"""Reads tables in text: CSV, and other separators."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from arrows.data.file_examples import FileExamples, FileStream, collected, lines_of
from arrows.data.json_lines import Fields, type_names
from arrows.data.utf8 import decoded
from arrows.typesys import ArrowTypeError, ArrowValueError, InputError
from arrows.typesys.quoting import quoted, shortened

_TRUTH = {"true": True, "false": False, "1": True, "0": False}
_READ: dict[type, Callable[[str], Any]] = {
    str: str,
    int: int,
    float: float,
    bool: lambda text: _TRUTH[text.strip().lower()],
}


def read_csv(
    path: str | Path,
    *,
    columns: Fields | None = None,
    separator: str = ",",
    errors: str = "stop",
) -> FileExamples[dict[str, Any]]:
    """Reads a table whose first line names its columns.

    Quotes and line breaks within quotes are as RFC 4180 has them; blank lines are skipped.

    Args:
        path: the file, in UTF-8; if its name ends in `.gz` or `.zst`, it is decompressed.
        columns: which columns to read, and as what: `str`, `int`, `float` or `bool`, such as
            `{"smiles": str, "solubility": float}`; `(int, type(None))` is None where the field is blank.
            None: all, as texts.
        separator: the character between fields: "\\t" for tables with tabs.
        errors: "stop" at the first error; or "skip": leave out the rows with errors, and list these in the
            result's `skipped`.

    Returns:
        A list of rows, each a dict; it also knows the `places` where they stood.

    Raises:
        ArrowTypeError, ArrowValueError: a column of a type that no text stands for, or a separator of more
            than one character.
        InputError: no column of a name that is wanted, two of one name, a row of more or fewer fields, a
            field that is no number, or bytes that are not UTF-8; it names file, line and column.
        OSError: the file cannot be read.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "molecules.csv")
    ...     _ = path.write_text("smiles,solubility\\nCCO,1.1\\n")
    ...     read_csv(path, columns={"smiles": str, "solubility": float})
    [{'smiles': 'CCO', 'solubility': 1.1}]
    """
    path = Path(path)
    return collected(path, _rows(path, columns, separator), errors)


def iterate_csv(
    path: str | Path, *, columns: Fields | None = None, separator: str = ",", errors: str = "stop"
) -> FileStream[dict[str, Any]]:
    """As `read_csv`, but one row after the other, for a table that is larger than memory.

    With `errors="skip"`, the result's `skipped` lists what has been left out so far.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "numbers.csv")
    ...     _ = path.write_text("n\\n1\\n2\\n")
    ...     sum(row["n"] for row in iterate_csv(path, columns={"n": int}))
    3
    """
    path = Path(path)
    return FileStream(path, _rows(path, columns, separator), errors)


def _rows(
    path: Path, columns: Fields | None, separator: str
) -> Iterator[tuple[str, Callable[[], dict[str, Any]]]]:
    if not isinstance(separator, str) or len(separator) != 1:
        raise ArrowValueError(f"read_csv: the separator should be one character, not {separator!r}")
    types = {name: type_ if isinstance(type_, tuple) else (type_,) for name, type_ in (columns or {}).items()}
    for name, allowed in types.items():
        if sum(type_ in _READ for type_ in allowed) != 1 or not {*_READ, type(None)}.issuperset(allowed):
            raise ArrowTypeError(
                f"read_csv: the column {name!r} should be of type str, int, float or bool, not {allowed}"
            )
    lines = (decoded(raw, path, number) + "\n" for number, raw in lines_of(path))
    records = csv.reader(lines, delimiter=separator, strict=True)
    header = next(_records(records, path), (1, []))[1]
    if len(set(header)) < len(header):
        double = next(name for name in header if header.count(name) > 1)
        raise InputError(f"{path}:1: two columns have the name {quoted(double)}")
    missing = [name for name in types if name not in header]
    if missing:
        there = shortened(", ".join(map(quoted, header)) or "none", 200)
        raise InputError(f"{path}:1: no column has the name {quoted(missing[0])}; there are {there}")
    wanted = types or dict.fromkeys(header, (str,))
    places = {name: header.index(name) for name in wanted}
    for number, record in _records(records, path):
        place = f"{path}:{number}"
        yield place, partial(_row, record, place, len(header), wanted, places)


def _records(records: Any, path: Path) -> Iterator[tuple[int, list[str]]]:
    """The fields of each row that is not blank, with the line where the row begins."""
    while True:
        number = records.line_num + 1
        try:
            record = next(records)
        except StopIteration:
            return
        except csv.Error as error:
            raise InputError(
                f"{path}:{records.line_num}: {error}; the row begins in line {number}"
            ) from error
        if record:
            yield number, record


def _row(
    record: list[str],
    place: str,
    width: int,
    types: Mapping[str, tuple[type, ...]],
    places: Mapping[str, int],
) -> dict[str, Any]:
    if len(record) != width:
        raise InputError(f"{place}: expected {width} fields, as in the first line, got {len(record)}")
    return {name: _field(record[places[name]], allowed, name, place) for name, allowed in types.items()}


def _field(text: str, allowed: tuple[type, ...], name: str, place: str) -> Any:
    if type(None) in allowed and not text.strip():
        return None
    read = next(_READ[type_] for type_ in allowed if type_ in _READ)
    try:
        return read(text)
    except (ValueError, KeyError):
        wanted = type_names(allowed, "blank")
        raise InputError(
            f"{place}: the column {quoted(name)} should be of type {wanted}, not {quoted(text)}"
        ) from None
