"""The type language of arrows, type errors, and the unification of types with open parts.

`types` is the language itself, which users see as `ar.types`.  `unify.py` solves equations between types for
the room `inference`; `parse.py` reads types from text; `errors.py` has the exceptions of arrows and the form
of their messages.  This room imports no other, so it also holds small helpers that every room may need:
element types, quoting of foreign text, the Python runtime.
"""

from __future__ import annotations

from arrows.typesys import types
from arrows.typesys.did_you_mean import answers as answers
from arrows.typesys.did_you_mean import explains_arguments as explains_arguments
from arrows.typesys.did_you_mean import likely_name as likely_name
from arrows.typesys.did_you_mean import missing_name as missing_name
from arrows.typesys.did_you_mean import no_model_attribute as no_model_attribute
from arrows.typesys.did_you_mean import refuse_arguments as refuse_arguments
from arrows.typesys.dtypes import dtype_name as dtype_name
from arrows.typesys.dtypes import is_float as is_float
from arrows.typesys.dtypes import masked_elements as masked_elements
from arrows.typesys.dtypes import wider_dtype as wider_dtype
from arrows.typesys.errors import ArrowTypeError, ArrowValueError, InputError, SourceLine
from arrows.typesys.errors import Message as Message
from arrows.typesys.errors import MissingExtraError as MissingExtraError
from arrows.typesys.errors import NotFiniteError as NotFiniteError
from arrows.typesys.errors import Side as Side
from arrows.typesys.errors import input_message as input_message
from arrows.typesys.errors import is_inside as is_inside
from arrows.typesys.errors import message as message
from arrows.typesys.errors import unhashed as unhashed
from arrows.typesys.parse import parse_type as parse_type
from arrows.typesys.quoting import QUOTED as QUOTED
from arrows.typesys.quoting import counted as counted
from arrows.typesys.quoting import escaped as escaped
from arrows.typesys.quoting import message_of as message_of
from arrows.typesys.quoting import printable as printable
from arrows.typesys.quoting import printable_lines as printable_lines
from arrows.typesys.quoting import quoted as quoted
from arrows.typesys.quoting import shortened as shortened
from arrows.typesys.quoting import unwritable as unwritable
from arrows.typesys.runtime import cached_property as cached_property
from arrows.typesys.runtime import gc_paused as gc_paused
from arrows.typesys.terms import ENDLESS as ENDLESS
from arrows.typesys.terms import ENDS as ENDS
from arrows.typesys.terms import FINITE as FINITE
from arrows.typesys.terms import INPUT as INPUT
from arrows.typesys.terms import MAX_PARTS as MAX_PARTS
from arrows.typesys.terms import VOID as VOID
from arrows.typesys.terms import Cause as Cause
from arrows.typesys.terms import Clash as Clash
from arrows.typesys.terms import Keys as Keys
from arrows.typesys.terms import Var as Var
from arrows.typesys.terms import find as find
from arrows.typesys.terms import ground as ground
from arrows.typesys.terms import items_of as items_of
from arrows.typesys.terms import kind_of as kind_of
from arrows.typesys.terms import labels_of as labels_of
from arrows.typesys.terms import leaf_of as leaf_of
from arrows.typesys.terms import lost_by as lost_by
from arrows.typesys.terms import may_be_equal as may_be_equal
from arrows.typesys.terms import moved_key as moved_key
from arrows.typesys.terms import notation as notation
from arrows.typesys.terms import of_type as of_type
from arrows.typesys.terms import parts_of as parts_of
from arrows.typesys.terms import readable as readable
from arrows.typesys.terms import sequence_of as sequence_of
from arrows.typesys.terms import tuple_of as tuple_of
from arrows.typesys.types import Tensor as Tensor
from arrows.typesys.types import as_type
from arrows.typesys.types import label as label
from arrows.typesys.unify import Default as Default
from arrows.typesys.unify import Rule as Rule
from arrows.typesys.unify import Solver as Solver
from arrows.typesys.unify import TooWide as TooWide

__all__ = ["ArrowTypeError", "ArrowValueError", "InputError", "SourceLine", "as_type", "types"]
