"""What Python refuses in a user's function, in the words of the operations: calls, and missing names.

A check before each call would cost every call; here the error that Python raised is read afterwards.
"""

from __future__ import annotations

import inspect
import re
import traceback
from collections.abc import Callable
from types import FrameType

import arrows.ops as ops  # a cycle: the operations are looked up by name when this runs
from arrows.ops.errors import ShapeError
from arrows.ops.tensorlike import TensorLike
from arrows.typesys import SourceLine
from arrows.typesys.did_you_mean import did_you_mean
from arrows.typesys.errors import is_inside

_REFUSED = re.compile(
    r"(TensorLike\.)?(\w+)\(\) ((?:got an unexpected|got multiple values|takes (?:from )?\d|missing \d).*)",
    re.DOTALL,
)
_KEYWORD = re.compile(r"got an unexpected keyword argument '(\w+)'")


def explained(error: Exception) -> ShapeError | None:
    """The error for an operation that is called with other arguments, or for a name that there is not.

    Args:
        error: what a user's function has raised.

    Returns:
        None if the error is another one.

    >>> try:
    ...     ops.sort(3, dim=0)
    ... except TypeError as error:
    ...     print(explained(error))
    ops.sort has no argument 'dim': it takes x, descending
      hint  it works along the last axis; ops.transpose brings another one there
    """
    if isinstance(error, AttributeError):
        return _unknown_name(error)
    frame = _innermost(error)
    if not isinstance(error, TypeError) or frame is None or is_inside(frame.f_code.co_filename):
        return None  # it comes from within the operation, which says itself what is wrong
    match = _REFUSED.fullmatch(str(error))
    if match is None:
        return None
    method, name, refusal = match.groups()
    called = vars(TensorLike).get(name) if method else _operation(name, frame)
    if called is None or name.startswith("__"):
        return None
    return _miscall(f"x.{name}" if method else f"ops.{name}", called, refusal)


def _innermost(error: Exception) -> FrameType | None:
    """The frame that raised an error."""
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    return frames[-1] if frames else None


def _operation(name: str, frame: FrameType) -> Callable[..., object] | None:
    """The operation of a name, unless the name means something else where it is called."""
    operation = vars(ops).get(name)
    if name not in ops.__all__ or not inspect.isfunction(operation):
        return None
    if frame.f_globals.get(name, operation) is not operation:
        return None
    modules = [frame.f_globals.get(used) for used in frame.f_code.co_names]
    others = [vars(module).get(name) for module in modules if inspect.ismodule(module)]
    # A module of the user's may have a function of that name too: then nobody knows which one was called.
    return None if any(inspect.isfunction(each) and each is not operation for each in others) else operation


def _miscall(call: str, called: Callable[..., object], refusal: str) -> ShapeError:
    names = [name for name in inspect.signature(called).parameters if name != "self"]
    takes = f"it takes {', '.join(names) or 'nothing'}"
    keyword = _KEYWORD.match(refusal)
    if keyword is None:
        return ShapeError(f"{call} {refusal}: {takes}")
    unknown = keyword[1]
    likely = did_you_mean(unknown, {name: f"{name}=" for name in names}, "operation_argument")
    hint = f"did you mean {likely}?" if likely and likely.split("=")[0] in names else ""
    if not hint and unknown in ("axis", "dim") and "along the last axis" in (called.__doc__ or ""):
        hint = "it works along the last axis; ops.transpose brings another one there"
    return ShapeError(f"{call} has no argument {unknown!r}: {takes}", hint=hint)


def _unknown_name(error: AttributeError) -> ShapeError | None:
    """The error for a method that a tensor of a function has not."""
    name = error.name
    if not isinstance(error.obj, TensorLike) or name is None or name.startswith("_"):
        return None
    likely = did_you_mean(name, _names(), "tensor_of_function", "operation")
    return ShapeError(
        f"a tensor of a Function has no attribute {name!r}",
        hint=f"did you mean {likely}?" if likely else "",
    )


def unknown_operation(name: str) -> str:
    """What may be meant by a name that `arrows.ops` has not; empty where nothing is alike.

    >>> unknown_operation("cat"), unknown_operation("sigmoids")
    ('ops.concat', 'ops.sigmoid')
    """
    return "" if name.startswith("_") else did_you_mean(name, _names(), "operation")


def _names() -> dict[str, str]:
    return {name: f"ops.{name}" for name in ops.__all__ if inspect.isfunction(vars(ops)[name])}


def line_of(error: Exception) -> SourceLine | None:
    """The innermost line of a traceback that lies outside the library."""
    places = [(frame.f_code.co_filename, line) for frame, line in traceback.walk_tb(error.__traceback__)]
    outside = [SourceLine(file, line) for file, line in places if not is_inside(file)]
    return outside[-1] if outside else None
