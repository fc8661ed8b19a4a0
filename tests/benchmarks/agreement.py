"""Compares the numbers of a hand-written system with those of the model that it implements."""

from __future__ import annotations

import numpy as np


def agree(values, expected, tolerance):
    """Asserts the same names, shapes and element types, and numbers as near as the tolerance says."""
    assert sorted(values) == sorted(expected)
    for name, value in expected.items():
        value = value.to_dense(np) if hasattr(value, "to_dense") else np.asarray(value)
        assert values[name].shape == value.shape and values[name].dtype == value.dtype, name
        assert np.abs(values[name] - value).max() <= tolerance * (1 + np.abs(value).max()), name
