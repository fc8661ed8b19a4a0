"""Data to train on: readers of trees, tagged sentences and word vectors, vocabularies, a treebank.

>>> from arrows.data import generate, format_tree
>>> print(format_tree(generate(1, seed=3, words=(2, 2))[0]))
(2 (2 this) (2 the))
"""

from arrows.data.brackets import (
    Tree,
    format_tree,
    iterate_trees,
    parse_labelled_tree,
    parse_tree,
    parse_trees,
    read_trees,
    vocabulary,
    words,
)
from arrows.data.columns import iterate_csv, read_csv
from arrows.data.conllu import TAGS, Sentence, Word, iterate_conllu, read_conllu
from arrows.data.file_examples import FileExamples, FileStream
from arrows.data.generated_treebank import CLASSES, compose, generate, label_tree, meaning_of_word
from arrows.data.json_lines import iterate_json_lines, read_json_lines
from arrows.data.molecules import Molecule, iterate_smiles, parse_smiles, read_smiles
from arrows.data.python_source import SyntaxTree, iterate_python, parse_python, read_python
from arrows.data.ragged_arrays import from_arrow, from_awkward, from_lists, to_arrow, to_awkward
from arrows.data.vocabularies import Vocabulary
from arrows.data.word_vectors import Vector, read_vectors

__all__ = [
    "CLASSES",
    "TAGS",
    "FileExamples",
    "FileStream",
    "Molecule",
    "Sentence",
    "SyntaxTree",
    "Tree",
    "Vector",
    "Vocabulary",
    "Word",
    "compose",
    "format_tree",
    "from_arrow",
    "from_awkward",
    "from_lists",
    "generate",
    "iterate_conllu",
    "iterate_csv",
    "iterate_json_lines",
    "iterate_python",
    "iterate_smiles",
    "iterate_trees",
    "label_tree",
    "meaning_of_word",
    "parse_labelled_tree",
    "parse_python",
    "parse_smiles",
    "parse_tree",
    "parse_trees",
    "read_conllu",
    "read_csv",
    "read_json_lines",
    "read_python",
    "read_smiles",
    "read_trees",
    "read_vectors",
    "to_arrow",
    "to_awkward",
    "vocabulary",
    "words",
]
