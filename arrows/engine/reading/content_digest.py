"""Hashes the content of objects: equal digests mean content that no function can tell apart.

A root is written to its hash in one pass, each object with its exact type before its parts, in their order:
that of a dict counts. An object that was met before is written as a number, so rings and shared parts are
told exactly. There is no recursion, so objects may be as deep as memory allows. What cannot be told exactly
and cheaply is refused: open files, generators, most of what C keeps. The order of a set of texts does not
count, since each process has its own; nor do annotations, but for the types of a dataclass's fields.

`pickle` would not do: it keeps what classes choose to keep, and says where a function was defined rather than
what it does.
"""

from __future__ import annotations

import builtins
import datetime as dt
import dis
import functools
import gc
import hashlib
import importlib.util
import inspect
import marshal
import operator
import os
import re
import struct
import sys
import types
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields
from decimal import Decimal, DecimalTuple
from enum import Enum, EnumType
from pathlib import Path, PurePath
from typing import Any, TypeAlias
from zoneinfo import ZoneInfo

import numpy as np

# Values without parts, which `marshal` writes the same way in every process, and with their exact type.
_PLAIN = frozenset({bool, int, float, complex, str, bytes, type(None), type(...)})
# More objects would take longer than some seconds. Lists and dicts of plain values count as one.
MOST = 300_000

Content: TypeAlias = tuple[tuple[Any, ...], list[tuple[str, object]]]
"""What an object is by itself, in plain values, and its parts with their names in messages."""


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


def _digest(number: int, name: str, root: object, known: dict[int, tuple[int, int, object]]) -> str:
    """The hash of a root; ``known`` has the root and the place there of all objects before, kept alive."""
    digest = hashlib.sha256()
    pending: list[tuple[Any, Any]] = [((None, name, False), root)]  # where a value stands, and the value
    met = 0
    while pending:
        place, value = pending.pop()
        kind = type(value)
        parts: list[tuple[Any, object]] = []
        if kind in _PLAIN:
            told = b"plain" + marshal.dumps(value, 2)  # later versions write which objects are identical
        elif kind is not tuple and id(value) in known:
            other, place_there, _ = known[id(value)]
            told = f"again {place_there}{'' if other == number else f' of {other}'}".encode()
        else:
            met += 1
            if met > MOST:
                raise Unhashable(_path(place), f"is one of more than {MOST:,} objects, too many to look at")
            if kind is not tuple and kind not in _IMMUTABLE and not isinstance(value, np.generic):
                known[id(value)] = number, met, value
            try:
                told, parts = _told(place, value)
            except Unhashable as refused:
                raise Unhashable(_path(place), refused.reason) from refused.__cause__
            except (
                Exception
            ) as error:  # raised by a user's class, or because another thread changes the object
                reason = f"cannot be looked at: {type(error).__name__}: {error}"
                raise Unhashable(_path(place), reason) from error
        digest.update(len(told).to_bytes(8, "little"))
        digest.update(told)
        pending += reversed(parts)
    return digest.hexdigest()


def _told(place: Any, value: Any) -> tuple[bytes, list[tuple[Any, object]]]:
    kind = type(value)
    if kind is list or kind is tuple:
        if _PLAIN.issuperset(map(type, value)):
            return b"flat" + marshal.dumps(value, 2), []
        items = [((place, number, True), item) for number, item in enumerate(value)]
        return f"{kind.__name__} {len(items)}".encode(), items
    if kind is dict:
        if not _PLAIN.issuperset(map(type, value)):
            return f"dict {len(value)}".encode(), [
                ((place, "[...]", False), part) for item in value.items() for part in item
            ]
        if _PLAIN.issuperset(map(type, value.values())):
            return b"flat" + marshal.dumps(value, 2), []
        return b"keys" + marshal.dumps(list(value), 2), [
            ((place, key, True), item) for key, item in value.items()
        ]
    head, parts = _content(value)
    return b"object" + marshal.dumps((*head, len(parts)), 2), [
        ((place, name, False), part) for name, part in parts
    ]


