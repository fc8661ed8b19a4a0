"""Rows that are written where later steps read them together, on a device with kernels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import arrows as ar
from arrows import ops
from arrows.engine.device.host_compiler import host_compiler
from arrows.engine.running.batch_plan import PlannedBatch
from arrows.engine.scheduling import DropoutSeed
from tests.compare import close

pytestmark = pytest.mark.skipif(host_compiler() is None, reason="the host has no C compiler")

SEQUENCES = [[0.5, -1.0, 2.0, 0.25], [1.0], [], [3.0, -0.5, 0.125]]


def folded(activation: bool) -> Any:
    """A fold whose result a kernel or a product gives; a row is too long for a thread."""
    layer = ar.FC(80, bias=activation, activation=ops.tanh if activation else None, name="layer")
    joined = ar.Function(lambda state, x: ops.concat([state, ops.reshape(x, (1,))]))
    step = (joined if activation else ar.Function(lambda state, x: state)) >> layer
    square = ar.Function(lambda v: ops.sum(v * v))
    return (
        ar.Map(ar.Scalar()) >> ar.Fold(step, ar.Constant(np.linspace(-1, 1, 80).astype("float32"))) >> square
    )


def planned(model: ar.Model, examples: Any) -> PlannedBatch:
    executor = model.executors.get(training=True, gradients=True)
    return executor.merge(model.prepare(examples)[:].wired, DropoutSeed(0, 0, np.arange(len(examples))))


def launches(model: ar.Model, examples: Any) -> int:
    model.value_and_grad(examples)
    before = model.device.counts
    model.value_and_grad(examples)
    return (model.device.counts - before).launches


def test_a_step_delivers_what_its_kernel_computes() -> None:
    model = ar.compile(folded(True), device="fake-kernels")
    assert planned(model, SEQUENCES).deliveries.count
    # A product and a kernel forwards, and backwards.
    assert launches(model, [[1.0] * 12]) - launches(model, [[1.0] * 2]) == 10 * 4


def test_inference_keeps_nothing_for_later() -> None:
    model = ar.compile(folded(True), device="fake-kernels")
    executor = model.executors.get(training=False)
    batch = executor.merge(model.prepare(SEQUENCES)[:].wired, DropoutSeed(0, 0, np.arange(4)))
    assert not batch.deliveries.count
    reference = [model.eval(each) for each in SEQUENCES]
    assert close(ar.to_numpy(model(SEQUENCES)), np.stack([ar.to_numpy(each) for each in reference]), 1e-6)
