"""Hashes the content of functions and of plain data: equal digests mean that they do the same.

A root is written to its hash in one pass, each value with its exact type before its parts, in their order:
that of a dict counts.  A list, dict, array, function or object of this package that was met before is written
as a number, so rings and shared parts are told exactly.  There is no recursion, so data may be as deep as
memory allows.

Told are plain values, lists, tuples, dicts, sets of texts, arrays, dates; what Python, NumPy and this
package have under a name; objects of this package; and functions, by their code, its constants, defaults,
what they close over and the globals that they name.  All else is refused, and the user is asked for a name
instead: what an object of somebody's class is, nobody can tell from outside.
"""

from __future__ import annotations

import dis
import hashlib
import inspect
import marshal
import sys
import types
from collections.abc import Iterator
from copyreg import dispatch_table
from typing import Any, TypeAlias

import numpy as np

Told: TypeAlias = tuple[tuple[Any, ...], list[tuple[str, object]]]
"""What a value is by itself, in plain values; and its parts, each after what leads to it in messages."""

# Values without parts, which `marshal` writes the same way in every process, and with their exact type.
_PLAIN = frozenset({bool, int, float, complex, str, bytes, type(None), type(...)})
# More objects would take longer than some seconds. Lists and dicts of plain values count as one.
MOST = 300_000


class Unhashable(TypeError):
    """The content of an object cannot be told exactly.

    Attributes:
        path: the names that lead to it.
        reason: why not.
    """

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(reason)
        self.path, self.reason = path, reason


def digest(name: str, root: object) -> str:
    """A hash of the content of an object, which is called ``name`` in messages.

    Raises:
        Unhashable: the content of something that it holds cannot be told, or there is too much of it.

    >>> digest("one", {"a": 1, "b": 2}) == digest("same", {"a": 1, "b": 2}) != digest("other", {"b": 2})
    True
    """
    hashed = hashlib.sha256()
    pending: list[tuple[str, Any]] = [(name, root)]  # what leads to a value, and the value
    known: dict[int, tuple[int, object]] = {}  # the place of an object that is one, and the object
    met = 0
    while pending:
        path, value = pending.pop()
        parts: list[tuple[str, object]] = []
        if type(value) in _PLAIN:
            told = b"plain" + marshal.dumps(value, 2)  # later versions write which objects are identical
        elif id(value) in known:
            told = f"again {known[id(value)][0]}".encode()
        else:
            met += 1
            try:
                if met > MOST:
                    raise _refused(f"is one of more than {MOST:,} objects, too many to look at")
                head, parts = _told(value, type(value))
            except Unhashable as refused:
                raise Unhashable(path, refused.reason) from None
            if type(value) in _ONES or _is_ours(type(value)):
                known[id(value)] = met, value
            told = b"object" + marshal.dumps((*head, len(parts)), 2)
        hashed.update(len(told).to_bytes(8, "little"))
        hashed.update(told)
        pending += [(path + step, part) for step, part in reversed(parts)]
    return hashed.hexdigest()


def _refused(reason: str) -> Unhashable:
    return Unhashable("", reason)


def _told(value: Any, kind: type) -> Told:
    if kind in (list, tuple):
        if _PLAIN.issuperset(map(type, value)):
            return ("flat", kind.__name__, value), []
        return (kind.__name__,), [(f"[{n}]", item) for n, item in enumerate(value)]
    if kind is dict:
        if _PLAIN.issuperset(map(type, value)) and _PLAIN.issuperset(map(type, value.values())):
            return ("flat", "dict", value), []
        return ("dict",), [(f"[{key!r:.40}]", part) for key, item in value.items() for part in (key, item)]
    if (name := _name(value)) is not None:
        return ("named", *name), []
    if kind is types.FunctionType:
        return _function(value)
    if kind is types.CodeType:
        return _code(value)
    if kind in (set, frozenset) and set(map(type, value)) <= {str}:
        return (kind.__name__, *sorted(value)), []  # their order has no meaning: each process has its own
    of_numpy = kind is np.ndarray or (isinstance(value, np.generic) and kind.__module__ == "numpy")
    if of_numpy and value.dtype.kind in "biufcmMSUV" and not value.dtype.hasobject:
        numbers = hashlib.sha256(np.ascontiguousarray(value).tobytes()).digest()
        return (kind.__name__, repr(value.dtype), value.shape, numbers), []
    if (str(kind.__module__).partition(".")[0], kind.__name__) in _MADE_BY_ARGUMENTS:
        reduced = dispatch_table[kind](value) if kind in dispatch_table else value.__reduce_ex__(4)
        if not isinstance(reduced, str):  # the name of something in another package
            return ("made by", kind.__qualname__), [("", reduced[1:])]
    if all(_is_ours(base) for base in kind.__mro__ if base is not object and base.__module__ != "typing"):
        attributes, slots = state if isinstance(state := object.__getstate__(value), tuple) else (state, None)
        held = {**(attributes or {}), **(slots or {})}
        return ("object", kind.__module__, kind.__qualname__, *held), [(f".{n}", v) for n, v in held.items()]
    name_of_kind = f"{kind.__module__}.{kind.__qualname__}".removeprefix("builtins.")
    raise _refused(f"is a {name_of_kind}, whose content cannot be told")


