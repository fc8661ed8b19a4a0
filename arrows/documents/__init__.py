"""Blocks for documents, JSON values of any shape: `ar.infer_block` proposes one from samples.

`schema.py` and `recursion.py` read what samples have at each path, `decisions.py` says how each path is
read (`plans.py`), `blocks.py` writes that as a program (`expressions.py`) from which the block is built,
and which `source.py` prints.  `scalars.py` has the blocks that read single values.
"""

from arrows.documents.proposal import Decision, Proposal, build_block, infer_block
from arrows.documents.scalars import (
    boolean,
    category,
    characters,
    date,
    entries,
    hashed_characters,
    hashed_words,
    json_type,
    log_length,
    number,
    numbers,
)

__all__ = [
    "Decision",
    "Proposal",
    "boolean",
    "build_block",
    "category",
    "characters",
    "date",
    "entries",
    "hashed_characters",
    "hashed_words",
    "infer_block",
    "json_type",
    "log_length",
    "number",
    "numbers",
]
