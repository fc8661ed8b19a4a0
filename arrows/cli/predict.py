"""`arrows predict`: what a saved model gives for each example of a file."""

from __future__ import annotations

import argparse
import codecs
import json
import math
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

import arrows as ar
from arrows.cli.option_types import add_device, positive
from arrows.cli.outputs import require_output
from arrows.cli.table_columns import readers_of_model, separator_of
from arrows.cli.user_file import attribute, load, split
from arrows.data import FileReader, by_line, read_conllu, read_csv, read_json_lines, read_trees
from arrows.storage import replacing
from arrows.training import read_metadata
from arrows.typesys import ArrowValueError, InputError, printable, printable_lines

DESCRIPTION = """Prints the model's result for each example as a line of JSON, in the same order; examples are
read as they come, so an endless pipe will do. Where the model file names classes, scores are printed as the
likeliest class and its probability. Numbers that JSON does not have, such as NaN, are null."""
FORMATS = ("jsonl", "csv", "tsv", "conllu", "trees", "words")
FORMAT = """what the file holds (default: by the ending of its name, or jsonl): JSON Lines; a table with the
columns of that to which the model was fitted; sentences in CoNLL-U; trees in brackets, one a line; words, a
sentence a line"""
DEEPEST = 60  # levels of indentation; unlimited, a deep tree's output grows with the square of its depth


def add_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options of `arrows predict` to a parser."""
    parser.description = DESCRIPTION
    add = parser.add_argument
    add("model", type=Path, metavar="MODEL", help="a model file that ar.save_model wrote")
    add("examples", nargs="?", default="-", metavar="FILE", help="may end in .gz; -: standard input")
    add("--format", choices=FORMATS, help=FORMAT)
    add("--show", action="store_true", help="draw each tree, with the class of every node")
    add("--output", type=Path, metavar="FILE", help="write to a file, which is written whole or not at all")
    add("--builder", metavar="FILE.py:NAME", help="the function that builds the model's block")
    trust = "a package, installed or in this folder, whose builder the file may name; may be repeated"
    add("--trust", action="append", default=[], metavar="PACKAGE", help=trust)
    add("--batch-size", type=positive, default=256, metavar="N", help="examples run at once (default: 256)")
    errors = "at an example that cannot be read or does not fit: stop, or skip it and say so (default: stop)"
    add("--errors", choices=["stop", "skip"], default="stop", help=errors)
    add_device(parser)


def run(options: argparse.Namespace) -> int:
    """Predicts example by example; returns the exit status 0.

    Raises:
        InputError, ArrowValueError, OSError: the model cannot be loaded, or an example cannot be read; the
            results of the examples before it have been printed then.
    """
    if options.trust:
        sys.path.insert(0, "")
    builder = None
    if options.builder is not None:
        file, name = split(options.builder)
        if name is None:
            raise ArrowValueError(f"--builder {file} names no function; it looks like FILE.py:NAME")
        builder = attribute(load(file), name, file)
    model = ar.load_model(options.model, builder=builder, trust=options.trust, device=options.device)
    require_output(options.output, options.model, options.examples)
    reader, classes = _reader(options), _classes(options.model)
    results = (_drawings if options.show else _lines)(options, model, reader, classes)
    count = skipped = 0
    with ExitStack() as stack:
        output: Any = sys.stdout
        if options.output is not None:
            output = codecs.getwriter("utf-8")(stack.enter_context(replacing(options.output)))
        for result in _with_skipped(results, reader):
            count += 1
            if isinstance(result, InputError):
                print(f"skipped: {printable_lines(str(result))}", file=sys.stderr)
                skipped += 1
            else:  # whoever reads the pipe may want it now
                print(result, file=output, flush=options.output is None)
    if skipped:
        print(f"{count} examples: {skipped} skipped", file=sys.stderr)
    return 0


def _reader(options: argparse.Namespace) -> FileReader[Any]:
    """What reads the examples."""
    path, errors = Path(options.examples), options.errors
    if options.examples == "-" and sys.stdin is None:
        raise ArrowValueError("standard input is closed; name a file of examples")
    source: Any = sys.stdin.buffer if options.examples == "-" else path
    ending = Path(path.stem if path.suffix == ".gz" else path.name).suffix.lower()[1:]
    format = options.format or (ending if ending in FORMATS else "jsonl")
    if format in ("csv", "tsv"):
        columns = readers_of_model(options.model)
        separator = separator_of(path) or {"csv": ",", "tsv": "\t"}[format]
        return read_csv(source, columns=columns, separator=separator, errors=errors)
    readers: dict[str, Callable[[], FileReader[Any]]] = {
        "jsonl": lambda: read_json_lines(source, errors=errors),
        "conllu": lambda: read_conllu(source, tags=False, errors=errors),
        "trees": lambda: read_trees(source, labelled=None, errors=errors),
        "words": lambda: by_line("predict", source, _words, errors),
    }
    return readers[format]()


def _words(text: str, *_: object) -> list[dict[str, str]]:
    return [{"word": word} for word in text.split()]


def _with_skipped(results: Iterator[object], reader: FileReader[Any]) -> Iterator[object]:
    """Results, and before each the errors of the examples that the reader has left out until then."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*: left out ", UserWarning)  # which are told here one by one
        for result in results:
            while reader.skipped:
                yield reader.skipped.pop(0)
            yield result
    yield from reader.skipped


