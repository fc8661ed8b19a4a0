"""What one primitive is: name, shape rule, kernel, derivative, and how it takes many rows at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from arrows.typesys import types as T

INVARIANT = -2
"""Level of a parameter or a constant: it does not depend on the example and has no row axis."""
ROW = -1
"""Level of a value of which there is one for each example (each node).  Levels k >= 0: one for each element
of the k-th sequence of the function's input."""

Attributes = dict[str, Any]
Run = Callable[..., Any]
"""`run(*arrays, out=None) -> array`; segmented primitives take `segments=` besides."""


def unchanged(attributes: Attributes, has_rows: tuple[bool, ...], types: tuple[T.Tensor, ...]) -> Attributes:
    """The `lift` of primitives whose attributes fit rows as they are (element-wise ones, negative axes)."""
    return attributes


def no_gradient(g: Any, result: Any, *operands: Any, **attributes: Any) -> tuple[None, ...]:
    """The `vjp` of primitives that have no derivative (comparisons, sign)."""
    return (None,) * len(operands)


@dataclass(frozen=True, eq=False)
class Primitive:
    """One thing that can be computed on tensors.  Everything else in the package knows primitives by these
    fields.

    A primitive is written for one example.  `lift` adapts its attributes to operands that carry one leading
    row axis each; operands that do not depend on the example (parameters, constants) have none.

    Args:
        name: unique in the registry.
        rule: `rule(*operand_types, **attributes) -> type` of the result; raises `ShapeError` in the user's
            words.
        kernel: `kernel(xp, **attributes) -> run`, with `run(*arrays, out=None) -> array`.  `xp` is NumPy,
            CuPy or another module with the same functions.  With `out=` the result is written there and
            returned; the kernel of an element-wise primitive allows `out` to be one of its operands.
        vjp: `vjp(g, result, *operands, **attributes)` -> for each operand the product of `g`, the gradient of
            the result, with the derivative, or None where there is none.  Written with functions of
            `arrows.ops`.
        lift: `lift(attributes, has_rows, types) -> attributes` for operands with rows; `types` are those of
            one row. With no rows at all it returns the attributes as they are.
        sum_rows: `sum_rows(xp, has_rows, types, **lifted_attributes) -> run | None`; the run computes the sum
            over the rows of the lifted result without making that result.  None where it knows no better way.
        additive: summing the rows of the operands first gives the same sum over the rows (if all have rows).
        elementwise: operands broadcast against each other; all have the same rank when recorded.
        view: the result may share memory with operand 0.
        segmented: `run` takes `segments=` (an `arrows.ops.Segments`), the bounds of the sequences.
        collapses: segmented, and a sequence of rows becomes one row.

    >>> from arrows.ops import get
    >>> get("multiply").elementwise
    True
    >>> get("multiply")
    Primitive(multiply)
    """

    name: str
    rule: Callable[..., T.Tensor]
    kernel: Callable[..., Run]
    vjp: Callable[..., Sequence[Any]] = no_gradient
    lift: Callable[[Attributes, tuple[bool, ...], tuple[T.Tensor, ...]], Attributes] = unchanged
    sum_rows: Callable[..., Run | None] | None = None
    additive: bool = False
    elementwise: bool = False
    view: bool = False
    segmented: bool = False
    collapses: bool = False

    def __repr__(self) -> str:
        return f"Primitive({self.name})"

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        from arrows.ops.registry import get  # a primitive pickles as its name: kernels are closures

        return get, (self.name,)
