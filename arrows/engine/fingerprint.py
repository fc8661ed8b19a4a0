"""What an expression says of how examples are read, as one short text: by it a prepared set that comes from a
file is told from those of other models."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from types import CodeType, FunctionType
from typing import Any

_PLAIN = (bool, int, float, complex, str, bytes, type(None), type(...))
_DEEPEST = 16  # of what is nested deeper only the class counts


def fingerprint(*said: Any) -> str:
    """A hash of values, of tables of them, and of what functions say.

    A function counts by its code and by the numbers, texts and tuples that it keeps: not by what it finds in
    its module, nor by tables and objects, which may change while it works. Of objects of other classes than
    ours the class is all that counts.

    >>> (
    ...     fingerprint({"a": 1}) == fingerprint({"a": 1}),
    ...     fingerprint(lambda x: x) == fingerprint(lambda y: y + 1),
    ... )
    (True, False)
    """
    found = hashlib.sha256()
    _tell(said, found.update, True, 0)
    return found.hexdigest()


def _tell(value: Any, put: Callable[[bytes], None], ours: bool, depth: int) -> None:
    """Puts a value's text; ``ours``: it stands in no function of the user's."""
    put(f"{type(value).__qualname__}(".encode())
    if isinstance(value, _PLAIN):
        put(repr(value).encode())
    elif isinstance(value, type):
        put(value.__qualname__.encode())
    elif depth < _DEEPEST:
        for part in _parts(value, ours):
            _tell(part, put, ours and not isinstance(value, FunctionType), depth + 1)
    put(b")")


def _parts(value: Any, ours: bool) -> list[Any]:
    if isinstance(value, tuple) or (ours and isinstance(value, list)):
        return list(value)
    if isinstance(value, frozenset):  # whose order differs from process to process
        return sorted((part for part in value if isinstance(part, _PLAIN)), key=repr)
    if ours and isinstance(value, dict):
        return list(value.items())
    if isinstance(value, slice):
        return [value.start, value.stop, value.step]
    if isinstance(value, FunctionType):
        cells = [cell.cell_contents for cell in value.__closure__ or () if _filled(cell)]
        return [value.__code__, value.__defaults__, tuple((value.__kwdefaults__ or {}).items()), tuple(cells)]
    if isinstance(value, CodeType):
        return [value.co_code, value.co_names, value.co_consts]
    if type(value).__module__.startswith("arrows."):  # what reads a word as its place in a list, and the like
        return [vars(value)] if hasattr(value, "__dict__") else []
    return []


def _filled(cell: Any) -> bool:
    try:
        cell.cell_contents  # noqa: B018  a name that is not bound yet raises
    except ValueError:
        return False
    return True
