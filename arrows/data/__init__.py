"""Data to train on: readers of trees, tagged sentences and word vectors, vocabularies, a treebank.

>>> from arrows.data import generate, format_tree
>>> print(format_tree(generate(1, seed=3, words=(2, 2))[0]))
(2 (2 this) (2 the))
"""

from arrows.data.brackets import (
    Tree,
    format_tree,
    parse_labelled_tree,
    parse_tree,
    parse_trees,
    read_trees,
    vocabulary,
    words,
)
from arrows.data.conllu import TAGS, Sentence, Word, read_conllu
from arrows.data.generated_treebank import CLASSES, compose, generate, label_tree, meaning_of_word
from arrows.data.vocabularies import Vocabulary
from arrows.data.word_vectors import Vector, read_vectors

__all__ = [
    "CLASSES",
    "TAGS",
    "Sentence",
    "Tree",
    "Vector",
    "Vocabulary",
    "Word",
    "compose",
    "format_tree",
    "generate",
    "label_tree",
    "meaning_of_word",
    "parse_labelled_tree",
    "parse_tree",
    "parse_trees",
    "read_conllu",
    "read_trees",
    "read_vectors",
    "vocabulary",
    "words",
]
