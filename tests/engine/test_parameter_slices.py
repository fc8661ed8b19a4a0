"""The gradient of a parameter that is read in slices: each slice's gradient is written to its place."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import arrows as ar
from arrows import ops
from arrows.engine.program.instructions import Accumulate
from arrows.layers import initializers
from arrows.ops import Parameter
from tests.agree import agrees, programs


class Reads(ar.Layer[Any, Any]):
    """A matrix, read as a function of it says."""

    read: Any

    def __init__(self, read: Any, name: str) -> None:
        super().__init__(name=name)
        self.read = read

    def parameters(self, input: Any) -> tuple[Parameter, ...]:
        return (Parameter("weight", (4, 4), "float32", initializers.uniform(1.0)),)

    def forward(self, parameters: Any, *args: Any) -> Any:
        return self.read(*args, parameters["weight"]).sum()


READS = {
    "rows": lambda x, w: x @ w[:2] + x @ w[2:],
    "rows, not all": lambda x, w: x @ w[1:3],
    "columns": lambda x, w: ops.concat([x, x]) @ w[:, 1:3],
    "a block and all": lambda x, w: ops.concat([x, x]) @ w + (x @ w[:2, :2]).sum(),
    "overlapping": lambda x, w: x @ w[:2] + x @ w[1:3],
    "the same twice": lambda x, w: x @ w[:2] + (x * 2.0) @ w[:2],
    "every other": lambda x, w: x @ w[::2],
    "one number": lambda x, w: x * w[1, 2],
    "one row": lambda x, w: x * w[3, :2],
    "turned": lambda x, w: x @ w.T[:2] + x @ w[:2],
    "nested": lambda x, w: x @ w[1:][:2][:, 1:],
    "padded": lambda x, w: x @ ops.concat([w[2:3], w[:1]]),
}


@pytest.mark.parametrize("name", READS)
@pytest.mark.parametrize("device", ["cpu", "fake"])
def test_slices(name: str, device: str) -> None:
    layer = Reads(READS[name], "reads")
    model = ar.compile(ar.Vector(2) >> layer, float_type="float64", device=device)
    examples = np.random.default_rng(0).normal(size=(3, 2)).tolist()
    agrees(model, examples)
    agrees(model, examples[:1])  # what the first batch left is not there any more


def test_each_piece_is_written_in_place() -> None:
    model = ar.compile(ar.Vector(2) >> Reads(READS["rows"], "reads"), float_type="float64")
    agrees(model, [[1.0, 2.0]])
    (program,) = programs(model)["reads"]
    regions = {made.region for made in program.region("deferred") if isinstance(made, Accumulate)}
    assert regions == {((0, 2), (0, 4)), ((2, 4), (0, 4))}
