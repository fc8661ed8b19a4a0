"""Kernels with a running maximum give infinite, huge and undefined numbers where NumPy does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import arrows as ar
from arrows.engine.device.host_compiler import host_compiler
from arrows.engine.program.program import Program
from arrows.typesys import types as T
from tests.engine.program.emitters.batches import Batch, plainly
from tests.engine.program.emitters.c.batches import KernelRun, library_of
from tests.engine.program.emitters.c.test_primitives import OFFSETS, ROWS, program_of, sequence_count

pytestmark = pytest.mark.skipif(host_compiler() is None, reason="the host has no C compiler")

# The widths are those of a thread, of a line of one, and of the lanes of a warp.
CASES: list[tuple[str, list[tuple[int, ...]], dict[str, Any]]] = [
    *((name, [(width,)], {"axis": -1}) for name in ("softmax", "log_softmax") for width in (1, 3, 80)),
    ("softmax", [(3, 2)], {"axis": -2}),
    *(("logsumexp", [(width,)], {"axes": (-1,), "keepdims": False}) for width in (1, 3, 80)),
    *((name, [(80,)], {"axes": (-1,), "keepdims": False}) for name in ("max", "min")),
    ("segment_softmax", [(2,)], {}),
    *(("segment_attention", [(2,)] * 3, {"heads": 2, "causal": causal}) for causal in (False, True)),
    *(
        ("segment_attention_gradient", [*[(2,)] * 4, (2,), (2,)], {"heads": 2, "causal": causal})
        for causal in (False, True)
    ),
]
SCORES = st.sampled_from([-np.inf, np.inf, np.nan, -3e38, 3e38, 1e20, -1e20, 0.0, 1.0, -2.0, 0.5])


def made(number: int, float_type: str) -> Program:
    name, shapes, attributes = CASES[number]
    return program_of(name, [T.Tensor(shape, float_type) for shape in shapes], attributes)


@pytest.fixture(scope="module", params=["float32", "float64"])
def compiled(request: pytest.FixtureRequest) -> Any:
    programs = [made(number, request.param) for number in range(len(CASES))]
    return request.param, programs, library_of(programs)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(number=st.integers(0, len(CASES) - 1), data=st.data())
def test_kernels_give_what_numpy_gives(compiled: Any, number: int, data: st.DataObject) -> None:
    float_type, programs, library = compiled
    name, shapes, _ = CASES[number]
    few = data.draw(st.lists(SCORES, min_size=1, max_size=4))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**20)))
    slabs = {}
    for operand, shape in enumerate(shapes):
        plain = rng.standard_normal((12, *shape))
        special = rng.random(plain.shape) < 0.4
        # The gradients that come in, and what forward gave, are those of ordinary calls.
        if operand < (3 if name == "segment_attention" else 2):
            plain[special] = rng.choice(few, plain.shape)[special]
        slabs[operand] = plain.astype(float_type)
    program = programs[number]
    sequences = sequence_count(name, len(shapes))
    counts = [OFFSETS[-1] if n < sequences else ROWS for n in range(len(shapes))]
    rows = [rng.integers(0, 12, count).tolist() for count in counts]
    batch = Batch([0, 2, ROWS], slabs, rows, offsets={0: OFFSETS})
    (actual,) = KernelRun(program, batch, library).run().results
    with np.errstate(all="ignore"):
        (expected,) = plainly(program, batch).results
    if name == "segment_attention_gradient" and CASES[number][2]["causal"]:
        # NumPy multiplies gradients that a query does not see by 0, and 0 times infinity is no number.
        actual = np.where(np.isnan(expected), np.nan, actual)
    np.testing.assert_allclose(actual, expected, 2e-5, 1e-6)


X = [[[1e20, 1, 1, 1], [1, 1, 1, 1]]]


@pytest.mark.parametrize("causal", [False, True])
def test_attention_whose_first_score_is_minus_infinity_is_finite_on_kernels(causal: bool) -> None:
    sequences = ar.Map(ar.Vector(4))
    scores = ar.MultiHeadAttention(2, causal=causal, name="m")
    total = sequences >> scores >> ar.Sum() >> ar.Function(lambda v: ar.ops.sum(v))
    results = []
    for device in ("cpu", "fake-kernels"):
        model = ar.compile(total, seed=1, device=device, jit=False)
        values = ar.compile(sequences >> scores, seed=1, device=device)(X).values
        _, gradients = model.value_and_grad(X)
        results.append([values, *(gradients[name] for name in sorted(gradients))])
    for cpu, kernels in zip(*results, strict=True):
        cpu, kernels = ar.to_numpy(cpu), ar.to_numpy(kernels)
        np.testing.assert_array_equal(np.isfinite(cpu), np.isfinite(kernels))
        np.testing.assert_allclose(kernels, cpu, 1e-5, 1e-5)


@pytest.mark.parametrize("function", [ar.ops.softmax, ar.ops.log_softmax, ar.ops.logsumexp])
@pytest.mark.parametrize("width", [3, 80])
def test_fused_rows_with_infinite_scores_are_as_on_the_cpu(function: Any, width: int) -> None:
    block = ar.Vector(width) >> ar.Function(lambda x: function(x * 1.0) + 0.0)
    rows = np.zeros((6, width), np.float32)
    rows[0, 0], rows[1, :], rows[2, 1], rows[3, 2], rows[4, :] = -np.inf, -np.inf, np.inf, np.nan, 3e38
    cpu, kernels = (ar.to_numpy(ar.compile(block, device=d)(rows)) for d in ("cpu", "fake-kernels"))
    np.testing.assert_allclose(kernels, cpu, 1e-6)
