"""Laws of layers: of convolutions, attention and tied tables, whatever their parameters are."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

import arrows as ar
from arrows import ops
from tests.generation import parts, sequences
from tests.generation.build import WIDTH, WORDS, Build, vectors, words
from tests.laws.law import Law, gru, reader, sequence, some, start

FIRST, SECOND = ar.GetItem(0), ar.GetItem(1)
SWAP = SECOND & FIRST
WORD = FIRST >> ar.Scalar("int32")
STATE = SECOND >> ar.Vector(WIDTH)


def table(build: Build) -> Any:
    """An embedding of words in vectors."""
    return build.layer("embedding", lambda: ar.Embedding(WORDS, WIDTH))


def filters(build: Build) -> Any:
    """A convolution that sees what came before, without a bias."""
    size, dilation = build.one_of(2, 1, 3), build.one_of(1, 2)
    return ar.Conv1d(WIDTH, size, padding="causal", dilation=dilation, bias=False)


def heads(build: Build) -> Any:
    """Attention to all elements."""
    return sequences.heads(build, causal=False)


def causal_heads(build: Build) -> Any:
    """Attention to what came before."""
    return sequences.heads(build, causal=True)


def behind(build: Build) -> Any:
    """A GRUCell whose reset gate acts behind the product."""
    return ar.GRUCell(WIDTH, reset_after=True)


def _is_likely(x: Any) -> Any:
    uniform, normal = ops.uniform_like(x), ops.normal_like(x)
    return ops.logical_and(ops.logical_and(uniform >= 0.0, uniform < 1.0), ops.abs(normal) < 10.0)


LABEL = ar.Constant(1, "int32")
NOT_ZERO = ar.Function(lambda b: b * b + 0.37)
APART = ar.Function(parts.moved(1))

LAWS = [
    Law(
        "(i & h) >> pick of attend == (embed(i) & h) >> dot",
        ("Embedding",),
        (table,),
        lambda e: (WORD & STATE >> e.attend) >> ar.Function(lambda i, scores: ops.pick(scores, i)),
        lambda e: (WORD >> e & STATE) >> ar.Function(ops.dot),
        data=st.tuples(words, vectors),
    ),
    Law(
        "Map(attend) == attend within a Function of the sequence",
        ("Embedding", "Map"),
        (sequence, table),
        lambda s, e: s >> ar.Map(e.attend),
        lambda s, e: s >> ar.Function(lambda rows: e.attend(rows)),
    ),
    Law(
        "smoothed by e == 1 - e of the loss, and e of its mean over all classes",
        ("SoftmaxCrossEntropy",),
        (reader,),
        lambda f: (f & LABEL) >> ar.SoftmaxCrossEntropy(label_smoothing=0.25),
        lambda f: (
            (f & (f & LABEL) >> ar.SoftmaxCrossEntropy())
            >> ar.Function(lambda scores, loss: 0.75 * loss - 0.25 * ops.mean(ops.log_softmax(scores)))
        ),
    ),
    Law(
        "uniform numbers are from 0 to 1, and normal ones within 10 of 0",
        ("Function",),
        (reader,),
        lambda f: f >> ar.Function(lambda x: ops.where(_is_likely(x), x, -x)),
        lambda f: f,
    ),
    Law(
        "Shift(1) >> Conv1d == Conv1d >> Shift(1)",
        ("Conv1d", "Shift"),
        (sequence, filters),
        lambda s, f: s >> ar.Shift(1) >> f,
        lambda s, f: s >> f >> ar.Shift(1),
        "it is causal, and has no bias",
    ),
    Law(
        "(s & s) >> ZipWith(+) >> Conv1d == twice Conv1d",
        ("Conv1d", "ZipWith"),
        (sequence, filters),
        lambda s, f: s >> ar.Map(ar.Function(lambda x: x + x)) >> f,
        lambda s, f: s >> f >> ar.Map(ar.Function(lambda x: x * 2.0)),
        "it has no bias",
    ),
    Law(
        "Reverse >> MultiHeadAttention == MultiHeadAttention >> Reverse",
        ("MultiHeadAttention", "Reverse"),
        (sequence, heads),
        lambda s, m: s >> ar.Reverse() >> m,
        lambda s, m: s >> m >> ar.Reverse(),
        "it is not causal",
    ),
    Law(
        "MultiHeadAttention(causal) >> Slice(stop=n) == Slice(stop=n) >> MultiHeadAttention(causal)",
        ("MultiHeadAttention", "Slice"),
        (sequence, causal_heads),
        lambda s, m: s >> m >> ar.Slice(stop=2),
        lambda s, m: s >> ar.Slice(stop=2) >> m,
    ),
    Law(
        "MultiHeadAttention of equal elements == MultiHeadAttention of one",
        ("MultiHeadAttention", "GetItem"),
        (some, heads),
        lambda s, m: (
            (s & s >> ar.GetItem(0) >> ar.Broadcast()) >> ar.Zip() >> ar.Map(SECOND) >> m >> ar.GetItem(-1)
        ),
        lambda s, m: s >> ar.Slice(stop=1) >> m >> ar.GetItem(0),
    ),
    Law(
        "RNN(cell, c) >> last state == Fold of the swapped cell, c, of a gate behind the product",
        ("GRUCell", "RNN", "Fold"),
        (sequence, behind, start),
        lambda s, g, c: s >> ar.RNN(g, c) >> SECOND,
        lambda s, g, c: s >> ar.Fold(SWAP >> g, c),
    ),
    Law(
        "one step of a GRUCell == the cell",
        ("GRUCell", "RNN"),
        (reader, gru, start),
        lambda f, g, c: ar.AllOf(f) >> ar.RNN(g, c) >> SECOND,
        lambda f, g, c: (f & c) >> g,
    ),
]

OPERATIONS = [
    Law(
        "a // b * b + a % b == a",
        ("Function",),
        (reader, reader),
        lambda a, b: (a & b >> NOT_ZERO) >> ar.Function(lambda a, b: (a // b) * b + a % b),
        lambda a, b: (a & b >> NOT_ZERO) >> FIRST,
    ),
    Law(
        "sort >> sort == sort, and argsort says where",
        ("Function",),
        (reader,),
        lambda f: f >> APART >> ar.Function(lambda x: ops.sort(ops.sort(x)[0])[0]),
        lambda f: f >> APART >> ar.Function(lambda x: ops.gather(x, ops.argsort(x))),
    ),
    Law(
        "the best k of a descending order are its first k",
        ("Function",),
        (reader,),
        lambda f: f >> APART >> ar.Function(lambda x: ops.top_k(x, 2)[0]),
        lambda f: f >> APART >> ar.Function(lambda x: ops.sort(x, descending=True)[0][:2]),
    ),
    Law(
        "einsum is a product, an outer product, a sum",
        ("Function",),
        (reader, reader),
        lambda f, g: (
            (f & g) >> ar.Function(lambda x, y: (ops.einsum("i,j->ij", x, y), ops.einsum("i,i", x, y)))
        ),
        lambda f, g: (f & g) >> ar.Function(lambda x, y: (ops.outer(x, y), ops.dot(x, y))),
    ),
    Law(
        "floor and round of x + 1 are one more",
        ("Function",),
        (reader,),
        lambda f: f >> ar.Function(lambda x: ops.concat([ops.floor(x + 1.0), ops.round(x + 2.0)])),
        lambda f: f >> ar.Function(lambda x: ops.concat([ops.floor(x) + 1.0, ops.round(x) + 2.0])),
    ),
    Law(
        "stop_gradient >> f == stop_gradient >> f >> stop_gradient, for f without parameters",
        ("Function",),
        (reader,),
        lambda f: f >> ar.Function(lambda x: ops.tanh(ops.stop_gradient(x))),
        lambda f: f >> ar.Function(lambda x: ops.stop_gradient(ops.tanh(x))),
    ),
]


LAWS += OPERATIONS
