"""The names of blocks, and of the functions that they hold."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arrows.combinators.base.refusal import wrong_argument, wrong_value
from arrows.typesys.quoting import unwritable

if TYPE_CHECKING:
    from arrows.combinators.base.block import AnyBlock


def set_name(block: AnyBlock, name: str | None) -> None:
    """Gives a block that is being made its name.

    Raises:
        ArrowTypeError: the name is not text.
        ArrowValueError: no file can hold it.
    """
    if name is not None:
        require_name(block.kind, "its name", name)
    block.name = name


def require_name(kind: str, what: str, name: object, hint: str = "") -> None:
    """Refuses what is no name.

    Args:
        kind: of the block that is being made.
        what: the name, in words.
        name: should be text that a file can hold.
        hint: what to write instead of something else than text.

    Raises:
        ArrowTypeError: the name is not text.
        ArrowValueError: no file can hold it.
    """
    if not isinstance(name, str):
        raise wrong_argument(f"a {kind}", f"{what} must be a string, not {name!r}", hint=hint)
    if reason := unwritable(name):
        raise wrong_value(f"a {kind}", f"{what} {reason}")


def function_name(function: object) -> str:
    """A function in a word: its name, through partials; `lambda` for a lambda.

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


def shortened(value: object) -> str:
    """A value as text of at most 40 characters.

    Example:
        >>> shortened([1, 2]), shortened("a" * 99)
        ('[1, 2]', "'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa...")
    """
    text = repr(value)
    return text if len(text) <= 40 else text[:37] + "..."
