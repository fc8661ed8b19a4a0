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
from arrows.typesys import SourceLine, is_inside
from arrows.typesys.did_you_mean import did_you_mean

_REFUSED = re.compile(
    r"(TensorLike\.)?(\w+)\(\) "
    r"((?:got an unexpected keyword argument '(\w+)'|got multiple|takes (?:from )?\d|missing \d).*)",
    re.DOTALL,
)


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
    """
    if isinstance(error, AttributeError):
        return _unknown_name(error)
    *_, (frame, _) = traceback.walk_tb(error.__traceback__)
    match = _REFUSED.fullmatch(str(error))
    if not isinstance(error, TypeError) or match is None or is_inside(frame.f_code.co_filename):
        return None  # what comes from within an operation says itself what is wrong
    method, name, refusal, keyword = match.groups()
    called = vars(TensorLike if method else ops).get(name)
    if not inspect.isfunction(called) or (not method and _is_other(called, name, frame)):
        return None
    names = [name for name in inspect.signature(called).parameters if name != "self"]
    likely = did_you_mean(keyword or "", {name: f"{name}=" for name in names}, "operation_argument")
    return ShapeError(
        f"{'x' if method else 'ops'}.{name} {f'has no argument {keyword!r}' if keyword else refusal}: "
        f"it takes {', '.join(names) or 'nothing'}",
        hint=f"did you mean {likely}?" if likely.removesuffix("=") in names else "",
    )


def _is_other(operation: Callable[..., object], name: str, frame: FrameType) -> bool:
    """Whether an operation's name may mean another function too where it is called."""
    modules = [x for x in frame.f_globals.values() if inspect.ismodule(x)]
    others = [x for x in (vars(module).get(name) for module in modules) if inspect.isfunction(x)]
    return any(x is not operation for x in (frame.f_globals.get(name, operation), *others))


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
