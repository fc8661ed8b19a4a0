"""One row for each check of a primitive: its name, operands of one example, attributes."""

from __future__ import annotations

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


Case = tuple[str, tuple[np.ndarray[Any, Any], ...], dict[str, Any]]

_UNARY = (
    *("floor", "round", "negative", "abs", "sign", "square", "exp"),
    *("tanh", "sigmoid", "relu", "softplus"),
)
_SMOOTH = ("expm1", "sin", "cos", "erf")
_BINARY = ("add", "subtract", "multiply", "divide", "maximum", "minimum", "greater", "greater_equal", "equal")

BROADCAST = (((), ()), ((3,), (3,)), ((1,), (3,)), ((2, 1), (1, 3)), ((2, 3), (1, 3)), ((0,), (1,)))
AXES = (((3,), (-1,)), ((2, 3), (-1,)), ((2, 3), (-2,)), ((2, 3), (-2, -1)), ((0, 3), (-1,)))
CASES: list[Case] = []
for _name in _UNARY + _SMOOTH:
    CASES += [(_name, (n(*shape),), {}) for shape in ((), (3,), (2, 3), (0,), (2, 0))]
for _name in ("log", "sqrt", "log1p"):
    CASES += [(_name, (p(*shape),), {}) for shape in ((), (3,), (2, 3), (0,))]
CASES += [(name, (n(*one), n(*two)), {}) for name in _BINARY for one, two in BROADCAST]
CASES += [("power", (p(3),), {"exponent": e}) for e in (3, -1, 1.5, -0.5, 0)]
CASES += [("power", (i(3),), {"exponent": 3})]
CASES += [
    (name, (n(*one), p(*two) * sign), {})
    for name in ("mod", "floor_divide")
    for one, two in BROADCAST
    for sign in (1, -1)
]
_WHOLE = (
    (i(7, high=9) - 4, np.array([1, 2, 3, -1, -2, -3, 5], "int32")),
    (i(4, high=9).astype("uint8"), np.array([1, 2, 5, 3], "uint8")),
)
CASES += [(name, both, {}) for name in ("mod", "floor_divide") for both in _WHOLE]
CASES += [("erf", (np.linspace(-7.0, 7.0, 41),), {})]
CASES += [(name, (b(*x), b(*y)), {}) for name in ("logical_and", "logical_or") for x, y in BROADCAST]
CASES += [("logical_not", (b(*shape),), {}) for shape in ((), (3,), (0,))]
CASES += [
    ("where", (b(*c), n(*x), n(*y)), {})
    for c, x, y in (
        ((), (), ()),
        ((3,), (3,), (3,)),
        ((1,), (3,), (1,)),
        ((2, 1), (1, 3), (2, 3)),
        ((0,), (0,), (0,)),
    )
]

CASES += [
    ("matmul", (n(*x), n(*y)), {})
    for x, y in (
        ((3,), (3, 4)), ((3, 4), (4,)), ((2, 3), (3, 4)), ((3,), (3,)), ((1,), (1, 1)),
        ((0,), (0, 4)), ((3,), (3, 0)), ((0, 3), (3, 4)), ((2, 0), (0, 4)), ((2, 3), (3, 0)), ((0,), (0,)),
        ((2, 0), (0,)), ((0, 3), (3,)),
    )
]  # fmt: skip
CASES += [
    ("matmul_each", (n(*x), n(*y)), {})
    for x, y in (
        ((2, 3, 4), (2, 4, 5)), ((1, 1, 1), (1, 1, 1)), ((0, 3, 4), (0, 4, 5)), ((2, 0, 4), (2, 4, 5)),
        ((2, 3, 0), (2, 0, 5)), ((2, 3, 4), (2, 4, 0)),
    )
]  # fmt: skip
CASES += [("matmul", (i(2, 3), i(3, 2)), {})]
CASES += [("outer", (n(*x), n(*y)), {}) for x, y in (((3,), (2,)), ((1,), (1,)), ((0,), (2,)), ((3,), (0,)))]

CASES += [
    (name, (d(*shape) if name in ("max", "min") else n(*shape),), {"axes": axes, "keepdims": keep})
    for name in ("sum", "max", "min", "norm")
    for shape, axes in AXES
    for keep in (False, True)
]
CASES += [
    (name, (n(),), {"axes": (), "keepdims": keep}) for name in ("sum", "norm") for keep in (False, True)
]
CASES += [("sum", (n(2, 0),), {"axes": (-1,), "keepdims": False})]
CASES += [("sum", (i(3),), {"axes": (-1,), "keepdims": False})]
CASES += [
    ("cumsum", (n(*shape),), {"axis": axis, "reverse": reverse})
    for shape, axis in (((3,), -1), ((2, 3), -2), ((2, 3), -1), ((0,), -1), ((2, 0), -2))
    for reverse in (False, True)
]
for _name in ("softmax", "log_softmax"):
    CASES += [
        (_name, (n(*shape),), {"axis": axis})
        for shape, axis in (((3,), -1), ((2, 3), -1), ((2, 3), -2), ((0, 3), -1), ((1,), -1))
    ]
CASES += [
    (name, (d(*shape),), {"axis": axis})
    for name in ("argmax", "argmin")
    for shape, axis in (((3,), -1), ((2, 3), -2), ((0, 3), -1))
]

CASES += [
    ("argsort", (x,), {"descending": descending})
    for x in (
        d(3), d(2, 3), d(0), d(2, 0), i(9), i(2, 2, 5).astype("uint8"), b(5),
        np.array([1.0, np.nan, 2.0, np.nan, np.inf, 3.0]),
    )
    for descending in (False, True)
]  # fmt: skip
CASES += [("stop_gradient", (n(*shape),), {}) for shape in ((), (3,), (2, 3), (0,))]