def _is_ours(kind: type) -> bool:
    return str(kind.__module__).partition(".")[0] == "arrows"


def _name(value: Any) -> tuple[str, str] | None:
    """The module and the name by which Python, NumPy or this package have a value; None if they have none."""
    if isinstance(value, types.ModuleType):
        return (value.__name__, "") if sys.modules.get(value.__name__) is value and _known(value) else None
    owner = getattr(value, "__objclass__", value)  # of a method in C, its class
    module, name = (getattr(owner, key, None) for key in ("__module__", "__qualname__"))
    if isinstance(value, np.ufunc):
        module, name = "numpy", value.__name__
    if not isinstance(module, str) or not isinstance(name, str):
        return None
    found: object = sys.modules.get(module)
    if not _known(found):
        return None
    if owner is not value:
        name = f"{name}.{value.__name__}"
    for part in name.split("."):
        found = getattr(found, part, None)
    return (module, name) if found is value else None


def _known(module: object) -> bool:
    top = getattr(module, "__name__", "").partition(".")[0]
    return top in ("arrows", "numpy") or (top in sys.stdlib_module_names and top != "__main__")


def _function(function: types.FunctionType) -> Told:
    parts: list[tuple[str, object]] = [("", function.__code__)]
    parts += [(".__defaults__", function.__defaults__), (".__kwdefaults__", function.__kwdefaults__)]
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            parts.append((f" > {name}", cell.cell_contents))
        except ValueError:
            raise _refused(f"closes over {name}, which has no value yet") from None
    parts += [(f".{name}", value) for name, value in vars(function).items()]
    names: set[str] = set()
    if str(function.__module__).partition(".")[0] != "arrows":
        for code in _codes(function.__code__):
            names.update(code.co_names)  # those of attributes too
            if dis.opmap["IMPORT_NAME"] in code.co_code[::2]:
                raise _refused("imports while it runs; import at the top of its file")
    for name in sorted(names.intersection(_READERS) - function.__globals__.keys()):
        raise _refused(f"calls {name}, whose result depends on more than the function holds")
    read = sorted(names & function.__globals__.keys())
    parts += [(f" > {name}", function.__globals__[name]) for name in read]
    return ("function", *vars(function), None, *read), parts


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    """A code object and those of the functions and classes that are made in it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _codes(constant)


def _code(code: types.CodeType) -> Told:
    names = (code.co_names, code.co_varnames, code.co_cellvars, code.co_freevars)
    flags = code.co_flags & ~inspect.CO_NESTED
    counts = (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, flags)
    # Of the set in ``x in {"a", "b"}``, order does not count.
    constants = [
        ("set", *sorted(marshal.dumps(item, 2) for item in each)) if isinstance(each, frozenset) else [each]
        for each in code.co_consts
    ]
    return ("code", code.co_code, names, counts, code.co_exceptiontable), [("", each) for each in constants]


_ONES = (
    list,
    dict,
    np.ndarray,
    types.FunctionType,
)  # others may be one object or several, without a difference
_READERS = {"eval", "exec", "compile", "globals", "open", "input", "__import__", "hash", "id"}
_MADE_BY_ARGUMENTS = {
    *(("datetime", name) for name in ("date", "datetime", "time", "timedelta", "timezone")),
    *(("operator", name) for name in ("itemgetter", "attrgetter", "methodcaller")),
    *(("pandas", name) for name in ("Timestamp", "Timedelta", "NaTType", "NAType")),
    *(("builtins", name) for name in ("range", "slice", "method", "builtin_function_or_method")),
    ("decimal", "Decimal"),
    *(("functools", "partial"), ("re", "Pattern")),
}
"""Kinds whose values are told by the arguments that make them again: the module's package, and the name."""
