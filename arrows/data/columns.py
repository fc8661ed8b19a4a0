"""Reads tables in text: CSV, and other separators."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, TypeAlias

from arrows.data.file_examples import FileReader, Lines, Source, decoded
from arrows.typesys import ArrowTypeError, InputError, quoted, shortened

_TRUTH = {"true": True, "false": False, "1": True, "0": False}
_READ: dict[object, Callable[[str], Any]] = {
    str: str,
    int: lambda text: int(_number(text)),
    float: lambda text: float(_number(text)),
    bool: lambda text: _TRUTH[text.strip().lower()],
}

ColumnReaders: TypeAlias = Mapping[str, Callable[[str], Any]]
"""Names of columns, and what reads their fields: a type, or a function of the text."""

Row: TypeAlias = tuple[int, list[str], InputError | None]
"""The line where a row begins, its fields, and what is wrong with its bytes."""


def read_csv(
    path: Source, *, columns: ColumnReaders | None = None, separator: str = ",", errors: str = "stop"
) -> FileReader[dict[str, Any]]:
    """Reads a table whose first line names its columns.

    Quotes and line breaks within quotes are as RFC 4180 has them; blank lines are skipped.

    Args:
        path: the file, in UTF-8, or one that is open; decompressed if its name ends in `.gz`.
        columns: which columns to read, and as what: `str`, `int`, `float` or `bool`, such as
            `{"name": str, "solubility": float}`. Or a function of the text, such as `json.loads`, or
            `lambda text: float(text) if text else None`, which raises a ValueError if it is wrong.
            None: all, as texts.
        separator: the character between fields, no quote and no line end: `"\\t"` for tables with tabs.
        errors: "stop" at the first error; or "skip": leave out the rows with errors, and list these in the
            reader's `skipped`.  Behind quotes that are wrong nobody knows where a row begins, so these are
            an error in either case.

    Returns:
        A reader, which gives the rows one after the other, each a dict; `to_list()` gives a list of them.

    Raises:
        ArrowTypeError: a column of a type that no text stands for.
        InputError: while reading: no column of a name that is wanted, two of one name, a row of more or fewer
            fields, a field that is no number, quotes that are wrong, or bytes that are not UTF-8; it names
            file, line and column.
        OSError: while reading: the file cannot be read.

    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "molecules.csv")
    ...     _ = path.write_text("smiles,solubility\\nCCO,1.1\\n")
    ...     read_csv(path, columns={"smiles": str, "solubility": float}).to_list()
    [{'smiles': 'CCO', 'solubility': 1.1}]
    """
    if not isinstance(columns, Mapping | None):
        raise ArrowTypeError(
            f"read_csv: columns should be types by name, such as {{'stars': int}}, not {columns!r}"
        )
    for name, kind in (columns or {}).items():
        if kind not in _READ and (not callable(kind) or isinstance(kind, type)):
            raise ArrowTypeError(
                f"read_csv: the column {name!r} should be of type str, int, float or bool, or a function of "
                f"its text, not {kind}"
            )
    return FileReader("read_csv", path, partial(_rows, columns or {}, separator), errors)


def _rows(
    types: ColumnReaders, separator: str, lines: Lines, file: str
) -> Iterator[tuple[int, Callable[[], dict[str, Any]]]]:
    records = _records(lines, separator, file)
    line, names, error = next(records, (1, [], None))
    if error is not None:
        raise error
    if len(set(names)) < len(names):
        double = next(name for place, name in enumerate(names) if name in names[:place])
        raise InputError(f"{file}:{line}: two columns have the name {quoted(double)}")
    missing = [name for name in types if name not in names]
    if missing:
        there = shortened(", ".join(map(quoted, names)) or "none", 200)
        raise InputError(f"{file}:{line}: no column has the name {quoted(missing[0])}; there are {there}")
    wanted = types or dict.fromkeys(names, str)
    for record in records:
        yield record[0], partial(_row, record, file, names, wanted)


def _records(lines: Lines, separator: str, file: str) -> Iterator[Row]:
    """The rows that are not blank."""
    wrong: InputError | None = None

    def texts() -> Iterator[str]:
        nonlocal wrong
        for number, raw in lines:
            try:
                text = decoded(raw, file, number)
            except InputError as error:
                wrong, text = wrong or error, raw.decode("utf-8", "replace")
            yield text + "\n"

    reader = csv.reader(texts(), delimiter=separator, strict=True)
    while True:
        wrong, line = None, reader.line_num + 1
        try:
            fields = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            hint = "; csv.field_size_limit(2**31 - 1) raises the limit" if "limit" in str(error) else ""
            reason = f"{error}; the row begins in line {line}{hint}"
            raise InputError(f"{file}:{reader.line_num}: {reason}") from error
        if fields:
            yield line, fields, wrong


def _row(record: Row, file: str, names: list[str], types: ColumnReaders) -> dict[str, Any]:
    line, fields, error = record
    if error is not None:
        raise error
    if len(fields) != len(names):
        raise InputError(
            f"{file}:{line}: expected {len(names)} fields, as in the first line, got {len(fields)}"
        )
    texts = dict(zip(names, fields, strict=True))
    return {name: _value(texts[name], kind, name, f"{file}:{line}") for name, kind in types.items()}


def _value(text: str, kind: Callable[[str], Any], name: str, place: str) -> Any:
    """What a field says."""
    try:
        return _READ.get(kind, kind)(text)
    except (ValueError, KeyError) as error:
        known = kind.__name__ if isinstance(kind, type) else ""
        reason = f" should be of type {known}, not {quoted(text)}" if known else f": {error}"
        raise InputError(f"{place}: the column {quoted(name)}{reason}") from error


def _number(text: str) -> str:
    """A text that may be a number: `int` and `float` also take `1_0`, and digits of other scripts."""
    if "_" in text or not text.isascii():
        raise ValueError
    return text
