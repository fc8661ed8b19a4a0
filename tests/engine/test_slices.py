"""Gradients of slices of all kinds, on every device."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import arrows as ar
from tests.compare import close
from tests.reference_gradients import value_and_grad


@pytest.mark.parametrize("device", ["cpu", "fake"])
def test_slices_of_all_kinds(device: str) -> None:
    """Overlapping, strided, reversed, of several axes, used twice: the sum is right."""

    def one(z: Any) -> Any:
        return (
            (z[0:3] * z[1:4]).sum()
            + (z[::2] * 3.0).sum()
            + (z[::-1][:2] * z[4:]).sum()
            + z[3] * z[0]
            + (z.reshape((2, 3))[1] * z.reshape((2, 3))[:, ::-1][0]).sum()
            + (z.reshape((2, 3))[:, 1:].T[0] * 2.0).sum()
            + z[2:2].sum()
            + (z[0:3] * z[0:3]).sum()
        )

    model = ar.compile(ar.Vector(6, name="z") >> ar.Function(one), float_type="float64", device=device)
    batch = np.random.default_rng(0).normal(size=(4, 6))
    _, grads = model.value_and_grad(list(batch), inputs=["z"])
    wanted = value_and_grad(model.typed, list(batch), lambda o, p: None, inputs=["z"], float_type="float64")
    for n in range(4):
        assert close(list(ar.to_numpy(grads["z"])[n]), wanted.inputs[n]["z"], 1e-9)
