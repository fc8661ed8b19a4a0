"""Notices a function that draws random numbers while it is traced: they would be drawn once, and never again.

The states of the generators that the function can reach are compared before and after: NumPy's global one
always, those of `random`, of closures, globals, defaults and attributes where the function's code names them.
"""

from __future__ import annotations

import ctypes
import pickle
import random
from collections.abc import Callable, Iterator
from functools import partial
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

from arrows.typesys.errors import SourceLine, is_inside

_MOST = 1000  # objects that are looked at
_MOST_ITEMS = 100  # of one container
_NOT_THE_USERS = {"arrows", "builtins", "numpy", "abc", "typing"}
_MERSENNE_BYTES = 624 * 4 + 4  # the key and the place in it

State = Callable[[], Any]


class RandomStateWatch:
    """The states of random generators before a function is traced.

    Args:
        function: what will be traced.

    >>> watch = RandomStateWatch(lambda x: x * np.random.normal())
    >>> watch.drawn() is None, np.random.normal() is not None, watch.drawn()
    (True, True, "NumPy's global generator (np.random)")
    """

    def __init__(self, function: Any) -> None:
        self._states: dict[int, tuple[str, State, Any]] = {}
        quick = _global_numpy()
        self._states[0] = "NumPy's global generator (np.random)", quick, quick()
        for thing in _reached(function):
            named = _state_of(thing)
            if named is not None and id(thing) not in self._states:
                self._states[id(thing)] = (*named, named[1]())

    def drawn(self) -> str | None:
        """What has been drawn from since; None: nothing."""
        return next((name for name, state, before in self._states.values() if state() != before), None)


def where_defined(function: Any) -> str:
    """``name (file:line)`` of what a user wrote of a function: of a layer, its `forward`.

    >>> where_defined(len)
    'len'
    """
    owner = getattr(function, "__self__", None)
    code = getattr(function, "__code__", None)
    name = str(getattr(function, "__name__", None) or repr(function))
    if code is not None and is_inside(code.co_filename) and owner is not None:
        forward = getattr(type(owner), "forward", None)
        code, name = getattr(forward, "__code__", None), f"{type(owner).__name__}.forward"
    return name if code is None else f"{name} ({SourceLine(code.co_filename, code.co_firstlineno)})"


def _global_numpy() -> State:
    """The state of NumPy's global generator, as bytes where they can be had: the state itself takes 80 us."""
    generator = np.random.mtrand.get_bit_generator()
    if type(generator) is np.random.MT19937:
        return partial(ctypes.string_at, generator.ctypes.state_address, _MERSENNE_BYTES)
    return lambda: pickle.dumps(generator.state)


def _state_of(thing: Any) -> tuple[str, State] | None:
    """What a random generator is called, and how its state is read; None: it is none."""
    if isinstance(thing, np.random.Generator):
        return "a np.random.Generator", lambda: pickle.dumps(thing.bit_generator.state)
    if isinstance(thing, np.random.BitGenerator):
        return f"a np.random.{type(thing).__name__}", lambda: pickle.dumps(thing.state)
    if isinstance(thing, np.random.RandomState):
        shared = thing is getattr(np.random.normal, "__self__", None)
        name = "NumPy's global generator (np.random)" if shared else "a np.random.RandomState"
        return name, lambda: pickle.dumps(thing.get_state(legacy=False))
    if isinstance(thing, random.Random) and not isinstance(thing, random.SystemRandom):
        shared = thing is getattr(random.random, "__self__", None)
        return "Python's module random" if shared else "a random.Random", thing.getstate
    return None


def _reached(function: Any) -> Iterator[Any]:
    """What a function's code can read: closures, globals that it names, defaults, its object's attributes."""
    todo, seen = [function], set[int]()
    while todo and len(seen) < _MOST:
        thing = todo.pop()
        if id(thing) in seen or thing is None or isinstance(thing, (str, bytes, int, float, np.ndarray)):
            continue
        seen.add(id(thing))
        yield thing
        todo.extend(_parts(thing))


def _parts(thing: Any) -> Iterator[Any]:
    if isinstance(thing, partial):
        yield from (thing.func, *thing.args, *thing.keywords.values())
    elif isinstance(thing, FunctionType):
        if not is_inside(thing.__code__.co_filename):
            yield from _read_by(thing)
    elif isinstance(thing, (list, tuple, set, frozenset)):
        yield from list(thing)[:_MOST_ITEMS]
    elif isinstance(thing, dict):
        yield from list(thing.values())[:_MOST_ITEMS]
    elif not isinstance(thing, (type, ModuleType)):
        # A method: what it is of. An object: its attributes, and the methods that its class has of the user.
        yield from (getattr(thing, "__func__", None), getattr(thing, "__self__", None))
        yield from list(getattr(thing, "__dict__", {}).values())[:_MOST_ITEMS]
        for owner in type(thing).__mro__:
            if owner.__module__.partition(".")[0] not in _NOT_THE_USERS:
                yield from (part for part in vars(owner).values() if isinstance(part, FunctionType))


def _read_by(function: FunctionType) -> Iterator[Any]:
    names = set(_names(function.__code__))
    for cell in function.__closure__ or ():
        try:
            yield cell.cell_contents
        except ValueError:  # it is not filled yet
            continue
    yield from function.__defaults__ or ()
    yield from (function.__kwdefaults__ or {}).values()
    known = [function.__globals__[name] for name in names if name in function.__globals__]
    modules = [thing for thing in known if isinstance(thing, ModuleType)]
    yield from known
    for module in modules:
        found = [vars(module)[name] for name in names if name in vars(module)]
        yield from (thing for thing in found if not isinstance(thing, ModuleType))
        modules.extend(thing for thing in found if isinstance(thing, ModuleType) and thing not in modules)
    if "random" in names:  # it may be imported by the function itself
        yield from (random.random, np.random.normal)


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)
