"""The class `Primitive`, the table of primitives, to which a user may add, and how they are applied.

A new primitive is one object and one line that binds it.  This example is `softsign`, ``x / (1 + |x|)``,
whose derivative is ``1 / (1 + |x|)**2``:

>>> import numpy as np
>>> from arrows import ops
>>> from arrows.ops import extend
>>> def kernel(xp):
...     def run(x, out=None):
...         return xp.divide(x, xp.abs(x) + 1, out=out)
...
...     return run
>>> def vjp(g, result, x):
...     return (g / ops.square(ops.abs(x) + 1.0),)
>>> _ = extend.register(extend.Primitive("doc_softsign", lambda x: x, kernel, vjp, elementwise=True))
>>> def softsign(x):
...     return extend.bind(extend.get("doc_softsign"), x)

It works at once on arrays, inside Functions and in batches.  `arrows.testing.check_primitive` checks that its
rule, kernel, derivative and lifting agree:

>>> from arrows.testing import check_primitive
>>> softsign(np.array([-1.0, 0.0, 3.0])).tolist()
[-0.5, 0.0, 0.75]
>>> check_primitive(extend.get("doc_softsign"), np.array([-1.0, 0.5, 3.0]))
>>> extend.unregister("doc_softsign")

`bind` applies a primitive: it asks the context of the tensors; where there are only numbers it computes.  An
`operation` is a function that binds a primitive and does nothing else; `with_primitive` stands above those
that do more.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from inspect import signature
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, cast

import arrows.ops as ops  # a cycle: contexts apply primitives
from arrows.arrays import Array
from arrows.ops.tensorlike import Operand, TensorLike
from arrows.typesys import ArrowValueError, types as T

if TYPE_CHECKING:
    from arrows.ops.rowsparse import RowSparse

# The level of a value says what its rows count: nothing (it has none), examples, or elements of a sequence.
# Each sequence of the input has a level of its own, since two sequences may differ in length.
INVARIANT = -2
"""Level of a parameter or a constant: it does not depend on the example and has no row axis."""

ROW = -1
"""Level of a value with one row for each example (each node).  A level k >= 0 has one row for each element of
the k-th sequence of the function's input."""

Attributes: TypeAlias = dict[str, Hashable]
HasRows: TypeAlias = tuple[bool, ...]
Types: TypeAlias = tuple[T.Tensor, ...]
Gradients: TypeAlias = "tuple[TensorLike | None, ...]"

ShapeRule: TypeAlias = Callable[..., T.Tensor]
Run: TypeAlias = Callable[..., Array]
"""`run(*arrays, out=None) -> array`; that of a segmented primitive takes `segments=` as well."""
Kernel: TypeAlias = Callable[..., Run]
Vjp: TypeAlias = "Callable[..., Sequence[TensorLike | None]]"
Lift: TypeAlias = Callable[[Attributes, HasRows, Types], Attributes]
SumRun: TypeAlias = "Callable[..., Array | RowSparse]"
SumRows: TypeAlias = "Callable[..., SumRun | None]"


def unchanged(attributes: Attributes, has_rows: HasRows, types: Types) -> Attributes:
    """The `lift` of primitives whose attributes fit rows as they are, such as axes counted from the end."""
    return attributes


def lift_rows(attributes: Attributes, has_rows: HasRows, types: Types) -> Attributes:
    """The `lift` of kernels with `rows: bool`: whether the operands have rows in front."""
    return {**attributes, "rows": True} if any(has_rows) else attributes


def lift_each(attributes: Attributes, has_rows: HasRows, types: Types) -> Attributes:
    """The `lift` of kernels with `rows: tuple[bool, ...]`: which of the operands have rows in front."""
    return {**attributes, "rows": has_rows} if any(has_rows) else attributes


def no_gradient(
    g: TensorLike, result: TensorLike, *operands: TensorLike, **attributes: Hashable
) -> Gradients:
    """The `vjp` of primitives that have no derivative (comparisons, sign)."""
    return (None,) * len(operands)


@dataclass(frozen=True, eq=False)
class Primitive:
    """One operation on tensors that is not made of others.  The rest of the package knows it by these fields
    alone.

    A primitive is written for one example.  `lift` adapts its attributes to operands that carry one leading
    row axis each; operands that do not depend on the example (parameters, constants) have none.

    Args:
        name: unique in the registry.
        rule: `rule(*operand_types, **attributes) -> type` of the result; raises `ShapeError` in the user's
            words.
        kernel: `kernel(xp, **attributes) -> run`, with `run(*arrays, out=None) -> array`.  `xp` is NumPy,
            CuPy or another module with the same functions.  With `out=` the result is written there and
            returned; the kernel of an element-wise primitive allows `out` to be one of its operands.
        vjp: `vjp(g, result, *operands, **attributes)` returns for each operand the product of `g`, the
            gradient of the result, with the derivative, or None where there is none.  It calls functions of
            `arrows.ops`.
        lift: `lift(attributes, has_rows, types) -> attributes` for operands with rows; `types` are those of
            one row. With no rows at all it returns the attributes as they are.
        sum_rows: `sum_rows(has_rows, types, **lifted_attributes) -> run | None`; the run computes the sum
            over the rows of the lifted result without making that result.  None where it has no better way.
        additive: if all operands have rows, the primitive of their sums over the rows is the sum of its rows.
        elementwise: operands broadcast against each other; all have the same rank when recorded.
        view: the result may share memory with operand 0.
        segmented: `run` takes `segments=` (a `Segments`), the bounds of the sequences; one example has one.
        collapses: segmented, and a sequence of rows becomes one row; that of one example may have an axis of
            size 1 in front.
        c: for kernels on GPUs, an element-wise primitive in C: `{0}` is the first operand, `{f}` is `f` after
            the name of a function of floats. None: the array module computes it, between kernels.
        reduces: for kernels on GPUs, a reduction along axes, or one that collapses, in C: what it begins with
            (no sequence does), and how `{0}`, what is found so far, and the number `{1}` combine.  The order
            must not matter.

    >>> from arrows.ops import get
    >>> get("multiply").elementwise
    True
    >>> get("multiply")
    Primitive(multiply)
    """

    name: str
    rule: ShapeRule
    kernel: Kernel
    vjp: Vjp = no_gradient
    lift: Lift = unchanged
    sum_rows: SumRows | None = None
    additive: bool = False
    elementwise: bool = False
    view: bool = False
    segmented: bool = False
    collapses: bool = False
    c: str | None = None
    reduces: tuple[str, str] | None = None

    def __repr__(self) -> str:
        return f"Primitive({self.name})"

    def __reduce__(self) -> tuple[Callable[[str], Primitive], tuple[str]]:
        return get, (self.name,)  # kernels are closures, which do not pickle


