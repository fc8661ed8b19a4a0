"""Examples to fit a model to: documents of a file, their labels, and their parts of the data."""

from __future__ import annotations

import hashlib
import json
import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from arrows.cli.table_columns import column_notes, column_types, separator_of, typed_row
from arrows.data import FileExamples, read_csv, read_json_lines
from arrows.data.file_examples import first_and_last
from arrows.documents import infer_block
from arrows.typesys import InputError
from arrows.typesys.quoting import printable, quoted, shortened

Label = str | int | float | bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """A document with its label.

    Attributes:
        document: the document, label included.
        label: a text, a number or a truth value.
        keys: those that lead to it.
        place: file and line.
        digest: a hash of the document without its label, whatever the order of its fields.
    """

    document: dict[str, object]
    label: Label
    keys: tuple[str, ...]
    place: str
    digest: str

    @classmethod
    def of(cls, document: object, keys: Sequence[str], place: str) -> Example:
        """The example of a document, whose label keys lead to.

        Raises:
            InputError: the label is missing or of a wrong type, or the document is nested too deeply.
        """
        label = _label(document, keys, place)
        assert isinstance(document, dict)
        rest = without(document, keys)
        try:
            ordered = json.dumps(rest, sort_keys=True, allow_nan=False)
        except RecursionError as error:
            raise InputError(f"{place}: this document is nested too deeply") from error
        except ValueError as error:  # NaN, which Python reads though JSON does not have it
            infer_block(FileExamples([rest], places=[place], skipped=[]))  # names the path
            raise InputError(f"{place}: a number is not finite") from error
        digest = hashlib.sha256(ordered.encode()).hexdigest()
        return cls(document=document, label=label, keys=tuple(keys), place=place, digest=digest)

    @property
    def text(self) -> str:
        """The document without its label, as JSON."""
        return json.dumps(without(self.document, self.keys), ensure_ascii=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class DataSplit:
    """The parts of the data.

    Attributes:
        train: to learn from.
        validation: decides which epoch is the best.
        test: measures the model at the end; may be empty.
    """

    train: Sequence[Example]
    validation: Sequence[Example]
    test: Sequence[Example] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ExampleFile:
    """What a file holds.

    Attributes:
        examples: in its order.
        keys: those that lead to the label.
        columns: what the columns of a table hold; empty for JSON Lines.
        notes: what the user should know of the columns of a table.
    """

    examples: Sequence[Example]
    keys: tuple[str, ...]
    columns: Mapping[str, str] = field(default_factory=dict)
    notes: Sequence[str] = ()


def read_examples(
    path: Path, label: str, *, skip: bool, columns: Mapping[str, str] | None = None
) -> ExampleFile:
    """Reads the documents of a file and their labels.

    Args:
        path: JSON Lines, or a table whose name ends in .csv or .tsv; decompressed if it ends in .gz or .zst.
        label: the name of the field of the label, or the names that lead to it, with dots between.
        skip: leave out lines with errors and without a label.
        columns: what the columns of a table hold, by name; None: decided by what they have.

    Raises:
        InputError: a line that cannot be read, or without a label; it names file, line and field.
        OSError: the file cannot be read.
    """
    separator, errors = separator_of(path), "skip" if skip else "stop"
    lines: FileExamples[Any]
    notes: Sequence[str] = ()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of what is left out, which is said below
        if separator is None:
            lines, columns = _json_lines(path, errors), {}
        else:
            lines = rows = read_csv(path, separator=separator, errors=errors).to_list()
            if columns is None:
                columns = column_types(rows)
                notes = column_notes(rows, columns)
    if not lines:
        raise lines.skipped[0] if lines.skipped else InputError(f"{path}: there are no examples in this file")
    # The label's name, or if no document has that, the names between its dots.
    plain = any(isinstance(line, dict) and label in line for line in lines)
    keys = (label,) if plain else tuple(label.split("."))
    examples, wrong = [], []
    for line, place in zip(lines, lines.places, strict=True):
        try:
            document = line if separator is None else typed_row(line, columns, place)
            examples.append(Example.of(document, keys, place))
        except InputError as error:
            if not skip:
                raise
            wrong.append(error)
    if not examples:
        raise wrong[0]
    for found, kind in ((lines.skipped, "lines that cannot be read"), (wrong, "lines without a label")):
        if found:
            print(f"left out {kind}: {len(found):,}; {printable(first_and_last(found))}")
    return ExampleFile(examples=examples, keys=keys, columns=columns, notes=notes)


def _json_lines(path: Path, errors: str) -> FileExamples[Any]:
    try:
        return read_json_lines(path, errors=errors).to_list()
    except InputError as error:
        with path.open("rb") as file:
            line = file.readline(1000).strip()
        if not line.startswith(b"[") or line.endswith(b"]"):
            raise
        raise InputError(
            f"{path}: this file begins as one JSON array; expected JSON Lines, a document on each line, "
            f"which `jq -c '.[]' {path}` makes of an array"
        ) from error


def documents_of(examples: Sequence[Example]) -> FileExamples[object]:
    """The documents of examples, which know their places, so that errors name these."""
    places = [example.place for example in examples]
    return FileExamples([example.document for example in examples], places=places, skipped=[])


def split_examples(examples: Sequence[Example], *, seed: int, validation: float, test: float) -> DataSplit:
    """Splits examples by a hash of seed and document, without its label.

    A document is in the same part whatever else is in the file, and equal documents are in the same part.

    Args:
        validation, test: the shares of these parts.

    >>> examples = [Example.of({"n": n, "y": 0}, ["y"], "") for n in range(1000)]
    >>> parts = split_examples(examples, seed=0, validation=0.1, test=0.2)
    >>> len(parts.train), len(parts.validation), len(parts.test)
    (714, 89, 197)
    """
    parts: tuple[list[Example], ...] = ([], [], [])
    for example in examples:
        digest = hashlib.sha256(f"{seed} {example.digest}".encode()).digest()
        place = int.from_bytes(digest[:8]) / 2**64
        parts[1 if place < validation else 2 if place < validation + test else 0].append(example)
    return DataSplit(train=parts[0], validation=parts[1], test=parts[2])


def without(document: object, keys: Sequence[str]) -> object:
    """A document without the field to which keys lead.

    >>> without({"a": {"b": 1, "c": 2}}, ["a", "b"])
    {'a': {'c': 2}}
    """
    if not isinstance(document, dict) or keys[0] not in document:
        return document
    rest = {key: value for key, value in document.items() if key != keys[0]}
    return rest if len(keys) == 1 else document | {keys[0]: without(document[keys[0]], keys[1:])}


def _label(document: object, keys: Sequence[str], place: str) -> Label:
    """The label of a document; refuses one that is missing or of a wrong type."""
    value = document
    for number, key in enumerate(keys):
        if not isinstance(value, dict):
            kind = "null" if value is None else type(value).__name__
            where = f" at {'.'.join(keys[:number])}" if number else ""
            hint = "; each line is a document of its own" if kind == "list" and not number else ""
            raise InputError(f"{place}: expected an object with fields{where}, got {kind}{hint}")
        if key not in value:
            there = shortened(", ".join(map(quoted, value)) or "none", 200)
            raise InputError(f"{place}: the label {quoted('.'.join(keys))} is missing; there are {there}")
        value = value[key]
    field = quoted(".".join(keys))
    if value is None:
        raise InputError(
            f"{place}: the label {field} is null; --skip-errors leaves out lines without a label"
        )
    if not isinstance(value, (str, int, float, bool)):
        kind = "object" if isinstance(value, dict) else "array"
        raise InputError(
            f"{place}: the label {field} should be a text, a number or a truth value, not an {kind}"
        )
    # A whole number of more than 1,023 bits has no float64.
    large = isinstance(value, int) and value.bit_length() > 1023
    if large or (isinstance(value, float) and not math.isfinite(value)):
        raise InputError(f"{place}: the label {field} should be a finite number, not {value!r:.40}")
    return value
