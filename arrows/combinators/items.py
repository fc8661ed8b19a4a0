"""Items of Python objects: one rule for mappings, sequences, records and objects with attributes."""

from __future__ import annotations

import dataclasses
import inspect
from typing import Any


def take(x: Any, key: Any) -> Any:
    """The item of a Python object, as `GetItem` takes it.

    It is `x[key]`, but that text as a key is an attribute where `x` has none but attributes: of a NamedTuple,
    and of whatever cannot be indexed, such as a dataclass.

    Args:
        x: a mapping, a sequence, a NamedTuple, a dataclass or any other object.
        key: an index, a slice, a key, the name of an attribute.

    Raises:
        LookupError, TypeError, AttributeError: there is no such item; whatever an object's own `__getitem__`
            raises.

    Example:
        >>> from types import SimpleNamespace
        >>> take({"word": 1}, "word"), take(SimpleNamespace(word=2), "word"), take([3], 0)
        (1, 2, 3)
    """
    if not isinstance(key, str) or not has_attributes(x):
        return x[key]
    if isinstance(x, tuple) and hasattr(tuple, key) and key not in attributes(x):
        raise AttributeError(f"{key!r} is a method")  # of every tuple; no field
    return getattr(x, key)


def has_attributes(x: Any) -> bool:
    """Whether text as a key means an attribute of `x`."""
    kind = type(x)
    if isinstance(x, tuple):
        return hasattr(kind, "_fields") and kind.__getitem__ is tuple.__getitem__
    return not hasattr(kind, "__getitem__")


def attributes(x: Any) -> list[str]:
    """The names of an object's attributes that hold something: its fields, if it declares any.

    Example:
        >>> from types import SimpleNamespace
        >>> attributes(SimpleNamespace(word=2, _secret=3)), attributes(None)
        (['word'], [])
    """
    if not has_attributes(x) or type(x).__module__ == "builtins":
        return []
    if isinstance(x, tuple):
        return list(x._fields)  # type: ignore[attr-defined]  # a NamedTuple
    if dataclasses.is_dataclass(x):
        return [field.name for field in dataclasses.fields(x)]
    try:
        names = [name for name in dir(x) if not name.startswith("_")]
        return [name for name in names if not callable(inspect.getattr_static(x, name, None))]
    except Exception:  # noqa: BLE001 (an object's own __dir__ may raise anything)
        return []
