"""Stops a run whose loss or parameters are not finite, and says where the first such number comes from."""

from __future__ import annotations

from typing import NoReturn

from arrows.engine import Batch, Model
from arrows.engine.device import host_array
from arrows.engine.scheduling import AtOnce
from arrows.training.parameters import Trainable
from arrows.typesys import NotFiniteError

ADVICE = "a smaller learning rate or clip_norm= may help"


def require_finite_parameters(model: Trainable, epoch: int, step: int) -> None:
    """Refuses parameters that are not finite; the error names epoch, step and the first such parameter."""
    problem = not_finite_parameter(model)
    if problem is not None:
        raise not_finite(f"epoch {epoch}, step {step}: after it, {problem}")


def refuse_loss(
    model: Trainable, batch: Batch, value: float, *, epoch: int, step: int, at_once: AtOnce = None
) -> NoReturn:
    """Refuses a loss that is not finite; the model has the parameters and the step from before it.

    The error names epoch, step, and the first parameter, input or operation that is not finite.
    """
    source = not_finite_parameter(model)
    if source is None and isinstance(model, Model):
        origin = model.first_not_finite(batch, at_once=at_once)
        source = origin or "its terms are finite, but their sum is not"
    because = f": {source}" if source else ""
    raise not_finite(f"epoch {epoch}, step {step}: the loss is {value}{because}")


def not_finite_parameter(model: Trainable) -> str | None:
    """Describes the first parameter that holds numbers that are not finite; None if all are finite."""
    for name, array in model.params.items():
        # The device counts, so that a number comes down, not the parameter.
        count = int(host_array((~model.device.xp.isfinite(array)).sum())) if array.dtype.kind == "f" else 0
        if count:
            are = "is" if count == 1 else "are"
            return f"{count:,} of the {array.size:,} numbers of the parameter {name!r} {are} not finite"
    return None


def not_finite(text: str) -> NotFiniteError:
    """The error, with advice."""
    error = NotFiniteError(text)
    error.add_note(ADVICE)
    return error
