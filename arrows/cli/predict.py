"""`arrows predict`: what a saved model gives for each example of a file."""

from __future__ import annotations

import argparse
import io
import json
import math
import os
import sys
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import chain, islice
from pathlib import Path
from typing import Any, BinaryIO, TextIO

import numpy as np

import arrows as ar
from arrows.cli.option_types import add_device, positive
from arrows.cli.outputs import require_output
from arrows.cli.table_columns import METADATA, require_columns, separator_of, typed_row, types_of_text
from arrows.cli.user_file import attribute, load, split
from arrows.data import FileReader, Sentence, read_conllu, read_csv, read_trees
from arrows.data.file_examples import UnreadableRestError, decoded, lines_of
from arrows.data.json_lines import parse_json_line
from arrows.storage import replacing
from arrows.training import read_metadata
from arrows.typesys import ArrowValueError, InputError
from arrows.typesys.quoting import printable, printable_lines

STDIN = "standard input"
DESCRIPTION = """Prints the model's result for each example as a line of JSON, in the same order. JSON Lines
and tables are read as they come, so an endless pipe will do. Where the model file names classes, scores are
printed as the likeliest class and its probability."""


def _named(data: bytes, name: str) -> BinaryIO:
    """Bytes as an open file of that name, for a reader."""
    file = io.BytesIO(data)
    file.name = name
    return file


def _sentences(data: bytes, source: str) -> list[Sentence]:
    lines = [decoded(raw, source, number) for number, raw in enumerate(data.split(b"\n"), start=1)]
    return [[{"word": word} for word in line.split()] for line in lines if line.split()]


