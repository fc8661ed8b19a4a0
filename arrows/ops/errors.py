"""Errors of functions on tensors: shapes that do not fit, indices out of range, and errors of user code.

What Python refuses in a user's function is explained, too: names and arguments of other libraries get a hint.
A check before each call would cost every call, so the error that Python raised is read afterwards.
"""

from __future__ import annotations

import re
import traceback
from inspect import isfunction, signature

import arrows.ops as ops  # a cycle: every file of operations raises these errors
from arrows.typesys import ArrowTypeError, Message, SourceLine, did_you_mean, is_inside, message


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
        context = ops.innermost()
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


def explained(error: Exception) -> ShapeError | None:
    """The error for a method that tensors have not, or an argument that another library calls so.

    Args:
        error: what a user's function has raised.

    Returns:
        None if the error is another one.

    >>> try:
    ...     ops.softmax(3, dim=0)
    ... except TypeError as error:
    ...     print(explained(error))
    softmax() got an unexpected keyword argument 'dim'
      hint  did you mean axis=?
    """
    if isinstance(error, AttributeError) and isinstance(error.obj, ops.TensorLike):
        words = f"a tensor of a Function has no attribute {error.name!r}"
        likely = did_you_mean(error.name or "", _names(), "tensor_of_function", "operation")
    else:
        words = str(error)
        wrong = re.search(r"(\w+)\(\) got an unexpected keyword argument '(\w+)'", words)
        called = wrong and (vars(ops).get(wrong[1]) or getattr(ops.TensorLike, wrong[1], None))
        # A user may give a function the name of a property, or of a module of `ops`.
        named = {x: f"{x}=" for x in signature(called).parameters} if isfunction(called) else {}
        likely = did_you_mean(wrong[2], named, "operation_argument") if wrong and named else ""
        if not likely:
            return None
    return ShapeError(words, hint=f"did you mean {likely}?" if likely else "")


def unknown_operation(name: str) -> str:
    """What may be meant by a name that `arrows.ops` has not; empty where nothing is alike.

    >>> unknown_operation("cat"), unknown_operation("sigmoids")
    ('ops.concat', 'ops.sigmoid')
    """
    return "" if name.startswith("_") else did_you_mean(name, _names(), "operation")


def _names() -> dict[str, str]:
    return {name: f"ops.{name}" for name in ops.__all__ if isfunction(vars(ops)[name])}


def line_of(error: Exception) -> SourceLine | None:
    """The innermost line of a traceback that lies outside the library."""
    places = [(frame.f_code.co_filename, line) for frame, line in traceback.walk_tb(error.__traceback__)]
    outside = [SourceLine(file, line) for file, line in places if not is_inside(file)]
    return outside[-1] if outside else None
