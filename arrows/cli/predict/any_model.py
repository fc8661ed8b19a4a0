"""`arrows predict`: the results of a saved model for each line of a file of JSON Lines."""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import arrows as ar
from arrows.cli.option_types import positive
from arrows.cli.predict.streams import add_predict_options, example_lines, output_of
from arrows.cli.table_columns import METADATA, require_columns, separator_of, typed_row, types_of_text
from arrows.cli.user_modules import attribute, load, split
from arrows.data import iterate_csv
from arrows.data.file_examples import UnreadableRestError
from arrows.data.json_lines import parse_json_line
from arrows.model_files import load_model, read_model_file
from arrows.model_files.builders import is_trusted
from arrows.typesys import ArrowValueError, InputError
from arrows.typesys.quoting import escaped, printable_lines

DESCRIPTION = """Reads a JSON value from each line, or the rows of a table, and prints the model's result for
each as a line of JSON, in the same order, while it reads: an endless pipe will do. Blank lines are
skipped."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the command to a parser."""
    parser.description = DESCRIPTION
    add_predict_options(
        parser,
        model="a model file that ar.save_model wrote",
        examples="JSON Lines, or a table (.csv, .tsv) like that to which the model was fitted; if its name "
        "ends in .gz or .zst, it is decompressed",
    )
    add = parser.add_argument
    add(
        "--builder",
        metavar="FILE.py:FUNCTION",
        help="the function that builds the model's block; the file is imported",
    )
    add(
        "--trust",
        action="append",
        default=[],
        metavar="PACKAGE",
        help="import the builder by the name in the model file, if it belongs to this package, which is "
        "installed or lies in the current folder; may be given several times",
    )
    add("--batch-size", type=positive, default=256, metavar="N", help="examples run at once (default: 256)")
    add(
        "--errors",
        choices=["stop", "skip"],
        default="stop",
        help="at a line that holds no JSON or does not fit the model: stop, or skip it and say so on "
        "standard error (default: stop)",
    )


def run(options: argparse.Namespace) -> int:
    """Predicts line by line; returns the exit status 0.

    Raises:
        InputError, ArrowValueError, OSError: the model cannot be loaded, or a line cannot be read; the
            results of the lines before it have been printed then.
    """
    model = _model(options)
    waiting: deque[str] = deque()  # the places of the examples whose results are still to come
    skipped = not_finite = written = 0

    def refuse(error: InputError) -> None:
        nonlocal skipped
        if options.errors == "stop":
            raise error
        skipped += 1
        print(f"skipped: {printable_lines(str(error))}", file=sys.stderr)

    def examples() -> Iterator[Any]:
        for place, value in _values(options):
            if isinstance(value, InputError):
                refuse(value)
                continue
            waiting.append(place)
            yield value

    with output_of(options) as output:
        for row in model.predict_stream(examples(), batch_size=options.batch_size, errors="return"):
            place = waiting.popleft()
            if isinstance(row, InputError):
                refuse(InputError(f"{place}: {row.details.without_example}"))
            else:
                text, finite = as_json(row)
                output.write(f"{text}\n")
                written += 1
                not_finite += not finite
            if not waiting:  # a batch is complete, and whoever reads the pipe may want it now
                output.flush()
    if skipped:
        print(f"{written + skipped} examples: {skipped} skipped", file=sys.stderr)
    if not_finite:
        print(
            f"{not_finite} of {written} results hold numbers that are not finite, which JSON does not have: "
            "they are null",
            file=sys.stderr,
        )
    return 0


def _values(options: argparse.Namespace) -> Iterator[tuple[str, object]]:
    """The examples with their places, and errors in place of those that cannot be read."""
    separator = separator_of(Path(options.examples))
    if separator is not None:
        yield from _rows(options.model, Path(options.examples), separator)
        return
    lines, source = example_lines(options)
    for number, line in lines:
        if line.strip():
            value: object
            try:
                value = parse_json_line(line, source, number)
            except InputError as error:
                value = error
            yield f"{source}:{number}", value


def _rows(model: Path, path: Path, separator: str) -> Iterator[tuple[str, object]]:
    """The rows of a table, read as those of the table to which a model was fitted."""
    types = types_of_text(read_model_file(model).metadata.get(METADATA), model)
    rows = iterate_csv(path, separator=separator)
    while True:
        try:
            row = next(rows)
        except StopIteration:
            return
        except UnreadableRestError:  # more than a row is lost
            raise
        except InputError as error:
            yield "", error
            continue
        if len(rows.places) == 1:
            require_columns(row, types, path)
        place = rows.places[-1]
        try:
            yield place, typed_row(row, types, place)
        except InputError as error:
            yield place, error


def as_json(row: object) -> tuple[str, bool]:
    """A row as JSON in one line of ASCII, and whether all its numbers are finite; others are null.

    >>> as_json({"a": np.array([1.5, 2]), "b": (None, float("nan"))})
    ('{"a": [1.5, 2.0], "b": [null, null]}', False)
    """
    try:
        return json.dumps(row, default=_listed, allow_nan=False), True
    except ValueError:
        return json.dumps(_with_nulls(row), default=_listed, allow_nan=False), False


def _listed(value: object) -> object:
    if isinstance(value, np.ndarray):
        return value.tolist()
    raise TypeError(f"no JSON: {value!r}")


def _with_nulls(value: object) -> object:
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _with_nulls(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_with_nulls(item) for item in value]
    return value


def _model(options: argparse.Namespace) -> ar.Model:
    path: Path = options.model
    if options.builder is not None and options.trust:
        raise ArrowValueError("give --builder or --trust, not both: either says what builds the block")
    builder = None if options.builder is None else _function(options.builder)
    name = read_model_file(path).builder
    module, _, function = name.partition(":")
    if builder is None and not is_trusted(module, options.trust):
        word, package = escaped(function, 60), escaped(module.partition(".")[0], 60)
        raise ArrowValueError(
            f"{path} is built by {escaped(name, 200)!r}, and nothing is imported by a name from a file: name "
            f"the function, --builder FILE.py:{word}, or trust its package, --trust {package}"
        )
    if options.trust:
        sys.path.insert(0, "")
    return load_model(path, builder=builder, trust=options.trust, device=options.device)


def _function(text: str) -> Callable[..., object]:
    path, name = split(text)
    if name is None:
        raise ArrowValueError(f"--builder {text} names no function; it looks like FILE.py:FUNCTION")
    value = attribute(load(path), name, path)
    if not callable(value):
        raise ArrowValueError(f"--builder {text} is no function but of the type {type(value).__name__}")
    function: Callable[..., object] = value
    return function
