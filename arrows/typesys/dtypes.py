"""Element types by name, and the search for masked elements."""

from __future__ import annotations

import numpy as np

from arrows.typesys.errors import ArrowTypeError

FLOATS = ("float16", "float32", "float64")
DTYPES = frozenset(
    ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", *FLOATS)
)
_NAMES = {np.dtype(name): name for name in DTYPES}  # a look-up is far faster than `dtype.name`


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
    except (TypeError, ValueError, SyntaxError):  # NumPy raises each of these for some unknown names
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


def wider_dtype(first: str, second: str) -> str:
    """The one of two element types that holds the other's numbers best: floats before integers before bool.

    >>> wider_dtype("int32", "float32"), wider_dtype("float32", "float64"), wider_dtype("int8", "bool")
    ('float32', 'float64', 'int8')
    """
    kinds = (np.dtype(name) for name in (first, second))
    ranks = [("bif".index(kind.kind.replace("u", "i")), kind.itemsize) for kind in kinds]
    return second if ranks[1] > ranks[0] else first


def masked_elements(value: object) -> int:
    """Counts the masked elements of an array, or of all arrays in nested lists; a repeated list counts once.

    NumPy converts masked arrays to plain ones silently, so arrows looks for them before it converts anything.

    Example:
        >>> pair = np.ma.array([1, 2], mask=[False, True])
        >>> masked_elements(pair), masked_elements([pair, [np.ma.masked, 3]]), masked_elements([1, 2])
        (1, 2, 0)
    """
    count = 0
    seen: set[int] = set()  # a list may hold itself
    todo = [value]
    while todo:
        x = todo.pop()
        if isinstance(x, np.ma.MaskedArray):
            count += int(np.count_nonzero(np.ma.getmaskarray(x)))
        elif isinstance(x, (list, tuple)) and id(x) not in seen:
            seen.add(id(x))
            kinds = set(map(type, x))
            if any(issubclass(kind, (list, tuple, np.ma.MaskedArray)) for kind in kinds):
                todo.extend(x)
    return count
