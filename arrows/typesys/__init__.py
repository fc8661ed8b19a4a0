"""The type language of arrows, type errors, and the unification of types with open parts.

`types` is the language itself, which users see as `ar.types`.  `unify.py` solves equations between types for
the room `inference`; `parse.py` reads types from text; `errors.py` has the exceptions of arrows and the form
of their messages.  This room imports no other, so it also holds small helpers that every room may need:
element types, quoting of foreign text, the Python runtime.
"""

from __future__ import annotations

from arrows.typesys import types
from arrows.typesys.errors import ArrowTypeError, ArrowValueError, InputError, SourceLine
from arrows.typesys.types import as_type

__all__ = ["ArrowTypeError", "ArrowValueError", "InputError", "SourceLine", "as_type", "types"]
