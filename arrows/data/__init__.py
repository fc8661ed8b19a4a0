"""Data to train on: readers of trees, tagged sentences and word vectors, vocabularies, a treebank.

>>> from arrows.data import generate, format_tree
>>> print(format_tree(generate(1, seed=3, num_words=(2, 2))[0]))
(2 (2 this) (2 the))
"""

from arrows.data.brackets import Tree, format_tree, parse_tree, read_trees, words
from arrows.data.columns import read_csv
from arrows.data.conllu import TAGS, Sentence, Word as Word, read_conllu
from arrows.data.file_examples import (
    FileExamples as FileExamples,
    FileReader as FileReader,
    by_line as by_line,
    lines_of as lines_of,
)
from arrows.data.generated_treebank import CLASSES, generate, label_tree
from arrows.data.json_lines import read_json_lines
from arrows.data.vocabularies import Vocabulary as Vocabulary
from arrows.data.word_vectors import Vector as Vector, read_vectors

__all__ = [
    "CLASSES",
    "TAGS",
    "Sentence",
    "Tree",
    "format_tree",
    "generate",
    "label_tree",
    "parse_tree",
    "read_conllu",
    "read_csv",
    "read_json_lines",
    "read_trees",
    "read_vectors",
    "words",
]