def _path(place: Any) -> str:
    """The names that lead to a value, from a root on."""
    names = []
    while place is not None:
        place, name, is_key = place
        names.append(f"[{name!r:.40}]" if is_key else name)
    return "".join(reversed(names))


# ----------------------------------------------------------------------------------------------- objects


def _content(value: Any) -> Content:
    kind = type(value)
    named = _named(value)
    if named is not None:
        return named, []
    if kind in _BY_KIND:
        return _BY_KIND[kind](value)
    if isinstance(value, type):
        return _class(value)
    if isinstance(value, Enum):
        extra = {name: part for name, part in vars(value).items() if name not in _OF_MEMBERS}
        return ("member", value._name_, *extra), [("", kind), ("", value._value_), *_named_parts(extra)]
    if isinstance(value, PurePath) and is_installed(kind.__module__):  # their slots are caches
        return ("path",), [("", kind), ("", str(value))]
    if isinstance(value, np.dtype):
        return ("dtype", _dtype(value)), []
    if isinstance(value, np.generic) and kind.__module__ == "numpy" and not value.dtype.hasobject:
        return ("scalar", _dtype(value.dtype), value.tobytes()), []
    if kind.__module__.partition(".")[0] == "pandas" and kind.__name__ in _OF_PANDAS:
        reduced = value.__reduce__()
        return ("pandas", kind.__name__), [("", reduced if isinstance(reduced, str) else reduced[1:])]
    return _object(value)


def _object(value: Any) -> Content:
    """Tells an object by its class, the value of the built-in class that this extends, and all attributes."""
    kind = base = type(value)
    while base not in _VALUE_OF:
        slots = vars(base).get("__slots__", ())
        words = 1 if isinstance(slots, str) else len(slots)
        words += ("__dict__" in vars(base)) + ("__weakref__" in vars(base))
        parent: Any = base.__base__
        # What C keeps of an object shows in its size alone.
        if base.__flags__ & _MADE_IN_C or base.__basicsize__ - parent.__basicsize__ > words * _WORD:
            name = f"{kind.__module__}.{kind.__qualname__}".removeprefix("builtins.")
            raise Unhashable("", f"is a {name}, whose content cannot be told")
        base = parent
    state: Any = object.__getstate__(value)
    attributes, in_slots = state if isinstance(state, tuple) else (state, None)
    held = {**(attributes or {}), **(in_slots or {})}
    told = _VALUE_OF[base]
    if isinstance(told, tuple):
        own = _named_parts({name: getattr(value, name) for name in told})
    else:
        own = [("", told(value))]
    return ("object", len(attributes or ()), *held), [("", kind), *own, *_named_parts(held)]


def _named_parts(values: Mapping[str, object]) -> list[tuple[str, object]]:
    return [(f".{name}", value) for name, value in values.items()]


def _set(value: set[Any] | frozenset[Any]) -> Content:
    kinds = set(map(type, value))
    if kinds <= {str}:  # their order has no meaning: each process has its own
        return (type(value).__name__, *sorted(value)), []
    if kinds <= {bool, int, float}:
        return (type(value).__name__, *value), []
    raise Unhashable("", "is a set of other things than texts or numbers; a sorted tuple can be told")


def _array(value: np.ndarray) -> Content:
    head = ("array", _dtype(value.dtype), value.shape, value.strides)
    if value.dtype.kind == "O":
        return head, [("", value.ravel().tolist())]
    rows = np.ascontiguousarray(value)
    numbers: Any = rows.reshape(-1).view(np.uint8) if rows.nbytes else b""  # no copy
    return (*head, hashlib.sha256(numbers).digest()), []


def _dtype(dtype: np.dtype[Any]) -> str:
    if dtype.metadata or dtype.kind not in "biufcmMSUVO" or (dtype.hasobject and dtype.kind != "O"):
        raise Unhashable("", f"has the dtype {dtype}, whose content cannot be told")
    return repr(dtype)


