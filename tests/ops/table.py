"""One row for each check of a primitive: its name, operands of one example, attributes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import product
from typing import Any

import numpy as np

_rng = np.random.default_rng(5)


def n(*shape: int) -> np.ndarray[Any, Any]:
    """Normal numbers, none near zero: a kink there would spoil finite differences."""
    x = _rng.standard_normal(shape)
    return np.asarray(x + np.where(x < 0, -0.1, 0.1))


def p(*shape: int) -> np.ndarray[Any, Any]:
    """Positive numbers."""
    return np.asarray(_rng.uniform(0.5, 2.0, shape))


def i(*shape: int, high: int = 4) -> np.ndarray[Any, Any]:
    """Integers from 0 to high - 1."""
    return np.asarray(_rng.integers(0, high, shape), "int32")


def b(*shape: int) -> np.ndarray[Any, Any]:
    """Truth values."""
    return np.asarray(_rng.integers(0, 2, shape), bool)


def d(*shape: int) -> np.ndarray[Any, Any]:
    """Different numbers, far enough apart that no step of a finite difference changes their order."""
    count = int(np.prod(shape))
    return np.asarray(_rng.permutation(count) * 0.25 - 1.1).reshape(shape)


Arrays = tuple[np.ndarray[Any, Any], ...]

CASES: list[tuple[str, Arrays, dict[str, Any]]] = []


def rows(names: str, operands: Iterable[Arrays], **attributes: Sequence[Any]) -> None:
    """Adds rows for each primitive with each of these operands, and each of the values of each attribute."""
    for name, arrays, values in product(names.split(), list(operands), product(*attributes.values())):
        CASES.append((name, arrays, dict(zip(attributes, values, strict=True))))


SHAPES: tuple[tuple[int, ...], ...] = ((), (3,), (2, 3), (0,))
BROADCAST = (((), ()), ((3,), (3,)), ((1,), (3,)), ((2, 1), (1, 3)), ((2, 3), (1, 3)), ((0,), (1,)))

_UNARY = "floor round negative abs sign square exp tanh sigmoid relu softplus expm1 sin cos erf stop_gradient"
rows(_UNARY, [(n(*shape),) for shape in (*SHAPES, (2, 0))])
rows("log sqrt log1p", [(p(*shape),) for shape in SHAPES])
rows("erf", [(np.linspace(-7.0, 7.0, 41),)])
rows("power", [(p(3),)], exponent=(3, -1, 1.5, -0.5, 0))
rows("power", [(i(3),)], exponent=(3,))
rows("logical_not", [(b(*shape),) for shape in SHAPES])
rows("cast", [(n(3),), (i(3),), (b(3),), (n(),)], dtype=("float64", "int32", "bool"))

rows(
    "add subtract multiply divide maximum minimum greater greater_equal equal",
    [(n(*one), n(*two)) for one, two in BROADCAST],
)
rows("mod floor_divide", [(n(*one), p(*two) * sign) for one, two in BROADCAST for sign in (1, -1)])
rows("mod floor_divide", [(i(7, high=9) - 4, np.array([1, 2, 3, -1, -2, -3, 5], "int32"))])
rows("mod floor_divide", [(i(4, high=9).astype("uint8"), np.array([1, 2, 5, 3], "uint8"))])
rows("logical_and logical_or", [(b(*one), b(*two)) for one, two in BROADCAST])
_CHOICES = (((), (), ()), ((3,), (3,), (3,)), ((1,), (3,), (1,)), ((2, 1), (1, 3), (2, 3)), ((0,),) * 3)
rows("where", [(b(*c), n(*x), n(*y)) for c, x, y in _CHOICES])

_PRODUCTS = (
    ((3,), (3, 4)), ((3, 4), (4,)), ((2, 3), (3, 4)), ((3,), (3,)), ((1,), (1, 1)), ((0,), (0, 4)),
    ((3,), (3, 0)), ((0, 3), (3, 4)), ((2, 0), (0, 4)), ((2, 3), (3, 0)), ((0,), (0,)), ((2, 0), (0,)),
    ((0, 3), (3,)),
)  # fmt: skip
_OF_EACH = (
    ((2, 3, 4), (2, 4, 5)), ((1, 1, 1), (1, 1, 1)), ((0, 3, 4), (0, 4, 5)), ((2, 0, 4), (2, 4, 5)),
    ((2, 3, 0), (2, 0, 5)), ((2, 3, 4), (2, 4, 0)),
)  # fmt: skip
rows("matmul", [*((n(*x), n(*y)) for x, y in _PRODUCTS), (i(2, 3), i(3, 2))])
rows("matmul_each", [(n(*x), n(*y)) for x, y in _OF_EACH])
rows("outer", [(n(*x), n(*y)) for x, y in (((3,), (2,)), ((1,), (1,)), ((0,), (2,)), ((3,), (0,)))])

for _shape, _axes in (((3,), (-1,)), ((2, 3), (-1,)), ((2, 3), (-2,)), ((2, 3), (-2, -1)), ((0, 3), (-1,))):
    rows("sum norm", [(n(*_shape),)], axes=[_axes], keepdims=(False, True))
    rows("max min", [(d(*_shape),)], axes=[_axes], keepdims=(False, True))
rows("sum norm", [(n(),)], axes=[()], keepdims=(False, True))
rows("sum", [(n(2, 0),), (i(3),)], axes=[(-1,)], keepdims=[False])
for _shape, _axis in (((3,), -1), ((2, 3), -1), ((2, 3), -2), ((0, 3), -1), ((1,), -1), ((64, 3), -1)):
    rows("softmax log_softmax", [(n(*_shape),)], axis=[_axis])
    rows("argmax", [(d(*_shape),)], axis=[_axis])

for _old, _new in (((6,), (2, 3)), ((2, 3), (6,)), ((), (1, 1)), ((1,), ()), ((0, 3), (0,))):
    rows("reshape", [(n(*_old),)], shape=[_new])
for _shape, _axes in (((2, 3), (-1, -2)), ((2, 3, 4), (-1, -3, -2)), ((0, 3), (-1, -2)), ((), ())):
    rows("transpose", [(n(*_shape),)], axes=[_axes])
for _old, _new in (((1,), (3,)), ((2, 1), (2, 3)), ((1, 1), (2, 3)), ((1,), (0,)), ((2,), (2,))):
    rows("broadcast_to", [(n(*_old),)], shape=[_new])
rows("concat", [(n(2), n(3)), (n(2), n(0), n(3)), (n(2, 3), n(2, 1)), (n(2),), (n(0, 3), n(0, 2))], axis=[-1])
rows("concat", [(n(2, 3), n(1, 3))], axis=[-2])
_KEYS: list[tuple[tuple[int, ...], tuple[Any, ...]]] = [
    *(((4,), (key,)) for key in (1, (1, 3, 1), (0, 4, 2), (3, None, -1), (2, 2, 1))),
    *(((3, 4), key) for key in ((2,), ((0, 2, 1), 1), (1, (1, 4, 1)))),
    ((0, 4), ((0, 0, 1), 2)),
]
for _shape, _key in _KEYS:
    rows("index", [(n(*_shape),)], key=[_key])
    _part = np.zeros(_shape)[tuple(slice(*k) if isinstance(k, tuple) else k for k in _key)]
    rows("pad_slice", [(n(*_part.shape),)], key=[_key], shape=[_shape])
_TABLES = (((4, 2), ()), ((4,), ()), ((4, 2), (3,)), ((4, 2, 3), (2,)), ((4, 2), (0,)), ((4, 0), (2,)))
_READ = (((2,), ()), ((), ()), ((3, 2), (3,)), ((2, 2, 3), (2,)), ((0, 2), (0,)), ((2, 0), (2,)))
rows("lookup", [(n(*table), i(*index)) for table, index in _TABLES])
rows("scatter_row", [(n(*x), i(*index)) for x, index in _READ], size=[4])
rows("one_hot", [(i(*shape),) for shape in SHAPES], size=[4], dtype=("float64", "int32", "bool"))

for _key, _rate, _number in ((5, 0.5, 0), (2**64 - 1, 0.25, 3), (0, 0.0, 1)):
    rows("dropout", [(n(*shape), np.asarray(_key, "uint64")) for shape in SHAPES], rate=[_rate])
    rows("uniform", [(np.asarray(_key, "uint64"),)], shape=SHAPES, dtype=["float64"], number=[_number])

rows("segment_sum segment_softmax segment_position", [(n(5, *shape),) for shape in SHAPES])
rows("segment_max segment_min", [(d(5, *shape),) for shape in SHAPES], default=(None, 0.0, -3.5))
rows("segment_count", [(n(5, *shape),) for shape in ((), (3,))], dtype=("float64", "int32"))
rows("segment_broadcast", [(n(*shape),) for shape in SHAPES], domain=[0])
rows("segment_shift", [(n(5),), (n(5, 3),), (n(5, 2, 3),), (n(5, 0),), (i(5, 2),)], by=(1, -1, 2, -4, 9))
for _place, _default in (
    (np.asarray(0, "int32"), None), (np.asarray(2, "int64"), -1.5), (np.asarray(-1, "int8"), 0.0),
    (np.asarray(4, "uint8"), 0.5),
):  # fmt: skip
    rows("segment_take", [(n(5, *shape), _place) for shape in SHAPES], default=[_default])
rows("segment_take", [(i(5), np.asarray(1, "int32"))], default=[7])
for _heads, _size, _wide in ((1, 3, 2), (2, 2, 2), (2, 1, 3), (2, 0, 1), (1, 2, 0)):
    _qkv = tuple(n(5, _heads * size) for size in (_size, _size, _wide))
    rows("segment_attention", [_qkv], heads=[_heads], causal=(False, True))
_qkvg = tuple(n(5, 4) for _ in range(4))
rows("segment_attention_gradient", [(*_qkvg, p(5, 2) + 3.0, n(5, 2))], heads=[2], causal=(False, True))
