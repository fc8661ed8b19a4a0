"""The type language of arrows, type errors, and the unification of types with open parts.

`types` is the language itself, `ar.types` for users.  `unify.py` solves equations between types for the room
`inference`; `parse.py` reads types from text; `errors.py` has the errors of arrows and the form of their
texts.  The rest is what the lowest floor owes to all others: quoting of foreign text and masked arrays, the
Python runtime.  This room leans on no other.
"""

from __future__ import annotations

from arrows.typesys import types
from arrows.typesys.errors import ArrowTypeError, ArrowValueError, InputError, SourceLine
from arrows.typesys.types import as_type

__all__ = ["ArrowTypeError", "ArrowValueError", "InputError", "SourceLine", "as_type", "types"]
