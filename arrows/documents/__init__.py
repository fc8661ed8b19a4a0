"""Blocks for documents, JSON values of any shape: `ar.infer_block` proposes one from samples.

Samples become a schema of what they have at each path (`schema.py`); from the schema it is decided how each
path is read (`decide.py`); and of the decisions, which are plain JSON, a block and its source are made
(`build.py`).  `readers.py` has the blocks that read single values.
"""

from arrows.documents.infer import Proposal, build_block, infer_block
from arrows.documents.readers import (
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
