"""Splits an object into what it is without its parts and its parts; finds what a function reads."""

from __future__ import annotations

import builtins
import copyreg
import dis
import functools
import hashlib
import importlib
import importlib.util
import inspect
import os
import sys
import threading
import types
import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from arrows.typesys import SourceLine

Parts = list[tuple[str, object]]

# These count as empty: weak references lead to caches or to others' objects, and a lock has no content.
_EMPTY = (
    type(threading.Lock()),
    type(threading.RLock()),
    weakref.ref,
    weakref.ProxyType,
    weakref.CallableProxyType,
    weakref.WeakKeyDictionary,
    weakref.WeakValueDictionary,
    weakref.WeakSet,
)


class Unhashable(TypeError):
    """The content of an object cannot be hashed.

    Attributes:
        path: the names that lead to it.
        reason: why not.
    """

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(reason)
        self.path, self.reason = path, reason


@dataclass(frozen=True, slots=True)
class ObjectContent:
    """What is hashed of an object.

    Attributes:
        head: what it is by itself.
        parts: what it holds, by what that is called in messages.
        ordered: whether the order of the parts counts.
    """

    head: bytes
    parts: Sequence[tuple[str, object]]
    ordered: bool = True


def content_of(value: object) -> ObjectContent:
    """The content of an object that is no number, text or container of Python's own.

    Functions count by their code and by what it reads: defaults, closures, globals, what modules hold; those
    of installed packages by their code, defaults and closures alone. Classes count by their functions and
    values, those of installed packages by their name. Dicts and sets count as `==` does, without their order.
    All else counts by what `pickle` would keep of it.

    Raises:
        Unhashable: `pickle` would not keep it.
    """
    kind = type(value)
    if kind in _BY_KIND:
        return _BY_KIND[kind](value)
    if isinstance(value, type):
        return _class(value)
    if isinstance(value, _EMPTY) or kind is object or kind is SourceLine:
        return ObjectContent(_name_of(kind), [])
    if isinstance(value, (staticmethod, classmethod)):
        return ObjectContent(_name_of(kind), [("", value.__func__)])
    if isinstance(value, property):
        return ObjectContent(
            b"property", [(".fget", value.fget), (".fset", value.fset), (".fdel", value.fdel)]
        )
    if isinstance(value, functools.cached_property):
        return ObjectContent(b"cached_property", [(".func", value.func)])
    if isinstance(value, np.ma.MaskedArray):
        return ObjectContent(b"masked", [("", np.ma.getdata(value)), ("", np.ma.getmaskarray(value))])
    if isinstance(value, np.generic) and not value.dtype.hasobject:
        return ObjectContent(b"scalar " + repr(value.dtype).encode() + value.tobytes(), [])
    return _reduced(value)


def _name_of(named: object) -> bytes:
    module, name = getattr(named, "__module__", None), getattr(named, "__qualname__", None)
    name = name or getattr(named, "__name__", type(named).__qualname__)
    return f"{module}.{name}".encode("utf-8", "surrogatepass")


def _method(value: types.MethodType) -> ObjectContent:
    return ObjectContent(b"method", [(".__func__", value.__func__), (".__self__", value.__self__)])


def _named(value: object) -> ObjectContent:
    """Describes an extension's function by its name and the object that it is bound to."""
    owner = getattr(value, "__self__", None)
    if owner is None or isinstance(owner, types.ModuleType):
        return ObjectContent(_name_of(value), [])
    return ObjectContent(_name_of(value), [(".__self__", owner)])


def _array(value: np.ndarray) -> ObjectContent:
    head = f"array {value.dtype if value.dtype.names else value.dtype.str} {value.shape}".encode()
    if value.dtype.hasobject:
        return ObjectContent(head, [("", value.tolist())])
    rows = np.ascontiguousarray(value)
    try:
        numbers: Any = rows.data.cast("B")  # no copy
    except (TypeError, ValueError):  # dates, arrays without elements
        numbers = rows.tobytes()
    return ObjectContent(head, [("", hashlib.sha256(numbers).digest())])


