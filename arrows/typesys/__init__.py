"""The type language, the errors, and unification."""

from __future__ import annotations

from arrows.typesys import types
from arrows.typesys.errors import ArrowTypeError, ArrowValueError, InputError, SourceLine
from arrows.typesys.types import as_type

__all__ = ["ArrowTypeError", "ArrowValueError", "InputError", "SourceLine", "as_type", "types"]
