"""Detects random numbers drawn while a function is traced: they would be drawn once and frozen in the trace.

What proves that a function draws is that it gives other numbers when it is traced again. It is traced again
where the state of a global generator has moved, NumPy's or that of `random`, or where its code names what may
give other numbers each time. Neither proves anything alone, since other threads draw from the global
generators too; so a pure function is never refused.

What it does not see: a generator of the user's own behind names that do not tell it; clocks and counters.
"""

from __future__ import annotations

import ctypes
import pickle
import random
import re
from _random import Random as Mersenne
from collections.abc import Iterator
from types import CodeType

import numpy as np

from arrows.typesys import SourceLine, is_inside

_SOURCE = re.compile(
    "random|^rand|rng|generator|integers|choice|shuffle|permut|^next$|uuid|secrets", re.IGNORECASE
)  # not `normal` and `uniform`, as operations are called
_NUMPY_BYTES = 624 * 4 + 4  # the key of NumPy's generator, and the position in it
_HEAD = object.__basicsize__


def global_states() -> tuple[object, ...]:
    """The states of the generators that all of a process shares: NumPy's, and Python's.

    They are read from memory: through their methods that takes 80 us and 17 us, and a trace 150 us.  Both
    draw normal numbers in pairs: NumPy's object keeps the second one within itself, Python's as an attribute.
    """
    generator = np.random.mtrand.get_bit_generator()
    if type(generator) is np.random.MT19937:
        state = ctypes.string_at(generator.ctypes.state_address, _NUMPY_BYTES)
    else:
        state = pickle.dumps(generator.state)
    numpy, python = np.random.random.__self__, random.random.__self__  # type: ignore[attr-defined]
    return state, _memory(numpy, np.random.RandomState), _memory(python, Mersenne), python.gauss_next


def _memory(generator: object, kind: type) -> bytes:
    """What an object holds of the fields of this class."""
    return ctypes.string_at(id(generator) + _HEAD, kind.__basicsize__ - _HEAD)


def names_a_source(function: object) -> bool:
    """Whether a function's code has a name of what may give other numbers each time.

    >>> names_a_source(lambda x: x + np.random.default_rng().normal()), names_a_source(lambda x: x + 1)
    (True, False)
    """
    code = _own_code(function)
    return code is not None and any(map(_SOURCE.search, _names(code)))


def where_defined(function: object) -> str:
    """``name (file:line)`` of the code that the user wrote.

    >>> where_defined(len)
    'len'
    """
    code = _own_code(function)
    if code is None:
        return str(getattr(function, "__name__", None) or repr(function))
    name = code.co_qualname.rpartition("<locals>.")[2]
    return f"{name} ({SourceLine(code.co_filename, code.co_firstlineno)})"


def _own_code(function: object) -> CodeType | None:
    """The code of a function, or of the `forward` of a layer whose method of the library is called."""
    function = getattr(function, "func", function)  # that of a `functools.partial`
    called = getattr(type(function), "__call__", None)  # noqa: B004  of an object that may be called
    code: CodeType | None = getattr(function, "__code__", None) or getattr(called, "__code__", None)
    if code is not None and is_inside(code.co_filename):
        owner = type(getattr(function, "__self__", None))
        code = getattr(getattr(owner, "forward", None), "__code__", None)
    return None if code is None or is_inside(code.co_filename) else code


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    yield from code.co_freevars
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)
