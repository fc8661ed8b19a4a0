"""A generated treebank: binary trees, with the sentiment that a small grammar gives to every node.

Words alone do not decide a label. A negator reverses and weakens the phrase beside it, intensifiers and
weakeners change its strength, and after `but` only the second half counts; so `((not good) film)` is mildly
negative and `(very (not good))` strongly. A model that adds up words cannot learn this, but one that composes
along the tree can. As in the Stanford Sentiment Treebank, labels run from 0, very negative, to 4, very
positive; 2 is neutral.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import NamedTuple

from arrows.data.brackets import Tree
from arrows.typesys import ArrowValueError, InputError
from arrows.typesys.quoting import quoted

CLASSES = ("very negative", "negative", "neutral", "positive", "very positive")

SCORES = {
    2: "great superb brilliant wonderful moving thrilling",
    1: "good nice clever funny charming warm fresh solid",
    0: "film movie plot story cast music scene ending director dialogue script the this it",
    -1: "bad dull weak silly cold slow flat messy",
    -2: "awful terrible dreadful unbearable hopeless ghastly",
}
NEGATORS = ("not", "never", "hardly")
INTENSIFIERS = ("very", "really", "extremely", "truly")
WEAKENERS = ("slightly", "somewhat", "fairly")
CONTRASTS = ("but", "yet")

_WORD_SCORES = {word: score for score, line in SCORES.items() for word in line.split()}
_PLAIN_WORDS = tuple(_WORD_SCORES)
_OPERATORS = NEGATORS + INTENSIFIERS + WEAKENERS


class Meaning(NamedTuple):
    """The meaning of a phrase.

    Attributes:
        score: from -2 to 2.
        operators: words such as `very` that still wait for a phrase to act on.
        contrast: whether the phrase begins with a word such as `but`, as in `(but awful)`.

    >>> Meaning(1).label
    3
    """

    score: int = 0
    operators: tuple[str, ...] = ()
    contrast: bool = False

    @property
    def label(self) -> int:
        """The class of the phrase, 0 to 4; operators by themselves are neutral."""
        return self.score + 2


def meaning_of_word(word: str) -> Meaning:
    """The meaning of one word of the grammar.

    Raises:
        InputError: the word is not in the grammar.

    >>> meaning_of_word("awful"), meaning_of_word("not").operators
    (Meaning(score=-2, operators=(), contrast=False), ('not',))
    """
    if word in _WORD_SCORES:
        return Meaning(_WORD_SCORES[word])
    if word in _OPERATORS or word in CONTRASTS:
        return Meaning(operators=(word,))
    raise InputError(f"the grammar has no word {quoted(word)}")


def compose(left: Meaning, right: Meaning) -> Meaning:
    """The meaning of two adjacent phrases.

    Operators act on the phrase beside them, the nearest operator first. The scores of two plain phrases add
    up. A contrast outweighs the phrase before it, unless the contrast is neutral.

    >>> good, not_, very = map(meaning_of_word, ("good", "not", "very"))
    >>> compose(not_, compose(very, good)).score, compose(very, compose(not_, good)).score
    (-1, -2)
    """
    if left.operators and right.operators:
        return Meaning(operators=left.operators + right.operators)
    if left.operators:
        return _apply(left.operators, right)
    if right.operators:
        return _apply(right.operators, left)
    if right.contrast and right.score:
        return Meaning(right.score)
    return Meaning(max(-2, min(2, left.score + right.score)))


def label_tree(tree: Tree) -> Tree:
    """A copy of a bare tree with the grammar's label at every node, as `"label"`.

    Raises:
        InputError: a word is not in the grammar.

    >>> from arrows.data import parse_tree
    >>> label_tree(parse_tree("(not good)"))
    {'label': 1, 'left': {'label': 2, 'word': 'not'}, 'right': {'label': 3, 'word': 'good'}}
    """
    stack: list[tuple[Tree, bool]] = [(tree, False)]
    done: list[tuple[Tree, Meaning]] = []
    while stack:
        node, parts_done = stack.pop()
        if parts_done:
            right, right_meaning = done.pop()
            left, left_meaning = done.pop()
            meaning = compose(left_meaning, right_meaning)
            done.append(({"label": meaning.label, "left": left, "right": right}, meaning))
        elif "word" in node:
            meaning = meaning_of_word(node["word"])
            done.append(({"label": meaning.label, "word": node["word"]}, meaning))
        else:
            stack += ((node, True), (node["right"], False), (node["left"], False))
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
        ArrowValueError: `count` is negative, or `num_words` is not a range of positive numbers.

    >>> from arrows.data import format_tree
    >>> print(format_tree(generate(1, seed=11, num_words=(3, 3))[0]))
    (2 (2 script) (2 (2 but) (2 ending)))
    """
    if count < 0:
        raise ArrowValueError(f"generate: count is {count}, and should be 0 or more")
    least, most = num_words
    if not 1 <= least <= most:
        raise ArrowValueError(
            f"generate: num_words is {num_words}, and should be (least, most) with 1 <= least <= most"
        )
    draw = Random(seed).random  # the only method whose stream Python promises not to change
    return [label_tree(_grow(least + int(draw() * (most - least + 1)), draw)) for _ in range(count)]


def _apply(operators: tuple[str, ...], phrase: Meaning) -> Meaning:
    score, contrast = phrase.score, phrase.contrast
    for operator in reversed(operators):
        sign = (score > 0) - (score < 0)
        if operator in NEGATORS:
            score = -sign
        elif operator in INTENSIFIERS:
            score = 2 * sign
        elif operator in WEAKENERS:
            score = sign
        else:
            contrast = True
    return Meaning(score, contrast=contrast)


def _grow(size: int, draw: Callable[[], float]) -> Tree:
    """A bare tree of `size` words, grown from the root down; the stack holds nodes that are still empty."""

    def pick(choices: Sequence[str]) -> str:
        return choices[int(draw() * len(choices))]

    def branch(node: Tree) -> tuple[Tree, Tree]:
        node["left"], node["right"] = {}, {}
        return node["left"], node["right"]

    root: Tree = {}
    open_nodes = [(root, size)]
    while open_nodes:
        node, size = open_nodes.pop()
        if size == 1:
            node["word"] = pick(_PLAIN_WORDS)
            continue
        choice = draw()
        left, right = branch(node)
        if choice < 0.45:
            left["word"] = pick(_OPERATORS)
            open_nodes.append((right, size - 1))
        elif choice < 0.55 and size > 2:
            for part in branch(left):
                part["word"] = pick(_OPERATORS)
            open_nodes.append((right, size - 2))
        elif choice < 0.75 and size > 2:
            first = 1 + int(draw() * (size - 2))
            contrast, rest = branch(right)
            contrast["word"] = pick(CONTRASTS)
            open_nodes += ((left, first), (rest, size - first - 1))
        else:
            first = 1 + int(draw() * (size - 1))
            open_nodes += ((left, first), (right, size - first))
    return root
