"""Calls of blocks: on wires, which the open recorder records, on tensors, or in a batch on the fly."""

from __future__ import annotations

from collections.abc import Iterator
from contextvars import ContextVar
from itertools import chain
from typing import TYPE_CHECKING, Any

from arrows.combinators.base.arguments import type_refusal
from arrows.combinators.base.wires import Wire
from arrows.ops import Context, TensorLike, innermost

if TYPE_CHECKING:
    from arrows.combinators.base.block import AnyBlock
    from arrows.combinators.recorder import Recorder

current: ContextVar[Recorder | None] = ContextVar("arrows_recorder", default=None)
"""Where calls go: to the innermost arrow or Composition that this thread records."""


def current_recorder() -> Recorder | None:
    """The recorder of the innermost arrow or Composition whose body or scope is open, if any."""
    recorder = current.get()
    return recorder if recorder is not None and recorder.open else None


def _values(args: tuple[object, ...]) -> Iterator[object]:
    """What stands in nested arguments, in order."""
    todo: list[Any] = list(reversed(args))
    while todo:
        x = todo.pop()
        if isinstance(x, (tuple, list)):
            todo.extend(reversed(x))
        elif isinstance(x, dict):
            todo.extend(reversed(x.values()))
        else:
            yield x


def context_of(args: tuple[object, ...]) -> Context | None:
    """The `Function` or the batch that a call belongs to: that of the first tensor among nested arguments.

    Plain values alone belong to the innermost one; None where a wire comes first, or nothing computes.
    """
    for x in args:  # most calls have a tensor or a wire in plain sight, or as the first of a pair
        if x.__class__ is tuple and x:
            x = x[0]
        if isinstance(x, TensorLike):
            return x.context
        if isinstance(x, Wire):
            return None
    for x in () if len(args) == 1 and args[0].__class__ is int else _values(args):
        if isinstance(x, TensorLike):
            return x.context
        if isinstance(x, Wire):
            return None
    return None if current_recorder() is not None else innermost()


def call_on_wires(block: AnyBlock, args: tuple[Any, ...]) -> Wire[Any]:
    """Records the call `block(*args)` in the body that is open.

    Raises:
        ArrowTypeError: none is, or an argument is no wire of it.
    """
    if (recorder := current_recorder()) is not None:
        return recorder.apply(block, args)
    for x in chain(args, _values(args)):
        if isinstance(x, Wire):
            raise type_refusal(
                f"call {block.label}",
                f"the wire belongs to {x.recorder.title_and_site}, whose body is not open here",
                hint="a wire is used in the body that it was made in, and nowhere else",
            )
    if len(args) == 1 and hasattr(args[0], "parts"):  # a block; that class is defined after this one
        hint = f"to apply it to that block's result: {args[0].label} >> {block.label}"
    elif args and all(hasattr(a, "rows") for a in args):
        hint = "a Function computes by ar.ops, layers and Functions; put the block outside of it"
    else:
        hint = "to run it on an example: block.eval(x); to compose blocks: f >> g"
    raise type_refusal(
        f"call {block.label} on {', '.join(map(_argument, args)) or 'nothing'}",
        "a block is called on wires, inside an @ar.arrow, or on lazy tensors, inside of net.batch()",
        hint=hint,
    )


def _argument(value: object) -> str:
    """A value as messages write it: a tensor by its type."""
    return f"a tensor ({value.type})" if isinstance(value, TensorLike) else repr(value)
