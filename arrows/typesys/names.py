"""Names: those that a module exports, and what may be meant by one that nothing here has: "did you mean".

Users of other libraries write names and arguments of these; errors say what they are here.
"""

from __future__ import annotations

import difflib
import functools
import inspect
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import resources
from opcode import opname
from types import FrameType
from typing import NoReturn, ParamSpec, TypeVar

from arrows.typesys.errors import ArrowTypeError, SourceLine, counted, message

P = ParamSpec("P")
R = TypeVar("R")
C = TypeVar("C")


def exported(names: Mapping[str, object], *more: str, inner: Iterable[str] = ()) -> list[str]:
    """What a door exports: the public names in its `globals()` that the package defines, and more.

    Of modules, numbers and texts nothing says where they come from: a door adds their names itself.

    Args:
        names: the `globals()`.
        *more: names that it exports too.
        inner: names that other rooms of the package import there, and users do not see.

    >>> from arrows import layers
    >>> "FC" in exported(vars(layers)), "annotations" in exported(vars(layers))
    (True, False)
    """
    own = {name for name, value in names.items() if getattr(value, "__module__", "").startswith("arrows.")}
    return sorted([*more, *(name for name in own.difference(inner) if not name.startswith("_"))])


def defined(names: Mapping[str, object]) -> list[str]:
    """The public names in a module's `globals()` that the module itself defines.

    >>> from arrows.layers import initializers
    >>> "zeros" in defined(vars(initializers)), "constants" in defined(vars(initializers))
    (True, False)
    """
    own = (name for name, x in names.items() if getattr(x, "__module__", "") == names["__name__"])
    return sorted(name for name in own if not name.startswith("_"))


@functools.cache
def foreign_names() -> Mapping[str, Mapping[str, str]]:
    """What is written here instead of names of other libraries: the tables of `foreign_names.toml`.

    >>> foreign_names()["optimizer"]["lr"]
    'learning_rate='
    """
    return tomllib.loads(resources.files(__package__).joinpath("foreign_names.toml").read_text("utf-8"))


def did_you_mean(name: str, names: Mapping[str, str], *tables: str) -> str:
    """Says what may have been meant by a name; empty where nothing is alike.

    Args:
        name: the name that there is not.
        names: those that there are, each with what is written for it.
        tables: those of `foreign_names` that the name may be in.

    >>> did_you_mean("LSTM", {"Length": "ar.Length"}, "package")
    'ar.RNN(ar.LSTMCell(size))'
    >>> did_you_mean("Lenght", {"Length": "ar.Length"}, "package"), did_you_mean("x", {"y": "y"})
    ('ar.Length', '')
    """
    for table in tables:
        if name in foreign_names()[table]:
            return foreign_names()[table][name]
    by_case = {own.lower(): written for own, written in names.items()}
    close = difflib.get_close_matches(name.lower(), by_case, n=1, cutoff=0.75)
    return by_case[close[0]] if close else ""


class _LaterText:
    """The text of an error that is written when somebody reads it.

    >>> AttributeError(_LaterText(lambda: "no such name"))
    AttributeError('no such name')
    """

    def __init__(self, write: Callable[[], str]) -> None:
        self._write = write

    def __str__(self) -> str:
        return self._write()

    def __repr__(self) -> str:
        return repr(str(self))

    def __reduce__(self) -> tuple[type[str], tuple[str]]:
        return str, (str(self),)


def missing_name(module: str, name: str, likely: Callable[[], str], caller: FrameType) -> Exception:
    """The error for a name that a module has not, for its `__getattr__`.

    At `from module import name` it is an `ImportError`: Python drops an `AttributeError` there, and with it
    the hint. An `AttributeError` looks for the hint when it is printed, so that `hasattr` costs nothing.

    Args:
        module: its name, as `arrows.training`.
        name: what was asked for.
        likely: gives what may be meant; empty if nothing is alike.
        caller: the frame that asks.
    """

    def hint() -> str:
        return f"; did you mean {meant}?" if (meant := likely()) else ""

    if caller.f_lasti >= 0 and opname[caller.f_code.co_code[caller.f_lasti]] == "IMPORT_FROM":
        return ImportError(f"cannot import name {name!r} from {module!r}{hint()}", name=module)
    return AttributeError(_LaterText(lambda: f"module {module!r} has no attribute {name!r}{hint()}"))


def likely_name(name: str, names: Iterable[str]) -> str:
    """Which of a module's names may be meant by one that it has not, or what is written here instead.

    >>> likely_name("adam", ["Adam", "SGD"]), likely_name("_adam", ["Adam"])
    ('Adam', '')
    """
    # Tools ask for names with an underscore.
    return "" if name.startswith("_") else did_you_mean(name, {own: own for own in names}, "package")


