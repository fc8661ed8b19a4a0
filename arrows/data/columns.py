"""Reads tables in text: CSV, and other separators."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

from arrows.data.file_examples import FileExamples, FileStream, UnreadableRestError, collected, lines_of
from arrows.data.json_lines import type_names
from arrows.data.utf8 import decoded
from arrows.files import require_path
from arrows.typesys import ArrowTypeError, ArrowValueError, InputError
from arrows.typesys.quoting import quoted, shortened

_TRUTH = {"true": True, "false": False, "1": True, "0": False}
_READ: dict[object, Callable[[str], Any]] = {
    str: str,
    int: lambda text: int(_number(text)),
    float: lambda text: float(_number(text)),
    bool: lambda text: _TRUTH[text.strip().lower()],
}

FieldReader: TypeAlias = Callable[[str], Any] | type[None]
ColumnReaders: TypeAlias = Mapping[str, FieldReader | tuple[FieldReader, ...]]
"""Names of columns, and what reads their fields: a type, or a function of the text."""


def read_csv(
    path: str | Path,
    *,
    columns: ColumnReaders | None = None,
    separator: str = ",",
    errors: str = "stop",
) -> FileExamples[dict[str, Any]]:
    """Reads a table whose first line names its columns.

    Quotes and line breaks within quotes are as RFC 4180 has them; blank lines are skipped.

    Args:
        path: the file, in UTF-8; if its name ends in `.gz` or `.zst`, it is decompressed.
        columns: which columns to read, and as what: `str`, `int`, `float` or `bool`, such as
            `{"smiles": str, "solubility": float}`; `(int, type(None))` is None where the field is blank.
            Or a function of the text, such as `parse_smiles`, which raises a ValueError if it is wrong.
            None: all, as texts.
        separator: the character between fields, no quote and no line end: "\\t" for tables with tabs.
        errors: "stop" at the first error; or "skip": leave out the rows with errors, and list these in the
            result's `skipped`.  Behind quotes that are wrong nobody knows where a row begins, so reading
            stops there, and that is the last of `skipped`.

    Returns:
        A list of rows, each a dict; it also knows the `places` where they stood.

    Raises:
        ArrowTypeError, ArrowValueError: a column of a type that no text stands for, or a separator that is
            none.
        InputError: no column of a name that is wanted, two of one name, a row of more or fewer fields, a
            field that is no number, quotes that are wrong, or bytes that are not UTF-8; it names file, line
            and column (in characters, from 1), and the field.
        OSError: the file cannot be read.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "molecules.csv")
    ...     _ = path.write_text("smiles,solubility\\nCCO,1.1\\n")
    ...     read_csv(path, columns={"smiles": str, "solubility": float})
    [{'smiles': 'CCO', 'solubility': 1.1}]
    """
    path = require_path("read_csv: path", path)
    return collected(path, _rows(path, columns, separator), errors)


def iterate_csv(
    path: str | Path, *, columns: ColumnReaders | None = None, separator: str = ",", errors: str = "stop"
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
    path = require_path("iterate_csv: path", path)
    return FileStream(path, _rows(path, columns, separator), errors)


def _rows(
    path: Path, columns: ColumnReaders | None, separator: str
) -> Iterator[tuple[int, Callable[[], dict[str, Any]]]]:
    if not isinstance(separator, str) or len(separator) != 1 or separator in '"\r\n\0':
        raise ArrowValueError(
            f"read_csv: the separator should be one character, no quote and no line end, not {separator!r}"
        )
    types = _checked_columns(columns)
    records = _records(path, separator)
    header = next(records, _TableRow(path=path, separator=separator))
    names = header.fields
    if header.error is not None:
        raise header.error
    if len(set(names)) < len(names):
        place = next(place for place, name in enumerate(names) if name in names[:place])
        raise InputError(f"{header.place(place)}: two columns have the name {quoted(names[place])}")
    missing = [name for name in types if name not in names]
    if missing:
        there = shortened(", ".join(map(quoted, names)) or "none", 200)
        raise InputError(f"{header.place(0)}: no column has the name {quoted(missing[0])}; there are {there}")
    wanted = types or dict.fromkeys(names, (str,))
    places = {name: names.index(name) for name in wanted}
    for record in records:
        yield record.line, partial(_row, record, len(names), wanted, places)


def _checked_columns(columns: ColumnReaders | None) -> dict[str, tuple[Any, ...]]:
    if not isinstance(columns, Mapping | None):
        raise ArrowTypeError(
            f"read_csv: columns should be types by name, such as {{'stars': int}}, not {columns!r}"
        )
    types = {name: kind if isinstance(kind, tuple) else (kind,) for name, kind in (columns or {}).items()}
    for name, allowed in types.items():
        readers = [kind for kind in allowed if kind is not type(None)]
        if len(readers) != 1 or not (
            readers[0] in _READ or (callable(readers[0]) and not isinstance(readers[0], type))
        ):
            raise ArrowTypeError(
                f"read_csv: the column {name!r} should be of type str, int, float or bool, or a function of "
                f"its text, not {allowed}"
            )
    return types


@dataclass(slots=True, kw_only=True)
class _TableRow:
    """A row of a table as it stands in the file.

    Attributes:
        path: the file.
        separator: what stands between fields.
        line: where the row begins, from 1.
        fields: its fields.
        text: its lines.
        error: what is wrong with its bytes.
    """

    path: Path
    separator: str
    line: int = 1
    fields: list[str] = field(default_factory=list)
    text: str = ""
    error: InputError | None = None

    def place(self, number: int) -> str:
        """File, line and column where a field begins."""
        field_pattern = re.compile(f'"(?:[^"]|"")*"|[^{re.escape(self.separator)}]*')
        start = 0
        for _ in range(number):
            match = field_pattern.match(self.text, start)
            start = match.end() + 1 if match else start
        before = self.text[:start]
        return f"{self.path}:{self.line + before.count(chr(10))}:{start - before.rfind(chr(10))}"


def _records(path: Path, separator: str) -> Iterator[_TableRow]:
    """The rows that are not blank."""
    record = _TableRow(path=path, separator=separator)

    def lines() -> Iterator[str]:
        for number, raw in lines_of(path):
            try:
                text = decoded(raw, path, number)
            except InputError as error:
                record.error = record.error or error
                text = raw.decode("utf-8", "replace")
            record.text += text + "\n"
            yield text + "\n"

    reader = csv.reader(lines(), delimiter=separator, strict=True)
    while True:
        record = _TableRow(path=path, separator=separator, line=reader.line_num + 1)
        try:
            record.fields = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            hint = "; csv.field_size_limit(2**31 - 1) raises the limit" if "limit" in str(error) else ""
            words = f"{error}; the row begins in line {record.line}{hint}"
            raise UnreadableRestError(f"{path}:{reader.line_num}:1: {words}") from error
        if record.fields:
            yield record


def _row(
    record: _TableRow, width: int, types: Mapping[str, tuple[Any, ...]], places: Mapping[str, int]
) -> dict[str, Any]:
    if record.error is not None:
        raise record.error
    count = len(record.fields)
    if count != width:
        place = record.place(min(width, count - 1))
        raise InputError(f"{place}: expected {width} fields, as in the first line, got {count}")
    return {name: _value(record, places[name], allowed, name) for name, allowed in types.items()}


def _value(record: _TableRow, place: int, allowed: tuple[Any, ...], name: str) -> Any:
    """What a field says."""
    text = record.fields[place]
    if type(None) in allowed and not text.strip():
        return None
    kind = next(kind for kind in allowed if kind is not type(None))
    try:
        return _READ[kind](text) if kind in _READ else kind(text)
    except (ValueError, KeyError) as error:
        column = f"{record.place(place)}: the column {quoted(name)}"
        if kind not in _READ:
            raise InputError(f"{column}: {error}") from error
        wanted = type_names(allowed, "blank")
        raise InputError(f"{column} should be of type {wanted}, not {quoted(text)}") from None


def _number(text: str) -> str:
    """A text that may be a number: `int` and `float` also take `1_0`, and digits of other scripts."""
    if "_" in text or not text.isascii():
        raise ValueError
    return text
