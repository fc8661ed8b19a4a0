"""The type language of arrows, type errors, and the unification of types with open parts.

`types` is the language itself, which users see as `ar.types`.  `unify.py` solves equations between types for
the room `inference`; `parse.py` reads types from text; `errors.py` has the exceptions of arrows and the form
of their messages.  This room imports no other, so it also holds small helpers that every room may need:
element types, quoting of foreign text, the Python runtime.
"""

from __future__ import annotations

from arrows.typesys import names as names, static as static, types
from arrows.typesys.errors import (
    QUOTED as QUOTED,
    ArrowTypeError,
    ArrowValueError,
    InputError,
    Message as Message,
    MissingExtraError as MissingExtraError,
    NotFiniteError as NotFiniteError,
    Side as Side,
    SourceLine,
    counted as counted,
    escaped as escaped,
    input_message as input_message,
    is_inside as is_inside,
    message as message,
    message_of as message_of,
    printable as printable,
    printable_lines as printable_lines,
    quoted as quoted,
    shortened as shortened,
    unhashed as unhashed,
    unwritable as unwritable,
)
from arrows.typesys.names import (
    answers as answers,
    defined as defined,
    did_you_mean as did_you_mean,
    explains_arguments as explains_arguments,
    likely_name as likely_name,
    missing_name as missing_name,
    no_model_attribute as no_model_attribute,
    refuse_arguments as refuse_arguments,
)
from arrows.typesys.parse import parse_type as parse_type
from arrows.typesys.runtime import cached_property as cached_property, gc_paused as gc_paused
from arrows.typesys.types import (
    Tensor as Tensor,
    as_type,
    dtype_name as dtype_name,
    is_float as is_float,
    label as label,
    masked_elements as masked_elements,
    wider_dtype as wider_dtype,
)
from arrows.typesys.unify import (
    ALIKE as ALIKE,
    ENDLESS as ENDLESS,
    ENDS as ENDS,
    FINITE as FINITE,
    FORWARD as FORWARD,
    INPUT as INPUT,
    INPUT_OBJECT as INPUT_OBJECT,
    LAYER as LAYER,
    MAX_PARTS as MAX_PARTS,
    OBJECT as OBJECT,
    REST as REST,
    VOID as VOID,
    Cause as Cause,
    Clash as Clash,
    Default as Default,
    Keys as Keys,
    Rule as Rule,
    Solver as Solver,
    Variable as Variable,
    differing_labels as differing_labels,
    find as find,
    ground as ground,
    inside as inside,
    items_of as items_of,
    kind_of as kind_of,
    labels_of as labels_of,
    leaf_of as leaf_of,
    may_be_equal as may_be_equal,
    notation as notation,
    of_type as of_type,
    parts_of as parts_of,
    readable as readable,
    sequence_of as sequence_of,
    tuple_of as tuple_of,
)

__all__ = ["ArrowTypeError", "ArrowValueError", "InputError", "SourceLine", "as_type", "types"]
