"""Expressions of any size that inference is measured on, each kind with its own way of growing.

They grow longer, wider or deeper, or by more cases, more wires and more layers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import arrows as ar
from benchmarks.networks import AnyBlock


def count(block: AnyBlock) -> int:
    """How many blocks inference types: occurrences, not objects.

    >>> twice = ar.Function(lambda x: x * 2)
    >>> count(ar.Scalar() >> twice >> twice)  # the chain, and its three steps
    4
    """
    todo, blocks = [block], 0
    while todo:
        parts = todo.pop().parts
        blocks += 1
        todo.extend(parts)
    return blocks


def chain(size: int) -> AnyBlock:
    """One function, again and again: it is traced once."""
    twice = ar.Function(lambda x: x * 2)
    block: AnyBlock = ar.Vector(8)
    for _ in range(size - 2):
        block = block >> twice
    return block


def functions(size: int) -> AnyBlock:
    """A chain of functions that are all traced."""
    block: AnyBlock = ar.Vector(8)
    for _ in range(size - 2):
        block = block >> ar.Function(lambda x: x * 2 + 1)
    return block


def layers(size: int) -> AnyBlock:
    """A chain of layers, each with its own parameters."""
    block: AnyBlock = ar.Vector(8)
    for _ in range(size - 2):
        block = block >> ar.FC(8, ar.ops.tanh)
    return block


def wide_fans(size: int) -> AnyBlock:
    """A record of many fields, joined and read by many functions."""
    fields = {f"field {i}": ar.Scalar() for i in range(size // 5)}
    half = ar.Function(lambda x: x / 2)
    return ar.Record(fields) >> ar.AllOf(*[ar.GetItem(key) >> half for key in fields]) >> ar.Concat()


def nested_records(size: int) -> AnyBlock:
    """Records inside records, in depth."""
    add = ar.Function(lambda x, y: x + y)
    block: AnyBlock = ar.Vector(4)
    for _ in range(size // 9):
        block = (
            ar.Record({"here": ar.Vector(4), "inner": ar.Record({"more": block}) >> ar.GetItem("more")})
            >> add
        )
    return block


def recursion(size: int) -> AnyBlock:
    """A recursive block with many cases, each of which refers to it."""
    combine = ar.Function(lambda x, y: ar.ops.tanh(x + y))

    @ar.fix
    def tree(me: AnyBlock) -> AnyBlock:
        pair = (ar.GetItem("left") >> me & ar.GetItem("right") >> me) >> combine
        fold = ar.GetItem("children") >> ar.Map(me) >> ar.Fold(combine, ar.Zeros([16]))
        cases: dict[int, AnyBlock] = {0: ar.GetItem("word") >> ar.Vector(16)}
        for kind in range(1, size // 9 + 1):
            cases[kind] = pair if kind % 2 else fold
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


def networks(size: int) -> AnyBlock:
    """Recurrent networks over sequences, their outputs mapped and folded, side by side."""
    parts = []
    for i in range(size // 16):
        states = ar.Map(ar.Vector(4)) >> ar.RNN(ar.GRUCell(4)) >> ar.GetItem(0) >> ar.Map(ar.FC(4))
        parts.append(ar.GetItem(i) >> states >> ar.Fold(ar.Function(lambda s, x: s + x), ar.Zeros([4])))
    return ar.AllOf(*parts) >> ar.Concat()


EXPRESSIONS: dict[str, Callable[[int], AnyBlock]] = {
    "chain": chain,
    "functions": functions,
    "layers": layers,
    "wide fans": wide_fans,
    "nested records": nested_records,
    "recursion": recursion,
    "arrow graphs": arrow_graphs,
    "networks": networks,
}
"""How expressions grow: name -> an expression of about so many blocks."""