def _module(value: types.ModuleType) -> Content:
    if is_installed(value.__name__) and sys.modules.get(value.__name__) is value:
        return ("module", value.__name__, _version(value.__name__)), []
    raise Unhashable(
        "", f"is a module of yours, all of which may be read; from {value.__name__} import what is read"
    )


def _method_in_c(value: Any) -> Content:
    """Tells a function or a method of an extension by its name and what it is bound to."""
    owner = getattr(value, "__self__", getattr(value, "__objclass__", None))
    if isinstance(owner, types.ModuleType):
        owner = owner.__name__
    return ("in C", getattr(value, "__module__", None), value.__qualname__), [(".__self__", owner)]


# --------------------------------------------------------------------------------------- classes, functions


def _class(kind: type) -> Content:
    parts: list[tuple[str, object]] = [("", type(kind)), ("", kind.__bases__)]
    names = dict(vars(kind))
    members: tuple[str, ...] = ()
    if isinstance(kind, EnumType):
        by_name: Mapping[str, Any] = kind.__members__
        members = tuple(by_name)
        parts += _named_parts(by_name)
        names = {
            name: value
            for name, value in names.items()
            if name not in kind.__members__
            and not (name.startswith("_") and name.endswith("_") and not isinstance(value, _METHODS))
        }
    if "__dataclass_fields__" in names:
        parts += [
            ("", repr(names["__dataclass_params__"])),
            (
                "",
                [(f.name, repr(f.type), *(getattr(f, option) for option in _OPTIONS)) for f in fields(kind)],
            ),
        ]
        names = {name: value for name, value in names.items() if not _is_generated(value)}
    for name, value in names.items():
        if name not in _INERT and not name.startswith("__dataclass_"):
            parts += [("", name), (f".{name}", value)]
    return ("class", kind.__module__, kind.__qualname__, *members), parts


def _is_generated(value: object) -> bool:
    """Whether `dataclasses` has written a method; what it does follows from the fields."""
    code = getattr(getattr(value, "__wrapped__", value), "__code__", None)
    return isinstance(code, types.CodeType) and code.co_qualname.startswith("__create_fn__")


