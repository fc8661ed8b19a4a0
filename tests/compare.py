"""Comparing numbers: what two right evaluations must agree on, and where they need not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import arrows as ar
from arrows.engine.reference import ArraySemantics, interpret
from arrows.ops import EagerEvaluation, RowSparse
from arrows.ops.evaluate import Lookup


def dense(gradient: Any) -> Any:
    """A gradient as one array on the host."""
    gradient = ar.to_numpy(gradient)
    return gradient.to_dense(np) if isinstance(gradient, RowSparse) else gradient


def random_parameters(seed: int = 0, scale: float = 0.5) -> Lookup:
    """Parameters for the reference, made when first asked for and the same ever after.

    Args:
        seed: of the generator.
        scale: the standard deviation.
    """
    generator = np.random.default_rng(seed)
    made: dict[tuple[int, str], tuple[Any, Any]] = {}

    def lookup(owner: Any, parameter: Any) -> Any:
        key = (id(owner), parameter.name)
        if key not in made:
            made[key] = (owner, generator.normal(scale=scale, size=parameter.shape))
        return made[key][1]

    return lookup


def close(a: Any, b: Any, tolerance: float) -> bool:
    """Whether two results are the same numbers: |a - b| <= tolerance * (1 + max|b|), part by part."""
    todo = [(a, b)]
    while todo:
        a, b = todo.pop()
        if isinstance(b, dict):
            if a.keys() != b.keys():
                return False
            todo.extend((a[key], b[key]) for key in b)
        elif isinstance(b, (tuple, list)):
            if len(a) != len(b):
                return False
            todo.extend(zip(a, b, strict=True))
        elif b is None:
            if a is not None:
                return False
        else:
            a, b = np.asarray(a), np.asarray(b)
            if a.shape != b.shape:
                return False
            if b.dtype.kind != "f":  # integers and truth values are the same, or they are not
                if not np.array_equal(a, b):
                    return False
            elif b.size and not (np.abs(a - b) <= tolerance * (1 + np.abs(b).max())).all():
                return False
    return True


_KINKS = frozenset(("relu", "abs", "maximum", "minimum", "sign", "max", "min", "segment_max", "segment_min"))
_KINKS |= {"greater", "greater_equal", "argmax", "floor", "round", "mod", "floor_divide"}


def meets_kink(
    typed: Any,
    examples: list[Any],
    lookup: Lookup,
    float_type: str | None = None,
    tolerance: float = 1e-6,
    draws: Sequence[tuple[int, int, int]] | None = None,
) -> bool:
    """Whether the reference comes within `tolerance` of a place where a function has no derivative.

    There a gradient may differ between two right evaluations, as rounding decides on which side they are.
    Random numbers depend on `draws`, the seed, step and id of each example; by default those of a new batch.
    """
    for n, example in enumerate(examples):
        draw = draws[n] if draws else (0, 0, n)
        arrays = ArraySemantics(typed, lookup, float_type, record=True, draw=draw)
        interpret(typed, example, arrays)
        if tape_meets_kink(arrays.evaluation, tolerance):
            return True
    return False


def tape_meets_kink(evaluation: EagerEvaluation, tolerance: float = 1e-6) -> bool:
    """Whether what an evaluation has recorded comes near a place where a function has no derivative."""
    for name, _, operands, _ in evaluation._tape:
        if name not in _KINKS:
            continue
        arrays_in = [operand.array for operand in operands]
        if arrays_in[0].dtype.kind != "f":
            continue
        if name in ("floor", "round", "mod", "floor_divide"):
            if _near_jump(name, arrays_in, tolerance):
                return True
        elif _near_kink(arrays_in, tolerance, rows_only=name.startswith(("segment_", "arg"))):
            return True
    return False


def _near_jump(name: str, operands: list[Any], tolerance: float) -> bool:
    """Whether a number is close to one at which its rounding jumps."""
    quotient = operands[0] / operands[1] if len(operands) == 2 else operands[0] + (name == "round") * 0.5
    return bool((np.abs(quotient - np.rint(quotient)) < tolerance).any())


def _near_kink(operands: list[Any], tolerance: float, rows_only: bool) -> bool:
    if len(operands) == 2:
        return bool((np.abs(operands[0] - operands[1]) < tolerance).any())
    (x,) = operands
    if not rows_only and (np.abs(x) < tolerance).any():  # relu, abs, sign
        return True
    # A reduction: any two of the largest few may tie; all pairs along every axis are compared, being few.
    for axis in range(1 if rows_only else x.ndim):
        ordered = np.sort(x, axis=axis)
        if (np.abs(np.diff(ordered, axis=axis)) < tolerance).any():
            return True
    return False
