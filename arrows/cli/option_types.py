"""Values of options: what the command line takes for a number, and what it says of anything else."""

from __future__ import annotations

import re
from argparse import ArgumentTypeError
from collections.abc import Callable
from math import isfinite

from arrows.training import SGD, Adadelta, Adagrad, Adam, AdamW, Optimizer, RMSprop
from arrows.typesys.quoting import quoted

WHOLE = re.compile("[0-9]{1,18}")
# What `float` would read besides, such as 1_0 and the digits of other scripts, is no number here.
NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")
OPTIMIZERS: dict[str, Callable[..., Optimizer]] = {
    "adadelta": Adadelta,
    "adagrad": Adagrad,
    "adam": Adam,
    "adamw": AdamW,
    "rmsprop": RMSprop,
    "sgd": SGD,
}
"""What `--optimizer` may name."""


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


def _number(text: str) -> float:
    return float(text) if NUMBER.fullmatch(text) else float("nan")
