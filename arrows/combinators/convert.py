"""What may stand where a block is expected: blocks, dicts and tuples of blocks, NumPy arrays."""

from __future__ import annotations

from collections.abc import Mapping
from types import FunctionType
from typing import Any

import numpy as np

from arrows.combinators.block import AnyBlock, Block
from arrows.combinators.wires import Wire
from arrows.typesys.errors import ArrowTypeError, SourceLine, message


def as_block(x: Any, where: str) -> AnyBlock:
    """`x` as a block.

    Args:
        x: a block; a dict of blocks, a tuple of blocks, or a list of pairs: a record; a NumPy array: a
            constant.
        where: what the block is wanted for, for the message (`the left side of >>`).

    Raises:
        ArrowTypeError: `x` stands for no block; a bare function gets the hint how to wrap it.

    Example:
        >>> import arrows as ar
        >>> as_block({"a": ar.Scalar()}, "an example").kind
        'Record'
    """
    if isinstance(x, Block) and not x.unfinished:
        return x
    refuse = None if isinstance(x, type) else getattr(x, "_not_yet_a_block", None)
    if refuse is not None:
        refuse(where)
    if isinstance(x, (Mapping, tuple)) or (isinstance(x, list) and _pairs(x)):
        from arrows.combinators.fanout import Record

        return Record(x)
    if isinstance(x, (np.ndarray, np.generic)):
        from arrows.combinators.constant import Constant

        return Constant(x)
    raise ArrowTypeError(
        message(
            f"cannot use {_short(x)} as {where} at {SourceLine.here()}",
            reason=f"expected a block, or a dict or tuple of blocks, got {_kind(x)}",
            hint=_hint(x),
        )
    )


def _pairs(x: list[Any]) -> bool:
    return bool(x) and all(isinstance(p, tuple) and len(p) == 2 and not isinstance(p[0], Block) for p in x)


def _short(x: Any) -> str:
    if isinstance(x, type):
        return f"the class {x.__name__}"
    if callable(x) and hasattr(x, "__name__"):
        return "a lambda" if x.__name__ == "<lambda>" else f"the function {x.__name__}"
    text = repr(x)
    return text if len(text) <= 40 else text[:37] + "..."


def _kind(x: Any) -> str:
    if isinstance(x, type):
        return f"a class{' of blocks' if issubclass(x, Block) else ''}, not a block"
    if callable(x):
        return "a Python function"
    name = type(x).__name__
    return "None" if x is None else f"{'an' if name[0] in 'aeio' else 'a'} {name}"


def _hint(x: Any) -> str:
    if isinstance(x, Wire):
        return "make the block first, then call it on the wire, as ar.Map(f)(wire)"
    if isinstance(x, type) and issubclass(x, Block):
        return f"call it: ar.{x.__name__}(...)"
    if isinstance(x, FunctionType) and (x.__module__ or "").startswith("arrows.combinators."):
        return f"call it: ar.{x.__name__}(...)"
    if callable(x):
        return (
            "ar.Function(f) for a function of tensors, ar.InputTransform(f) for a function of Python objects"
        )
    if isinstance(x, (bool, int, float)):
        return f"a constant is ar.Constant({x!r})"
    if isinstance(x, str):
        return f"a field is read by ar.GetItem({x!r})"
    if isinstance(x, list):
        return (
            "blocks one after the other are ar.Pipe(*blocks), on one input side by side ar.AllOf(*blocks); "
            "a record by position is a tuple (f, g)"
        )
    return ""
