"""Sums of products over named axes: `einsum`, made of transposes and matrix products."""

from __future__ import annotations

from itertools import chain
from math import prod

import numpy as np

from arrows.ops.elementwise import multiply
from arrows.ops.errors import ShapeError
from arrows.ops.function_context import constant
from arrows.ops.linear import matmul, outer
from arrows.ops.primitive import INVARIANT
from arrows.ops.shaping import reshape, shape_of, sum as sum_along, transpose
from arrows.ops.tensorlike import Operand, TensorLike


def einsum(subscripts: str, *operands: Operand) -> TensorLike:
    """Sums of products, with a letter for each axis, as NumPy's and PyTorch's: `einsum("ij,j->i", a, x)`.

    Axes of one letter go together; letters that the result lacks are summed over.  Operands are multiplied
    from left to right, each pair as one matrix product.  Shapes are those of one example, so no letter stands
    for the batch, and `...` is refused.

    Args:
        subscripts: the letters of each operand's axes, `->` and those of the result; without an arrow the
            result has the letters that stand once, in alphabetical order.
        operands: numbers of one element type.

    Raises:
        ShapeError: the subscripts are not of this form, or do not fit the operands.

    >>> import numpy as np
    >>> einsum("ij,j->i", np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([1.0, 10.0])).tolist()
    [21.0, 43.0]
    >>> float(einsum("ii", np.array([[1.0, 2.0], [3.0, 4.0]])))  # the trace
    5.0
    """
    operands = tuple([x if isinstance(x, TensorLike) else constant(x) for x in operands])
    inputs, output = _parsed(subscripts, operands)
    terms = [_without_repeats(x, axes) for x, axes in zip(operands, inputs, strict=True)]
    value, axes = terms[0]
    for number, (right, right_axes) in enumerate(terms[1:], 2):
        later = set(output).union(*(axes for _, axes in terms[number:]))
        value, axes = _product(value, axes, right, right_axes, later)
    value, axes = _summed(value, axes, set(output))
    return _arranged(value, axes, output)


def _parsed(subscripts: str, operands: tuple[Operand, ...]) -> tuple[list[str], str]:
    """The letters of each operand and of the result; NumPy says what is wrong with them."""
    if "..." in subscripts:
        raise ShapeError(
            f"einsum: {subscripts!r} has an ellipsis",
            hint="name every axis of one example; the engine adds the batch",
        )
    shapes = [shape_of(x) for x in operands]
    try:
        np.einsum_path(subscripts, *(np.broadcast_to(0.0, shape) for shape in shapes), optimize=False)
    except ValueError as error:
        raise ShapeError(f"einsum: {subscripts!r} does not fit its operands: {error}") from None
    left, arrow, output = subscripts.replace(" ", "").partition("->")
    sizes: dict[str, int] = {}
    for letter, size in zip(left.replace(",", ""), chain(*shapes), strict=True):
        if sizes.setdefault(letter, size) != size:  # NumPy would repeat an axis of size 1
            raise ShapeError(f"einsum: axis {letter!r} has the sizes {sizes[letter]} and {size}")
    if not arrow:
        output = "".join(letter for letter in sorted(sizes) if left.count(letter) == 1)
    return left.split(","), output


def _without_repeats(x: Operand, axes: str) -> tuple[Operand, str]:
    """An operand's diagonal along axes of one letter."""
    for letter in axes:
        while axes.count(letter) > 1:
            first = axes.index(letter)
            second = axes.index(letter, first + 1)
            shape = shape_of(x)
            ones = [shape[i] if i in (first, second) else 1 for i in range(len(shape))]
            eye = np.eye(shape[first], dtype=getattr(x, "dtype", "float64")).reshape(ones)
            x = sum_along(multiply(x, eye), axis=second)
            axes = axes[:second] + axes[second + 1 :]
    return x, axes


def _summed(x: Operand, axes: str, kept: set[str]) -> tuple[Operand, str]:
    """Sums over the axes that nobody needs any more."""
    dropped = tuple(i for i, letter in enumerate(axes) if letter not in kept)
    if not dropped:
        return x, axes
    return sum_along(x, axis=dropped), "".join(letter for letter in axes if letter in kept)


def _arranged(x: Operand, axes: str, order: str) -> TensorLike:
    return transpose(x, [axes.index(letter) for letter in order])


def _product(
    left: Operand, left_axes: str, right: Operand, right_axes: str, later: set[str]
) -> tuple[TensorLike, str]:
    """The product of two operands, summed over what they share and nobody needs later."""
    left, left_axes = _summed(left, left_axes, later | set(right_axes))
    right, right_axes = _summed(right, right_axes, later | set(left_axes))
    if _fixed(left) and not _fixed(right):  # rows of examples stand on the left of a parameter's matrix
        left, left_axes, right, right_axes = right, right_axes, left, left_axes
    sizes = dict(zip(left_axes + right_axes, shape_of(left) + shape_of(right), strict=True))
    shared = [letter for letter in left_axes if letter in right_axes]
    each = "".join(letter for letter in shared if letter in later)
    over = "".join(letter for letter in shared if letter not in later)
    rows = "".join(letter for letter in left_axes if letter not in right_axes)
    columns = "".join(letter for letter in right_axes if letter not in left_axes)
    result = each + rows + columns

    def spread(x: Operand, axes: str) -> TensorLike:
        """The axes of the result, of size 1 where the operand has none."""
        own = "".join(letter for letter in result if letter in axes)
        return reshape(_arranged(x, axes, own), [sizes[letter] if letter in own else 1 for letter in result])

    def flat(x: Operand, axes: str, *groups: str) -> TensorLike:
        """The axes in the order of the groups, each group as one; none for an empty group of vectors."""
        shape = [prod(sizes[letter] for letter in group) for group in groups if group or each]
        return reshape(_arranged(x, axes, "".join(groups)), shape)

    if not over and not each and rows and columns:
        product = outer(flat(left, left_axes, rows), flat(right, right_axes, columns))
    elif not over:
        product = multiply(spread(left, left_axes), spread(right, right_axes))
    else:
        product = matmul(
            flat(left, left_axes, each, rows, over), flat(right, right_axes, each, over, columns)
        )
    return reshape(product, [sizes[letter] for letter in result]), result


def _fixed(x: Operand) -> bool:
    """Whether an operand is the same for all examples."""
    return not isinstance(x, TensorLike) or x.rows == INVARIANT
