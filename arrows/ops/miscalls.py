"""What Python refuses in a user's function: names and arguments of other libraries get a hint.

A check before each call would cost every call; here the error that Python raised is read afterwards.
"""

from __future__ import annotations

import re
import traceback
from inspect import isfunction, signature

import arrows.ops as ops  # a cycle: the operations are looked up by name when this runs
from arrows.ops.errors import ShapeError
from arrows.ops.tensorlike import TensorLike
from arrows.typesys import SourceLine, did_you_mean, is_inside


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
    if isinstance(error, AttributeError) and isinstance(error.obj, TensorLike):
        words = f"a tensor of a Function has no attribute {error.name!r}"
        likely = did_you_mean(error.name or "", _names(), "tensor_of_function", "operation")
    else:
        words = str(error)
        wrong = re.search(r"(\w+)\(\) got an unexpected keyword argument '(\w+)'", words)
        called = wrong and (vars(ops).get(wrong[1]) or getattr(TensorLike, wrong[1], None))
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
