"""A rule that stands in the list of passes rewrites its equation in every region and on every device."""

from __future__ import annotations

import pytest

import arrows as ar
from arrows import ops
from arrows.engine.program import pipeline
from arrows.engine.program.passes.simplify import Rewriter, rewrite
from arrows.engine.program.pipeline import checked_passes
from arrows.engine.program.program import Program
from arrows.ops import Equation, TensorLike, Tracer
from tests.agree import agrees, equation_names, programs
from tests.engine.program.verify import verify_program
from tests.marks import KERNELS


def multiplied(program: Program) -> Program:
    """``x * x`` in place of ``square(x)``."""

    def rule(recorder: Rewriter, equation: Equation, operands: list[Tracer]) -> TensorLike | None:
        if equation.primitive.name != "square":
            return None
        return recorder.apply(ops.get("multiply"), tuple(operands * 2), {})

    return rewrite(program, rule)


@pytest.mark.parametrize("device", ["cpu", "fake", KERNELS])
def test_a_rule(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The user's squares and those of derivatives."""
    block = ar.Vector(3) >> ar.FC(3) >> ar.Function(lambda x: ops.tanh(ops.square(x)).sum(), name="f")
    for passes in ((), (multiplied,)):
        monkeypatch.setattr(pipeline, "BACKWARD", (*passes, *pipeline.BACKWARD))
        with checked_passes(verify_program):
            model = ar.compile(block, device=device, float_type="float64")
            agrees(model, [[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]])
        (program,) = programs(model)["f"]
        for regions in (["step"], ["step_back", "late", "deferred"]):
            assert ("square" in equation_names(program, *regions)) == (not passes)
