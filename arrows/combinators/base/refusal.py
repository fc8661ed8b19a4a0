"""The errors of constructors, in one form: what cannot be made, where, why, and what to write instead."""

from __future__ import annotations

from arrows.typesys import ArrowTypeError, ArrowValueError, SourceLine
from arrows.typesys.errors import message


def wrong_argument(block: str, reason: str, *, hint: str = "") -> ArrowTypeError:
    """The error of a block that is given an argument of the wrong kind.

    Example:
        >>> print(wrong_argument("a Concat", "the axis must be an integer, not 'x'"))
        cannot make a Concat at ...
          the axis must be an integer, not 'x'
    """
    return ArrowTypeError(message(f"cannot make {block} at {SourceLine.here()}", reason=reason, hint=hint))


def wrong_value(block: str, reason: str, *, hint: str = "") -> ArrowValueError:
    """The error of a block that is given an argument of the right kind, whose value cannot be."""
    return ArrowValueError(message(f"cannot make {block} at {SourceLine.here()}", reason=reason, hint=hint))
