"""A model in a file, from which it is built again: parameters, vocabularies, and what builds its block.

`builders.py` records which function made a block, with which arguments; `outline.py` describes a block, so
that a file is refused that belongs to another; `model_file.py` writes and reads.  A file may come from a
stranger: it names a function, and nothing is imported by that name unless the caller trusts its package.
"""

from __future__ import annotations

from arrows.model_files.builders import builder
from arrows.model_files.contents import SavedModel, read_model_file
from arrows.model_files.model_file import load_model, save_model

__all__ = ["SavedModel", "builder", "load_model", "read_model_file", "save_model"]
