"""Stops a run whose loss or parameters are not finite, and says where the first such number comes from."""

from __future__ import annotations

import math

import numpy as np

from arrows.engine import Batch, Model
from arrows.ops.arrays import Array
from arrows.training.parameters import Trainable, as_float
from arrows.typesys.errors import NotFiniteError

ADVICE = "a smaller learning rate or clip_norm= may help; train(..., nan='ignore') goes on all the same"


def require_finite_parameters(model: Trainable, epoch: int, step: int) -> None:
    """Refuses parameters that are not finite; the error names epoch, step and the first such parameter."""
    problem = not_finite_parameter(model)
    if problem is not None:
        raise _with_advice(f"epoch {epoch}, step {step}: after it, {problem}")


def require_finite_loss(
    model: Trainable, batch: Batch, loss: Array, *, epoch: int, step: int, model_step: int | None
) -> None:
    """Refuses a loss that is not finite, before the optimizer takes the step.

    The error names epoch, step, and the first parameter, input or operation that is not finite. `model_step`
    is the model's own count of steps before the batch, on which its dropout masks depend; None for a model
    that does not count.
    """
    value = as_float(model.device, loss)
    if math.isfinite(value):
        return
    if isinstance(model, Model) and model_step is not None:
        model.step = model_step  # the step is not taken, and the search below must draw the same masks
    source = not_finite_parameter(model)
    if source is None and isinstance(model, Model):
        source = model.first_not_finite(batch) or "its terms are finite, but their sum is not"
    because = f": {source}" if source else ""
    raise _with_advice(f"epoch {epoch}, step {step}: the loss is {value}{because}")


def not_finite_parameter(model: Trainable) -> str | None:
    """Describes the first parameter that holds numbers that are not finite; None if all are finite."""
    for name, array in model.params.items():
        values = model.device.to_numpy(array)
        if values.dtype.kind == "f" and not np.isfinite(values).all():
            count = values.size - int(np.isfinite(values).sum())
            are = "is" if count == 1 else "are"
            return f"{count:,} of the {values.size:,} numbers of the parameter {name!r} {are} not finite"
    return None


def _with_advice(text: str) -> NotFiniteError:
    error = NotFiniteError(text)
    error.add_note(ADVICE)
    return error
