"""Which context operations go into: the innermost one that the code runs in, of a Function or of a batch."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar, copy_context
from functools import wraps
from typing import TYPE_CHECKING, ParamSpec, TypeVar

if TYPE_CHECKING:
    from arrows.ops.context import Context, LazyContext

P = ParamSpec("P")
R = TypeVar("R")

current_context: ContextVar[Context | None] = ContextVar("arrows_ops_context", default=None)
"""The recording or evaluation of the Function that the code runs in, if any."""

_innermost: ContextVar[LazyContext | None] = ContextVar("arrows_lazy_context", default=None)


def in_own_context(function: Callable[P, R]) -> Callable[P, R]:
    """A decorator: the context of operations is the caller's again when the function ends.

    A `with` does not see to that alone: an interrupt may come within its `__enter__` or `__exit__`.

    >>> @in_own_context
    ... def enter():
    ...     current_context.set("entered, and never left")
    >>> enter()
    >>> current_context.get()
    """

    @wraps(function)
    def call(*arguments: P.args, **keywords: P.kwargs) -> R:
        return copy_context().run(function, *arguments, **keywords)

    return call


def innermost_lazy() -> LazyContext | None:
    """The lazy context that records calls on plain values; None if there is none, and inside a Function."""
    return _innermost_open() if current_context.get() is None else None


def enter_lazy(context: LazyContext) -> None:
    """Makes a lazy context the innermost one."""
    context.outer, context.open = _innermost_open(), True
    _innermost.set(context)


def leave_lazy(context: LazyContext) -> None:
    """Ends the use of a lazy context.  Contexts need not end in the opposite order of entering: a generator
    may leave its context late, and in another thread."""
    context.open = False
    _innermost.set(_innermost_open())


def _innermost_open() -> LazyContext | None:
    context = _innermost.get()
    while context is not None and not context.open:
        context = context.outer
    return context
