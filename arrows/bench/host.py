"""The one place where benchmarks reach below a model's surface, to time the host's part of a batch alone."""

from __future__ import annotations

from typing import Any

import numpy as np

from arrows.engine import merge as merging


def merge(model: Any, prepared: Any, indices: np.ndarray[Any, Any]) -> Any:
    """Selects examples of a prepared set and merges their wirings into a schedule, without executing it.

    Args:
        model: from `arrows.compile`.
        prepared: from `model.prepare`.
        indices: which examples.

    Returns:
        The merged batch.

    >>> import arrows as ar
    >>> model = ar.compile(ar.Scalar() >> ar.Function(lambda x: x * x))
    >>> merge(model, model.prepare([1.0, 2.0, 3.0]), np.array([0, 2])).examples
    2
    """
    return merging.merge(model.plan, prepared[indices].wirings)
