"""Every optimisation can be left out without a change of results: each is switched off alone, and all
together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from arrows.engine.lowering import Compositions
from arrows.engine.planning import Plan
from arrows.engine.program import codegen, contiguous_transpose, derive, program_writer
from arrows.engine.program.pieces import Piece
from arrows.engine.reading import structural_hash
from arrows.engine.running import execute, unlike
from arrows.engine.scheduling import node_table
from arrows.ops import Equation, Trace, Tracer, TraceRecorder, Var, linear
from tests.engine.test_batching import SETTINGS, compare

Patch = pytest.MonkeyPatch


def no_fission(patch: Patch) -> None:
    plain = program_writer.divide
    patch.setattr(program_writer, "fission", lambda trace, early: trace)
    patch.setattr(
        program_writer, "divide", lambda trace, equations, early, read: plain(trace, equations, (), read)
    )


def no_joints(patch: Patch) -> None:
    patch.setattr(program_writer, "joints", lambda operation, trace, equations: ())


def no_sharing(patch: Patch) -> None:
    patch.setattr(Plan, "shares", property(lambda self: False))


def no_folding(patch: Patch) -> None:
    def plainly(recorder: TraceRecorder, equation: Equation, operands: Any) -> Tracer:
        attributes: dict[str, Any] = dict(equation.attributes)
        made = recorder.bind(equation.primitive, *operands, **attributes)
        assert isinstance(made, Tracer)
        return made

    patch.setattr(derive, "emit", plainly)


def no_narrowing(patch: Patch) -> None:
    def same(trace: Trace) -> Trace:
        return trace

    patch.setattr(derive, "narrow", same)


def no_order(patch: Patch) -> None:
    patch.setattr(node_table, "largest_first", lambda lengths: np.arange(len(lengths)))


def no_pieces(patch: Patch) -> None:
    def whole(var: Var, made_by: Any, zeros: Any = ()) -> tuple[Piece, ...]:
        return (Piece(tuple((0, size) for size in var.type.shape), var),)

    patch.setattr(derive, "pieces", whole)


def no_contiguous_transposes(patch: Patch) -> None:
    patch.setattr(codegen, "ContiguousTranspose", lambda kernel: lambda value, steps: kernel(value))


def no_assembling(patch: Patch) -> None:
    patch.setattr(derive, "assemble", lambda recorder: list(recorder.equations))


def no_composition(patch: Patch) -> None:
    patch.setattr(Compositions, "steps", lambda self, parts: iter(parts))


def no_sharing_of_memory(patch: Patch) -> None:
    patch.setattr(execute, "shared_memory", execute.separate_memory)


def no_unlike_rows(patch: Patch) -> None:
    patch.setattr(program_writer, "told_apart", lambda *arguments: None)


OPTIMISATIONS: dict[str, Callable[[Patch], None]] = {
    "fission": no_fission,
    "joints": no_joints,
    "sharing": no_sharing,
    "folding of zeros": no_folding,
    "narrowing": no_narrowing,
    "order of rows": no_order,
    "pieces of gradients": no_pieces,
    "contiguous transposes": no_contiguous_transposes,
    "assembling of slices": no_assembling,
    "composition": no_composition,
    "memory used again": no_sharing_of_memory,
    "unlike rows": no_unlike_rows,
}


@pytest.mark.parametrize("name", OPTIMISATIONS)
def test_without_one_optimisation(name: str, monkeypatch: Patch, record_property: Any) -> None:
    OPTIMISATIONS[name](monkeypatch)
    compare(record_property, f"without {name}", (12, 300), SETTINGS)


def test_with_what_only_large_matrices_get(monkeypatch: Patch, record_property: Any) -> None:
    """Products row by row, and transposes copied for a single step."""
    monkeypatch.setattr(linear, "_LARGE", 0)
    monkeypatch.setattr(contiguous_transpose, "_FEWEST_STEPS", 0)
    compare(record_property, "with products row by row", (12, 300), SETTINGS)


@pytest.mark.parametrize("rounds", [1, 2])
def test_with_what_only_wide_rows_get(rounds: int, monkeypatch: Patch, record_property: Any) -> None:
    """What runs ahead is computed for unlike rows, in small sets too, and whether or not there are fewer."""
    monkeypatch.setattr(structural_hash, "_FEWEST_A_LEVEL", 0)
    monkeypatch.setattr(unlike, "_WORTH", 0)
    monkeypatch.setattr(unlike, "_ROUNDS", rounds)
    compare(record_property, "ahead for unlike rows", (12, 300), SETTINGS)


def test_without_any(monkeypatch: Patch, record_property: Any) -> None:
    for switch_off in OPTIMISATIONS.values():
        switch_off(monkeypatch)
    compare(record_property, "without any", (20, 500), SETTINGS)
