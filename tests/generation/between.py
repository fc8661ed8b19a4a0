"""Blocks between tensors."""

from __future__ import annotations

from typing import Any

import numpy as np

import arrows as ar
from arrows import ops
from tests.generation import parts
from tests.generation.build import WIDTH, WORDS, Build
from tests.generation.tables import uses

FUNCTIONS = (
    ops.tanh,
    ops.sigmoid,
    ops.softmax,
    parts.bell,
    parts.rolled,
    parts.matrix,
    ops.relu,
    parts.log,
    ops.gelu,
    ops.elu,
    parts.products,
    parts.branched,
    parts.called,
    parts.gathered,
    parts.short,
    parts.standard,
    parts.activated,
    parts.rounded,
    parts.single,
)


def change(build: Build) -> Any:
    """A block from a vector to a vector."""
    kind = build.one_of(
        "function", "layer", "identity", "split", "beside", "norm", "chance", "attend", "tables", "gates"
    )
    if kind == "gates":
        a, b, c = (build.layer(("fc", WIDTH), lambda: dense(build)) for _ in "abc")
        narrow = build.layer("gate of one number", lambda: ar.FC(1))
        eye = np.eye(WIDTH, dtype="float32")
        return ar.Function(lambda x: a(x) * ops.sigmoid(narrow(x)) + b(x) * (x @ eye) - c(x))
    if kind == "attend":
        # The table that words are looked up in elsewhere: its gradient has rows, and is dense here.
        table = build.layer("embedding", lambda: ar.Embedding(WORDS, WIDTH))
        read = build.one_of(table.attend, ar.Function(lambda x: ops.tanh(table.attend(x))))
        return read >> ar.Function(parts.fewer)
    if kind == "tables":
        return ar.Function(uses(build))
    if kind == "identity":
        return ar.Identity()
    if kind == "norm":
        return build.layer("norm", lambda: ar.LayerNorm(0.25))
    if kind == "chance":
        # All that dropout needs goes along, and the numbers are those of the reference.
        noise = [ar.Function(parts.noisy)] if build.noise else []
        return build.one_of(ar.Dropout(build.dropout), *noise)
    if kind == "layer":
        return build.layer(("fc", WIDTH), lambda: dense(build))
    if kind == "beside":
        sides = ar.Function(parts.column) & ar.Function(parts.columns)
        return sides >> ar.Concat(axis=build.one_of(1, -1)) >> ar.Function(parts.weighed)
    if kind == "split":
        both = ar.Function(parts.split) & ar.Function(ops.tanh)
        return both >> ar.Concat(flatten=True) >> ar.Function(parts.narrowed)
    return ar.Function(build.one_of(*FUNCTIONS))


def dense(build: Build) -> Any:
    """A layer from a vector to a vector."""
    return build.one_of(
        ar.FC(WIDTH, activation=build.one_of(None, ops.tanh, ops.silu)),
        ar.FC(WIDTH, bias=build.one_of(True, False), weight_norm=build.one_of(False, True)),
    )


def join(build: Build, count: int) -> Any:
    """A block from `count` vectors to a vector."""
    kind = build.one_of("sum", "function", "layer", "Sum")
    if kind == "layer":
        fc = build.layer(("fc", count * WIDTH), lambda: ar.FC(WIDTH, activation=ops.tanh))
        return ar.Concat() >> fc
    if kind == "Sum":
        return ar.Sum() >> ar.Function(ops.tanh)
    if kind == "sum":
        return ar.Function(parts.tanh_of_sum)
    return ar.Function(build.one_of(parts.product, parts.largest, parts.gated))


def lstm(build: Build) -> Any:
    """A cell from `(x, (h, c))` to `(h, c)`."""
    return build.layer("lstm", lambda: ar.LSTMCell(WIDTH, dropout=build.one_of(0.0, build.dropout)))
