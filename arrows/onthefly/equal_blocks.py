"""Finds out which blocks do the same, so that a block which a loop makes anew at each turn is one call site.

Two blocks do the same if they are of one class and their arguments are equal.  A layer inside is equal to
itself alone, since another one has parameters of its own.  A function is equal to one of the same code if
what it can read is equal as well: what it closes over, its defaults, and the globals that its code names.

* A function of tensors is traced once, so what it reads is compared by content.  Where the content cannot be
  told, as that of an object of the user's class, of the class, or of a module, its block is equal to itself
  alone.
* A function of Python objects, such as an `InputTransform`'s, runs on every example, and what it reads may
  change in between: its block is equal to itself alone.
"""

from __future__ import annotations

import dis
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache, partial
from types import (
    BuiltinFunctionType,
    CodeType,
    FunctionType,
    MethodType,
    ModuleType,
    NoneType,
)
from typing import Any

import numpy as np

from arrows import combinators as core
from arrows.typesys import types as T
from arrows.typesys.errors import is_inside

_MOST = 10_000  # parts; a block of more is compared by identity
_PLAIN = {NoneType, bool, int, str, bytes, type(Ellipsis)}
_CONSTANT_MODULES = {"arrows", "builtins", "numpy", "math", "cmath", "operator", "functools", "itertools"}
_READ_ANYTHING = {"eval", "exec", "globals", "__import__"}  # functions that reach what no name tells
_LOADS_OF_GLOBALS = {"LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS"}
_NO_ARGUMENTS = {"site", "_sealed", "_spelling"}  # attributes of every block


@dataclass(frozen=True, slots=True)
class Content:
    """What a block computes, apart from the line that made it.

    Attributes:
        key: equal for blocks that do the same.
        held: objects whose addresses are in the key: who keeps the key must keep these.
        themselves: the addresses of those that are equal to themselves alone.
    """

    key: tuple[Any, ...]
    held: list[object]
    themselves: set[int]


def content_of(block: object) -> Content | None:
    """The content of a block; None if only the block itself is sure to do the same.

    >>> import arrows as ar
    >>> def keys(*blocks):
    ...     return len({content_of(block).key for block in blocks})
    >>> keys(ar.Sum(), ar.Sum()), keys(ar.Concat(0), ar.Concat(1)), keys(ar.Map(ar.Sum()), ar.Map(ar.Sum()))
    (1, 2, 1)
    >>> def times(factor):
    ...     return ar.Function(lambda x: factor * x)
    >>> keys(times(2), times(2)), keys(times(2), times(3))
    (1, 2)
    """
    if not _is_constant(block.__class__):
        return None  # what its methods read may change
    if isinstance(block, core.Apply) and block.token is None:
        # Most blocks that a loop makes are reductions and losses of plain arguments: 2 us here, 10 below.
        key: list[Any] = [block.__class__]
        for name, value in vars(block).items():
            kind = value.__class__
            if kind in _PLAIN or (kind is tuple and not value):
                key += (name, kind, value)
            elif kind is float:
                key += (name, repr(value))  # 0.0 equals -0.0, but has other results
            elif name not in _NO_ARGUMENTS:
                break
        else:
            return Content(tuple(key), [], set())
    reader = _Reader(block)
    try:
        while reader.todo:
            reader.read(*reader.todo.pop())
    except _Unknown:
        return None
    return Content(tuple(reader.parts), reader.held, reader.themselves)


class _Unknown(Exception):
    """The content of an object cannot be told."""


