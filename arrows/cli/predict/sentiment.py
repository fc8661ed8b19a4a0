"""`arrows predict sentiment`: classifies trees with a trained model."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, Mapping
from typing import TextIO

import numpy as np

import arrows as ar
from arrows.cli.model_files import restore_sentiment
from arrows.cli.predict.streams import add_predict_options, output_of, read_examples
from arrows.data import CLASSES, Tree, parse_trees, words
from arrows.models import accuracies
from arrows.ops.arrays import HostArray
from arrows.typesys.quoting import printable

CHUNK = 256  # trees classified at once
COLOURS = ("1;31", "31", "2", "32", "1;32")  # bold red, red, faint, green, bold green
DEEPEST = 60  # levels of indentation; unlimited, a deep tree's output grows with the square of its depth
DESCRIPTION = """Prints a line for each tree: the number of its class, the name of the class, its probability,
and the sentence, separated by tabs. If all trees have labels, the accuracies follow on standard error."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the command to a parser."""
    parser.description = DESCRIPTION
    add_predict_options(
        parser,
        model="a model file saved by `arrows train sentiment`",
        examples="trees in brackets, one per line, with labels, (3 (2 so) (4 good)), or without, (so good)",
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
    """Reads the trees, classifies them and prints the result; returns the exit status 0.

    Raises:
        InputError, ArrowValueError, OSError: the model or the trees cannot be read; nothing is printed then.
    """
    model = restore_sentiment(options.model, options.device)
    data, source = read_examples(options)
    trees = parse_trees(data, source=source, labelled=False if options.bare else None)
    roots = []
    with output_of(options) as output:
        for part, root_scores, node_scores in judged(model, trees):
            for tree, root, nodes in zip(part, root_scores, node_scores, strict=True):
                roots.append(root)
                if options.show:
                    print(*draw(tree, nodes, colours=has_colours(output)), "", sep="\n", file=output)
                else:
                    shares = softmax(root)
                    best, sentence = int(shares.argmax()), printable(" ".join(words([tree])))
                    print(best, CLASSES[best], f"{shares[best]:.3f}", sentence, sep="\t", file=output)
    if trees and all("label" in tree for tree in trees):
        noun = "tree" if len(trees) == 1 else "trees"
        fine, binary = accuracies(np.array(roots), np.array([tree["label"] for tree in trees]))
        print(f"{len(trees)} {noun}: fine-grained {fine:.3f}, binary {binary:.3f}", file=sys.stderr)
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


def has_colours(stream: TextIO, environment: Mapping[str, str] = os.environ) -> bool:
    """Whether to write colours to a stream: it is a terminal that has them, and `NO_COLOR` is not set.

    Any value of `NO_COLOR` except the empty one counts (https://no-color.org).
    """
    return stream.isatty() and not environment.get("NO_COLOR") and environment.get("TERM") != "dumb"


def draw(tree: Tree, scores: HostArray, *, colours: bool = False) -> Iterator[str]:
    """One line for each node of a tree, children indented below their parent: class, probability, word.

    `scores` are the class scores before the softmax, `[nodes, 5]`, in the order in which the model visits the
    nodes: left subtree, right subtree, then their parent.

    >>> from arrows.data import parse_tree
    >>> scores = np.log(
    ...     [[0.2, 0.2, 0.4, 0.1, 0.1], [0, 0, 0, 0.9, 0.1], [0.75, 0.25, 0, 0, 0]] + np.array(1e-9)
    ... )
    >>> print(*draw(parse_tree("(not good)"), scores), sep="\\n")
    very negative 0.75
      neutral 0.40  not
      positive 0.90  good
    """
    probabilities = softmax(scores)
    # From the root down, right subtree first, is the model's order backwards.
    numbers: dict[int, int] = {}
    stack, number = [tree], len(scores)
    while stack:
        node = stack.pop()
        number -= 1
        numbers[id(node)] = number  # a subtree that occurs twice has the same scores in both places
        if "left" in node:
            stack += (node["left"], node["right"])
    todo = [(tree, 0)]
    while todo:
        node, depth = todo.pop()
        shares = probabilities[numbers[id(node)]]
        best = int(shares.argmax())
        name = f"{CLASSES[best]} {shares[best]:.2f}"
        word = f"  {printable(node['word'])}" if "word" in node else ""
        indent = "  " * min(depth, DEEPEST) + (f"[{depth}] " if depth > DEEPEST else "")
        yield indent + (f"\x1b[{COLOURS[best]}m{name}{word}\x1b[0m" if colours else name + word)
        if "left" in node:
            todo += ((node["right"], depth + 1), (node["left"], depth + 1))


def softmax(scores: HostArray) -> HostArray:
    """The probabilities of the classes: the softmax over the last axis."""
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=-1, keepdims=True))
