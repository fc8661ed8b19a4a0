"""What runs on the fly is what each call means alone: values, losses and gradients, however it is batched."""

from __future__ import annotations

import random
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import assume, given, strategies as st

import arrows as ar
from arrows.engine import planning
from arrows.engine.device.kernel import available
from arrows.engine.program import make_code
from arrows.engine.running import batch_plan
from arrows.onthefly import LazyBatch
from arrows.testing.host_kernels import host_compiler
from tests.compare import close, dense
from tests.onthefly.eager import Eager
from tests.onthefly.programs import EXAMPLES, Program, pool, programs
from tests.profile import draws

# Each new function is compiled by the host's compiler: few draws in the suite.
KERNELS = ["fake-kernels"] if host_compiler() is not None else []
SCHEDULES = planning.SCHEDULES
TOLERANCE = 1e-9


class Reading:
    """A batch that a program computes with: it reads some of what it is shown at once.

    Args:
        g: the batch.
        reads: which part of the values, from a generator of the same seed every time.
        one_by_one: run instances one after the other.
    """

    def __init__(self, g: LazyBatch, reads: float, one_by_one: bool = False) -> None:
        self.g, self.reads, self.one_by_one = g, reads, one_by_one
        self.random = random.Random(5)
        self.read: list[tuple[Any, Any]] = []
        for name in ("tensor", "zeros", "constant", "sum", "mean", "numpy"):
            setattr(self, name, getattr(g, name))

    def __call__(self, block: Any, *arguments: Any) -> Any:
        return self.g(block, *arguments)

    def peek(self, seen: list[Any], value: Any) -> None:
        seen.append(value)
        if self.random.random() < self.reads:
            self.read.append((value, self.g.numpy(value)))

    def run_all(self, instances: Any) -> list[Any]:
        if self.one_by_one:
            return [self.g.run_all([instance])[0] for instance in instances]
        return self.g.run_all(instances)


def run(program: Program, scope: dict[str, Any], b: Any, examples: list[Any]) -> tuple[list[Any], Any, Any]:
    """The losses of all examples, what they noted, and what they counted."""
    shared = scope["prelude"](b)
    losses: list[list[Any]] = [[] for _ in examples]
    seen: list[list[Any]] = [[] for _ in examples]
    calls = [scope["example"](b, x, shared, *lists) for x, *lists in zip(examples, losses, seen, strict=True)]
    counts = b.run_all(calls) if program.generator else calls
    return [loss for own in losses for loss in own], seen, counts


def each_dense(gradients: dict[str, Any]) -> dict[str, Any]:
    return {name: dense(gradient) for name, gradient in gradients.items()}


def outcome(
    program: Program,
    scope: dict[str, Any],
    net: ar.OnTheFly,
    examples: list[Any],
    reads: float,
    training: bool,
    one_by_one: bool = False,
) -> tuple[Any, ...]:
    """What a batch gives: values seen, the loss, gradients, counts."""
    with net.batch(training=training) as g:
        b = Reading(g, reads, one_by_one)
        losses, seen, counts = run(program, scope, b, examples)
        loss, gradients = g.value_and_grad(b.mean(losses))
        for value, numbers in b.read:
            assert close(numbers, g.numpy(value), 0)
        return g.numpy(seen), float(ar.to_numpy(loss)), each_dense(gradients), counts


@mock.patch.object(batch_plan, "_WORTH", 0)
def check(
    program: Program,
    examples: list[Any],
    schedule: str,
    device: str,
    reads: float,
    float_type: str | None = "float64",
    jit: bool = False,
    one_by_one: bool = False,
) -> None:
    tolerance = TOLERANCE if float_type == "float64" else 2e-4
    net = ar.OnTheFly(seed=3, schedule=schedule, device=device, float_type=float_type, jit=jit)
    blocks = pool()
    scope = program.load(blocks, None)
    first = outcome(program, scope, net, examples, reads, program.chancy, one_by_one)
    with Eager(net, training=program.chancy) as b:
        losses, seen, counts = run(program, program.load(blocks, b.call), b, examples)
        assume(all(np.isfinite(loss.array).all() for loss in losses))
        loss, gradients = b.value_and_grad(b.mean(losses))
        assume(not b.meets_kink())
        right = b.numpy(seen), float(loss), gradients, counts
    compare(first, right, tolerance)
    held = 0
    for again in range(3):
        with mock.patch("arrows.engine.running.executor.make_code", side_effect=make_code) as made:
            compare(outcome(program, scope, net, examples, 0.0, program.chancy, one_by_one), right, tolerance)
        if again == 2:  # the first may show that a number changes
            assert not made.called
            assert net.held_memory == held
        held = net.held_memory


def compare(got: tuple[Any, ...], right: tuple[Any, ...], tolerance: float) -> None:
    for part, a, b in zip(("seen", "loss", "gradients", "counts"), got, right, strict=True):
        if part == "gradients":
            assert a.keys() == b.keys()
            for name in b:
                assert close(a[name], b[name], tolerance), (name, a[name], b[name])
        else:
            assert close(a, b, tolerance), (part, a, b)


SETTINGS = {
    "schedule": st.sampled_from(SCHEDULES),
    "device": st.sampled_from(["cpu", "cpu", "fake", *KERNELS]),
    "reads": st.sampled_from([0.0, 0.1, 0.5, 1.0]),
    "examples": st.lists(EXAMPLES, min_size=1, max_size=4),
}


@draws(8, 600)
@given(program=programs(), **SETTINGS)
def test_programs(program, examples, schedule, device, reads):
    check(program, examples, schedule, device, reads)


@draws(4, 250)
@given(program=programs(chancy=True), **SETTINGS)
def test_programs_with_dropout(program, examples, schedule, device, reads):
    check(program, examples, schedule, device, reads)


@draws(8, 600)
@given(program=programs(generator=True), one_by_one=st.booleans(), **SETTINGS)
def test_generators(program, examples, schedule, device, reads, one_by_one):
    check(program, examples, schedule, device, reads, one_by_one=one_by_one)


@draws(3, 250)
@given(program=programs(generator=True, chancy=True), **SETTINGS)
def test_generators_with_dropout(program, examples, schedule, device, reads):
    check(program, examples, schedule, device, reads)


@draws(2, 200)
@given(program=programs(), **SETTINGS)
def test_programs_in_single_precision(program, examples, schedule, device, reads):
    check(program, examples, schedule, device, reads, float_type=None)


@pytest.mark.skipif(not available(), reason="no numba here")
@draws(2, 100)
@given(program=programs(most=4), **SETTINGS)
def test_compiled_programs(program, examples, schedule, device, reads):
    check(program, examples, schedule, "cpu", reads, jit=True)
