"""Which field of an object a function reads: what tells `lambda r: r.price` from `lambda r: r.name`."""

from __future__ import annotations

import dis
import operator
from types import FunctionType
from typing import Any, ClassVar

# What reading a field, and nothing else, is compiled to; nothing here runs code of the user's, or branches.
_READING = {
    "BINARY_OP",
    "BINARY_SUBSCR",
    "CACHE",
    "COPY_FREE_VARS",
    "LOAD_ATTR",
    "LOAD_CONST",
    "LOAD_DEREF",
    "LOAD_FAST",
    "LOAD_FAST_BORROW",
    "LOAD_FAST_BORROW_LOAD_FAST_BORROW",
    "LOAD_FAST_LOAD_FAST",
    "LOAD_SMALL_INT",
    "NOP",
    "RESUME",
    "RETURN_VALUE",
}


def fields_of(function: object) -> tuple[Any, ...]:
    """The attributes and keys that a function goes through from its argument to its result.

    A function that does anything else, such as to call something, is not run, and has none.

    >>> fields_of(lambda r: r.customer.names[0]), fields_of(operator.attrgetter("customer.name"))
    (('customer', 'names', 0), ('customer', 'name'))
    >>> fields_of(lambda r: r.name.lower()), fields_of(lambda r: r.a or r.b), fields_of(len)
    ((), (), ())
    """
    if isinstance(function, FunctionType):
        code = function.__code__
        required = code.co_argcount - len(function.__defaults__ or ())
        if required > 1 or any(step.opname not in _READING for step in dis.get_instructions(code)):
            return ()
    elif not isinstance(function, (operator.attrgetter, operator.itemgetter)):
        return ()
    try:
        result = function(_FieldProbe(()))
    except Exception:  # noqa: BLE001 (it does something with what it reads)
        return ()
    return object.__getattribute__(result, "_keys") if type(result) is _FieldProbe else ()


class _FieldProbe:
    """Stands for the argument, and remembers which attributes and keys led to it."""

    __iter__: ClassVar[Any] = None  # else it would be iterated by index, without end
    __hash__: ClassVar[Any] = None  # else it could become a key of the user's own tables

    def __init__(self, keys: tuple[Any, ...]) -> None:
        self._keys = keys

    def __getattribute__(self, name: str) -> _FieldProbe:
        return _FieldProbe((*object.__getattribute__(self, "_keys"), name))

    def __getitem__(self, key: object) -> _FieldProbe:
        return _FieldProbe((*object.__getattribute__(self, "_keys"), key))
