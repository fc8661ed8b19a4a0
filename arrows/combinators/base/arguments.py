"""The arguments of constructors: checks of names, their texts in messages, and the form of all refusals."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Hashable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from arrows.typesys import ArrowTypeError, ArrowValueError, Message, SourceLine, message, unhashed, unwritable

if TYPE_CHECKING:
    from arrows.combinators.base.block import AnyBlock


def type_refusal(attempt: str, reason: str, *, at: str = "", hint: str = "") -> ArrowTypeError:
    """Makes the error for an attempt, on the user's line, that types forbid.

    Example:
        >>> print(type_refusal("iterate over f", "a block has no items"))
        cannot iterate over f at ...
          a block has no items
    """
    return ArrowTypeError(_refusal(attempt, reason, at, hint))


def value_refusal(attempt: str, reason: str, *, at: str = "", hint: str = "") -> ArrowValueError:
    """Makes the error for an attempt, on the user's line, that a value or the order of calls forbids."""
    return ArrowValueError(_refusal(attempt, reason, at, hint))


def _refusal(attempt: str, reason: str, at: str, hint: str) -> Message:
    return message(f"cannot {attempt} at {SourceLine.here()}", at=at, reason=reason, hint=hint)


def wrong_argument(block: str, reason: str, *, hint: str = "") -> ArrowTypeError:
    """Makes the error for a block that gets an argument of the wrong kind."""
    return type_refusal(f"make {block}", reason, hint=hint)


def wrong_value(block: str, reason: str, *, hint: str = "") -> ArrowValueError:
    """Makes the error for a block that gets an argument of the right kind with a wrong value."""
    return value_refusal(f"make {block}", reason, hint=hint)


def require_flag(block: str, argument: str, value: object) -> bool:
    """Refuses what is neither True nor False."""
    if not isinstance(value, (bool, np.bool_)):
        raise wrong_argument(block, f"{argument} must be True or False, not {value!r}")
    return bool(value)


def require_integer(
    block: str, what: str, value: object, least: int | None = None, most: int | None = None, hint: str = ""
) -> int:
    """Refuses what is no integer, or out of bounds."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise wrong_argument(block, f"{what} must be an integer, not {shortened(value)}", hint=hint)
    if least is not None and value < least:
        raise wrong_value(block, f"{what} must be at least {least}, not {shortened(value)}", hint=hint)
    if most is not None and value > most:
        raise wrong_value(block, f"{what} must be at most {most:,}, not {shortened(value)}", hint=hint)
    return value


def places_of(block: str, what: str, keys: Iterable[Any], hint: str) -> dict[Hashable, int]:
    """The place of each key, or of what else is looked up.

    Args:
        block: for messages.
        what: one of them in a word, for messages.
        keys: any objects.
        hint: what to do where two are equal.

    Raises:
        ArrowTypeError: one of them cannot be hashed.
        ArrowValueError: two of them are equal.
    """
    places: dict[Hashable, int] = {}
    for place, key in enumerate(keys):
        try:
            first = places.setdefault(key, place)
        except Exception as error:  # noqa: BLE001 (its __hash__ or __eq__ may raise anything)
            cause = None if isinstance(error, TypeError) else error
            looked_up = "text, numbers and tuples of these can be looked up"
            raise wrong_argument(block, f"the {what} {unhashed(key, error)}", hint=looked_up) from cause
        if first != place:
            alike = repr(list(places)[first])
            equal = "" if alike == repr(key) else f", for {alike} is equal to it"
            raise wrong_value(block, f"the {what} {key!r} stands there twice{equal}", hint=hint)
    return places


def set_name(block: AnyBlock, name: str | None) -> None:
    """Sets the name of a new block; it must be text that a file can hold."""
    if name is not None:
        require_name(block.kind, "its name", name)
    block.__dict__["name"] = name


def require_name(kind: str, what: str, name: object, hint: str = "") -> None:
    """Refuses a name that is not text or that no file can hold; `what` describes it in the message."""
    if not isinstance(name, str):
        raise wrong_argument(f"a {kind}", f"{what} must be a string, not {name!r}", hint=hint)
    if not name:
        raise wrong_value(f"a {kind}", f"{what} must not be empty", hint="leave it out for a default")
    if reason := unwritable(name):
        raise wrong_value(f"a {kind}", f"{what} {reason}")


def function_name(function: object) -> str:
    """Names a function in a word, through partials; a lambda is `lambda`.

    Example:
        >>> from functools import partial
        >>> function_name(partial(len)), function_name(lambda x: x)
        ('len', 'lambda')
    """
    while hasattr(function, "func"):
        function = function.func
    name = getattr(function, "__name__", None)
    if name is None:
        return type(function).__name__
    return "lambda" if name == "<lambda>" else str(name)


def parameter_names(attempt: str, function: Callable[..., object], lack: str, hint: str) -> tuple[str, ...]:
    """Lists the required parameters of a function, each of which gets a wire or a block.

    Args:
        attempt: for messages.
        function: what will be called.
        lack: why it must have one, and `hint`: how to write it.

    Raises:
        ArrowTypeError: a parameter takes several arguments, or a keyword alone.
        ArrowValueError: it has no parameter.
    """
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):  # a builtin without a signature
        parameters = []
    for p in parameters:
        if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) or (p.kind is p.KEYWORD_ONLY and p.default is p.empty):
            stands = f"each parameter stands for one thing, but {p} does not"
            raise type_refusal(attempt, stands, hint="write the parameters out: def f(x, y)")
    names = tuple(p.name for p in parameters if p.default is p.empty)
    if not names:
        raise value_refusal(attempt, f"its function has no parameter, so {lack}", hint=hint)
    return names


def shortened(value: object) -> str:
    """Writes a value as text of at most 40 characters.

    Example:
        >>> shortened([1, 2]), shortened("a" * 99)
        ('[1, 2]', "'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa...")
    """
    try:
        text = repr(value)
    except ValueError:  # Python writes no integer of more than 4,300 digits
        return "a number that is too long to write"
    return text if len(text) <= 40 else text[:37] + "..."
