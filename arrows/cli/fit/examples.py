"""Examples to fit a model to: documents of a file, their labels, and their parts of the data."""

from __future__ import annotations

import hashlib
import json
import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from arrows.cli.table_columns import column_notes, column_types, field_of, readers_of, separator_of
from arrows.data import FileExamples, FileReader, read_csv, read_json_lines
from arrows.documents import category_name, json_type
from arrows.typesys import InputError, printable, quoted, shortened

Label = str | int | float | bool
Parts = dict[str, list["Example"]]
"""The examples to "train", those for "validation", which decide when a model is best, and to "test" it."""


@dataclass(frozen=True, slots=True)
class Example:
    """A document with its label.

    Attributes:
        document: the document, label included.
        label: a text, a number or a truth value.
        place: file and line.
        text: the document without its label, as JSON.
        digest: a hash of the same, whatever the order of its fields.
    """

    document: object
    label: Label
    place: str
    text: str
    digest: str

    @classmethod
    def of(cls, document: object, keys: Sequence[str], place: str) -> Example:
        """The example of a document, whose label keys lead to.

        Raises:
            InputError: the label is missing or of a wrong type, or the document is nested too deeply or has a
                number that is not finite.
        """
        label = _label(document, keys, place)
        rest = without(document, keys)
        try:
            ordered = json.dumps(rest, sort_keys=True, allow_nan=False)
        except RecursionError as error:
            raise InputError(f"{place}: this document is nested too deeply") from error
        except ValueError as error:  # Python reads 1e400 as infinity
            raise InputError(f"{place}: a number is too large for float64") from error
        digest = hashlib.sha256(ordered.encode()).hexdigest()
        return cls(document, label, place, json.dumps(rest, ensure_ascii=False), digest)


@dataclass(frozen=True, slots=True)
class ExampleFile:
    """What a file holds.

    Attributes:
        examples: in its order.
        keys: those that lead to the label.
        columns: what the columns of a table hold; empty for JSON Lines.
        notes: what the user should know of what was left out, and of the columns of a table.
    """

    examples: list[Example]
    keys: tuple[str, ...]
    columns: Mapping[str, str]
    notes: list[str]


def read_examples(path: Path, label: str, *, skip: bool, like: ExampleFile | None = None) -> ExampleFile:
    """Reads the documents of a file and their labels.

    Args:
        path: JSON Lines, or a table whose name ends in .csv or .tsv; decompressed if it ends in .gz.
        label: the name of the field of the label, or the names that lead to it, with dots between.
        skip: leave out lines with errors and without a label.
        like: a file whose columns and label this one has; None: decided by what this one has.

    Raises:
        InputError: a line that cannot be read, or without a label; it names file, line and field.
        OSError: the file cannot be read.
    """
    separator, errors = separator_of(path), "skip" if skip else "stop"
    reader: FileReader[Any]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of what is left out, which is said below
        if separator is None:
            reader = read_json_lines(path, errors=errors)
        else:
            readers = None if like is None else readers_of(like.columns)
            reader = read_csv(path, columns=readers, separator=separator, errors=errors)
        lines = reader.to_list()
    if not lines:
        raise lines.skipped[0] if lines.skipped else InputError(f"{path}: there are no examples in this file")
    types, notes, documents = dict(like.columns if like else {}), list[str](), list[Any](lines)
    if separator is not None and like is None:
        types = column_types(lines)
        notes = column_notes(lines, types)
        documents = [{name: field_of(types[name], text) for name, text in line.items()} for line in lines]
    # The label's name, or if no document has that, the names between its dots.
    plain = any(isinstance(document, dict) and label in document for document in documents)
    keys = like.keys if like else (label,) if plain else tuple(label.split("."))
    examples, wrong = list[Example](), list[InputError]()
    for document, place in zip(documents, reader.places, strict=True):
        try:
            examples.append(Example.of(document, keys, place))
        except InputError as error:
            if not skip:
                raise
            wrong.append(error)
    if not examples:
        raise wrong[0]
    for found, kind in ((lines.skipped, "lines that cannot be read"), (wrong, "lines without a label")):
        if found:
            notes.append(f"left out {kind}: {len(found):,}; the first: {printable(str(found[0]))}")
    return ExampleFile(examples, keys, types, notes)


