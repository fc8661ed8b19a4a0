"""What a schedule is made of, so that a run does not go on with another one unseen."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from functools import partial
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, MethodWrapperType, ModuleType
from typing import Any

import numpy as np

from arrows.typesys.errors import ArrowValueError

_METHODS = (MethodType, BuiltinFunctionType, MethodWrapperType)


def functions_in(schedule: Any) -> Iterator[str]:
    """The functions that a schedule is made of, each by its name and a hash of what it says and holds.

    A function holds what it closes over, its defaults, and what it reads of its module. An object whose class
    has a `repr` of its own, as a dataclass has, tells by it what it is.

    Raises:
        ArrowValueError: an object that says nothing of itself.

    >>> [(name[:8], len(name)) for name in functions_in(lambda steps: 0.1)]
    [('<lambda>', 25)]
    """
    if isinstance(schedule, (FunctionType, partial, *_METHODS)):
        said = "\n".join(_told(schedule, set()))
        name = getattr(schedule, "__name__", type(schedule).__name__)
        yield f"{name} {hashlib.sha256(said.encode()).hexdigest()[:16]}"
    elif is_dataclass(schedule) and not isinstance(schedule, type):
        for field in fields(schedule):
            value = getattr(schedule, field.name)
            if callable(value):
                yield from functions_in(value)
    elif _is_silent(schedule):
        raise _cannot_tell(schedule)


def _told(value: Any, seen: set[int]) -> Iterator[str]:
    """A value that a schedule holds, in texts that are the same in every process."""
    if id(value) in seen:  # a function that calls itself, a list that holds itself
        return
    inside = seen | {id(value)}
    if isinstance(value, FunctionType):
        yield value.__qualname__
        yield from _said(value.__code__)
        yield from _held(value, inside)
    elif isinstance(value, _METHODS):
        yield value.__name__
        if isinstance(value, MethodType):
            yield from _told(value.__func__, inside)
        if not isinstance(value.__self__, ModuleType):
            yield from _told(value.__self__, inside)
    elif isinstance(value, partial):
        for part in (value.func, value.args, value.keywords):
            yield from _told(part, inside)
    elif isinstance(value, (ModuleType, type)):
        yield value.__name__
    elif isinstance(value, np.ndarray):
        yield f"{value.dtype}{list(value.shape)} {hashlib.sha256(value.tobytes()).hexdigest()[:16]}"
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from _told((key, item), inside)
        yield f"{len(value)}"
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _told(item, inside)
        yield f"{type(value).__name__} {len(value)}"
    elif isinstance(value, (set, frozenset)):
        yield from sorted(text for item in value for text in _told(item, inside))
    elif _is_silent(value):
        raise _cannot_tell(value)
    else:
        if is_dataclass(value) and callable(value):
            yield from functions_in(value)
        yield repr(value)


def _held(function: FunctionType, seen: set[int]) -> Iterator[str]:
    for cell in function.__closure__ or ():
        try:
            value = cell.cell_contents
        except ValueError:  # a name that is not bound yet
            continue
        yield from _told(value, seen)
    yield from _told((function.__defaults__, function.__kwdefaults__), seen)
    for name in sorted(set(_names(function.__code__)) & function.__globals__.keys()):
        yield name
        yield from _told(function.__globals__[name], seen)


def _said(code: CodeType) -> Iterator[str]:
    """What a function says: its instructions, and the names and constants in them."""
    yield f"{code.co_code.hex()} {code.co_names}"
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _said(constant)
        elif isinstance(constant, frozenset):  # whose order differs from process to process
            yield f"{sorted(map(repr, constant))}"
        else:
            yield repr(constant)


def _names(code: CodeType) -> Iterator[str]:
    """The names that a function reads, of its module and of other things."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


def _is_silent(value: Any) -> bool:
    return not any("__repr__" in vars(base) for base in type(value).__mro__[:-1])


def _cannot_tell(value: Any) -> ArrowValueError:
    kind = type(value).__name__
    return ArrowValueError(
        f"a schedule holds {value!r}, which cannot be told from others of its class when a run goes on: make "
        f"{kind} a dataclass, or give it a __repr__ that says all its numbers"
    )
