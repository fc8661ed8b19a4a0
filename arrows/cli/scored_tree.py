"""A judged tree as lines for the terminal: the class of every node, in colour where there are colours."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TextIO

import numpy as np
import numpy.typing as npt

from arrows.data import CLASSES, Tree
from arrows.typesys.quoting import printable

COLOURS = ("1;31", "31", "2", "32", "1;32")  # bold red, red, faint, green, bold green
DEEPEST = 60  # levels that are drawn as indentation; a deep tree must not cost the square of its depth


def has_colours(stream: TextIO, environment: Mapping[str, str] = os.environ) -> bool:
    """Whether to write colours to a stream: to a terminal that has them, unless `NO_COLOR` is set.

    https://no-color.org: any value of `NO_COLOR` but the empty one counts.

    >>> import io
    >>> has_colours(io.StringIO())
    False
    """
    return stream.isatty() and not environment.get("NO_COLOR") and environment.get("TERM") != "dumb"


def draw(tree: Tree, scores: npt.NDArray[Any], *, colours: bool = False) -> Iterator[str]:
    """The nodes of a tree, a line each, parts indented below the whole: class, probability, word.

    Args:
        tree: with or without labels.
        scores: of the classes before the softmax, `[nodes, 5]`, in the order of the model's visits: left
            half, right half, then the pair.
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
    probabilities = shares(scores)
    # From the root down, right half first, the visits are met backwards.
    numbers: dict[int, int] = {}
    stack, number = [tree], len(scores)
    while stack:
        node = stack.pop()
        number -= 1
        numbers[id(node)] = number  # a part that is there twice has the same scores in both places
        if "left" in node:
            stack += (node["left"], node["right"])
    todo = [(tree, 0)]
    while todo:
        node, depth = todo.pop()
        share = probabilities[numbers[id(node)]]
        best = int(share.argmax())
        name = f"{CLASSES[best]} {share[best]:.2f}"
        word = f"  {printable(node['word'])}" if "word" in node else ""
        indent = "  " * min(depth, DEEPEST) + (f"[{depth}] " if depth > DEEPEST else "")
        yield indent + (f"\x1b[{COLOURS[best]}m{name}{word}\x1b[0m" if colours else name + word)
        if "left" in node:
            todo += ((node["right"], depth + 1), (node["left"], depth + 1))


def shares(scores: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Probabilities of the classes: the softmax of the last axis.

    >>> shares(np.zeros((1, 2))).tolist()
    [[0.5, 0.5]]
    """
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=-1, keepdims=True))


def sentence(words: Sequence[str]) -> str:
    """Words with blanks between them, control characters spelt out.

    >>> sentence(["not", "good"])
    'not good'
    """
    return printable(" ".join(words))
