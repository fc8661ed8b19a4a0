"""Errors of functions on tensors: shapes that do not fit, indices out of range, and errors of user code."""

from __future__ import annotations

from arrows.ops.innermost import innermost
from arrows.typesys import ArrowTypeError, Message, SourceLine, message


class ShapeError(ArrowTypeError):
    """An operation was applied to tensors that it does not take.

    Args:
        reason: what is wrong, in the user's words; one sentence.
        hint: the obvious repair, if there is one.

    Attributes:
        reason: as given; `str` holds it too.
        hint: as given; `str` holds it too.
        site: the line outside of the library that called the operation; `str` holds it too where the
            innermost context says so.

    >>> error = ShapeError("add: float32[3] and int32[3] differ in element type", hint="cast one of them")
    >>> error.hint
    'cast one of them'
    """

    def __init__(self, reason: str, *, hint: str | None = None) -> None:
        self.reason = reason
        self.hint = hint = hint or ""
        self.site: SourceLine | None = SourceLine.here()
        context = innermost()
        if context is not None and (attempt := context.attempt(self.site)):
            super().__init__(message(attempt, reason=reason, hint=hint))
        else:
            text = f"{reason}\n  hint  {hint}" if hint else reason
            super().__init__(Message.of(text, reason=reason, hint=hint))


class FunctionError(ArrowTypeError):
    """A user's function raised while it was traced; the original error is chained (`__cause__`).

    Attributes:
        site: the line of the user's that raised, if there is one.

    >>> raise FunctionError("lambda raised KeyError: 'h'")
    Traceback (most recent call last):
    ...
    arrows.ops.errors.FunctionError: lambda raised KeyError: 'h'
    """

    site: SourceLine | None = None


class IndexOutOfRange(IndexError):
    """A tensor of indices holds a number that is outside of the axis.

    Attributes:
        row: the row of the batch that holds it, or None if the kernel ran on one example.
        index: the number that is out of range.
        size: the size of the axis.

    Its text is `words` where that says more.

    >>> print(IndexOutOfRange("pick", 9, 5, None))
    pick: index 9 is out of range for an axis of size 5
    """

    def __init__(self, name: str, index: int, size: int, row: int | None, words: str = "") -> None:
        # What looks up is written `gather(x, i)`, `x[i]` or as a layer, and its own name says nothing.
        name = "" if name == "lookup" else f"{name}: "
        super().__init__(words or f"{name}index {index} is out of range for an axis of size {size}")
        self.index = index
        self.size = size
        self.row = row
