"""Hashes the content of functions and of plain data: equal digests mean that they do the same.

A root is written to its hash in one pass, each value with its exact type before its parts, in their order:
that of a dict counts.  What was met before is written as a number, so rings and shared parts are told
exactly.  There is no recursion, so data may be as deep as memory allows.

Told are plain values, lists, tuples, dicts, sets of texts, arrays, dates; what Python, NumPy and this
package have under a name; objects of this package; and functions, by their code, its constants, defaults,
what they close over and the globals that they name.  All else is refused, and the user is asked for a name
instead: what an object of somebody's class is, nobody can tell from outside.
"""

from __future__ import annotations

import builtins
import datetime as dt
import dis
import functools
import gc
import hashlib
import inspect
import marshal
import operator
import re
import sys
import types
from collections.abc import Iterator, Sequence
from copyreg import dispatch_table
from decimal import Decimal
from typing import Any, TypeAlias

import numpy as np

Part: TypeAlias = tuple[str, object]
"""A part of a value, after what leads to it in messages."""

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


def digests(roots: Sequence[tuple[str, object]]) -> list[str]:
    """Returns a hash of the content of each root; what two roots share is part of their content.

    Args:
        roots: what they are called in messages, and the objects.

    Raises:
        Unhashable: the content of something that a root holds cannot be told, or there is too much of it.

    >>> one, same, other = digests(
    ...     [("one", {"a": 1, "b": 2}), ("same", {"a": 1, "b": 2}), ("other", {"b": 2})]
    ... )
    >>> one == same != other
    True
    """
    known: dict[int, tuple[int, int, object]] = {}
    return [_digest(number, name, root, known) for number, (name, root) in enumerate(roots)]


class ExampleDigest:
    """A hash of examples in their order; see `digests`.

    >>> one, other = ExampleDigest(), ExampleDigest()
    >>> one.add({"word": "tree"}), other.add({"word": "trees"})
    (None, None)
    >>> one.text == other.text
    False
    """

    def __init__(self) -> None:
        self._hash = hashlib.sha256()

    def add(self, example: object) -> None:
        """Adds an example.

        Raises:
            Unhashable: it holds something whose content cannot be told, such as an open file.
        """
        self._hash.update(digests([("the example", example)])[0].encode("ascii"))

    @property
    def text(self) -> str:
        """The hash of what has been added so far."""
        return f"sha256:{self._hash.hexdigest()}"


def _digest(number: int, name: str, root: Any, known: dict[int, tuple[int, int, object]]) -> str:
    """The hash of a root; ``known`` has the root and the place there of all objects before, kept alive."""
    digest = hashlib.sha256()
    pending: list[tuple[Any, Any]] = [((None, name), root)]  # what leads to a value, and the value
    met = 0
    while pending:
        place, value = pending.pop()
        parts: list[Part] = []
        if type(value) in _PLAIN:
            told = b"plain" + marshal.dumps(value, 2)  # later versions write which objects are identical
        elif id(value) in known:
            other, place_there, _ = known[id(value)]
            told = f"again {place_there} of {number - other}".encode()
        else:
            met += 1
            try:
                if met > MOST:
                    reason = f"is one of more than {MOST:,} objects, too many to look at"
                    raise Unhashable("", reason)
                if type(value) not in _OFTEN_MADE and not isinstance(value, np.generic):
                    known[id(value)] = number, met, value
                told, parts = _told(value)
            except Unhashable as refused:
                raise Unhashable(_path(place), refused.reason) from None
        digest.update(len(told).to_bytes(8, "little"))
        digest.update(told)
        pending += [((place, step), part) for step, part in reversed(parts)]
    return digest.hexdigest()


def _path(place: Any) -> str:
    """The names that lead to a value, from a root on."""
    names = []
    while place is not None:
        place, name = place
        names.append(name)
    return "".join(reversed(names))


def _told(value: Any) -> tuple[bytes, list[Part]]:
    """What a value is by itself, and its parts."""
    kind = type(value)
    if kind is list or kind is tuple:
        if _PLAIN.issuperset(map(type, value)):
            return b"flat" + marshal.dumps(value, 2), []
        return f"{kind.__name__} {len(value)}".encode(), [(f"[{n}]", item) for n, item in enumerate(value)]
    if kind is dict:
        if _PLAIN.issuperset(map(type, value)) and _PLAIN.issuperset(map(type, value.values())):
            return b"flat" + marshal.dumps(value, 2), []
        parts = [(f"[{key!r:.40}]", part) for key, item in value.items() for part in (key, item)]
        return f"dict {len(value)}".encode(), parts
    head, parts = _object(value, kind)
    return b"object" + marshal.dumps((*head, len(parts)), 2), parts