CASES += [
    ("reshape", (n(*old),), {"shape": new})
    for old, new in (((6,), (2, 3)), ((2, 3), (6,)), ((), (1, 1)), ((1,), ()), ((0, 3), (0,)))
]
CASES += [
    ("transpose", (n(*shape),), {"axes": axes})
    for shape, axes in (((2, 3), (-1, -2)), ((2, 3, 4), (-1, -3, -2)), ((0, 3), (-1, -2)), ((), ()))
]
CASES += [
    ("broadcast_to", (n(*old),), {"shape": new})
    for old, new in (((1,), (3,)), ((2, 1), (2, 3)), ((1, 1), (2, 3)), ((1,), (0,)), ((2,), (2,)))
]
CASES += [
    ("concat", tuple(n(*shape) for shape in shapes), {"axis": axis})
    for shapes, axis in (
        (((2,), (3,)), -1), (((2,), (0,), (3,)), -1), (((2, 3), (1, 3)), -2), (((2, 3), (2, 1)), -1),
        (((2,),), -1), (((0, 3), (0, 2)), -1),
    )
]  # fmt: skip
CASES += [
    ("cast", (n(3),), {"dtype": "float64"}),
    ("cast", (n(3),), {"dtype": "int32"}),
    ("cast", (i(3),), {"dtype": "float64"}),
    ("cast", (b(3),), {"dtype": "float64"}),
    ("cast", (n(),), {"dtype": "bool"}),
]

_KEYS: list[tuple[tuple[int, ...], tuple[Any, ...]]] = [
    ((4,), (1,)),
    ((4,), ((1, 3, 1),)),
    ((4,), ((0, 4, 2),)),
    ((4,), ((3, None, -1),)),
    ((4,), ((2, 2, 1),)),
    ((3, 4), (2,)),
    ((3, 4), ((0, 2, 1), 1)),
    ((3, 4), (1, (1, 4, 1))),
    ((0, 4), ((0, 0, 1), 2)),
]
CASES += [("index", (n(*shape),), {"key": key}) for shape, key in _KEYS]
for _shape, _key in _KEYS:
    _part = np.zeros(_shape)[tuple(slice(*k) if isinstance(k, tuple) else k for k in _key)]
    CASES += [("pad_slice", (n(*_part.shape),), {"key": _key, "shape": _shape})]
CASES += [
    ("lookup", (n(*table), i(*index)), {})
    for table, index in (
        ((4, 2), ()),
        ((4,), ()),
        ((4, 2), (3,)),
        ((4, 2, 3), (2,)),
        ((4, 2), (0,)),
        ((4, 0), (2,)),
    )
]
CASES += [
    ("scatter_row", (n(*x), i(*index)), {"size": 4})
    for x, index in (((2,), ()), ((), ()), ((3, 2), (3,)), ((2, 2, 3), (2,)), ((0, 2), (0,)), ((2, 0), (2,)))
]
CASES += [
    ("one_hot", (i(*shape),), {"size": 4, "dtype": dtype})
    for shape in ((), (3,), (2, 3), (0,))
    for dtype in ("float64", "int32", "bool")
]

CASES += [
    ("dropout", (n(*shape), np.asarray(key, "uint64")), {"rate": rate})
    for shape in ((), (3,), (2, 3), (0,), (2, 0))
    for key, rate in ((5, 0.5), (2**64 - 1, 0.25), (0, 0.0))
]

CASES += [
    ("uniform", (np.asarray(key, "uint64"),), {"shape": shape, "dtype": "float64", "number": number})
    for shape in ((), (3,), (2, 3), (0,))
    for key, number in ((5, 0), (2**64 - 1, 3))
]

for _name in ("segment_sum", "segment_softmax"):
    CASES += [(_name, (n(5, *shape),), {}) for shape in ((), (3,), (2, 3), (0,))]
CASES += [
    (name, (d(5, *shape),), {"default": default})
    for name in ("segment_max", "segment_min")
    for shape in ((), (3,), (2, 3), (0,))
    for default in (None, 0.0, -3.5)
]
CASES += [
    ("segment_count", (n(5, *shape),), {"dtype": t}) for shape in ((), (3,)) for t in ("float64", "int32")
]
CASES += [("segment_position", (n(5, *shape),), {}) for shape in ((), (3,))]
CASES += [("segment_broadcast", (n(*shape),), {"domain": 0}) for shape in ((), (3,), (2, 3), (0,))]
CASES += [
    (
        "segment_attention",
        (n(5, heads * size), n(5, heads * size), n(5, heads * wide)),
        {"heads": heads, "causal": causal},
    )
    for heads, size, wide in ((1, 3, 2), (2, 2, 2), (2, 1, 3), (2, 0, 1), (1, 2, 0))
    for causal in (False, True)
]
CASES += [
    (
        "segment_attention_gradient",
        (*(n(5, 4) for _ in range(3)), n(5, 4), p(5, 2) + 3.0, n(5, 2)),
        {"heads": 2, "causal": causal},
    )
    for causal in (False, True)
]
CASES += [
    ("segment_shift", (x,), {"by": by})
    for x in (n(5), n(5, 3), n(5, 2, 3), n(5, 0), i(5, 2))
    for by in (1, -1, 2, -4, 9)
]
CASES += [
    ("segment_take", (n(5, *shape), place), {"default": default})
    for shape in ((), (3,), (2, 3), (0,))
    for place, default in (
        (np.asarray(0, "int32"), None),
        (np.asarray(2, "int64"), -1.5),
        (np.asarray(-1, "int8"), 0.0),
        (np.asarray(4, "uint8"), 0.5),
    )
]
CASES += [("segment_take", (i(5), np.asarray(1, "int32")), {"default": 7})]
