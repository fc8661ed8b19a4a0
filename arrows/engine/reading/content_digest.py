"""Hashes the content of functions and of plain data: equal digests mean that they do the same.

A root is written to its hash in one pass, each value with its exact type before its parts, in their order:
that of a dict counts. There is no recursion, so data may be as deep as memory allows.

Told are plain data; what Python, NumPy, pandas and this package have under a name, and objects of their
classes, by what pickles them; and functions, by their code, its constants, defaults, what they close over and
the globals that they name. All else is refused, and the user is asked for a name instead: what an object of
somebody's class does, nobody can tell from outside.
"""

from __future__ import annotations

import dis
import hashlib
import inspect
import marshal
import sys
import types
from copyreg import dispatch_table
from typing import Any, TypeAlias

import numpy as np

Told: TypeAlias = tuple[Any, list[object]]
"""What a value is by itself, for `marshal`; and its parts."""

# Values without parts, which `marshal` writes the same way in every process, and with their exact type.
_PLAIN = frozenset({bool, int, float, complex, str, bytes, type(None), type(...)})
_FLAT = {list, tuple, set, frozenset}
_KNOWN = {*sys.stdlib_module_names, "arrows", "numpy", "pandas"}
_READ_ELSEWHERE = {"eval", "exec", "compile", "globals", "open", "input", "__import__", "hash", "id"}
# More would take some seconds. Containers of plain values count as one object.
MOST = 300_000


class Unhashable(TypeError):
    """The content of an object cannot be told exactly; the text says what is in it."""


def digest(root: object) -> str:
    """A hash of the content of an object.

    Raises:
        Unhashable: the content of something that it holds cannot be told, or there is too much of it.

    >>> digest({"a": 1, "b": 2}) == digest({"a": 1, "b": 2}) != digest({"b": 2})
    True
    """
    hashed = hashlib.sha256()
    pending: list[object] = [root]
    functions: dict[types.FunctionType, int] = {}  # those met so far, since a function may call itself
    met = 0
    while pending:
        value = pending.pop()
        met += 1
        if met > MOST:
            raise Unhashable(f"more than {MOST:,} objects, or a circle of them")
        again = functions.setdefault(value, met) if isinstance(value, types.FunctionType) else met
        head, parts = _told(value, type(value)) if again == met else (("again", again), [])
        told = marshal.dumps((head, len(parts)), 2)  # later versions write which objects are identical
        hashed.update(len(told).to_bytes(8, "little") + told)
        pending += reversed(parts)
    return hashed.hexdigest()


def _told(value: Any, kind: type) -> Told:
    if kind in _PLAIN or (kind in _FLAT and _PLAIN.issuperset(map(type, value))):
        return value, []
    if kind is list or kind is tuple:
        return kind.__name__, list(value)
    if kind is dict:
        return "dict", [list(value), list(value.values())]
    if (name := _name(value)) is not None:
        return ("named", name), []
    if kind is types.FunctionType:
        return _function(value)
    if kind is types.CodeType:
        own = {"co_name": "", "co_qualname": "", "co_filename": "", "co_firstlineno": 1, "co_linetable": b""}
        flags = value.co_flags & ~inspect.CO_NESTED
        code = value.replace(**own, co_consts=(), co_flags=flags)
        return ("code", sys.version_info[:2], code), list(value.co_consts)
    if kind is np.ndarray and value.dtype.kind in "biufcmMSU":
        return ("array", str(value.dtype), value.shape, value.tobytes()), []
    if kind not in _FLAT and _is_known(kind.__module__):
        try:
            made = dispatch_table[kind](value) if kind in dispatch_table else value.__reduce_ex__(4)
        except Exception:  # noqa: BLE001 (whatever cannot be pickled)
            made = ""
        if isinstance(made, tuple):
            return "made", list(made)
    raise Unhashable(f"a {f'{kind.__module__}.'.removeprefix('builtins.')}{kind.__qualname__}")


def _is_known(module: object) -> bool:
    return str(module).partition(".")[0] in _KNOWN


def _name(value: Any) -> str | None:
    """The name by which Python, or a package that is known, has a value; None if it has none."""
    if isinstance(value, types.ModuleType):
        return value.__name__ if _is_known(value.__name__) else None
    module = getattr(value, "__module__", None) or type(value).__module__
    name = getattr(value, "__qualname__", None) or getattr(value, "__name__", None)
    found: object = sys.modules.get(module) if _is_known(module) else None
    for part in str(name).split("."):
        found = getattr(found, part, None)
    return f"{module}.{name}" if found is value else None


def _function(function: types.FunctionType) -> Told:
    try:
        closed = [cell.cell_contents for cell in function.__closure__ or ()]
    except ValueError:
        raise Unhashable("a variable that has no value yet") from None
    names: set[str] = set()
    codes = [] if _is_known(function.__globals__.get("__name__")) else [function.__code__]
    for code in codes:
        codes += [constant for constant in code.co_consts if isinstance(constant, types.CodeType)]
        names.update(code.co_names)  # those of attributes too
        if dis.opmap["IMPORT_NAME"] in code.co_code[::2]:
            raise Unhashable("an import that happens when it runs; import at the top of the file")
    for name in sorted(names.intersection(_READ_ELSEWHERE) - function.__globals__.keys()):
        raise Unhashable(f"a call of {name}, whose result depends on more than the function holds")
    read = {name: function.__globals__[name] for name in sorted(names & function.__globals__.keys())}
    held = function.__code__, function.__defaults__, function.__kwdefaults__, closed, read, vars(function)
    return "function", list(held)