def _object(value: Any, kind: type) -> tuple[tuple[Any, ...], list[Part]]:
    if (name := _name(value)) is not None:
        return ("named", *name), []
    if kind is types.FunctionType:
        return _function(value)
    if kind is types.CodeType:
        return _code(value)
    if kind in (set, frozenset) and set(map(type, value)) <= {str}:
        return (kind.__name__, *sorted(value)), []  # their order has no meaning: each process has its own
    if kind is np.ndarray and value.dtype.kind in "biufcmMSUV" and not value.dtype.hasobject:
        numbers = hashlib.sha256(np.ascontiguousarray(value).tobytes()).digest()
        return ("array", repr(value.dtype), value.shape, numbers), []
    if isinstance(value, np.generic) and kind.__module__ == "numpy" and not value.dtype.hasobject:
        return ("scalar", repr(value.dtype), value.tobytes()), []
    if kind in _OF_ARGUMENTS or (
        str(kind.__module__).partition(".")[0] == "pandas" and kind.__name__ in _OF_PANDAS
    ):
        reduced = dispatch_table[kind](value) if kind in dispatch_table else value.__reduce_ex__(4)
        return ("made by", kind.__qualname__), [("", reduced[1:])]
    if kind is types.MethodType:
        return ("method",), [(".__func__", value.__func__), (".__self__", value.__self__)]
    if kind is types.MappingProxyType:
        return ("mappingproxy",), [("", gc.get_referents(value)[0])]
    if kind is types.BuiltinFunctionType:
        return ("method in C", value.__name__), [(".__self__", value.__self__)]
    if _is_ours(kind.__module__) and all(_is_ours(base.__module__) for base in _extended(kind)):
        attributes, slots = state if isinstance(state := object.__getstate__(value), tuple) else (state, None)
        held = {**(attributes or {}), **(slots or {})}
        return ("object", kind.__module__, kind.__qualname__, *held), [(f".{n}", v) for n, v in held.items()]
    of = f"{kind.__module__}.{kind.__qualname__}".removeprefix("builtins.")
    raise Unhashable("", f"is a {of}, whose content cannot be told")


def _extended(kind: type) -> list[type]:
    """The classes that a class extends, but for those that hold nothing."""
    return [base for base in kind.__mro__ if base.__module__ != "typing" and base is not object]


def _is_ours(module: object) -> bool:
    return isinstance(module, str) and module.partition(".")[0] == "arrows"


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


# ---------------------------------------------------------------------------------------------- functions


def _function(function: types.FunctionType) -> tuple[tuple[Any, ...], list[Part]]:
    parts: list[Part] = [
        ("", function.__code__),
        (".__defaults__", function.__defaults__),
        (".__kwdefaults__", function.__kwdefaults__),
    ]
    unbound = []
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            parts.append((f" > {name}", cell.cell_contents))
        except ValueError:
            unbound.append(name)
    parts += [(f".{name}", value) for name, value in vars(function).items()]
    read = {} if _is_ours(function.__module__) else _globals(function)
    parts += [(f" > {name}", value) for name, value in read.items()]
    return ("function", *unbound, None, *vars(function), None, *read), parts


def _globals(function: types.FunctionType) -> dict[str, object]:
    """The globals whose names stand in a function, be it as those of attributes; refuses what reads more."""
    names: set[str] = set()
    for code in _codes(function.__code__):
        names.update(code.co_names)
        if dis.opmap["IMPORT_NAME"] in code.co_code[::2]:
            raise Unhashable("", "imports while it runs; import at the top of its file")
    for name in sorted(names - function.__globals__.keys()):
        if name in _READERS and hasattr(builtins, name):
            raise Unhashable("", f"calls {name}, whose result depends on more than the function holds")
    return {name: function.__globals__[name] for name in sorted(names & function.__globals__.keys())}


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    """A code object and those of the functions and classes that are made in it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _codes(constant)


def _code(code: types.CodeType) -> tuple[tuple[Any, ...], list[Part]]:
    names = (code.co_names, code.co_varnames, code.co_cellvars, code.co_freevars)
    flags = code.co_flags & ~inspect.CO_NESTED
    counts = (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, flags)
    # Of the set in ``x in {"a", "b"}``, order does not count.
    constants = [
        ("set", *sorted(marshal.dumps(item, 2) for item in each)) if isinstance(each, frozenset) else [each]
        for each in code.co_consts
    ]
    return ("code", code.co_code, names, counts, code.co_exceptiontable), [("", each) for each in constants]


_READERS = ("eval", "exec", "compile", "globals", "open", "input", "__import__", "hash", "id")
# A value of these kinds is told by the arguments that make it again.
_OF_ARGUMENTS = {
    *(dt.date, dt.datetime, dt.time, dt.timedelta, dt.timezone, Decimal, re.Pattern, range, slice),
    *(operator.itemgetter, operator.attrgetter, operator.methodcaller, functools.partial),
}
_OF_PANDAS = {"Timestamp", "Timedelta", "NaTType", "NAType"}
# These may be one object or several without a difference.
_OFTEN_MADE = _OF_ARGUMENTS | {tuple, frozenset, types.CodeType, types.MethodType, types.BuiltinFunctionType}