class _Reader:
    """Reads what is inside of a block, depth first.

    Attributes:
        parts: the key so far.
        held: the objects whose addresses are in it.
        themselves: the addresses of objects that are equal to themselves alone.
        todo: what is still to read, and whether it is read on every example.
    """

    def __init__(self, block: object) -> None:
        self.parts: list[Any] = []
        self.held: list[object] = []
        self.themselves: set[int] = set()
        self.todo: list[tuple[Any, bool]] = [(block, False)]
        self._whole = block
        self._numbers: dict[int, int] = {}

    def read(self, x: Any, live: bool) -> None:
        """Adds an object to the key; what is inside of it comes next.

        Raises:
            _Unknown: the content of the object cannot be told, or there is too much.
        """
        kind = x.__class__
        if kind in _PLAIN:
            self.parts += (kind, x)
        elif kind is float or kind is complex:
            self.parts += (kind, repr(x))  # 0.0 equals -0.0, but has other results
        elif id(x) in self._numbers:
            self.parts += ("again", self._numbers[id(x)])
        elif len(self.parts) > _MOST:
            raise _Unknown
        else:
            self._numbers[id(x)] = len(self._numbers)
            self.held.append(x)  # so that nothing else gets its address
            self._read_inside(x, kind, live)

    def _read_inside(self, x: Any, kind: type, live: bool) -> None:
        if isinstance(x, core.Block):
            if x is not self._whole and (x.token is not None or isinstance(x, core.Layer)):
                self._itself(x)
            elif x.token is not None:
                raise _Unknown
            else:
                self._attributes(x, live=not isinstance(x, core.Apply))
        elif kind is tuple or kind is list:
            self._add((kind, len(x)), x, live)
        elif kind is dict:
            self._add((kind, len(x)), [part for pair in x.items() for part in pair], live)
        elif isinstance(x, T.Type):
            self.parts += (kind, repr(x))
        elif kind is partial and not live:
            self._add(kind, (x.func, x.args, x.keywords), live)
        elif (
            kind is FunctionType and is_inside(x.__code__.co_filename) and not x.__closure__
        ) or _is_constant(x):
            self._itself(x)
        elif live:
            raise _Unknown  # what runs on every example may read what changes
        elif kind is FunctionType:
            self._function(x)
        elif isinstance(x, type):
            raise _Unknown  # what its attributes are, and those of its bases, may change
        elif kind is MethodType:
            self._add(kind, (x.__func__, x.__self__), live=False)
        elif (kind is np.ndarray or isinstance(x, np.generic)) and not x.dtype.hasobject:
            self.parts += (kind, x.dtype, x.shape, x.tobytes())
        elif is_inside(getattr(sys.modules.get(kind.__module__), "__file__", None) or "") and hasattr(
            x, "__dict__"
        ):
            self._attributes(x, live=False)
        else:
            raise _Unknown

    def _itself(self, x: object) -> None:
        self.parts.append(id(x))
        self.themselves.add(id(x))

    def _add(self, part: object, inside: Iterable[Any], live: bool) -> None:
        self.parts.append(part)
        self.todo += [(each, live) for each in inside]

    def _attributes(self, x: object, live: bool) -> None:
        values = {name: value for name, value in vars(x).items() if name not in _NO_ARGUMENTS}
        self.held.append(x.__class__)
        self._add((id(x.__class__), *values), values.values(), live)

    def _function(self, function: FunctionType) -> None:
        code, defaults = function.__code__, function.__defaults__ or ()
        try:
            closed = [cell.cell_contents for cell in function.__closure__ or ()]
        except ValueError as empty:
            raise _Unknown from empty
        found = function.__globals__
        named = {name: found[name] for name in _names_in(code) if name in found}
        reads = [*closed, *defaults, function.__kwdefaults__, function.__dict__ or None]
        self.held.append(code)
        self._add((FunctionType, id(code), len(defaults), *named), [*reads, *named.values()], live=False)


def _is_ours(x: object) -> bool:
    """Whether an object is a function of the package that closes over nothing."""
    return isinstance(x, FunctionType) and is_inside(x.__code__.co_filename) and not x.__closure__


def _is_constant(x: object) -> bool:
    """Whether an object is a module, a class or a function of C that nobody changes."""
    if isinstance(x, ModuleType):
        return x.__name__.partition(".")[0] in _CONSTANT_MODULES
    if isinstance(x, type):
        return x.__module__.partition(".")[0] in _CONSTANT_MODULES
    if isinstance(x, BuiltinFunctionType):
        return isinstance(x.__self__, (ModuleType, NoneType))
    return isinstance(x, np.ufunc)


@lru_cache(maxsize=4096)
def _names_in(code: CodeType) -> tuple[str, ...]:
    """The global variables that a function and those inside of it name.

    >>> _names_in((lambda x: settings.sizes.hidden * scale(x.T)).__code__)
    ('settings', 'scale')

    Raises:
        _Unknown: it can read anything.
    """
    names: dict[str, None] = {}
    todo = [code]
    while todo:
        code = todo.pop()
        for instruction in dis.get_instructions(code):
            if instruction.opname == "IMPORT_NAME" or instruction.argval in _READ_ANYTHING:
                raise _Unknown
            if instruction.opname in _LOADS_OF_GLOBALS:
                names[instruction.argval] = None
        todo += [each for each in code.co_consts if isinstance(each, CodeType)]
    return tuple(names)
