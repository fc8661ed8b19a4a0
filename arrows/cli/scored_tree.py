"""Prints a classified tree to a terminal: the class of every node, in colour if the terminal has colours."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import TextIO

import numpy as np

from arrows.data import CLASSES, Tree
from arrows.ops.arrays import HostArray
from arrows.typesys.quoting import printable

COLOURS = ("1;31", "31", "2", "32", "1;32")  # bold red, red, faint, green, bold green
DEEPEST = 60  # levels of indentation; with more, a deep tree would print the square of its depth


def has_colours(stream: TextIO, environment: Mapping[str, str] = os.environ) -> bool:
    """Whether to write colours to a stream: it is a terminal that has them, and `NO_COLOR` is not set.

    Any value of `NO_COLOR` except the empty one counts (https://no-color.org).

    >>> import io
    >>> has_colours(io.StringIO())
    False
    """
    return stream.isatty() and not environment.get("NO_COLOR") and environment.get("TERM") != "dumb"


def draw(tree: Tree, scores: HostArray, *, colours: bool = False) -> Iterator[str]:
    """One line for each node of a tree, children indented below their parent: class, probability, word.

    Args:
        tree: a tree with or without labels.
        scores: the class scores before the softmax, `[nodes, 5]`, in the order in which the model visits the
            nodes: left subtree, right subtree, then their parent.
        colours: whether to write the colour codes of terminals.

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
    """The probabilities of the classes: the softmax over the last axis.

    >>> softmax(np.zeros((1, 2))).tolist()
    [[0.5, 0.5]]
    """
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=-1, keepdims=True))


def sentence(words: Sequence[str]) -> str:
    """Words separated by spaces, with control characters spelt out.

    >>> sentence(["not", "good"])
    'not good'
    """
    return printable(" ".join(words))
