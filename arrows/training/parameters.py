"""What the training room asks of a model, and how it speaks of arrays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np

from arrows.engine.device import Device

Array = Any  # of NumPy, CuPy or the fake device


class Trainable(Protocol):
    """What optimizers and checkpoints need of a model: live parameters by name, and their device.

    >>> import numpy as np
    >>> from types import SimpleNamespace
    >>> from arrows.engine.device import get_device
    >>> model: Trainable = SimpleNamespace(params={"w": np.ones(2)}, device=get_device("cpu"))
    """

    @property
    def params(self) -> Mapping[str, Array]:
        """Parameter name -> live array."""

    @property
    def device(self) -> Device:
        """Whose arrays the parameters are."""


def notation(array: Array) -> str:
    """Element type and shape of an array of any device, in the short notation of types.

    >>> import numpy as np
    >>> notation(np.zeros((3, 4), "float32")), notation(np.float64(1))
    ('float32[3, 4]', 'float64')
    """
    return f"{array.dtype}{list(array.shape)}" if array.shape else str(array.dtype)


def not_finite_parameter(model: Trainable) -> str | None:
    """The first parameter that has numbers which are not finite, in words; None if all are finite.

    >>> import numpy as np
    >>> from types import SimpleNamespace
    >>> from arrows.engine.device import get_device
    >>> not_finite_parameter(
    ...     SimpleNamespace(params={"w": np.array([1, np.nan, 3])}, device=get_device("cpu"))
    ... )
    "1 of the 3 numbers of the parameter 'w' is not finite"
    """
    for name, array in model.params.items():
        values = model.device.to_numpy(array)
        if values.dtype.kind == "f" and not np.isfinite(values).all():
            count = values.size - int(np.isfinite(values).sum())
            are = "is" if count == 1 else "are"
            return f"{count:,} of the {values.size:,} numbers of the parameter {name!r} {are} not finite"
    return None
