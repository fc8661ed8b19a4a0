"""The types of options for argparse: each converts a text or says what it expected."""

from __future__ import annotations

import re
from argparse import ArgumentTypeError
from collections.abc import Callable
from math import isfinite

from arrows.training import SGD, Adadelta, Adagrad, Adam, AdamW, Optimizer, RMSprop
from arrows.typesys import ArrowTypeError
from arrows.typesys import types as T
from arrows.typesys.parse import parse_type
from arrows.typesys.quoting import quoted

WHOLE = re.compile("[0-9]{1,18}")
# `float` also reads 1_0 and the digits of other scripts; here they are not numbers.
NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")
OPTIMIZERS: dict[str, Callable[..., Optimizer]] = {
    "adadelta": Adadelta,
    "adagrad": Adagrad,
    "adam": Adam,
    "adamw": AdamW,
    "rmsprop": RMSprop,
    "sgd": SGD,
}
"""The names for `--optimizer`."""


def count(text: str) -> int:
    """A whole number from 0.

    >>> count("12")
    12
    """
    if not WHOLE.fullmatch(text):
        raise ArgumentTypeError(f"expected a whole number from 0, got {quoted(text)}")
    return int(text)


def positive(text: str) -> int:
    """A whole number from 1.

    >>> positive("12")
    12
    """
    if not WHOLE.fullmatch(text) or not int(text):
        raise ArgumentTypeError(f"expected a whole number from 1, got {quoted(text)}")
    return int(text)


def rate(text: str) -> float:
    """A finite number from 0.

    >>> rate("1e-4")
    0.0001
    """
    value = _number(text)
    if not (isfinite(value) and value >= 0):
        raise ArgumentTypeError(f"expected a number from 0, got {quoted(text)}")
    return value


def share(text: str) -> float:
    """A number from 0, below 1.

    >>> share("0.5")
    0.5
    """
    value = _number(text)
    if not 0 <= value < 1:
        raise ArgumentTypeError(f"expected a number from 0, below 1, got {quoted(text)}")
    return value


def decay(text: str) -> float:
    """A number from 0 to 1.

    >>> decay("1")
    1.0
    """
    value = _number(text)
    if not 0 <= value <= 1:
        raise ArgumentTypeError(f"expected a number from 0 to 1, got {quoted(text)}")
    return value


def block_type(text: str) -> T.Type:
    """A type in the notation of the type language.

    >>> block_type("(Input, float32[300])")
    (Input, float32[300])
    """
    try:
        return parse_type(text)
    except ArrowTypeError as error:
        details = error.details
        hint = f" ({details.hint})" if details.hint else ""
        raise ArgumentTypeError(f"{details.attempt}: {details.reason}{hint}") from None


def _number(text: str) -> float:
    return float(text) if NUMBER.fullmatch(text) else float("nan")
