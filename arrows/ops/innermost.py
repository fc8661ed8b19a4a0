"""Which context operations go into: the innermost one that the code runs in, of a Function or of a batch."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar, copy_context
from functools import wraps
from typing import TYPE_CHECKING, ParamSpec, TypeVar

if TYPE_CHECKING:
    from arrows.ops.context import Context

P = ParamSpec("P")
R = TypeVar("R")

current_context: ContextVar[Context | None] = ContextVar("arrows_ops_context", default=None)
"""The context that was entered last; `innermost` tells whether it is still open."""


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


def innermost() -> Context | None:
    """The innermost open context that the code runs in, if any: of a Function, or of a batch on the fly."""
    context = current_context.get()
    while context is not None and not context.open:
        context = context.outer
    return context