def _reduced(value: object) -> ObjectContent:
    """Describes an object by what `pickle` would keep of it.

    If a user's class chooses what to pickle, all attributes count, since functions may read the others too.
    """
    kind = type(value)
    reduced: Any
    reduce = copyreg.dispatch_table.get(kind)
    try:
        if not is_installed(kind.__module__) and any(_states(base) for base in kind.__mro__):
            return ObjectContent(
                b"object", [("", kind), *_built_in(value), *_state(object.__getstate__(value))]
            )
        reduced = reduce(value) if reduce is not None else value.__reduce_ex__(4)
    except Exception as error:
        name = f"{kind.__module__}.{kind.__qualname__}".removeprefix("builtins.")
        raise Unhashable("", f"is a {name}, whose content cannot be told") from error
    if isinstance(reduced, str):  # the name of a global: a ufunc, the wrapper of a cache
        attributes = _attributes(getattr(value, "__dict__", {}))
        return ObjectContent(_name_of(value) + b" " + reduced.encode(), attributes)
    function, arguments, state, items, pairs = (*reduced, None, None, None)[:5]
    parts: Parts = [("", function), ("", arguments)]
    parts += _state(state)
    parts.append(("", None if items is None else list(items)))
    if pairs is not None:
        listed = list(pairs)
        parts.append(("", listed if isinstance(value, OrderedDict) else dict(listed)))
    return ObjectContent(b"reduced", parts)


def _states(kind: type) -> bool:
    """Whether a class is a user's and chooses what `pickle` keeps."""
    methods = {"__getstate__", "__reduce__", "__reduce_ex__"} & vars(kind).keys()
    return bool(methods) and not is_installed(kind.__module__)


def _built_in(value: object) -> Parts:
    """Returns the built-in value of an object whose class extends a built-in one."""
    if isinstance(value, dict):
        return [("", dict(dict.items(value)))]
    if isinstance(value, (list, tuple, bytes, str)):
        base: Any = next(base for base in (list, tuple, bytes, str) if isinstance(value, base))
        return [("", base.__getitem__(value, slice(None)))]
    if isinstance(value, (set, frozenset)):
        return [("", frozenset(value))]
    if isinstance(value, (int, float)):
        return [("", int.__int__(value) if isinstance(value, int) else float.__float__(value))]
    return []


def _state(state: object) -> Parts:
    """Returns what `pickle` keeps beside the class: the attributes and the slots."""
    if isinstance(state, tuple) and len(state) == 2 and all(isinstance(s, (dict, type(None))) for s in state):
        return [*_attributes(state[0]), ("", len(state[0] or ())), *_attributes(state[1])]
    return _attributes(state) if type(state) is dict else [("", state)]


def _attributes(state: Mapping[str, object] | None) -> Parts:
    parts: Parts = []
    for name, value in sorted((state or {}).items(), key=lambda item: str(item[0])):
        parts += [("", name), (f".{name}", value)]
    return parts


_LIBRARY = (str(Path(os.__file__).parent), "frozen")
_FOLDERS = {"site-packages", "dist-packages"}


@functools.cache
def is_installed(module: str | None) -> bool:
    """Whether a module belongs to Python, to this package or to another installed one.

    >>> is_installed("json.decoder"), is_installed("numpy")
    (True, True)
    """
    name = module or ""
    top = name.partition(".")[0]
    if top == "arrows" or name in sys.builtin_module_names:
        return True
    loaded = sys.modules.get(name)
    if loaded is None and top and top not in sys.modules:
        file = getattr(importlib.util.find_spec(top), "origin", None)
    else:
        file = getattr(loaded, "__file__", None)
    if file is None:  # some of Python's own have none; nor have notebooks
        return top in sys.stdlib_module_names
    return str(file).startswith(_LIBRARY) or not _FOLDERS.isdisjoint(Path(file).parts)


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    """A code object and those of the functions and classes that are made in it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _codes(constant)


_KINDS_OF_CODE = (
    inspect.CO_VARARGS | inspect.CO_VARKEYWORDS | inspect.CO_GENERATOR | inspect.CO_COROUTINE
) | inspect.CO_ASYNC_GENERATOR


def _code(code: types.CodeType) -> ObjectContent:
    kind = code.co_flags & _KINDS_OF_CODE
    counts = (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, kind)
    parts = (code.co_code, code.co_names, counts, code.co_exceptiontable, code.co_consts)
    return ObjectContent(b"code", [("", part) for part in parts])


def _function(function: types.FunctionType) -> ObjectContent:
    parts: Parts = [
        ("", function.__code__),
        (".__defaults__", function.__defaults__),
        (".__kwdefaults__", function.__kwdefaults__),
    ]
    parts += _closure(function)
    parts += _attributes({name: value for name, value in vars(function).items() if name != "__wrapped__"})
    if not is_installed(function.__module__):
        for name, value in _read(function):
            parts += [("", name), (f" > {name}", value)]
    return ObjectContent(b"function", parts)


def _closure(function: types.FunctionType) -> Parts:
    """What a function's closure holds, by name."""
    parts: Parts = []
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            parts.append((f" > {name}", cell.cell_contents))
        except ValueError:  # the variable is not bound yet
            parts.append(("", "no value"))
    return parts


