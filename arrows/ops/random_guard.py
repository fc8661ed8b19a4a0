"""Detects random numbers drawn while a function is traced: they would be drawn once and frozen in the trace.

It compares the states of generators before and after tracing: of NumPy's global one always; of `random`, and
of those in closures, globals, defaults and attributes, where the function's code names them. A state that has
changed proves that the function draws only where no other thread runs: all threads share these generators.
Where others run, the function is traced again, and only a trace that differs proves that it draws. So a pure
function is never refused. One that draws beside other threads, and makes the same of each draw, passes.

What it does not see: generators in attributes of classes and functions; clocks, counters and other state.

A generator that the function makes itself, and an iterator that it advances, have no state to compare. Where
its code names such, it is traced a second time as well: a seeded generator gives the same numbers again.
"""

from __future__ import annotations

import ctypes
import pickle
import random
import threading
from collections.abc import Callable, Iterator
from functools import partial
from types import CodeType, FunctionType, ModuleType

import numpy as np

from arrows.typesys import SourceLine
from arrows.typesys.errors import is_inside

_MOST = 1000  # objects that the search visits
_MOST_ITEMS = 100  # items of one container that it visits
_NOT_THE_USERS = {"arrows", "builtins", "numpy", "abc", "typing"}
_MAKERS = {
    "default_rng",
    "Generator",
    "RandomState",
    "Random",
    "SystemRandom",
    "next",
    "secrets",
    "urandom",
    "uuid4",
}
_MERSENNE_BYTES = 624 * 4 + 4  # the key and the position in it

State = Callable[[], object]


class RandomStateWatch:
    """The states of random generators before a function is traced.

    Args:
        function: what will be traced.

    Attributes:
        maker: a name in the function's code from which other numbers may come each time; None: there is none.

    >>> watch = RandomStateWatch(lambda x: x * np.random.normal())
    >>> watch.drawn() is None, np.random.normal() is not None, watch.drawn()
    (True, True, "NumPy's global generator (np.random)")
    """

    def __init__(self, function: object) -> None:
        self._alone = _is_only_thread()
        self.maker: str | None = None
        self._states: dict[int, tuple[str, State, object]] = {}
        quick = _global_numpy()
        self._states[0] = "NumPy's global generator (np.random)", quick, quick()
        for reached in _reachable(function):
            if isinstance(reached, FunctionType) and not is_inside(reached.__code__.co_filename):
                self.maker = self.maker or next(iter(_MAKERS.intersection(_names(reached.__code__))), None)
            named = _state_of(reached)
            if named is not None and id(reached) not in self._states:
                self._states[id(reached)] = (*named, named[1]())

    def drawn(self) -> str | None:
        """The name of a generator that some thread has drawn from since then; None if there is none."""
        return next((name for name, state, before in self._states.values() if state() != before), None)

    @property
    def alone(self) -> bool:
        """Whether this is the only thread, now and then, so that nothing but the function can have drawn."""
        return self._alone and _is_only_thread()


def _is_only_thread() -> bool:
    # `sys._current_frames()` would also know threads that C code makes. But it stands still for ever where
    # the garbage collector, which may run within it, frees a `threading.local`: both want one lock of Python.
    return threading.active_count() == 1


def where_defined(function: object) -> str:
    """``name (file:line)`` of the code that the user wrote: the function, or the `forward` of a layer.

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
    """Reads the state of NumPy's global generator, from memory if possible: NumPy takes 80 us."""
    generator = np.random.mtrand.get_bit_generator()
    if type(generator) is np.random.MT19937:
        return partial(ctypes.string_at, generator.ctypes.state_address, _MERSENNE_BYTES)
    return lambda: pickle.dumps(generator.state)


def _state_of(reached: object) -> tuple[str, State] | None:
    """The name of a random generator and a function that reads its state; None for other objects."""
    if isinstance(reached, np.random.Generator):
        return "a np.random.Generator", lambda: pickle.dumps(reached.bit_generator.state)
    if isinstance(reached, np.random.BitGenerator):
        return f"a np.random.{type(reached).__name__}", lambda: pickle.dumps(reached.state)
    if isinstance(reached, np.random.RandomState):
        shared = reached is getattr(np.random.normal, "__self__", None)
        name = "NumPy's global generator (np.random)" if shared else "a np.random.RandomState"
        return name, lambda: pickle.dumps(reached.get_state(legacy=False))
    if isinstance(reached, random.Random) and not isinstance(reached, random.SystemRandom):
        shared = reached is getattr(random.random, "__self__", None)
        return "Python's module random" if shared else "a random.Random", reached.getstate
    return None


def _reachable(function: object) -> Iterator[object]:
    """The objects that a function's code can read: closures, named globals, defaults, attributes."""
    todo, seen = [function], set[int]()
    while todo and len(seen) < _MOST:
        reached = todo.pop()
        if (
            id(reached) in seen
            or reached is None
            or isinstance(reached, (str, bytes, int, float, np.ndarray, SourceLine))
        ):
            continue
        seen.add(id(reached))
        yield reached
        todo.extend(_parts(reached))


def _parts(reached: object) -> Iterator[object]:
    if isinstance(reached, partial):
        yield from (reached.func, *reached.args, *reached.keywords.values())
    elif isinstance(reached, FunctionType):
        if not is_inside(reached.__code__.co_filename):
            yield from _read_by(reached)
    elif isinstance(reached, (list, tuple, set, frozenset)):
        yield from list(reached)[:_MOST_ITEMS]
    elif isinstance(reached, dict):
        yield from list(reached.values())[:_MOST_ITEMS]
    elif not isinstance(reached, (type, ModuleType)):
        # A method leads to its function and its object, an object to its attributes and the user's methods.
        yield from (getattr(reached, "__func__", None), getattr(reached, "__self__", None))
        yield from list(getattr(reached, "__dict__", {}).values())[:_MOST_ITEMS]
        for owner in type(reached).__mro__:
            yield from (getattr(reached, name, None) for name in owner.__dict__.get("__slots__", ()))
            if owner.__module__.partition(".")[0] not in _NOT_THE_USERS:
                yield from (part for part in vars(owner).values() if isinstance(part, FunctionType))


def _read_by(function: FunctionType) -> Iterator[object]:
    names = set(_names(function.__code__))
    for cell in function.__closure__ or ():
        try:
            yield cell.cell_contents
        except ValueError:  # the cell is still empty
            continue
    yield from function.__defaults__ or ()
    yield from (function.__kwdefaults__ or {}).values()
    values = [function.__globals__[name] for name in names if name in function.__globals__]
    modules = [value for value in values if isinstance(value, ModuleType)]
    yield from values
    for module in modules:
        members = [vars(module)[name] for name in names if name in vars(module)]
        yield from (member for member in members if not isinstance(member, ModuleType))
        modules.extend(
            member for member in members if isinstance(member, ModuleType) and member not in modules
        )
    if any("random" in name for name in names):  # the function may import it itself
        yield from (random.random, np.random.normal)


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)
