"""Blocks for documents, JSON values of any shape: `ar.infer_block` proposes one from examples.

Examples become a schema of what they have at each path (`schema.py`); from the schema it is decided how each
path is read (`decide.py`); and of the decisions, a table of plain JSON, a block and its source are made
(`build.py`), by the functions of `blocks.py`.
"""

from typing import TYPE_CHECKING

from arrows.documents.blocks import array as array
from arrows.documents.blocks import boolean as boolean
from arrows.documents.blocks import category as category
from arrows.documents.blocks import category_name as category_name
from arrows.documents.blocks import date as date
from arrows.documents.blocks import mapping as mapping
from arrows.documents.blocks import mixed as mixed
from arrows.documents.blocks import number as number
from arrows.documents.blocks import record as record
from arrows.documents.blocks import sized as sized
from arrows.documents.blocks import text as text
from arrows.documents.blocks import vector as vector
from arrows.documents.importance import field_losses as field_losses
from arrows.documents.infer import Proposal as Proposal
from arrows.documents.infer import build_block as build_block
from arrows.typesys import exports

if not TYPE_CHECKING:  # a type checker goes by the imports
    __all__ = list(exports.exported(globals()))
