"""Errors for names and calls that users of other packages write, with what they are here: "did you mean"."""

from __future__ import annotations

import difflib
import functools
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from opcode import opname
from types import FrameType
from typing import NoReturn, ParamSpec, TypeVar

from arrows.typesys.errors import ArrowTypeError, SourceLine, message
from arrows.typesys.foreign_names import MODEL, PACKAGE

P = ParamSpec("P")
R = TypeVar("R")
C = TypeVar("C")


def did_you_mean(name: str, names: Mapping[str, str], foreign: Mapping[str, str]) -> str:
    """Says what may have been meant by a name; empty where nothing is alike.

    Args:
        name: the name that there is not.
        names: those that there are, each with what is written for it.
        foreign: what the names of other libraries are called here.

    >>> from arrows.typesys.foreign_names import PACKAGE
    >>> did_you_mean("LSTM", {"Length": "ar.Length"}, PACKAGE)
    'ar.RNN(ar.LSTMCell(size))'
    >>> did_you_mean("Lenght", {"Length": "ar.Length"}, PACKAGE), did_you_mean("x", {"y": "y"}, {})
    ('ar.Length', '')
    """
    if name in foreign:
        return foreign[name]
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
    return "" if name.startswith("_") else did_you_mean(name, {own: own for own in names}, PACKAGE)


def no_model_attribute(model: object, name: str) -> NoReturn:
    """Raises the error for an attribute that a model has not."""
    names = {own: f"model.{own}" for own in dir(model) if not own.startswith("_")}
    likely = "" if name.startswith("_") else did_you_mean(name, names, MODEL)
    hint = f"; did you mean {likely}?" if likely else ""
    raise AttributeError(f"{type(model).__name__!r} object has no attribute {name!r}{hint}")


class _Elsewhere:
    """An attribute that objects of a class lack, with a hint.

    A `__getattr__` could answer for all names, but it makes every read of a slot take 27 ns, not 8.
    """

    def __init__(self, owner: str, name: str, likely: str) -> None:
        self._error = owner, name, likely

    def __get__(self, instance: object, owner: type) -> NoReturn:
        subject, name, likely = self._error
        raise AttributeError(
            message(
                f"cannot find {name} at {SourceLine.here()}",
                reason=f"{subject} has no attribute {name!r}",
                hint=likely,
            )
        )


def answers(owner: str, foreign: Mapping[str, str]) -> Callable[[type[C]], type[C]]:
    """A class decorator: attributes that the class lacks say what is written instead.

    >>> @answers("a box", {"backward": "forward"})
    ... class Box:
    ...     __slots__ = ()
    >>> hasattr(Box(), "backward")
    False
    """

    def decorate(cls: type[C]) -> type[C]:
        for name, likely in foreign.items():
            setattr(cls, name, _Elsewhere(owner, name, likely))
        return cls

    return decorate


def check_keywords(
    call: str, function: Callable[..., object], keywords: Iterable[str], foreign: Mapping[str, str]
) -> None:
    """Refuses keyword arguments that a function does not have, and says which may be meant.

    Raises:
        ArrowTypeError: there is no such argument.

    >>> check_keywords("f", lambda learning_rate: None, ["learning_rate"], {"lr": "learning_rate="})
    """
    names = _keywords_of(function)
    unknown = [] if names is None else [name for name in keywords if name not in names]
    if names is None or not unknown:
        return
    name, written = unknown[0], {keyword: f"{keyword}=" for keyword in names}
    likely = did_you_mean(name, written, foreign)
    if likely.endswith("=") and likely.split("=")[0] not in names:  # another function of this kind has it
        likely = did_you_mean(name, written, {})
    hint = f"did you mean {likely}?" if likely else ""
    raise ArrowTypeError(
        message(
            f"cannot call {call} at {SourceLine.here()}",
            reason=f"{call} has no argument {name!r}: it takes {', '.join(names)}",
            hint=hint,
        )
    )


def refuse_arguments(
    call: str,
    function: Callable[..., object],
    args: Sequence[object],
    keywords: Iterable[str],
    foreign: Mapping[str, str],
) -> None:
    """Says what is wrong with the arguments of a constructor, if one is too many, unknown or missing.

    Raises:
        ArrowTypeError: so it is.

    >>> refuse_arguments("f", lambda self, size: None, [3], [], {})
    """
    check_positions(call, function, args)
    check_keywords(call, function, keywords, foreign)
    parameters = list(inspect.signature(function).parameters.values())[1:]
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    wanted = [p.name for p in parameters if p.default is p.empty and p.kind in kinds][len(args) :]
    missing = [name for name in wanted if name not in keywords]
    if missing:
        names = [p.name for p in parameters]
        reason = f"{call} needs {' and '.join(missing)}: it takes {', '.join(names)}"
        raise ArrowTypeError(message(f"cannot call {call} at {SourceLine.here()}", reason=reason))


def check_positions(
    call: str, function: Callable[..., object], args: Sequence[object], hint: str = ""
) -> None:
    """Refuses more arguments by position than a constructor takes, and says which there are.

    Args:
        call: the name of the constructor.
        function: its `__init__`.
        args: what it gets by position.
        hint: what may be meant.

    Raises:
        ArrowTypeError: there are too many.

    >>> check_positions("f", lambda self, size: None, [3])
    """
    parameters = inspect.signature(function).parameters.values()
    if any(p.kind is p.VAR_POSITIONAL for p in parameters):
        return
    first = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)][1:]
    count = len(args)
    if count <= len(first):
        return
    by_keyword = [p.name for p in parameters if p.kind is p.KEYWORD_ONLY]
    got = f"{count} argument{'s' if count > 1 else ''}"
    reason = f"{call} takes {' and '.join(first) or 'nothing'} by position, and got {got}"
    raise ArrowTypeError(
        message(
            f"cannot call {call} at {SourceLine.here()}",
            reason=reason + (f"; it takes by keyword {', '.join(by_keyword)}" if by_keyword else ""),
            hint=hint,
        )
    )


@functools.cache
def _keywords_of(function: Callable[..., object]) -> tuple[str, ...] | None:
    """The names that a function takes by keyword; None if it takes any."""
    parameters = inspect.signature(function).parameters.values()
    if any(p.kind is p.VAR_KEYWORD for p in parameters):
        return None
    named = [p.name for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    return tuple(name for name in named if name != "self")


def explains_keywords(foreign: Mapping[str, str]) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """A decorator: a function says what may be meant by a keyword argument that it does not have.

    >>> @explains_keywords({"lr": "learning_rate="})
    ... def step(learning_rate):
    ...     return learning_rate
    >>> step(learning_rate=3)
    3
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        @functools.wraps(function)
        def call(*args: P.args, **keywords: P.kwargs) -> R:
            if keywords:
                check_keywords(function.__name__, function, keywords, foreign)
            return function(*args, **keywords)

        return call

    return decorate


def explains_empty_call(hint: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """A decorator: a method says what may be meant by a call without arguments, which it does not take.

    >>> @explains_empty_call("there is no mode to switch")
    ... def eval(model, example):
    ...     return example
    >>> eval("a model", 3)
    3
    """

    def decorate(method: Callable[P, R]) -> Callable[P, R]:
        @functools.wraps(method)
        def call(*args: P.args, **keywords: P.kwargs) -> R:
            if len(args) == 1 and not keywords:
                raise ArrowTypeError(f"{method.__name__} takes an argument, and got none; {hint}")
            return method(*args, **keywords)

        return call

    return decorate
