"""What type inference costs a block, on expressions of 100 to 100,000 blocks of several kinds.

Each kind is a way in which expressions grow: longer, wider, deeper, with more cases, more wires, more layers.
A block is an occurrence in the typed tree. What is timed is `arrows.infer` as a program calls it, with the
garbage collector on, and the young generation collected before the clock stops, so that no work is left for
later.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import arrows as ar
from benchmarks.report import Result
from benchmarks.timing import interleaved

NAME = "infer"
SIZES = (100, 1_000, 10_000, 100_000)


def run(
    *, quick: bool = False, data: Path | None = None, sizes: tuple[int, ...] | None = None
) -> Iterator[Result]:
    """Measures every mix at every size, and yields each result when it is there.

    Args:
        quick: up to 10,000 blocks, few rounds.
        data: not used.
        sizes: about how many blocks, in growing order, to measure others than the usual ones.

    Yields:
        One result for each mix and size; its figures are microseconds a block, and the growth: these over
        those at the first size.

    >>> results = list(run(quick=True, sizes=(50,)))  # doctest: +SKIP
    """
    sizes = sizes or (SIZES[:-1] if quick else SIZES)
    for name, mix in MIXES.items():
        blocks = {str(size): mix(size) for size in sizes}
        counts = {size: count(block) for size, block in blocks.items()}
        tasks = {size: _inference(block) for size, block in blocks.items()}
        first = 0.0
        for size, seconds in interleaved(tasks, 3 if quick else 5).items():
            config = {"mode": name, "blocks": counts[size]}
            result = Result(NAME, config, "arrows", seconds)
            micros = result.median / counts[size] * 1e6
            first = first or micros
            yield Result(NAME, config, "arrows", seconds, {"µs/block": micros, "growth": micros / first})


def count(block: Any) -> int:
    """How many blocks inference types: occurrences, not objects.

    >>> twice = ar.Function(lambda x: x * 2)
    >>> count(ar.Scalar() >> twice >> twice)  # the chain, and its three steps
    4
    """
    todo, found = [block], 0
    while todo:
        parts = todo.pop().parts
        found += 1
        todo.extend(parts)
    return found


def _inference(block: Any) -> Callable[[], None]:
    def infer() -> None:
        gc.enable()  # the harness stops it
        ar.infer(block)
        gc.collect(0)

    return infer


def chain(size: int) -> Any:
    """One function, again and again: it is traced once."""
    twice = ar.Function(lambda x: x * 2)
    block: Any = ar.Vector(8)
    for _ in range(size - 2):
        block = block >> twice
    return block


def functions(size: int) -> Any:
    """A chain of functions that are all traced."""
    block: Any = ar.Vector(8)
    for _ in range(size - 2):
        block = block >> ar.Function(lambda x: x * 2 + 1)
    return block


def layers(size: int) -> Any:
    """A chain of layers, each with its own parameters."""
    block: Any = ar.Vector(8)
    for _ in range(size - 2):
        block = block >> ar.FC(8, ar.ops.tanh)
    return block


def wide_fans(size: int) -> Any:
    """A record of many fields, joined and read by many functions."""
    fields = {f"field {i}": ar.Scalar() for i in range(size // 5)}
    half = ar.Function(lambda x: x / 2)
    return ar.Record(fields) >> ar.AllOf(*[ar.GetItem(key) >> half for key in fields]) >> ar.Concat()


def nested_records(size: int) -> Any:
    """Records inside records, in depth."""
    add = ar.Function(lambda x, y: x + y)
    block: Any = ar.Vector(4)
    for _ in range(size // 9):
        block = (
            ar.Record({"here": ar.Vector(4), "inner": ar.Record({"more": block}) >> ar.GetItem("more")})
            >> add
        )
    return block


def recursion(size: int) -> Any:
    """A recursive block with many cases, each of which refers to it."""
    combine = ar.Function(lambda x, y: ar.ops.tanh(x + y))

    @ar.fix
    def tree(me: Any) -> Any:
        pair = (ar.GetItem("left") >> me & ar.GetItem("right") >> me) >> combine
        fold = ar.GetItem("children") >> ar.Map(me) >> ar.Fold(combine, ar.Zeros([16]))
        cases: dict[int, Any] = {0: ar.GetItem("word") >> ar.Vector(16)}
        for kind in range(1, size // 9 + 1):
            cases[kind] = pair if kind % 2 else fold
        return ar.OneOf(lambda t: t["kind"], cases)

    return tree


def arrow_graphs(size: int) -> Any:
    """Cells in arrow notation, one after the other."""
    add, half = ar.Function(lambda x, y: x + y), ar.Function(lambda x: x / 2)

    @ar.arrow
    def cell(state: Any) -> Any:
        h, c = ar.unpack(state, 2)
        total = add(h, c)
        return add(half(total), h), total

    block: Any = ar.AllOf(ar.Vector(8), ar.Vector(8))
    for _ in range(size // 6):
        block = block >> cell
    return block


def networks(size: int) -> Any:
    """Recurrent networks over sequences, their outputs mapped and folded, side by side."""
    parts = []
    for i in range(size // 16):
        states = ar.Map(ar.Vector(4)) >> ar.RNN(ar.GRUCell(4)) >> ar.GetItem(0) >> ar.Map(ar.FC(4))
        parts.append(ar.GetItem(i) >> states >> ar.Fold(ar.Function(lambda s, x: s + x), ar.Zeros([4])))
    return ar.AllOf(*parts) >> ar.Concat()


MIXES: dict[str, Callable[[int], Any]] = {
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
