"""Types of options for argparse: each converts a text, or raises an error that says what it expected."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Callable
from math import inf
from typing import TypeVar

from arrows.engine.device import Device, get_device
from arrows.typesys import ArrowTypeError, ArrowValueError, parse_type, quoted, types as T

N = TypeVar("N", int, float)


def _number(kind: Callable[[str], N], least: int, below: float, expected: str) -> Callable[[str], N]:
    """What converts a text to a number from `least`, below another one."""

    def convert(text: str) -> N:
        try:
            if least <= (value := kind(text)) < below:
                return value
        except ValueError:
            pass
        raise ArgumentTypeError(f"expected {expected}, got {quoted(text)}")

    return convert


count = _number(int, 0, inf, "a whole number from 0")
folds = _number(int, 2, inf, "a whole number from 2")
positive = _number(int, 1, inf, "a whole number from 1")
rate = _number(float, 0, inf, "a number from 0")
share = _number(float, 0, 1, "a number from 0, below 1")


def block_type(text: str) -> T.Type:
    """A type in the notation of the type language."""
    try:
        return parse_type(text)
    except ArrowTypeError as error:
        details = error.details
        hint = f" ({details.hint})" if details.hint else ""
        raise ArgumentTypeError(f"{details.attempt}: {details.reason}{hint}") from None


def add_device(parser: ArgumentParser) -> None:
    """Adds the option `--device`, by which a model's device is chosen as by `ar.compile(device=...)`."""
    parser.add_argument(
        "--device",
        type=device,
        default="cpu",
        metavar="DEVICE",
        help="cpu; cuda, the first GPU; cuda:1, a GPU by number; auto, a GPU if there is one (default: cpu)",
    )


def device(text: str) -> Device:
    """A device by its name, which the machine must have."""
    try:
        return get_device(text)
    except ArrowValueError:
        raise ArgumentTypeError(f"expected cpu, cuda, cuda:1 or auto, got {quoted(text)}") from None
    except (ImportError, RuntimeError) as error:
        raise ArgumentTypeError(f"{error}; --device cpu needs no GPU") from None