def _read(function: types.FunctionType) -> Iterator[tuple[str, object]]:
    """The globals that a function's code reads, and what it may read of the user's modules among them."""
    names: set[str] = set()
    imported: dict[str, object] = {}
    attributes: set[str] = set()
    for code in _codes(function.__code__):
        instructions = list(dis.get_instructions(code))
        attributes.update(code.co_names)
        for place, instruction in enumerate(instructions):
            if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS"):
                names.add(instruction.argval)
            elif instruction.opname == "IMPORT_NAME":
                level = instructions[place - 2].argval if place >= 2 else 0
                imported[f"import {instruction.argval}"] = _imported(function, instruction.argval, level)
    visible = vars(builtins) | function.__globals__
    values: Parts = [(name, visible.get(name, "no value")) for name in sorted(names)]
    values += sorted(imported.items())
    yield from values
    held = [*(value for _, value in values), *(function.__defaults__ or ())]
    held += [value for _, value in _closure(function)]
    yield from _of_modules([value for value in held if isinstance(value, types.ModuleType)], attributes)


def _of_modules(modules: Iterable[types.ModuleType], names: set[str]) -> Iterator[tuple[str, object]]:
    """What the user's modules, and the user's modules that these hold, have under some names."""
    pending, seen = list(modules), set()
    while pending:
        module = pending.pop()
        if module.__name__ in seen or is_installed(module.__name__):
            continue
        seen.add(module.__name__)
        for name in sorted(names & vars(module).keys()):
            value = vars(module)[name]
            if isinstance(value, types.ModuleType):
                pending.append(value)
            yield f"{module.__name__}.{name}", value


def _imported(function: types.FunctionType, name: str, level: object) -> types.ModuleType:
    """What an import inside a function gives: the module, which is imported if it is the user's."""
    package = function.__globals__.get("__package__") or ""
    try:
        full = importlib.util.resolve_name("." * level + name, package) if isinstance(level, int) else name
        if is_installed(full):
            return types.ModuleType(full)
        return importlib.import_module(full)
    except Exception as error:
        raise Unhashable("", f"imports {name!r}, which fails") from error


def _class(kind: type) -> ObjectContent:
    if is_installed(kind.__module__):
        return ObjectContent(b"class " + _name_of(kind), [])
    parts: Parts = [("", kind.__bases__), ("", type(kind))]
    for name, value in sorted(vars(kind).items()):
        special = name.startswith("__") and name.endswith("__")
        if special and not isinstance(value, (types.FunctionType, staticmethod, classmethod)):
            continue
        if name.startswith("_abc_"):
            continue
        parts += [("", name), (f".{name}", value)]
    return ObjectContent(b"class " + kind.__qualname__.encode("utf-8", "surrogatepass"), parts)


_BY_KIND: dict[type, Callable[[Any], ObjectContent]] = {
    types.FunctionType: _function,
    types.MethodType: _method,
    types.CodeType: _code,
    types.ModuleType: lambda module: ObjectContent(b"module " + module.__name__.encode(), []),
    types.BuiltinFunctionType: _named,
    types.MethodDescriptorType: _named,
    types.WrapperDescriptorType: _named,
    types.MethodWrapperType: _named,
    types.ClassMethodDescriptorType: _named,
    types.GetSetDescriptorType: _named,
    types.MemberDescriptorType: _named,
    types.MappingProxyType: lambda proxy: ObjectContent(b"mappingproxy", [("", dict(proxy))]),
    type({}.keys()): lambda view: ObjectContent(b"keys", [("", dict(view.mapping))]),
    type({}.values()): lambda view: ObjectContent(b"values", [("", dict(view.mapping))]),
    type({}.items()): lambda view: ObjectContent(b"items", [("", dict(view.mapping))]),
    np.ndarray: _array,
}
