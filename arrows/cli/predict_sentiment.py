"""`arrows predict sentiment`: classifies trees with a trained model."""

from __future__ import annotations

import argparse
import errno
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import arrows as ar
from arrows.cli.model_files import restore
from arrows.cli.scored_tree import draw, has_colours, sentence, shares
from arrows.data import CLASSES, Tree, parse_trees, words
from arrows.machine import limited_to
from arrows.models import accuracies

CHUNK = 256  # trees classified at once
DESCRIPTION = """Prints a line for each tree: the number of its class, the class, its probability, and the
sentence, parted by tabs. Where all trees have labels, the accuracies follow on standard error."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the command to a parser.

    >>> parser = argparse.ArgumentParser()
    >>> add_options(parser)
    >>> parser.parse_args(["m.safetensors", "--show"]).show
    True
    """
    parser.description = DESCRIPTION
    parser.add_argument(
        "model", type=Path, metavar="MODEL", help="a file that `arrows train sentiment` saved"
    )
    parser.add_argument(
        "trees",
        nargs="?",
        default="-",
        metavar="FILE",
        help="trees in brackets, one a line, with labels, (3 (2 so) (4 good)), or without, (so good); "
        "standard input if not given, or -",
    )
    parser.add_argument(
        "--bare", action="store_true", help="no tree has labels: numbers in brackets are words"
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
        InputError: a tree that is none; nothing has been printed then.
        ArrowValueError, OSError: model or trees cannot be read.

    >>> parser = argparse.ArgumentParser()
    >>> add_options(parser)
    >>> run(parser.parse_args(["sentiment.safetensors", "trees.txt"]))  # doctest: +SKIP
    0
    """
    model = restore(options.model)
    if options.trees == "-":
        if sys.stdin is None:
            raise OSError(errno.EBADF, "standard input is closed; name a file of trees")
        data, source = sys.stdin.buffer.read(), "standard input"
    else:
        data, source = Path(options.trees).read_bytes(), options.trees
    trees = parse_trees(data, source=source, labelled=False if options.bare else None)
    roots = []
    with limited_to(options.threads or 1):
        for part, root_scores, node_scores in judged(model, trees):
            for tree, root, nodes in zip(part, root_scores, node_scores, strict=True):
                roots.append(root)
                if options.show:
                    print(*draw(tree, nodes, colours=has_colours(sys.stdout)), "", sep="\n")
                else:
                    share = shares(root)
                    best = int(share.argmax())
                    print(best, CLASSES[best], f"{share[best]:.3f}", sentence(list(words([tree]))), sep="\t")
    sys.stdout.flush()
    if trees and all("label" in tree for tree in trees):
        fine, binary = accuracies(np.array(roots), np.array([tree["label"] for tree in trees]))
        print(f"{len(trees)} trees: fine-grained {fine:.3f}, binary {binary:.3f}", file=sys.stderr)
    return 0


def judged(model: ar.Model, trees: list[Tree]) -> Iterator[tuple[list[Tree], npt.NDArray[Any], ar.Ragged]]:
    """Some trees at a time, with the scores of their roots, `[trees, 5]`, and of their nodes by tree.

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
