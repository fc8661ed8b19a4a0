"""Each instruction in a program of a few lines, and what it computes, in NumPy; as emitted for both devices,
and in C."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, get_args

import numpy as np
import pytest

from arrows import ops
from arrows.engine.device import STORED_TYPES, get_device
from arrows.engine.device.host_compiler import host_compiler
from arrows.engine.program.emitters.numpy import emit_once
from arrows.engine.program.instructions import (
    Accumulate,
    Call,
    Compute,
    Copy,
    Downcast,
    Gather,
    Instruction,
    Join,
    LoadConstant,
    LoadKeys,
    LoadParameter,
    Product,
    Pull,
    RowMap,
    Scatter,
    Store,
    SumRows,
    View,
)
from arrows.engine.program.passes.allocate import allocate
from arrows.engine.program.text import parse_program
from arrows.engine.program.verify import verify_program
from tests.engine.program.emitters.batches import Batch, emitted, plainly
from tests.engine.program.emitters.c.batches import KernelRun, library_of

X = np.arange(10, dtype=np.float32).reshape(5, 2) - 4  # the slab
ROWS, MORE = [4, 0, 2], [1, 1, 3]  # what operands 0 and 1 read of it
W = np.arange(6, dtype=np.float32).reshape(2, 3) / 4
G = np.array([[1, 2], [-3, 4], [5, -6]], np.float32)  # the gradient of a result of two numbers
KEYS = np.array([3, 7, 11], np.uint64)

READS = "operand 0: float32[2] row of slab 0, differentiated\n"
READS_TWO = READS + "operand 1: float32[2] row of slab 0, differentiated\n"
TWICE = "step\n  %0: float32[2] row = gather 0\n  %1: float32[2] row = add(%0, %0)\n  result 0 = %1\n"


class Case(NamedTuple):
    """A program, and what comes out: results, then what is scattered, then gradients of parameters."""

    text: str
    expected: Callable[[], list[Any]]
    parameters: tuple[Any, ...] = ()


def masked() -> Any:
    drop = ops.get("dropout").kernel(np, rate=0.5)
    return np.stack([drop(row, key) for row, key in zip(X[ROWS], KEYS, strict=True)])


CASES: dict[type, Case] = {
    LoadConstant: Case(
        READS + "result 0: float32[2] row\n"
        "once\n  %1: float32[2] = constant [0.5, -1.0]\n"
        "step\n  %0: float32[2] row = gather 0\n  %2: float32[2] row = add(%0, %1)\n  result 0 = %2",
        lambda: [X[ROWS] + [0.5, -1]],
    ),
    LoadParameter: Case(
        READS + "result 0: float32[2] row\n"
        "once\n  %1: float32[2] = parameter FC_1/bias\n"
        "step\n  %0: float32[2] row = gather 0\n  %2: float32[2] row = add(%0, %1)\n  result 0 = %2",
        lambda: [X[ROWS] + W[0, :2]],
        (W[0, :2],),
    ),
    LoadKeys: Case(
        READS + "result 0: float32[2] row\n"
        "step\n  %1: uint64 row = dropout keys\n  %0: float32[2] row = gather 0\n"
        "  %2: float32[2] row = dropout(%0, %1, rate=0.5)\n  result 0 = %2",
        lambda: [masked()],
    ),
    Gather: Case(
        READS_TWO + "result 0: float32[4] row\n"
        "step\n  %0: float32[4] row = gather 0, 1\n  %1: float32[4] row = negative(%0)\n  result 0 = %1",
        lambda: [-np.hstack([X[ROWS], X[MORE]])],
    ),
    Product: Case(
        READS + "result 0: float32[3] row\n"
        "once\n  %0: float32[2, 3] = parameter FC_1/weight\n"
        "step\n  %1: float32[2] row = gather 0\n  %2: float32[3] row = matmul(%1, %0)\n  result 0 = %2",
        lambda: [X[ROWS] @ W],
        (W,),
    ),
    View: Case(
        READS + "result 0: float32[1] row\n"
        "step\n  %0: float32[2] row = gather 0\n  %1: float32[1] row = index(%0, key=((1, 2, 1),))\n"
        "  %2: float32[1] row = square(%1)\n  result 0 = %2",
        lambda: [X[ROWS][:, 1:2] ** 2],
    ),
    Copy: Case(
        READS + "result 0: float32[3] row\n"
        "once\n  %0: float32[3, 2] = parameter FC_1/weight\n"
        "  %1: float32[2, 3] = copy transpose(%0, axes=(-1, -2))\n"
        "step\n  %2: float32[2] row = gather 0\n  %3: float32[3] row = matmul(%2, %1)\n  result 0 = %3",
        lambda: [X[ROWS] @ W],
        (W.T.copy(),),
    ),
    Join: Case(
        READS_TWO + "result 0: float32[4] row\n"
        "step\n  %0: float32[2] row = gather 0\n  %1: float32[2] row = gather 1\n"
        "  %2: float32[4] row = concat(%1, %0, axis=-1)\n  result 0 = %2",
        lambda: [np.hstack([X[MORE], X[ROWS]])],
    ),
    Call: Case(
        READS + "result 0: float32 row\n"
        "step\n  %0: float32[2] row = gather 0\n  %1: float32 row = sum(%0, axes=(-1,), keepdims=False)\n"
        "  result 0 = %1",
        lambda: [X[ROWS].sum(axis=1)],
    ),
    RowMap: Case(
        READS + "result 0: float32[2] row\n"
        "step\n  %0: float32[2] row = gather 0\n"
        "  map\n    %1: float32[2] row = square(%0)\n    %2: float32[2] row = subtract(%1, %0)\n  -> %2\n"
        "  result 0 = %2",
        lambda: [X[ROWS] ** 2 - X[ROWS]],
    ),
    Store: Case(
        READS + "result 0: float32[2] row\nresult 1: float32[2] row\n"
        "step\n  %0: float32[2] row = gather 0\n  result 0 = %0\n  result 1 = %0",
        lambda: [X[ROWS], X[ROWS]],
    ),
    Pull: Case(
        READS + "result 0: float32[2] row\n" + TWICE + "step_back\n  %2: float32[2] row = gradient 0\n"
        "  %3: float32[2] row = multiply(%2, %0)\n  scatter 0 += %3",
        lambda: [2 * X[ROWS], G * X[ROWS]],
    ),
    Scatter: Case(
        READS + "result 0: float32[2] row\n" + TWICE + "step_back\n  %2: float32[2] row = gradient 0\n"
        "  %3: float32[2] row = add(%2, %2)\n  scatter 0 += %3",
        lambda: [2 * X[ROWS], 2 * G],
    ),
    SumRows: Case(
        READS + "result 0: float32[2] row\n"
        "once\n  %9: float32[2, 2] = parameter FC_1/weight\n"
        + TWICE
        + "step_back\n  %2: float32[2] row = gradient 0\n"
        "deferred\n  %4: float32[2, 2] = sum outer(%0, %2)\n  gradient of FC_1/weight[0:2, 0:2] += %4",
        lambda: [2 * X[ROWS], X[ROWS].T @ G],
        (W[:, :2],),
    ),
    Accumulate: Case(
        READS + "result 0: float32[2] row\n"
        "once\n  %9: float32[2] = parameter FC_1/bias\n"
        + TWICE
        + "step_back\n  %2: float32[2] row = gradient 0\n"
        "deferred\n  %4: float32[2] = sum %2\n  gradient of FC_1/bias[0:2] += %4",
        lambda: [2 * X[ROWS], G.sum(axis=0)],
        (W[0, :2],),
    ),
}

compiler = pytest.mark.skipif(host_compiler() is None, reason="the host has no C compiler")
kinds = pytest.mark.parametrize("kind", CASES, ids=lambda kind: kind.__name__)


def batch_of(case: Case) -> Batch:
    """Two steps, of one row and of two."""
    return Batch([0, 1, 3], {0: X}, [ROWS, MORE], case.parameters, gradients=[G], keys=KEYS)


def same(arrays: list[Any], expected: list[Any]) -> None:
    assert len(arrays) == len(expected)
    for array, wanted in zip(arrays, expected, strict=True):
        np.testing.assert_allclose(array, wanted, rtol=1e-6)


def test_every_instruction_is_shown_here() -> None:
    kinds = {kind for kind in get_args(Instruction) if kind is not Compute} | set(Compute.__subclasses__())
    assert kinds == {*CASES, Downcast}


@kinds
def test_what_an_instruction_computes(kind: type) -> None:
    case = CASES[kind]
    program = parse_program(f"program example\n{case.text}")
    assert any(type(instruction) is kind for _, instruction in program)
    batch, allocated = batch_of(case), allocate(program)
    verify_program(allocated)
    same(plainly(program, batch).arrays(), case.expected())
    for device in ("cpu", "fake"):
        same(emitted(allocated, batch, device).arrays(), case.expected())


@compiler
@kinds
def test_what_its_kernel_computes(kind: type) -> None:
    case = CASES[kind]
    program = allocate(parse_program(f"program example\nfor kernels\n{case.text}"))
    verify_program(program)
    run = KernelRun(program, batch_of(case), library_of([program]))
    same(run.run().arrays(), case.expected())


@compiler
def test_a_value_in_another_type() -> None:
    """`Downcast`, which programs for kernels have alone, rounds a value without rows."""
    program = parse_program("""
        program example
        for kernels
        once
          %0: float32[2, 3] = parameter FC_1/weight
          %1: float32[2, 3] as bfloat16 = downcast %0
    """)
    fine = W + np.float32(2**-12)
    device = get_device("fake-kernels")
    _, stored = emit_once(program, device).compute((), [device.to_device(fine)], 1)
    bfloat16 = STORED_TYPES["bfloat16"]
    np.testing.assert_array_equal(device.to_numpy(stored), bfloat16.store(fine))
    np.testing.assert_array_equal(bfloat16.load(device.to_numpy(stored))[0], [2**-12, 0.25, 0.5])
