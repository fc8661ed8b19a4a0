"""Element types of tensors, by name."""

from __future__ import annotations

import numpy as np

from arrows.typesys.errors import ArrowTypeError

FLOATS = ("float16", "float32", "float64")
DTYPES = frozenset(
    ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", *FLOATS)
)
_NAMES = {np.dtype(name): name for name in DTYPES}  # looked up far faster than `dtype.name` is made


def dtype_name(x: object) -> str:
    """The canonical name of an element type.

    Raises:
        ArrowTypeError: there is no such element type.
    """
    if isinstance(x, str) and x in DTYPES:
        return x
    if isinstance(x, np.dtype) and x in _NAMES:
        return _NAMES[x]
    try:
        name = np.dtype(x).name if x is not None else ""  # type: ignore[call-overload]
    except (TypeError, ValueError, SyntaxError):  # all that NumPy has to say of text that names no type
        name = ""
    if name not in DTYPES:
        raise ArrowTypeError(f"unknown element type {x!r}: expected one of {', '.join(sorted(DTYPES))}")
    return str(name)


def is_float(dtype: str) -> bool:
    """True for float16, float32 and float64.

    >>> is_float("float32"), is_float("int32")
    (True, False)
    """
    return dtype.startswith("float")