# Files that are read as a whole, by format; JSON Lines and tables are read as they come.
READERS: dict[str, Callable[[bytes, str], list[Any]]] = {
    "conllu": lambda data, source: read_conllu(_named(data, source), tags=False).to_list(),
    "trees": lambda data, source: read_trees(_named(data, source), labelled=None).to_list(),
    "words": _sentences,
}
SEPARATORS = {"csv": ",", "tsv": "\t"}
FORMATS = ("jsonl", *SEPARATORS, *READERS)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options of `arrows predict` to a parser."""
    parser.description = DESCRIPTION
    add = parser.add_argument
    add("model", type=Path, metavar="MODEL", help="a model file that ar.save_model wrote")
    add("examples", nargs="?", default="-", metavar="FILE", help=f"decompressed, if .gz or .zst; -: {STDIN}")
    add(
        "--format",
        choices=FORMATS,
        help="what the file holds: JSON Lines; a table like that to which the model was fitted; sentences in "
        "CoNLL-U; trees in brackets, one a line, with or without labels; words, a sentence a line (default: "
        "by the ending of its name, or jsonl)",
    )
    add("--show", action="store_true", help="draw each tree, with the class of every node")
    add("--output", type=Path, metavar="FILE", help="write to a file, which is written whole or not at all")
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
        help="at an example that cannot be read or does not fit the model: stop, or skip it and say so on "
        "standard error (default: stop)",
    )
    add_device(parser)


def run(options: argparse.Namespace) -> int:
    """Predicts example by example; returns the exit status 0.

    Raises:
        InputError, ArrowValueError, OSError: the model cannot be loaded, or an example cannot be read; the
            results of the examples before it have been printed then.
    """
    if options.trust:
        sys.path.insert(0, "")
    builder = None if options.builder is None else _function(options.builder)
    model = ar.load_model(options.model, builder=builder, trust=options.trust, device=options.device)
    classes = _classes(options.model)
    counts = {"skipped": 0, "written": 0, "not finite": 0}
    places: deque[str] = deque()  # of the examples whose results are still to come

    def refuse(error: InputError) -> None:
        if options.errors == "stop":
            raise error
        counts["skipped"] += 1
        print(f"skipped: {printable_lines(str(error))}", file=sys.stderr)

    def examples() -> Iterator[Any]:
        for place, value in _examples(options):
            if isinstance(value, InputError):
                refuse(value)
            else:
                places.append(place)
                yield value

    with _output_of(options) as output:
        if options.show:
            for tree, scores in _judged(model, examples(), places, options.batch_size):
                print(*draw(tree, scores, classes, colours=has_colours(output)), "", sep="\n", file=output)
            return 0
        for row in model.predict_stream(examples(), batch_size=options.batch_size, errors="return"):
            place = places.popleft()
            if isinstance(row, InputError):
                refuse(InputError(f"{place}: {row.details.without_example}"))
            else:
                text, finite = as_json(_with_class(row, classes) if classes else row)
                output.write(f"{text}\n")
                counts["written"] += 1
                counts["not finite"] += not finite
            if not places:  # a batch is complete, and whoever reads the pipe may want it now
                output.flush()
    if counts["skipped"]:
        print(
            f"{counts['written'] + counts['skipped']} examples: {counts['skipped']} skipped", file=sys.stderr
        )
    if counts["not finite"]:
        print(
            f"{counts['not finite']} of {counts['written']} results hold numbers that are not finite, which "
            "JSON does not have: they are null",
            file=sys.stderr,
        )
    return 0


def _classes(model: Path) -> list[str]:
    """The names of the classes that a model file keeps under `classes`, if it does."""
    try:
        names = json.loads(read_metadata(model).get("classes", "[]"))
    except (ValueError, RecursionError):
        return []
    return [printable(str(name)) for name in names] if isinstance(names, list) else []


def _function(text: str) -> Callable[..., object]:
    path, name = split(text)
    if name is None:
        raise ArrowValueError(f"--builder {text} names no function; it looks like FILE.py:FUNCTION")
    value = attribute(load(path), name, path)
    if not callable(value):
        raise ArrowValueError(f"--builder {text} is no function but of the type {type(value).__name__}")
    function: Callable[..., object] = value
    return function


@contextmanager
def _output_of(options: argparse.Namespace) -> Iterator[TextIO]:
    """Where results go: standard output, or the file of `--output`, which is kept if an error leaves."""
    if options.output is None:
        yield sys.stdout
        return
    require_output(options.output, options.model, options.examples)
    with replacing(options.output) as file:
        text = io.TextIOWrapper(file, encoding="utf-8", newline="\n")
        try:
            yield text
            text.flush()
        finally:
            text.detach()


# Reading


def _examples(options: argparse.Namespace) -> Iterator[tuple[str, object]]:
    """The examples with their places, and errors in place of those that cannot be read."""
    path = Path(options.examples)
    ending = Path(path.stem if path.suffix in {".gz", ".zst"} else path.name).suffix.lower()[1:]
    format = options.format or (ending if ending in FORMATS else "jsonl")
    source = STDIN if options.examples == "-" else options.examples
    if format in SEPARATORS:
        yield from _rows(options.model, path, separator_of(path) or SEPARATORS[format])
        return
    if source == STDIN and sys.stdin is None:
        raise ArrowValueError("standard input is closed; name a file of examples")
    lines = enumerate(sys.stdin.buffer, start=1) if source == STDIN else lines_of(path, source)
    if format in READERS:
        data = b"\n".join(line.removesuffix(b"\n") for _, line in lines)
        for number, example in enumerate(READERS[format](data, source), start=1):
            yield f"{source}: example {number}", example
        return
    for number, line in lines:
        if line.strip():
            try:
                yield f"{source}:{number}", parse_json_line(line, source, number)
            except InputError as error:
                yield "", error


def _rows(model: Path, path: Path, separator: str) -> Iterator[tuple[str, object]]:
    """The rows of a table, read as those of the table to which a model was fitted."""
    types = types_of_text(read_metadata(model).get(METADATA), model)
    rows, told = read_csv(path, separator=separator, errors="skip"), 0
    for row in chain(_unsaid(rows), [None]):
        for error in rows.skipped[told:]:
            if isinstance(error, UnreadableRestError):  # more than a row is lost
                raise error
            yield "", error
        told = len(rows.skipped)
        if row is None:
            return
        if len(rows.places) == 1:
            require_columns(row, types, path)
        place = rows.places[-1]
        try:
            yield place, typed_row(row, types, place)
        except InputError as error:
            yield place, error


def _unsaid(rows: FileReader[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Rows, without the reader's warning of those left out, which the command names itself."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        yield from rows


# Writing


def _with_class(row: object, classes: list[str]) -> object:
    """Scores of classes as the likeliest class with its probability; anything else as it is."""
    if isinstance(row, np.ndarray) and row.ndim in (1, 2) and row.shape[-1] == len(classes):
        if row.ndim == 2:
            return [_with_class(scores, classes) for scores in row]
        shares = softmax(row)
        return {"class": classes[int(shares.argmax())], "probability": round(float(shares.max()), 4)}
    return [_with_class(item, classes) for item in row] if isinstance(row, list) else row


def as_json(row: object) -> tuple[str, bool]:
    """A row as JSON in one line of ASCII, and whether all its numbers are finite; others are null.

    >>> as_json({"a": np.array([1.5, 2]), "b": (None, float("nan"))})
    ('{"a": [1.5, 2.0], "b": [null, null]}', False)
    """
    try:
        return json.dumps(row, default=np.ndarray.tolist, allow_nan=False), True
    except ValueError:
        return json.dumps(_with_nulls(row), allow_nan=False), False


def _with_nulls(value: object) -> object:
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _with_nulls(item) for key, item in value.items()}
    return [_with_nulls(item) for item in value] if isinstance(value, (list, tuple)) else value


# Drawing

COLOURS = ("1;31", "31", "2", "32", "1;32")  # bold red, red, faint, green, bold green
DEEPEST = 60  # levels of indentation; unlimited, a deep tree's output grows with the square of its depth


def _judged(
    model: ar.Model, examples: Iterator[Any], places: deque[str], size: int
) -> Iterator[tuple[Any, Any]]:
    """The trees, each with the scores of its nodes."""
    while part := list(islice(examples, size)):
        try:
            model(part)
        except InputError as error:
            place = places[error.details.example or 0]
            raise InputError(f"{place}: {error.details.without_example}") from None
        places.clear()
        if "scores" not in model.metrics:
            raise ArrowValueError("--show needs a model with the metric scores: those of each node's classes")
        scores = model.metrics["scores"]
        yield from zip(part, ar.Ragged(ar.to_numpy(scores.values), scores.offsets), strict=True)


def draw(tree: Any, scores: Any, classes: list[str], *, colours: bool = False) -> Iterator[str]:
    """One line for each node of a tree, children indented below their parent: class, probability, word.

    Args:
        tree: a dict with a "word", or with "left" and "right", which are trees.
        scores: the class scores before the softmax, `[nodes, classes]`, in the order in which models visit
            the nodes: left subtree, right subtree, then their parent.
        classes: their names.
        colours: whether to write the escapes of a terminal, from red for the first of five classes to green.

    >>> from arrows.data import parse_tree
    >>> shares = np.array([[0.2, 0.7, 0.1], [0, 0.1, 0.9], [0.75, 0.25, 0]]) + 1e-9
    >>> print(*draw(parse_tree("(not good)"), np.log(shares), ["bad", "neutral", "good"]), sep="\\n")
    bad 0.75
      neutral 0.70  not
      good 0.90  good
    """
    # From the root down, right subtree first, is the model's order backwards.
    numbers: dict[int, int] = {}
    stack, number = [tree], len(scores)
    while stack:
        node = stack.pop()
        number -= 1
        numbers[id(node)] = number  # a subtree that occurs twice has the same scores in both places
        stack += _halves(node)
    if number:
        raise InputError(f"--show draws trees; an example has {len(scores)} scores, not one for each node")
    todo = [(tree, 0)]
    while todo:
        node, depth = todo.pop()
        shares = softmax(scores[numbers[id(node)]])
        best = int(shares.argmax())
        text = f"{classes[best] if best < len(classes) else best} {shares[best]:.2f}"
        text += "" if _halves(node) else f"  {printable(str(node.get('word', '')))}"
        indent = "  " * min(depth, DEEPEST) + (f"[{depth}] " if depth > DEEPEST else "")
        colour = COLOURS[best] if colours and len(shares) == len(COLOURS) else ""
        yield indent + (f"\x1b[{colour}m{text}\x1b[0m" if colour else text)
        todo += [(half, depth + 1) for half in reversed(_halves(node))]


def _halves(node: Any) -> list[Any]:
    if not isinstance(node, dict):
        raise InputError(f"--show draws trees, which are dicts, and here is {type(node).__name__}")
    return [node[side] for side in ("left", "right") if side in node]


def has_colours(stream: TextIO, environment: Mapping[str, str] = os.environ) -> bool:
    """Whether to write colours to a stream: it is a terminal that has them, and `NO_COLOR` is not set.

    Any value of `NO_COLOR` except the empty one counts (https://no-color.org).
    """
    return stream.isatty() and not environment.get("NO_COLOR") and environment.get("TERM") != "dumb"


def softmax(scores: Any) -> Any:
    """The probabilities of the classes: the softmax over the last axis."""
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)
