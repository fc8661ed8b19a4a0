"""Checks of arguments and of values read from files, and the errors that name what is wrong."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral, Real

from arrows.combinators import Block
from arrows.typesys import ArrowTypeError, ArrowValueError


def described(value: object) -> str:
    """Describes a value in a few words, for an error message."""
    if isinstance(value, type):
        return f"the class {value.__name__}"
    if value is None or isinstance(value, (int, float)) or (isinstance(value, str) and len(value) <= 40):
        return repr(value)
    if isinstance(value, Block):
        return f"the block {value.label}"
    return f"a value of the type {type(value).__name__}"


def is_number(value: object) -> bool:
    """Whether a value is a single real number of Python or NumPy, or a scalar array of any device."""
    if isinstance(value, Real):
        return True
    kind = getattr(getattr(value, "dtype", None), "kind", None)
    return getattr(value, "shape", None) == () and kind in ("b", "i", "u", "f")


def require_number(argument: str, value: object, also: str = "") -> None:
    """Refuses a value that is not a number; `also` adds to the message what else it may be."""
    if not is_number(value):
        raise ArrowTypeError(f"{argument} must be a number{also}, not {described(value)}")


def require_range(owner: str, name: str, value: float, least: float, below: float = float("inf")) -> None:
    """Refuses a hyperparameter outside [least, below), NaN included."""
    require_number(f"{owner}: {name}", value)
    if not least <= value < below:
        bound = "" if below == float("inf") else f" and below {below:g}"
        raise ArrowValueError(f"{owner}: {name} is {value}, and should be at least {least:g}{bound}")


def require_above(owner: str, name: str, value: float, bound: float = 0.0) -> None:
    """Refuses a hyperparameter that is not above `bound`, NaN included."""
    require_number(f"{owner}: {name}", value)
    if not value > bound:
        raise ArrowValueError(f"{owner}: {name} is {value}, and should be above {bound:g}")


def whole_number(argument: str, value: object, least: int) -> int:
    """Converts an integer of any type to `int`; refuses other values, and integers below `least`."""
    if not isinstance(value, Integral):
        raise ArrowTypeError(f"{argument} must be a whole number, not {described(value)}")
    if value < least:
        raise ArrowValueError(f"{argument} is {value}, and should be {least} or more")
    return int(value)


def require_model(call: str, model: object, *needed: str) -> None:
    """Refuses a value that is not a model: it must have parameters and the members `needed`."""
    has_members = isinstance(getattr(model, "params", None), Mapping) and all(
        hasattr(model, name) for name in needed
    )
    if isinstance(model, (type, Block)) or not has_members:
        hint = "; compile it first: ar.compile(block)" if isinstance(model, Block) else ""
        if hasattr(model, "learner"):
            hint = "; a network on the fly learns by a function: net.learner(loss_of_example)"
        raise ArrowTypeError(f"{call}: model must be what ar.compile returns, not {described(model)}{hint}")


def require_optimizer(call: str, optimizer: object) -> None:
    """Refuses a value that is not an optimizer."""
    if isinstance(optimizer, type) or not hasattr(optimizer, "rates_text"):
        raise ArrowTypeError(f"{call}: optimizer must be one such as Adam(0.001), not {described(optimizer)}")
