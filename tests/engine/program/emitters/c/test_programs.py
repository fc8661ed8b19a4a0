"""Programs of random functions and of layers, fused for kernels: all their kernels are compiled at once."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import pytest
from hypothesis import settings

from arrows import ops
from arrows.engine.device.host_compiler import HostLibrary, host_compiler
from arrows.engine.program.passes.allocate import allocate
from arrows.engine.program.pipeline import KERNELS
from arrows.engine.program.program import Program
from arrows.engine.program.verify import verify_program
from arrows.typesys import types as T
from tests.engine.program.emitters.batches import plainly
from tests.engine.program.emitters.c.batches import KernelRun, a_batch, close, kernels_of, library_of
from tests.engine.program.emitters.traced import program_of

pytestmark = pytest.mark.skipif(host_compiler() is None, reason="the host has no C compiler")

nightly = settings.default.max_examples > 100


def fused(function: Any, *types: T.Type, gradients: bool = True) -> Program:
    """The program of a function for kernels, with memory; checked."""
    program = program_of(function, T.Tuple(types) if len(types) > 1 else types[0], gradients=gradients)
    program = replace(program, kernels=True)
    for each in KERNELS:
        program = each(program)
        verify_program(program)
    program = allocate(program)
    verify_program(program)
    return program


def vector(size: int, dtype: str = "float32") -> T.Tensor:
    return T.Tensor((size,), dtype)


def matrix(rows: int, columns: int) -> T.Tensor:
    return T.Tensor((rows, columns), "float32")


WORD = T.Tensor((), "int32")


def lstm(z: Any, c: Any) -> Any:
    i, f, o, u = (z[8 * n : 8 * n + 8] for n in range(4))
    new = ops.sigmoid(i) * ops.tanh(u) + ops.sigmoid(f) * c
    return ops.sigmoid(o) * ops.tanh(new), new


def attention(q: Any, keys: Any) -> Any:
    weights = ops.softmax((keys @ q) / 3.0)
    return (keys * ops.reshape(weights, (-1, 1))).sum(axis=0)


def layer_norm(x: Any) -> Any:
    return ops.standardize(x) * 2.0 + 0.5


def drops(x: Any) -> Any:
    return ops.dropout(ops.dropout(x, 0.5) * 2.0, 0.25)


LAYERS: dict[str, tuple[Any, tuple[T.Type, ...]]] = {
    "lstm": (lstm, (vector(32), vector(8))),
    "cross-entropy of many": (lambda x, i: -ops.pick(ops.log_softmax(x), i), (vector(200), WORD)),
    "layer norm of many": (layer_norm, (vector(300),)),
    "normalize": (lambda x: ops.normalize(x), (vector(100),)),
    "attention": (attention, (vector(6), matrix(4, 6))),
    "heads": (
        lambda x: ops.softmax(ops.transpose(x.reshape((3, 4, 2)), (1, 0, 2)), -1).reshape((24,)),
        (vector(24),),
    ),
    "dropout": (drops, (vector(40),)),
    "activations": (
        lambda x: ops.gelu(x) + ops.silu(x) + ops.mish(x) + ops.selu(x),
        (vector(9),),
    ),
    "inner joins": (
        lambda x, y: ops.tanh(ops.concat([x, y * 2.0], 1)[:, 1:4]).sum(axis=0),
        (matrix(3, 2), matrix(3, 3)),
    ),
    "pooled words": (
        lambda xs: (ops.segment_max(ops.tanh(xs), default=0.0), ops.segment_mean(xs * 2.0)),
        (T.Sequence(vector(5)),),
    ),
    "attention over words": (
        lambda xs, q: ops.segment_sum(
            xs * ops.reshape(ops.segment_softmax((xs * ops.segment_broadcast(q, xs)).sum()), (1,))
        ),
        (T.Sequence(vector(5)), vector(5)),
    ),
    "softmax of a softmax": (
        lambda xs: ops.segment_softmax(xs - ops.segment_softmax(xs * 3.0)),
        (T.Sequence(vector(3)),),
    ),
    "softmax in a join": (
        lambda xs: ops.concat([ops.segment_softmax(ops.exp(xs)), xs])[1:-1] * 2.0,
        (T.Sequence(vector(3)),),
    ),
    "softmax of another shape": (
        lambda xs: ops.transpose(ops.segment_softmax(ops.transpose(xs) * 0.5)) * xs[:1],
        (T.Sequence(matrix(3, 3)),),
    ),
    "centred words": (
        lambda xs: ops.tanh(xs * 2.0 - ops.segment_broadcast(ops.segment_mean(xs * 2.0), xs)),
        (T.Sequence(vector(5)),),
    ),
    "words beside the greatest": (
        lambda xs, q: ops.segment_broadcast(ops.segment_max(ops.exp(xs), default=0.0) * q, xs)[:2] + xs[3:],
        (T.Sequence(vector(5)), vector(5)),
    ),
    "one number for all words": (
        lambda xs: xs * ops.segment_broadcast(ops.segment_sum(ops.tanh(xs[0])), xs),
        (T.Sequence(vector(5)),),
    ),
    "a row of one number": (
        lambda xs, q: q * ops.segment_sum(ops.tanh(xs[0]) * 2.0),
        (T.Sequence(vector(5)), vector(70)),
    ),
    "two sequences": (
        lambda xs, ys: ops.segment_broadcast(ops.segment_sum(ops.tanh(xs) * 2.0), ys) * ys,
        (T.Sequence(vector(5)), T.Sequence(vector(5))),
    ),
    "a query for words": (
        lambda xs, q: xs * ops.segment_broadcast(ops.tanh(q) * 2.0, xs),
        (T.Sequence(vector(5)), vector(5)),
    ),
    "places of words": (
        lambda xs: ops.segment_sum(xs * ops.cast(ops.segment_position(xs), "float32")),
        (T.Sequence(vector(5)),),
    ),
    "attention among words": (
        lambda xs: ops.segment_attention(ops.tanh(xs), xs, xs * 2.0, 2, True) * xs,
        (T.Sequence(vector(6)),),
    ),
    "heads among words": (
        lambda qkv: ops.segment_attention(*qkv, 3),
        (T.Sequence(T.Tuple([vector(6), vector(6), vector(9)])),),
    ),
    "one head among words": (lambda xs: ops.segment_attention(xs, xs, xs), (T.Sequence(vector(1)),)),
    "tagger": (
        lambda xs, y: ops.segment_sum(-ops.log_softmax(ops.tanh(xs) * ops.segment_broadcast(y, xs))[2]),
        (T.Sequence(vector(5)), vector(5)),
    ),
    "dropped words": (lambda xs: ops.dropout(xs, 0.5) * 3.0, (T.Sequence(vector(5)),)),
}


@cache
def of_layers() -> tuple[dict[str, Program], HostLibrary]:
    programs = {
        name: fused(function, *types, gradients=all(_floating(type) for type in types))
        for name, (function, types) in LAYERS.items()
    }
    return programs, library_of(list(programs.values()))


def _floating(type: T.Type) -> bool:
    return not isinstance(type, T.Tensor) or type.floating


@pytest.mark.parametrize("ranges", [False, True])
@pytest.mark.parametrize("name", list(LAYERS))
def test_a_layer(name: str, ranges: bool) -> None:
    programs, library = of_layers()
    batch = a_batch(programs[name], ranges=ranges)
    run = KernelRun(programs[name], batch, library)
    close(run.run(), plainly(programs[name], batch), 5e-6)


@pytest.mark.parametrize("name", [name for name in LAYERS if "words" in name or "softmax" in name])
def test_a_thread_goes_over_a_sequence_once_for_each_sum(name: str) -> None:
    """And not again for each element."""
    programs, _ = of_layers()
    for kernel in kernels_of(programs[name]).values():
        around: list[bool] = []  # of each open block, whether it is a loop over elements
        for line in kernel.source.text.partition("KERNEL(")[2].splitlines():
            loops = "for (long long v" in line
            assert not (loops and any(around)) or "attention among" in name or "heads among" in name, line
            around += [loops] * line.count("{")
            del around[len(around) - line.count("}") :]