_primitives: dict[str, Primitive] = {}

_own: set[str] = set()


def register(primitive: Primitive) -> Primitive:
    """Adds a primitive to the table and returns it.  The top of this module has an example.

    A primitive replaces an earlier one of the same name, as when a cell of a notebook runs twice.  Functions
    that were traced with the earlier one keep it.

    Raises:
        ArrowValueError: the name belongs to a primitive of arrows.

    >>> from arrows.ops import get
    >>> register(get("add")) is get("add")
    True
    """
    if primitive.name in _own and _primitives[primitive.name] is not primitive:
        raise ArrowValueError(
            f"{primitive.name!r} is the name of a primitive of arrows, on which the engine relies; "
            "take another name"
        )
    _primitives[primitive.name] = primitive
    return primitive


def declare(name: str, rule: ShapeRule, kernel: Kernel, vjp: Vjp = no_gradient, **flags: Any) -> Primitive:
    """Makes a primitive and registers it; arguments as of `Primitive`."""
    return register(Primitive(name, rule, kernel, vjp, **flags))


def keep_own() -> None:
    """Protects the names registered so far, since the engine refers to primitives of arrows by name."""
    _own.update(_primitives)


def unregister(name: str) -> None:
    """Removes a primitive from the table, as tests do.

    >>> unregister("no_such_primitive")
    Traceback (most recent call last):
    ...
    arrows.typesys.errors.ArrowValueError: there is no primitive named 'no_such_primitive'
    """
    get(name)
    del _primitives[name]


def get(name: str) -> Primitive:
    """The primitive of that name.

    Raises:
        ArrowValueError: there is none.

    >>> get("matmul")
    Primitive(matmul)
    """
    try:
        return _primitives[name]
    except KeyError:
        raise ArrowValueError(f"there is no primitive named {name!r}") from None


def primitives() -> Mapping[str, Primitive]:
    """All primitives by name, as a live read-only view.

    >>> "softmax" in primitives()
    True
    """
    return MappingProxyType(_primitives)


Operation = TypeVar("Operation", bound=Callable[..., TensorLike])


def bind(
    primitive: Primitive, *operands: Operand, like: TensorLike | None = None, **attributes: Hashable
) -> TensorLike:
    """Apply a primitive to tensors of a Function, NumPy constants and Python numbers.

    Python numbers take the element type of the tensor beside them, NumPy constants keep theirs.  Operands of
    an element-wise primitive get leading axes of size 1 until their ranks agree.  Where one operand has a
    value for each element of a sequence, operands with one for each example are repeated for the elements.

    Args:
        primitive: what to apply.
        operands: its operands, in the order of its rule.
        like: for `segment_broadcast`, a tensor of the sequence to broadcast to.
        attributes: hashable keyword arguments of the rule, the kernel and the vjp.

    Returns:
        A tensor of the same Function; if all operands are arrays and numbers, the computed array.

    Raises:
        ShapeError: the operands do not fit.

    >>> import numpy as np
    >>> from arrows.ops.extend import get
    >>> bind(get("add"), np.array([1.0, 2.0]), 3.0).tolist()
    [4.0, 5.0]
    """
    for operand in operands:
        if isinstance(operand, TensorLike):
            return operand.context.apply(primitive, operands, attributes, like)
    return cast("TensorLike", ops.EagerEvaluation().apply(primitive, operands, attributes, None).array)


def with_primitive(
    rule: ShapeRule, kernel: Kernel, vjp: Vjp = no_gradient, **flags: Any
) -> Callable[[Operation], Operation]:
    """Declares the primitive that a function applies: a decorator that leaves the function as it is.

    The primitive has the function's name, this rule, kernel and vjp, and the fields `flags`.
    """

    def declared(function: Operation) -> Operation:
        declare(function.__name__, rule, kernel, vjp, **flags)
        return function

    return declared


def operation(
    rule: ShapeRule, kernel: Kernel, vjp: Vjp = no_gradient, **flags: Any
) -> Callable[[Operation], Operation]:
    """Declares an operation: a decorator of a function of one or two operands with a docstring, but no body.

    It applies the primitive of its name, which has this rule, kernel and vjp, and the fields `flags`.
    """

    def declared(function: Operation) -> Operation:
        primitive = declare(function.__name__, rule, kernel, vjp, **flags)

        def of_one(x: Operand) -> TensorLike:
            # On the fly this takes 0.5 us where the call is known; `bind` comes to the same question later.
            known = x.context.as_before(primitive, (x,)) if isinstance(x, TensorLike) else None
            return bind(primitive, x) if known is None else known

        call = of_one if len(signature(function).parameters) == 1 else (lambda a, b: bind(primitive, a, b))
        return cast("Operation", wraps(function)(call))

    return declared
