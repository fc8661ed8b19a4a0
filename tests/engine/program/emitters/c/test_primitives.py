"""Each primitive's kernel in C, executed through the host's compiler, computes what it does on NumPy."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import pytest

from arrows import ops
from arrows.engine.device.host_compiler import HostLibrary, host_compiler
from arrows.engine.program.format import level_text
from arrows.engine.program.passes.allocate import allocate
from arrows.engine.program.program import Program
from arrows.ops import ROW
from arrows.typesys import types as T
from tests.engine.program.emitters.batches import Batch, plainly
from tests.engine.program.emitters.c.batches import KernelRun, kernels_of, library_of
from tests.engine.program.written import written
from tests.ops.table import CASES

pytestmark = pytest.mark.skipif(host_compiler() is None, reason="the host has no C compiler")

# What is left to the array module, with the reason.
LEFT: dict[str, str] = {}

ROWS, LENGTHS = 5, (2, 0, 3, 1, 4)
OFFSETS = [0, *np.cumsum(LENGTHS).tolist()]


def program_of(name: str, types: list[T.Tensor], attributes: dict[str, Any]) -> Program:
    """The program of one equation, whose operands are gathered."""
    primitive = ops.get(name)
    sequences = sequence_count(name, len(types))
    levels = [0 if number < sequences else ROW for number in range(len(types))]
    result = primitive.rule(*types, **attributes)
    level = ROW if not primitive.segmented or primitive.collapses else 0
    body = [f"%{n}: {t}{level_text(levels[n])} = gather {n}" for n, t in enumerate(types)]
    reads = ", ".join([f"%{n}" for n in range(len(types))] + [f"{k}={v!r}" for k, v in attributes.items()])
    return allocate(
        written(
            "\n".join(
                [
                    "program example",
                    "for kernels",
                    *(f"operand {n}: {t}{level_text(levels[n])} of slab {n}" for n, t in enumerate(types)),
                    f"result 0: {result}{level_text(level)}",
                    "step",
                    *body,
                    f"%9: {result}{level_text(level)} = {name}({reads})",
                    "result 0 = %9",
                ]
            )
        )
    )


def sequence_count(name: str, operands: int) -> int:
    """How many of the operands of a primitive are sequences, which stand first."""
    primitive = ops.get(name)
    if not primitive.segmented or name == "segment_broadcast":
        return 0
    return 1 if primitive.collapses else operands


def rows_like(operand: Any, dtype: str, count: int, seed: int) -> Any:
    """Rows of a slab: the operand's numbers in other orders."""
    rng = np.random.default_rng(seed)
    rows = [rng.permutation(operand.reshape(-1)).reshape(operand.shape) for _ in range(count)]
    return np.asarray(rows).reshape((count, *operand.shape)).astype(dtype)


def cases(float_type: str) -> Iterator[tuple[str, Program, Batch]]:
    for number, (name, operands, attributes) in enumerate(CASES):
        attributes = {k: float_type if v == "float64" else v for k, v in attributes.items()}
        arrays = [x.astype(float_type) if x.dtype.kind == "f" else x for x in operands]
        sequences = sequence_count(name, len(arrays))
        arrays = [x[0] if n < sequences else x for n, x in enumerate(arrays)]
        types = [T.Tensor(x.shape, x.dtype.name) for x in arrays]
        if attributes.get("default", 0) is None:
            attributes["default"] = 0.5  # some sequence is empty
        program = program_of(name, types, attributes)
        slabs = {n: rows_like(x, x.dtype.name, 12 + len(arrays), number + n) for n, x in enumerate(arrays)}
        rng = np.random.default_rng(number)
        counts = [OFFSETS[-1] if operand.level == 0 else ROWS for operand in program.operands]
        if number % 3:
            rows = [rng.integers(0, 12, count).tolist() for count in counts]
        else:
            rows = [list(range(1 + n, 1 + n + count)) for n, count in enumerate(counts)]
        yield name, program, Batch([0, 2, ROWS], slabs, rows, offsets={0: OFFSETS})


@cache
def prepared(float_type: str) -> tuple[list[tuple[str, Program, Batch]], HostLibrary]:
    found = list(cases(float_type))
    return found, library_of([program for _, program, _ in found])


def close(actual: Any, expected: Any, float_type: str) -> None:
    assert actual.dtype == expected.dtype and actual.shape == expected.shape
    if actual.dtype.kind != "f":
        np.testing.assert_array_equal(actual, expected)
    else:
        tolerance = 2e-6 if float_type == "float32" else 1e-14
        np.testing.assert_allclose(actual, expected, tolerance, tolerance)


@pytest.mark.parametrize("float_type", ["float32", "float64"])
@pytest.mark.parametrize("name", sorted({name for name, _, _ in CASES}))
def test_a_primitive(name: str, float_type: str) -> None:
    found, library = prepared(float_type)
    tried = 0
    for other, program, batch in found:
        if other != name:
            continue
        if program.results[0][0].size:
            tried += bool(kernels_of(program))
            assert bool(kernels_of(program)) == (name not in LEFT), program
        (actual,) = KernelRun(program, batch, library).run().results
        (expected,) = plainly(program, batch).results
        close(actual, expected, float_type)
    assert tried or name in LEFT


def test_what_is_left_to_the_array_module_is_a_primitive() -> None:
    assert LEFT.keys() <= ops.primitives().keys()
