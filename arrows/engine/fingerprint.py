"""What an expression says of how examples are read, as one short text: by it a prepared set that comes from a
file is told from those of other models."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from types import CodeType, FunctionType
from typing import Any

_PLAIN = (bool, int, float, complex, str, bytes, type(None), type(...))


def fingerprint(*said: Any) -> str:
    """A hash of plain values, of what functions say, and of the tables and functions inside them.

    Of an object of any other kind its class is all that counts, but for our own; and of a function not what
    it finds in its module.

    >>> fingerprint({"a": 1, "b": 2}) == fingerprint({"b": 2, "a": 1})
    True
    >>> fingerprint(lambda x: x + 1) == fingerprint(lambda x: x + 2)
    False
    """
    found = hashlib.sha256()
    _tell(said, found.update, set())
    return found.hexdigest()


def _tell(value: Any, put: Callable[[bytes], None], above: set[int]) -> None:
    """Puts a value's text; ``above`` are the objects that it stands in, which may contain themselves."""
    put(f"{type(value).__qualname__}(".encode())
    if isinstance(value, _PLAIN):
        put(repr(value).encode())
    elif isinstance(value, type):
        put(value.__qualname__.encode())
    elif id(value) not in above:
        for part in _parts(value):
            _tell(part, put, above | {id(value)})
    put(b")")


def _parts(value: Any) -> list[Any]:
    if isinstance(value, tuple | list):
        return list(value)
    if isinstance(value, Mapping):  # in an order that does not depend on how it was filled
        return sorted(value.items(), key=repr)
    if isinstance(value, AbstractSet):
        return sorted(value, key=repr)
    if isinstance(value, slice):
        return [value.start, value.stop, value.step]
    if isinstance(value, FunctionType):
        cells = [cell.cell_contents for cell in value.__closure__ or () if _filled(cell)]
        return [value.__code__, value.__defaults__, value.__kwdefaults__, cells]
    if isinstance(value, CodeType):
        return [value.co_code, value.co_names, value.co_consts]
    if dataclasses.is_dataclass(value):
        return [getattr(value, field.name) for field in dataclasses.fields(value)]
    if type(value).__module__.startswith("arrows."):  # what reads a word as its place in a list, and the like
        return [vars(value)] if hasattr(value, "__dict__") else []
    return []


def _filled(cell: Any) -> bool:
    try:
        cell.cell_contents  # noqa: B018  a name that is not bound yet raises
    except ValueError:
        return False
    return True
