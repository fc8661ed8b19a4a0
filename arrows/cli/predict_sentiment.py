"""`arrows predict sentiment`: classifies trees with a trained model."""

from __future__ import annotations

import argparse
import errno
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import arrows as ar
from arrows.cli.model_files import restore_sentiment
from arrows.cli.scored_tree import draw, has_colours, sentence, softmax
from arrows.data import CLASSES, Tree, parse_trees, words
from arrows.models import accuracies
from arrows.ops.arrays import HostArray

CHUNK = 256  # trees classified at once
DESCRIPTION = """Prints a line for each tree: the number of its class, the name of the class, its probability,
and the sentence, separated by tabs. If all trees have labels, the accuracies follow on standard error."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the command to a parser.

    >>> parser = argparse.ArgumentParser()
    >>> add_options(parser)
    >>> parser.parse_args(["m.safetensors", "--show"]).show
    True
    """
    parser.description = DESCRIPTION
    parser.add_argument(
        "model", type=Path, metavar="MODEL", help="a model file saved by `arrows train sentiment`"
    )
    parser.add_argument(
        "trees",
        nargs="?",
        default="-",
        metavar="FILE",
        help="trees in brackets, one per line, with labels, (3 (2 so) (4 good)), or without, (so good); "
        "default, or -: standard input",
    )
    parser.add_argument(
        "--bare", action="store_true", help="read trees without labels: numbers in brackets are words"
    )
    parser.add_argument(
        "--show",
        action="store_true",
        help="print every node of a tree with its class, in colour on a terminal",
    )


def run(options: argparse.Namespace) -> int:
    """Reads the trees, classifies them and prints the result.

    Returns:
        The exit status 0.

    Raises:
        InputError: a line is not a tree; nothing has been printed then.
        ArrowValueError, OSError: the model or the trees cannot be read.
    """
    model = restore_sentiment(options.model)
    if options.trees == "-":
        if sys.stdin is None:
            raise OSError(errno.EBADF, "standard input is closed; name a file of trees")
        data, source = sys.stdin.buffer.read(), "standard input"
    else:
        data, source = Path(options.trees).read_bytes(), options.trees
    trees = parse_trees(data, source=source, labelled=False if options.bare else None)
    roots = []
    for part, root_scores, node_scores in judged(model, trees):
        for tree, root, nodes in zip(part, root_scores, node_scores, strict=True):
            roots.append(root)
            if options.show:
                print(*draw(tree, nodes, colours=has_colours(sys.stdout)), "", sep="\n")
            else:
                probabilities = softmax(root)
                best = int(probabilities.argmax())
                probability = f"{probabilities[best]:.3f}"
                print(best, CLASSES[best], probability, sentence(list(words([tree]))), sep="\t")
    sys.stdout.flush()
    if trees and all("label" in tree for tree in trees):
        fine, binary = accuracies(np.array(roots), np.array([tree["label"] for tree in trees]))
        print(f"{len(trees)} trees: fine-grained {fine:.3f}, binary {binary:.3f}", file=sys.stderr)
    return 0


def judged(model: ar.Model, trees: list[Tree]) -> Iterator[tuple[list[Tree], HostArray, ar.Ragged]]:
    """The trees in chunks, with the scores of their roots, `[trees, 5]`, and of their nodes by tree.

    >>> from arrows.models import sentiment
    >>> model = ar.compile(sentiment({}, size=2).judge)
    >>> [(len(part), roots.shape) for part, roots, _ in judged(model, [{"word": "so"}] * 300)]
    [(256, (256, 5)), (44, (44, 5))]
    """
    for first in range(0, len(trees), CHUNK):
        part = trees[first : first + CHUNK]
        roots = ar.to_numpy(model(part))
        scores = model.metrics["scores"]
        yield part, roots, ar.Ragged(ar.to_numpy(scores.values), scores.offsets)
