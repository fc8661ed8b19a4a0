"""Blocks for documents, JSON values of any shape: `ar.infer_block` proposes one from examples.

Examples become a schema of what they have at each path (`schema.py`); from the schema it is decided how each
path is read (`decide.py`); and of the decisions, a table of plain JSON, a block and its source are made
(`build.py`), by the functions of `blocks.py`.
"""

from typing import TYPE_CHECKING

from arrows.documents.blocks import (
    array as array,
    boolean as boolean,
    category as category,
    category_name as category_name,
    date as date,
    json_type as json_type,
    mapping as mapping,
    mixed as mixed,
    number as number,
    record as record,
    sized as sized,
    text as text,
    vector as vector,
)
from arrows.documents.build import LEFT_OUT as LEFT_OUT, Rows as Rows
from arrows.documents.importance import field_losses as field_losses
from arrows.documents.infer import (
    Proposal as Proposal,
    build_block as build_block,
    infer_block as infer_block,
)
from arrows.documents.schema import ROOT as ROOT, below as below
from arrows.typesys import names

if not TYPE_CHECKING:  # a type checker goes by the imports
    __all__ = list(names.exported(globals(), inner=("below", "infer_block", "json_type")))