def documents_of(examples: Sequence[Example]) -> FileExamples[object]:
    """The documents of examples, which know their places, so that errors name these."""
    places = [example.place for example in examples]
    return FileExamples([example.document for example in examples], places=places)


def split_examples(examples: Sequence[Example], *, seed: int, validation: float, test: float) -> Parts:
    """Splits examples by a hash of seed and document, without its label.

    A document is in the same part whatever else is in the file, and equal documents are in the same part.

    Args:
        validation, test: the shares of these parts.

    >>> examples = [Example.of({"n": n, "y": 0}, ["y"], "") for n in range(1000)]
    >>> parts = split_examples(examples, seed=0, validation=0.1, test=0.2)
    >>> [len(part) for part in parts.values()]
    [714, 89, 197]
    """
    parts: Parts = {"train": [], "validation": [], "test": []}
    for example in examples:
        place = int(_hash(seed, example.digest)[:16], 16) / 2**64
        name = "validation" if place < validation else "test" if place < validation + test else "train"
        parts[name].append(example)
    return parts


def folds_of(examples: Sequence[Example], count: int, seed: int) -> list[list[Example]]:
    """Deals examples out to folds of about the same size, each with about the same share of each class.

    Equal documents are in the same fold, and which fold that is depends on no order of the file.

    Raises:
        InputError: there are fewer different documents than folds.

    >>> examples = [Example.of({"n": n, "y": n % 2}, ["y"], "") for n in range(20)]
    >>> [len(fold) for fold in folds_of(examples, 4, 0)]
    [5, 5, 5, 5]
    """
    together: dict[str, list[Example]] = {}
    for example in examples:
        together.setdefault(example.digest, []).append(example)
    if len(together) < count:
        raise InputError(f"--folds {count}: there are {len(together):,} different examples, fewer than folds")
    order = sorted(
        together, key=lambda digest: (category_name(together[digest][0].label), _hash(seed, digest))
    )
    return [[each for digest in order[first::count] for each in together[digest]] for first in range(count)]


def without(document: object, keys: Sequence[str]) -> object:
    """A document without the field to which keys lead.

    >>> without({"a": {"b": 1, "c": 2}}, ["a", "b"])
    {'a': {'c': 2}}
    """
    if not isinstance(document, dict) or keys[0] not in document:
        return document
    rest = {key: value for key, value in document.items() if key != keys[0]}
    return rest if len(keys) == 1 else document | {keys[0]: without(document[keys[0]], keys[1:])}


def _hash(seed: int, digest: str) -> str:
    return hashlib.sha256(f"{seed} {digest}".encode()).hexdigest()


def _label(document: object, keys: Sequence[str], place: str) -> Label:
    """The label of a document; refuses one that is missing or of a wrong type."""
    value, field = document, quoted(".".join(keys))
    for number, key in enumerate(keys):
        if not isinstance(value, dict):
            where = f" at {'.'.join(keys[:number])}" if number else "; each line is a document of its own"
            raise InputError(f"{place}: expected an object with fields, got {json_type(value)}{where}")
        if key not in value:
            there = shortened(", ".join(map(quoted, value)) or "none", 800)
            raise InputError(f"{place}: the label {field} is missing; there are {there}")
        value = value[key]
    if not isinstance(value, (str, int, float, bool)):
        wanted = "should be a text, a number or a truth value, and --skip-errors leaves this line out"
        raise InputError(f"{place}: the label {field} is {json_type(value)}; it {wanted}")
    # A whole number of more than 1,023 bits has no float64.
    large = isinstance(value, int) and value.bit_length() > 1023
    if large or (isinstance(value, float) and not math.isfinite(value)):
        raise InputError(f"{place}: the label {field} should be a finite number, not {value!r:.40}")
    return value
