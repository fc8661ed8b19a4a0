"""Blocks for documents, JSON values of any shape: `ar.infer_block` proposes one from examples.

Examples become a schema of what they have at each path (`schema.py`); from the schema it is decided how each
path is read (`decide.py`); and of the decisions, a table of plain JSON, a block and its source are made
(`build.py`), by the functions of `blocks.py`.
"""

from arrows.documents.blocks import (
    array,
    boolean,
    category,
    category_name,
    date,
    mapping,
    mixed,
    number,
    record,
    sized,
    text,
    vector,
)
from arrows.documents.importance import field_losses
from arrows.documents.infer import Proposal, build_block
from arrows.documents.infer import infer_block as infer_block

__all__ = [
    "Proposal",
    "array",
    "boolean",
    "build_block",
    "category",
    "category_name",
    "date",
    "field_losses",
    "mapping",
    "mixed",
    "number",
    "record",
    "sized",
    "text",
    "vector",
]