def _lines(
    options: argparse.Namespace, model: ar.Model, reader: FileReader[Any], classes: list[str]
) -> Iterator[object]:
    """A line of JSON for each example, or why there is none."""
    errors = "return" if options.errors == "skip" else "stop"
    for row in model.predict_stream(reader, batch_size=options.batch_size, errors=errors):
        yield row if isinstance(row, InputError) else json.dumps(plain(_with_class(row, classes)))


def _classes(model: Path) -> list[str]:
    """The names of the classes that a model file keeps under `classes`, if it does."""
    try:
        names = json.loads(read_metadata(model).get("classes", "[]"))
    except (ValueError, RecursionError):
        return []
    return [printable(str(name)) for name in names] if isinstance(names, list) else []


def _with_class(row: object, classes: list[str]) -> object:
    """Scores of classes as the likeliest class with its probability; anything else as it is."""
    if isinstance(row, list) or (isinstance(row, np.ndarray) and row.ndim == 2 and classes):
        return [_with_class(item, classes) for item in row]
    if not (classes and isinstance(row, np.ndarray) and row.shape == (len(classes),)):
        return row
    shares = ar.ops.softmax(row)
    return {"class": classes[int(shares.argmax())], "probability": round(float(shares.max()), 4)}


def plain(value: object) -> object:
    """A row as JSON holds it: numbers that are not finite are null.

    >>> plain({"a": np.array([1.5, np.nan]), "b": (None, float("inf"))})
    {'a': [1.5, None], 'b': [None, None]}
    """
    if isinstance(value, np.ndarray):
        finite = value.dtype.kind != "f" or np.isfinite(value).all()
        return value.tolist() if finite else plain(value.tolist())
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _drawings(
    options: argparse.Namespace, model: ar.Model, reader: FileReader[Any], classes: list[str]
) -> Iterator[object]:
    """A picture of each tree."""
    trees = reader.to_list()
    prepared = model.prepare(trees)
    for first in range(0, len(trees), options.batch_size):
        model(prepared[first : first + options.batch_size])
        if "scores" not in model.metrics:
            raise ArrowValueError("--show needs a model with the metric scores: those of each node's classes")
        scores: Any = model.metrics["scores"]
        for tree, own in zip(
            trees[first:], ar.Ragged(ar.to_numpy(scores.values), scores.offsets), strict=False
        ):
            yield "\n".join([*draw(tree, own, classes), ""])


def draw(tree: Any, scores: Any, classes: list[str]) -> Iterator[str]:
    """One line for each node of a tree, children indented below their parent: class, probability, word.

    Args:
        tree: a dict with a "word", or with "left" and "right", which are trees.
        scores: the class scores before the softmax, `[nodes, classes]`, in the order in which models visit
            the nodes: left subtree, right subtree, then their parent.
        classes: their names.

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
    if number or not isinstance(tree, dict):
        raise InputError("--show draws trees, which have a score for each node; here is something else")
    todo = [(tree, 0)]
    while todo:
        node, depth = todo.pop()
        shares = ar.ops.softmax(scores[numbers[id(node)]])
        best = int(shares.argmax())
        indent = "  " * min(depth, DEEPEST) + (f"[{depth}] " if depth > DEEPEST else "")
        word = "" if _halves(node) else f"  {printable(str(node.get('word', '')))}"
        yield f"{indent}{classes[best] if best < len(classes) else best} {shares[best]:.2f}{word}"
        todo += [(half, depth + 1) for half in reversed(_halves(node))]


def _halves(node: Any) -> list[Any]:
    return [node[side] for side in ("left", "right") if side in node]
