"""Converts objects that may stand for a block: dicts and tuples of blocks, NumPy arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import FunctionType

import numpy as np

from arrows.combinators.base.arguments import shortened, type_refusal
from arrows.combinators.base.block import AnyBlock, Block
from arrows.combinators.base.wires import Wire
from arrows.typesys import types as T

_ROOMS = ("arrows.combinators.", "arrows.layers.")


def as_block(x: object, where: str) -> AnyBlock:
    """Makes a block of `x`: dicts, tuples of blocks and lists of pairs are records, NumPy arrays constants.

    `where` says in messages what the block is wanted for (`the left side of >>`).

    Raises:
        ArrowTypeError: `x` stands for no block; for a bare function the hint says how to wrap it.

    Example:
        >>> import arrows as ar
        >>> as_block({"a": ar.Scalar()}, "an example").kind
        'Record'
    """
    if isinstance(x, Block):
        x.check_finished(where)
        return x
    if isinstance(x, (Mapping, tuple)) or (isinstance(x, list) and are_pairs(x)):
        T.check_depth(x)
        return Block.operators.record(x)
    if isinstance(x, (np.ndarray, np.generic)):
        return Block.operators.constant(x)
    step = None if isinstance(x, Wire) else getattr(x, "block_hint", None)
    reason = "it is no block yet" if step else "expected a block, or a dict or tuple of blocks"
    raise type_refusal(f"use {_name(x)} as {where}", reason, hint=step or _hint(x))


def are_pairs(x: Sequence[object]) -> bool:
    """Whether a list holds pairs of a key and a block, and nothing else."""
    return bool(x) and all(isinstance(p, tuple) and len(p) == 2 and not isinstance(p[0], Block) for p in x)


def _name(x: object) -> str:
    if isinstance(x, type):
        return f"the class {x.__name__}"
    if callable(x) and hasattr(x, "__name__"):
        return "a lambda" if x.__name__ == "<lambda>" else f"the function {x.__name__}"
    return shortened(x)


def _hint(x: object) -> str:
    if isinstance(x, Wire):
        return "make the block first, then call it on the wire, as ar.Map(f)(wire)"
    if isinstance(x, (type, FunctionType)) and str(x.__module__).startswith(_ROOMS):
        return f"call it: ar.{x.__name__}(...)"
    if callable(x):
        return (
            "ar.Function(f) for a function of tensors, ar.InputTransform(f) for a function of Python objects"
        )
    if isinstance(x, (bool, int, float)):
        return f"a constant is ar.Constant({x!r})"
    if isinstance(x, str):
        return f"read a field with ar.GetItem({x!r})"
    if isinstance(x, list):
        return "one after the other: ar.Pipe(*blocks); all on one input: ar.AllOf(*blocks); a tuple: (f, g)"
    return ""
