"""What type inference costs a block, on expressions of 1,000 to 100,000 blocks of several kinds.

Expressions grow longer, wider or deeper, or by more cases, more wires and more layers. A block is an
occurrence in the typed tree. What is timed is `arrows.infer` as a program calls it, with the garbage
collector on, and the young generation collected before the clock stops, so that no work is left for later.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from functools import partial
from typing import Any

import arrows as ar
from benchmarks.networks import AnyBlock
from benchmarks.task import Setting, Task

SIZES = {"full": (1_000, 10_000, 100_000), "quick": (1_000,), "tiny": (40,)}


def tasks(setting: Setting) -> Iterator[Task]:
    """Every kind of expression at about these sizes, in growing order; for `pair` the largest is too slow."""
    for expression in EXPRESSIONS:
        name = expression.__name__.replace("_", " ")
        for size in SIZES[setting.scale][: 2 if setting.ours else None]:
            systems = {"arrows": partial(_infer, expression(size))}
            yield Task(config={"mode": name, "blocks": size}, systems=systems, each="block", count=size)


def _infer(block: AnyBlock, _: object) -> None:
    gc.enable()  # the clock runs with it off
    ar.infer(block)
    gc.collect(0)


def layers(size: int) -> AnyBlock:
    """A chain of layers, each with its own parameters and a function that is traced."""
    block: AnyBlock = ar.Vector(8)
    for _ in range(size - 2):
        block = block >> ar.FC(8, ar.ops.tanh)
    return block


def wide_fans(size: int) -> AnyBlock:
    """A record of many fields, joined and read by many functions."""
    fields = {f"field {i}": ar.Scalar() for i in range(size // 5)}
    half = ar.Function(lambda x: x / 2)
    return ar.Record(fields) >> ar.AllOf(*[ar.GetItem(key) >> half for key in fields]) >> ar.Concat()


def recursion(size: int) -> AnyBlock:
    """A recursive block with many cases, each of which refers to it."""
    combine = ar.Function(lambda x, y: ar.ops.tanh(x + y))

    @ar.fix
    def tree(me: AnyBlock) -> AnyBlock:
        pair = (ar.GetItem("left") >> me & ar.GetItem("right") >> me) >> combine
        fold = ar.GetItem("children") >> ar.Map(me) >> ar.Fold(combine, ar.Zeros([16]))
        cases: dict[int, AnyBlock] = {0: ar.GetItem("word") >> ar.Vector(16)}
        cases |= {kind: pair if kind % 2 else fold for kind in range(1, size // 9 + 1)}
        return ar.OneOf(lambda t: t["kind"], cases)

    return tree


def arrow_graphs(size: int) -> AnyBlock:
    """Cells in arrow notation, one after the other."""
    add, half = ar.Function(lambda x, y: x + y), ar.Function(lambda x: x / 2)

    @ar.arrow
    def cell(state: Any) -> Any:
        h, c = ar.unpack(state, 2)
        total = add(h, c)
        return add(half(total), h), total

    block: AnyBlock = ar.AllOf(ar.Vector(8), ar.Vector(8))
    for _ in range(size // 6):
        block = block >> cell
    return block


EXPRESSIONS = (layers, wide_fans, recursion, arrow_graphs)
"""How expressions grow: each takes about how many blocks to make."""
