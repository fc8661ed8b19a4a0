"""Laws of layers: of convolutions, attention and tied tables, whatever their parameters are."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

import arrows as ar
from arrows import ops
from tests.generation import sequences
from tests.generation.build import WIDTH, WORDS, Build, vectors, words
from tests.laws.law import gru, law, reader, sequence, some, start

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


LABEL = ar.Constant(1, "int32")


@law("(i & h) >> pick of attend == (embed(i) & h) >> dot", table, data=st.tuples(words, vectors))
def _(e):
    return (WORD & STATE >> e.attend) >> ar.Function(lambda i, scores: ops.pick(scores, i)), (
        WORD >> e & STATE
    ) >> ar.Function(ops.dot)


@law("Map(attend) == attend within a Function of the sequence", sequence, table)
def _(s, e):
    return s >> ar.Map(e.attend), s >> ar.Function(lambda rows: e.attend(rows))


@law("smoothed by e == 1 - e of the loss, and e of its mean over all classes", reader)
def _(f):
    return (f & LABEL) >> ar.SoftmaxCrossEntropy(label_smoothing=0.25), (
        f & (f & LABEL) >> ar.SoftmaxCrossEntropy()
    ) >> ar.Function(lambda scores, loss: 0.75 * loss - 0.25 * ops.mean(ops.log_softmax(scores)))


@law("Shift(1) >> Conv1d == Conv1d >> Shift(1)", sequence, filters, where="it is causal, and has no bias")
def _(s, f):
    return s >> ar.Shift(1) >> f, s >> f >> ar.Shift(1)


@law("(s & s) >> ZipWith(+) >> Conv1d == twice Conv1d", sequence, filters, where="it has no bias")
def _(s, f):
    return s >> ar.Map(ar.Function(lambda x: x + x)) >> f, s >> f >> ar.Map(ar.Function(lambda x: x * 2.0))


@law(
    "Reverse >> MultiHeadAttention == MultiHeadAttention >> Reverse",
    sequence,
    heads,
    where="it is not causal",
)
def _(s, m):
    return s >> ar.Reverse() >> m, s >> m >> ar.Reverse()


@law(
    "MultiHeadAttention(causal) >> Slice(stop=n) == Slice(stop=n) >> MultiHeadAttention(causal)",
    sequence,
    causal_heads,
)
def _(s, m):
    return s >> m >> ar.Slice(stop=2), s >> ar.Slice(stop=2) >> m


@law("MultiHeadAttention of equal elements == MultiHeadAttention of one", some, heads)
def _(s, m):
    return (s & s >> ar.GetItem(0) >> ar.Broadcast()) >> ar.Zip() >> ar.Map(SECOND) >> m >> ar.GetItem(
        -1
    ), s >> ar.Slice(stop=1) >> m >> ar.GetItem(0)


@law(
    "RNN(cell, c) >> last state == Fold of the swapped cell, c, of a gate behind the product",
    sequence,
    behind,
    start,
)
def _(s, g, c):
    return s >> ar.RNN(g, c) >> SECOND, s >> ar.Fold(SWAP >> g, c)


@law("one step of a GRUCell == the cell", reader, gru, start)
def _(f, g, c):
    return ar.AllOf(f) >> ar.RNN(g, c) >> SECOND, (f & c) >> g