def _function(function: types.FunctionType) -> Content:
    if function.__code__ is _DISPATCH:  # the rest of it is a cache
        return ("singledispatch",), [("", vars(function)["registry"])]
    module = function.__globals__.get("__name__")
    known = is_installed(module)
    parts: list[tuple[str, object]] = [
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
    read = {} if known else _globals(function)
    parts += _named_parts(vars(function))
    parts += [(f" > {name}", value) for name, value in read.items()]
    return (
        "function",
        function.__name__,
        module if known else None,
        _version(str(module)) if known else None,
        *unbound,
        None,
        *vars(function),
        None,
        *read,
    ), parts


def _globals(function: types.FunctionType) -> dict[str, object]:
    """The globals that a function reads, those among them that exist, by name; of the user's modules, what
    it reads there."""
    visible = vars(builtins) | function.__globals__
    read = {}
    for code in _codes(function.__code__):
        steps = [(step.opname, step.argval) for step in dis.get_instructions(code)]
        steps = [step for step in steps if step[0] != "EXTENDED_ARG"]
        for place, (operation, name) in enumerate(steps):
            if operation == "IMPORT_NAME" and not is_installed(name):
                raise Unhashable("", f"imports {name!r} while it runs; import it at the top of its file")
            if operation not in _LOAD_GLOBAL or name not in visible:
                continue
            value = visible[name]
            for following, attribute in steps[place + 1 :]:
                if following not in _LOAD_ATTRIBUTE or not _is_own(value) or not hasattr(value, attribute):
                    break
                name, value = f"{name}.{attribute}", getattr(value, attribute)
            if any(value is reader for reader in _READERS):
                raise Unhashable("", f"calls {name}, whose result depends on more than the function holds")
            read[name] = value
    return dict(sorted(read.items()))


def _is_own(value: object) -> bool:
    """Whether it is a module of the user's."""
    return isinstance(value, types.ModuleType) and not is_installed(value.__name__)


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    """A code object and those of the functions and classes that are made in it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _codes(constant)


def _code(code: types.CodeType) -> Content:
    names = (code.co_names, code.co_varnames, code.co_cellvars, code.co_freevars)
    counts = (
        code.co_argcount,
        code.co_posonlyargcount,
        code.co_kwonlyargcount,
        code.co_flags & ~inspect.CO_NESTED,
    )
    kinds = tuple(type(constant).__name__ for constant in code.co_consts)
    constants = [
        # Of the set in ``x in {"a", "b"}``, order does not count.
        tuple(sorted(marshal.dumps(item, 2) for item in each)) if isinstance(each, frozenset) else each
        for each in code.co_consts
    ]
    return ("code", code.co_code, names, counts, kinds, code.co_exceptiontable), [("", c) for c in constants]


def _named(value: Any) -> tuple[str | None, ...] | None:
    """The name by which an installed package has a class, a function or the like; None if it has none."""
    module = getattr(value, "__module__", None) or type(value).__module__
    name = getattr(value, "__qualname__", None) or getattr(value, "__name__", None)
    if not isinstance(module, str) or not isinstance(name, str) or not is_installed(module):
        return None
    found: object = sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    return ("named", module, name, _version(module)) if found is value else None


def _version(module: str) -> str | None:
    """The version of an installed package that reads examples: another one may read otherwise."""
    top = module.partition(".")[0]
    if top in ("arrows", "numpy"):  # other versions of these still give the same values
        return None
    return str(getattr(sys.modules.get(top), "__version__", None))


_LIBRARY = (str(Path(os.__file__).parent), "frozen")
_FOLDERS = {"site-packages", "dist-packages"}


@functools.cache
def is_installed(module: str | None) -> bool:
    """Whether a module belongs to Python, to this package or to another installed one.

    >>> is_installed("json.decoder"), is_installed("numpy"), is_installed("__main__")
    (True, True, False)
    """
    name = module or ""
    top = name.partition(".")[0]
    if top == "arrows" or name in sys.builtin_module_names:
        return True
    if not top or top == "__main__":
        return False
    loaded = sys.modules.get(name)
    if loaded is None and top not in sys.modules:
        file = getattr(importlib.util.find_spec(top), "origin", None)
    else:
        file = getattr(loaded, "__file__", None)
    if file is None:  # some of Python's own have none; nor have notebooks
        return top in sys.stdlib_module_names
    return not _FOLDERS.isdisjoint(Path(file).parts) or str(file).startswith(_LIBRARY)


# ------------------------------------------------------------------------------------------------ tables

_WORD = struct.calcsize("P")
_MADE_IN_C = 1 << 8  # a type that nobody can change: Py_TPFLAGS_IMMUTABLETYPE
_METHODS = (types.FunctionType, staticmethod, classmethod, property)
_OF_MEMBERS = {"_value_", "_name_", "__objclass__", "_sort_order_"}
_OF_PANDAS = {"Timestamp", "Timedelta", "Period", "NaTType", "NAType"}
_OPTIONS = ("default_factory", "init", "repr", "hash", "compare", "kw_only", "metadata")  # of a field
_LOAD_GLOBAL = {"LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS"}
_LOAD_ATTRIBUTE = {"LOAD_ATTR", "LOAD_METHOD"}
_DISPATCH: types.CodeType = getattr(functools.singledispatch(len), "__code__")  # noqa: B009 (mypy knows none)
_READERS = (eval, exec, compile, globals, open, input, __import__, hash, id)
# What a class has beside what it does.
_INERT = frozenset(
    {"__module__", "__qualname__", "__dict__", "__weakref__", "__slotnames__", "_abc_impl"}
    | {"__annotations__", "__annotate__", "__annotate_func__", "__annotations_cache__", "__type_params__"}
    | {"__static_attributes__", "__firstlineno__", "__orig_bases__", "__parameters__", "__abstractmethods__"}
    | {"__protocol_attrs__", "__non_callable_proto_members__"}
)

# Of the classes in C that others extend: their value without attributes, whatever methods a subclass has, or
# where it is.
_VALUE_OF: dict[type, Callable[[Any], object] | tuple[str, ...]] = {
    object: lambda value: None,
    list: lambda value: list(list.__iter__(value)),
    tuple: lambda value: tuple(tuple.__iter__(value)),
    dict: lambda value: dict(dict.items(value)),
    OrderedDict: lambda value: list(OrderedDict.items(value)),
    defaultdict: lambda value: (value.default_factory, dict(dict.items(value))),
    deque: lambda value: (value.maxlen, list(deque.__iter__(value))),
    str: lambda value: str.__getitem__(value, slice(None)),
    bytes: lambda value: bytes.__getitem__(value, slice(None)),
    bytearray: lambda value: bytes(memoryview(value)),
    int: int.__int__,
    float: float.__float__,
    complex: complex.__complex__,
    dt.date: lambda value: dt.date.__reduce__(value)[1],
    dt.datetime: lambda value: dt.datetime.__reduce_ex__(value, 4)[1],
    dt.time: lambda value: dt.time.__reduce_ex__(value, 4)[1],
    dt.timedelta: lambda value: dt.timedelta.__reduce__(value)[1],
    dt.timezone: lambda value: value.__getinitargs__(),
    ZoneInfo: lambda value: ZoneInfo.__reduce__(value)[1],
    Decimal: lambda value: tuple(Decimal.as_tuple(value)),
    range: ("start", "stop", "step"),
    slice: ("start", "stop", "step"),
    re.Pattern: ("pattern", "flags"),
    functools.partial: ("func", "args", "keywords"),
    types.MethodType: ("__func__", "__self__"),
    property: ("fget", "fset", "fdel"),
    staticmethod: ("__func__",),
    classmethod: ("__func__",),
    types.SimpleNamespace: lambda value: None,
    type(functools.lru_cache(len)): lambda value: None,  # the function is an attribute
    **{
        getter: lambda value: value.__reduce__()[1:]
        for getter in (operator.itemgetter, operator.attrgetter, operator.methodcaller)
    },
    type(vars(DecimalTuple)["sign"]): lambda value: value.__reduce__()[1],  # a field of a NamedTuple
    np.ndarray: lambda value: value.view(np.ndarray),
}
_BY_KIND: dict[type, Callable[[Any], Content]] = {
    type(NotImplemented): lambda value: (("NotImplemented",), []),
    set: _set,
    frozenset: _set,
    np.ndarray: _array,
    types.FunctionType: _function,
    types.CodeType: _code,
    types.ModuleType: _module,
    **dict.fromkeys(
        (
            types.BuiltinFunctionType,
            type(re.compile("").match),
            types.MethodDescriptorType,
            types.WrapperDescriptorType,
            types.MethodWrapperType,
            types.ClassMethodDescriptorType,
            types.GetSetDescriptorType,
            types.MemberDescriptorType,
        ),
        _method_in_c,
    ),
    functools.cached_property: lambda value: (("cached_property",), [(".func", value.func)]),
    types.MappingProxyType: lambda value: (("mappingproxy",), [("", gc.get_referents(value)[0])]),
    types.GenericAlias: lambda value: (("alias",), [("", value.__origin__), ("", value.__args__)]),
    types.UnionType: lambda value: (("union",), [("", value.__args__)]),
}
# These may be one object or several without a difference.
_IMMUTABLE = {types.CodeType, types.BuiltinFunctionType, types.MethodType, range, slice, Decimal} | {
    dt.date,
    dt.datetime,
    dt.time,
    dt.timedelta,
    dt.timezone,
    ZoneInfo,
}