def no_model_attribute(model: object, name: str) -> NoReturn:
    """Raises the error for an attribute that a model has not."""
    names = {own: f"model.{own}" for own in dir(model) if not own.startswith("_")}
    likely = "" if name.startswith("_") else did_you_mean(name, names, "model")
    hint = f"; did you mean {likely}?" if likely else ""
    raise AttributeError(f"{type(model).__name__!r} object has no attribute {name!r}{hint}")


def answers(owner: str, table: str) -> Callable[[type[C]], type[C]]:
    """A class decorator: attributes in a table of `foreign_names` say what is written instead.

    They are properties: a `__getattr__` could answer for all names, but it makes every read of a slot take
    27 ns, not 8.

    >>> @answers("a box", "tensor")
    ... class Box:
    ...     __slots__ = ()
    >>> hasattr(Box(), "backward")
    False
    """

    def elsewhere(name: str, likely: str) -> property:
        def refuse(_: object) -> NoReturn:
            attempt = f"cannot find {name} at {SourceLine.here()}"
            raise AttributeError(message(attempt, reason=f"{owner} has no attribute {name!r}", hint=likely))

        return property(refuse)

    def decorate(cls: type[C]) -> type[C]:
        for name, likely in foreign_names()[table].items():
            setattr(cls, name, elsewhere(name, likely))
        return cls

    return decorate


@functools.cache
def _parameters(function: Callable[..., object]) -> tuple[inspect.Parameter, ...]:
    return tuple(p for p in inspect.signature(function).parameters.values() if p.name != "self")


def refuse_arguments(
    function: Callable[..., object],
    args: Sequence[object],
    keywords: Iterable[str],
    *,
    table: str,
    call: str = "",
    hint: str = "",
) -> None:
    """Says what is wrong with the arguments of a call, if one is too many, unknown or missing.

    Args:
        function: what is called; the `__init__` of a class.
        args: what it gets by position, without `self`.
        keywords: the names of what it gets by keyword.
        table: the table of `foreign_names` with the arguments of other libraries.
        call: its name in messages, if it has another one.
        hint: what may be meant by too many arguments.

    Raises:
        ArrowTypeError: so it is.

    >>> refuse_arguments(lambda learning_rate: None, [], ["learning_rate"], table="optimizer")
    """
    call = call or function.__name__
    parameters = _parameters(function)
    kinds = {p.kind for p in parameters}
    by_position = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    by_keyword = [p.name for p in parameters if p.kind is p.KEYWORD_ONLY]
    names = [p.name for p in by_position if p.kind is p.POSITIONAL_OR_KEYWORD] + by_keyword
    unknown = [] if inspect.Parameter.VAR_KEYWORD in kinds else [x for x in keywords if x not in names]
    required = [p.name for p in parameters[len(args) :] if p.default is p.empty and p.name in names]
    missing = [name for name in required if name not in keywords]
    if len(args) > len(by_position) and inspect.Parameter.VAR_POSITIONAL not in kinds:
        takes = " and ".join(p.name for p in by_position) or "nothing"
        reason = f"{call} takes {takes} by position, and got {counted(len(args), 'argument')}"
        reason += f"; it takes by keyword {', '.join(by_keyword)}" if by_keyword else ""
    elif unknown:
        written = {name: f"{name}=" for name in names}
        likely = did_you_mean(unknown[0], written, table)
        if likely.endswith("=") and likely.split("=")[0] not in names:  # another function of this kind has it
            likely = did_you_mean(unknown[0], written)
        reason = f"{call} has no argument {unknown[0]!r}: it takes {', '.join(names)}"
        hint = f"did you mean {likely}?" if likely else ""
    elif missing:
        reason = f"{call} needs {' and '.join(missing)}: it takes {', '.join(names)}"
    else:
        return
    refusal = message(f"cannot call {call} at {SourceLine.here()}", reason=reason, hint=hint)
    raise ArrowTypeError(refusal) from None  # it says more than the error of the call


def explains_arguments(table: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """A decorator: a function says what may be meant by arguments that it does not take.

    >>> @explains_arguments("optimizer")
    ... def step(learning_rate):
    ...     return learning_rate
    >>> step(learning_rate=3)
    3
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        @functools.wraps(function)
        def call(*args: P.args, **keywords: P.kwargs) -> R:
            refuse_arguments(function, args, keywords, table=table)
            return function(*args, **keywords)

        return call

    return decorate
