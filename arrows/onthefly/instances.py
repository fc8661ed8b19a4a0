"""Advances many instances of a program together: generators that yield the values that they must know."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from typing import TYPE_CHECKING, Any

from arrows.typesys import ArrowTypeError, SourceLine
from arrows.typesys.errors import message

if TYPE_CHECKING:
    from arrows.onthefly.batch import LazyBatch


def run_all(batch: LazyBatch, instances: Iterable[Generator[Any, Any, Any]]) -> list[Any]:
    """See `LazyBatch.run_all`."""
    generators = list(instances)
    for number, generator in enumerate(generators):
        if not isinstance(generator, Generator):
            raise ArrowTypeError(
                message(
                    f"cannot run instances at {SourceLine.here()}",
                    reason=f"instance {number} is no generator, but a {type(generator).__name__}",
                    hint="an instance is a call of a function that yields: "
                    "g.run_all(parse(s) for s in sentences)",
                )
            )
    outer = batch.instance
    first = batch.instances + 1
    batch.instances += len(generators)
    results: list[Any] = [None] * len(generators)
    live: dict[int, Any] = dict.fromkeys(range(len(generators)))
    try:
        while live:
            wanted: dict[int, Any] = {}
            for number, numbers in live.items():
                batch.instance = first + number
                try:
                    wanted[number] = generators[number].send(numbers)
                except StopIteration as stop:
                    results[number] = stop.value
            batch.instance = outer
            live = dict(zip(wanted, batch.numpy(list(wanted.values())), strict=True))
    finally:
        batch.instance = outer
        for generator in generators:
            generator.close()
    return results
