"""The data of the benchmarks: trees and sentences, real ones if their files are there, else generated."""

from __future__ import annotations

from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from arrows.data import TAGS, Sentence, Tree, Vocabulary, generate, read_conllu, read_trees, words

Ints = npt.NDArray[np.int64]
Nested = int | tuple["Nested", "Nested"]

TREEBANK = Path("../shared/data/sst")
UNIVERSAL_DEPENDENCIES = Path("../shared/data/ud")
VOCABULARY = 10_000  # of the words of random trees
OFTEN = 5  # words that occur less often are read by their characters


def load_trees(folder: Path | None) -> tuple[list[Tree], str]:
    """Sentiment trees and the name of their source: `sst` or `generated`.

    The folder holds the `train.txt` of the Stanford Sentiment Treebank. Without one, `../shared/data/sst` is
    read where it is there.
    """
    if folder is None and (TREEBANK / "train.txt").is_file():
        folder = TREEBANK
    if folder is not None:
        return list(read_trees(folder / "train.txt")), "sst"
    return generate(4000, num_words=(2, 36)), "generated"  # lengths as in the treebank


def vocabulary(trees: list[Tree]) -> Vocabulary:
    """The words of trees; the number 0 is that of unknown ones."""
    return Vocabulary.of(words(trees))


def vocabularies(sentences: list[Sentence], least: int = OFTEN) -> tuple[Vocabulary, Vocabulary]:
    """The vocabulary of words, in lower case, which occur so often at least, and that of characters."""
    forms = [word["word"] for sentence in sentences for word in sentence]
    return Vocabulary.of(map(str.lower, forms), min_freq=least), Vocabulary.of(chain.from_iterable(forms))


def operation_nodes(trees: list[Tree]) -> float:
    """Mean number of operations a tree: two for a word, one for a pair, and two for the loss of each of them.

    >>> operation_nodes([{"left": {"word": "a"}, "right": {"word": "b"}}])
    11.0
    """
    leaves = sum(1 for _ in words(trees))
    return (7 * leaves - 3 * len(trees)) / len(trees)


def load_sentences(folder: Path | None) -> tuple[list[Sentence], str]:
    """Tagged sentences with their trees, and the name of their source: `ud` or `generated`.

    The folder holds files `*train*.conllu`. Without one, `../shared/data/ud` is read where it is there.
    """
    if folder is None and any(UNIVERSAL_DEPENDENCIES.glob("*train*.conllu")):
        folder = UNIVERSAL_DEPENDENCIES
    if folder is None:
        return _generated_sentences(1000), "generated"
    files = sorted(folder.glob("*train*.conllu"))
    if not files:
        raise FileNotFoundError(2, "no *train*.conllu in the folder", str(folder))
    return [sentence for file in files for sentence in read_conllu(file, trees=True)], "ud"


def numbered(sentences: list[Sentence], words: Vocabulary, characters: Vocabulary) -> list[Any]:
    """Sentences as lists: of each word its number, those of its characters, and its tag's.

    >>> numbered([[{"word": "Trees", "tag": "NOUN"}]], Vocabulary(["trees"]), Vocabulary(["e", "r", "T"]))
    [[[1, [3, 2, 1, 1, 0], 7]]]
    """
    return [
        [
            [words[x["word"].lower()], characters.numbers(list(x["word"])), TAGS.index(x["tag"])]
            for x in sentence
        ]
        for sentence in sentences
    ]


def _generated_sentences(count: int) -> list[Sentence]:
    """Sentences of 1 to 40 words, whose frequencies fall as in real text (Zipf's law); trees are chains."""
    random = np.random.default_rng(0)
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))
    words = ["".join(random.choice(letters, random.integers(1, 12))) for _ in range(4000)]
    lexicon = [{"word": word, "tag": TAGS[k % len(TAGS)]} for k, word in enumerate(words)]
    sentences: list[Sentence] = []
    for length in random.integers(1, 41, count).tolist():
        ranks = np.minimum(random.zipf(1.3, length), len(lexicon)) - 1
        chain = [{"head": str(n), "relation": "dep"} for n in range(length)]
        sentences.append([lexicon[k] | arc for k, arc in zip(ranks.tolist(), chain, strict=True)])
    return sentences


def numbered_sentences(
    random: np.random.Generator, count: int, length: int, vocabulary: int, labels: int
) -> tuple[Ints, Ints]:
    """Random words and labels as numbers, `[count, length]` each."""
    return random.integers(0, vocabulary, (count, length)), random.integers(0, labels, (count, length))


def random_tree(random: np.random.Generator, leaves: int) -> Nested:
    """A tree of nested pairs, each cut at a random place, with random words at its leaves.

    >>> random_tree(np.random.default_rng(0), 3)
    (8506, (6369, 5111))
    """
    row = random.integers(0, VOCABULARY, leaves).tolist()

    def tree(first: int, last: int) -> Nested:
        if last - first == 1:
            return int(row[first])
        cut = int(random.integers(first + 1, last))
        return tree(first, cut), tree(cut, last)

    return tree(0, leaves)


def with_words(tree: Nested, row: list[int]) -> Nested:
    """The same shape with other words at its leaves, from left to right.

    >>> with_words((0, (0, 0)), [1, 2, 3])
    (1, (2, 3))
    """
    rest = iter(row)

    def filled(node: Nested) -> Nested:
        return (filled(node[0]), filled(node[1])) if isinstance(node, tuple) else next(rest)

    return filled(tree)
