"""Types of options for argparse: each converts a text, or raises an error that says what it expected."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError
from math import inf, nan

from arrows.engine.device import Device, get_device
from arrows.typesys import ArrowTypeError, ArrowValueError
from arrows.typesys import types as T
from arrows.typesys.parse import parse_type
from arrows.typesys.quoting import quoted


def count(text: str) -> int:
    """A whole number from 0."""
    return _whole_number(text, 0)


def positive(text: str) -> int:
    """A whole number from 1."""
    return _whole_number(text, 1)


def rate(text: str) -> float:
    """A finite number from 0."""
    return _number(text, inf, "from 0")


def share(text: str) -> float:
    """A number from 0, below 1."""
    return _number(text, 1, "from 0, below 1")


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


def _whole_number(text: str, least: int) -> int:
    # `int` also reads the digits of other scripts and underscores, and refuses thousands of digits.
    if not (text.isascii() and text.isdigit() and len(text) < 19) or int(text) < least:
        raise ArgumentTypeError(f"expected a whole number from {least}, got {quoted(text)}")
    return int(text)


def _number(text: str, end: float, expected: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = nan
    if not 0 <= value < end:
        raise ArgumentTypeError(f"expected a number {expected}, got {quoted(text)}")
    return value
