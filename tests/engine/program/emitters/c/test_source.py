"""The kernels in C of programs, executed through the host's compiler, compute what NumPy does."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

from arrows import ops
from arrows.engine.device.host_compiler import HostLibrary, host_compiler
from arrows.engine.program.emitters.arguments import RowsOf
from arrows.engine.program.passes.allocate import allocate
from arrows.engine.program.program import Program
from arrows.engine.program.text import parse_program
from arrows.typesys import types as T
from tests.engine.program.emitters.batches import Batch, plainly
from tests.engine.program.emitters.c.batches import KernelRun, a_batch, close, kernels_of, library_of
from tests.engine.program.emitters.traced import program_of

pytestmark = pytest.mark.skipif(host_compiler() is None, reason="the host has no C compiler")


def cell(z: Any, c: Any) -> Any:
    i, f, u = ops.sigmoid(z[:4]), ops.sigmoid(z[4:8]), ops.tanh(z[8:])
    new = i * u + f * c
    return ops.tanh(new), new


FUNCTIONS: dict[str, tuple[Any, tuple[list[int], ...]]] = {
    "cell": (cell, ([12], [4])),
    "slices and joins": (lambda x: ops.concat([x[3:], x[:3]]) * x, ([5],)),
    "ranges of joins": (
        lambda x, y: ops.tanh(ops.concat([x * 2.0, y])[1:4]) + ops.concat([y, x])[0:3],
        ([2], [3]),
    ),
    "spread numbers": (lambda x: x - x[1].reshape((1,)), ([4],)),
    "every function": (
        lambda x, y: ops.relu(x) + ops.sign(y) * ops.abs(x) - ops.sqrt(ops.square(y)) / (-x - 9.0),
        ([7], [7]),
    ),
    "matrices": (lambda x, y: (x.T * y[::-1, None]).sum(axis=0) + x @ y, ([3, 3], [3])),
}


def made(function: Any, shapes: tuple[list[int], ...], dtype: str = "float32") -> Program:
    types = tuple(T.Tensor(tuple(shape), dtype) for shape in shapes)
    program = program_of(function, T.Tuple(types) if len(types) > 1 else types[0])
    return allocate(replace(program, kernels=True))


@cache
def programs(dtype: str) -> tuple[dict[str, Program], HostLibrary]:
    found = {name: made(*function, dtype) for name, function in FUNCTIONS.items()}
    return found, library_of(list(found.values()))


@pytest.mark.parametrize("ranges", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", list(FUNCTIONS))
def test_kernels_compute_what_numpy_does(name: str, dtype: str, ranges: bool) -> None:
    found, library = programs(dtype)
    batch = a_batch(found[name], ranges=ranges)
    run = KernelRun(found[name], batch, library)
    close(run.run(), plainly(found[name], batch), 2e-6 if dtype == "float32" else 1e-14)
    assert all(run.launches.values())


def run(text: str, batch: Any = None, pulled: Any = None) -> tuple[Program, Any]:
    program = allocate(parse_program("program example\nfor kernels\n" + text))
    batch = a_batch(program) if batch is None else batch
    return program, KernelRun(program, batch, library_of([program]), pulled).run()


def test_not_a_number_passes_through() -> None:
    x = np.array([[np.nan, np.inf, -np.inf]], np.float32)
    _, outcome = run(
        """\
operand 0: float32[3] row of slab 0
result 0: float32[3] row
result 1: float32[3] row
result 2: float32[3] row
step
  %0: float32[3] row = gather 0
  %1: float32[3] row = relu(%0)
  %2: float32[3] row = sign(%0)
  %3: float32[3] row = sigmoid(%0)
  result 0 = %1
  result 1 = %2
  result 2 = %3""",
        Batch([0, 1], {0: x}, [[0]]),
    )
    expected = [[np.nan, np.inf, 0]], [[np.nan, 1, -1]], [[np.nan, 1, 0]]
    for result, numbers in zip(outcome.results, expected, strict=True):
        np.testing.assert_array_equal(result, numbers)


def test_rows_side_by_side_are_read_where_they_are() -> None:
    text = """\
operand 0: float32[3] row of slab 0
operand 1: float32[3] row of slab 0
result 0: float32[6] row
result 1: float32[4] row
step
  %0: float32[6] row = gather 0, 1
  %1: float32[6] row = negative(%0)
  %2: float32[4] row = index(%0, key=((1, 5, 1),))
  result 0 = %1
  result 1 = %2"""
    program, outcome = run(text)
    close(outcome, plainly(program, a_batch(program)))
    kernels = kernels_of(program)
    assert list(kernels) == [("step", 1), ("step", 4)]
    assert not any(isinstance(each, RowsOf) and each.var.id == 0 for each in kernels["step", 1].arguments)


def test_gradients_are_pulled_in_order() -> None:
    text = """\
operand 0: float32[2] row of slab 0, differentiated
result 0: float32[2] row
step
  %0: float32[2] row = gather 0
  %1: float32[2] row = square(%0)
  result 0 = %1
step_back
  %2: float32[2] row = gradient 0
  %3: float32[2] row = multiply(%2, %0)
  scatter 0 += %3"""
    values = np.arange(10, dtype=np.float32).reshape(5, 2)
    program, outcome = run(text, pulled={0: ([0, 1, 1, 4, 4, 4, 6], [4, 0, 1, 3, 2, 2], values)})
    batch = a_batch(program)
    gradient = batch.gradients[0] + [[8, 9], [0, 0], [8, 11], [0, 0], [0, 0], [8, 10]]
    close(outcome, plainly(program, replace(batch, gradients=[gradient])))


def test_a_gradient_that_two_read_is_added_up_first() -> None:
    text = """\
operand 0: float32[2] row of slab 0, differentiated
result 0: float32[2] row
step
  %0: float32[2] row = gather 0
  %1: float32[2] row = square(%0)
  result 0 = %1
step_back
  %2: float32[2] row = gradient 0
  %3: float32[2] row = multiply(%2, %0)
  %4: float32[2] row = multiply(%2, %3)
  scatter 0 += %4"""
    values = np.arange(10, dtype=np.float32).reshape(5, 2)
    program, outcome = run(text, pulled={0: ([0, 1, 1, 4, 4, 4, 6], [4, 0, 1, 3, 2, 2], values)})
    assert "%2: float32[2] row in gradient 0 = gradient 0" in str(program)
    batch = a_batch(program)
    gradient = batch.gradients[0] + [[8, 9], [0, 0], [8, 11], [0, 0], [0, 0], [8, 10]]
    close(outcome, plainly(program, replace(batch, gradients=[gradient])))


def test_a_refused_source_says_why() -> None:
    with pytest.raises(RuntimeError, match="refuses the source"):
        HostLibrary("this is not C")
