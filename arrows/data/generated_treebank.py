"""A generated treebank: binary trees, with the sentiment that a small grammar gives to every node.

Words alone do not decide a label. A negator reverses and weakens the phrase beside it, intensifiers and
weakeners change its strength, and after `but` only the second half counts; so `((not good) film)` is mildly
negative and `(very (not good))` strongly. A model that adds up words cannot learn this, but one that composes
along the tree can. As in the Stanford Sentiment Treebank, labels run from 0, very negative, to 4, very
positive; 2 is neutral.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from random import Random
from typing import NamedTuple

from arrows.data.brackets import Tree
from arrows.typesys import ArrowValueError, InputError, quoted

CLASSES = ("very negative", "negative", "neutral", "positive", "very positive")

SCORES = {
    2: "great superb brilliant wonderful moving thrilling",
    1: "good nice clever funny charming warm fresh solid",
    0: "film movie plot story cast music scene ending director dialogue script the this it",
    -1: "bad dull weak silly cold slow flat messy",
    -2: "awful terrible dreadful unbearable hopeless ghastly",
}
FACTORS = {
    **dict.fromkeys(("not", "never", "hardly"), -1),
    **dict.fromkeys(("very", "really", "extremely", "truly"), 2),
    **dict.fromkeys(("slightly", "somewhat", "fairly"), 1),
}
"""What the operators make of a phrase: its sign, times this."""
CONTRASTS = ("but", "yet")

_WORD_SCORES = {word: score for score, line in SCORES.items() for word in line.split()}


class _Meaning(NamedTuple):
    """The meaning of a phrase.

    Attributes:
        score: from -2 to 2; operators by themselves have 0.
        operators: words such as `very` or `but` that still wait for a phrase to act on.
        contrast: whether `but` or `yet` has acted on it, as in `(but awful)`.
    """

    score: int = 0
    operators: tuple[str, ...] = ()
    contrast: bool = False


def label_tree(tree: Tree) -> Tree:
    """A copy of a bare tree with the grammar's label at every node, as `"label"`.

    Raises:
        InputError: a word is not in the grammar.

    >>> from arrows.data import parse_tree
    >>> label_tree(parse_tree("(not good)"))
    {'label': 1, 'left': {'label': 2, 'word': 'not'}, 'right': {'label': 3, 'word': 'good'}}
    """
    stack: list[tuple[Tree, bool]] = [(tree, False)]
    done: list[tuple[Tree, _Meaning]] = []
    while stack:
        node, parts_done = stack.pop()
        if parts_done:
            (right, right_meaning), (left, left_meaning) = done.pop(), done.pop()
            meaning = _composed(left_meaning, right_meaning)
            parts = {"left": left, "right": right}
        elif "word" in node:
            meaning, parts = _meaning_of_word(node["word"]), {"word": node["word"]}
        else:
            stack += ((node, True), (node["right"], False), (node["left"], False))
            continue
        done.append(({"label": meaning.score + 2, **parts}, meaning))
    return done[0][0]


def generate(count: int, *, seed: int = 0, num_words: tuple[int, int] = (1, 20)) -> list[Tree]:
    """Generates sentiment trees; the same arguments give the same trees on every machine and Python version.

    Args:
        count: how many trees.
        seed: the seed of the generator.
        num_words: the least and the greatest in a tree; all numbers between are equally likely.

    Returns:
        Labelled trees, like those of `arrows.data.parse_tree`.

    Raises:
        ArrowValueError: `num_words` is not a range of positive numbers.

    >>> from arrows.data import format_tree
    >>> print(format_tree(generate(1, seed=11, num_words=(3, 3))[0]))
    (2 (2 script) (2 (2 but) (2 ending)))
    """
    least, most = num_words
    if not 1 <= least <= most:
        raise ArrowValueError(
            f"generate: num_words is {num_words}, and should be (least, most) with 1 <= least <= most"
        )
    draw = Random(seed).random  # the only method whose stream Python promises not to change
    return [label_tree(_grow(least + int(draw() * (most - least + 1)), draw)) for _ in range(count)]


def _meaning_of_word(word: str) -> _Meaning:
    if word in FACTORS or word in CONTRASTS:
        return _Meaning(operators=(word,))
    if word not in _WORD_SCORES:
        raise InputError(f"the grammar has no word {quoted(word)}")
    return _Meaning(_WORD_SCORES[word])


def _composed(left: _Meaning, right: _Meaning) -> _Meaning:
    """The meaning of two adjacent phrases.

    Operators act on the phrase beside them, the nearest operator first. The scores of two plain phrases add
    up. A contrast outweighs the phrase before it, unless the contrast is neutral.
    """
    operators = left.operators + right.operators
    if left.operators and right.operators:
        return _Meaning(operators=operators)
    if operators:
        score, _, contrast = right if left.operators else left
        for operator in reversed(operators):
            score = FACTORS.get(operator, abs(score)) * ((score > 0) - (score < 0))
            contrast |= operator in CONTRASTS
        return _Meaning(score, contrast=contrast)
    if right.contrast and right.score:
        return _Meaning(right.score)
    return _Meaning(max(-2, min(2, left.score + right.score)))


def _grow(size: int, draw: Callable[[], float]) -> Tree:
    """A bare tree of `size` words, grown from the root down; the stack holds nodes that are still empty."""

    def leaf(choices: Iterable[str]) -> Tree:
        listed = [*choices]
        return {"word": listed[int(draw() * len(listed))]}

    root: Tree = {}
    open_nodes = [(root, size)]
    while open_nodes:
        node, size = open_nodes.pop()
        if size == 1:
            node |= leaf(_WORD_SCORES)
            continue
        choice = draw()
        left: Tree = {}
        right: Tree = {}
        node |= {"left": left, "right": right}
        if choice < 0.45:
            left |= leaf(FACTORS)
            open_nodes.append((right, size - 1))
        elif choice < 0.55 and size > 2:
            left |= {"left": leaf(FACTORS), "right": leaf(FACTORS)}
            open_nodes.append((right, size - 2))
        elif choice < 0.75 and size > 2:
            first = 1 + int(draw() * (size - 2))
            rest: Tree = {}
            right |= {"left": leaf(CONTRASTS), "right": rest}
            open_nodes += ((left, first), (rest, size - first - 1))
        else:
            first = 1 + int(draw() * (size - 1))
            open_nodes += ((left, first), (right, size - first))
    return root
