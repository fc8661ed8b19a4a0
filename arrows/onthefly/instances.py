"""Advances many instances of a program together: generators that yield the tensors whose values they need."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from contextlib import ExitStack
from contextvars import copy_context
from functools import partial
from inspect import GEN_CREATED, getgeneratorstate
from types import GeneratorType
from typing import TYPE_CHECKING, Any

from arrows.typesys import ArrowTypeError, SourceLine, message

if TYPE_CHECKING:
    from arrows.onthefly.batch import LazyBatch


def run_all(batch: LazyBatch, instances: Iterable[Generator[Any, Any, Any]]) -> list[Any]:
    """See `LazyBatch.run_all`."""
    generators = _checked(instances)
    contexts = [copy_context() for _ in generators]  # an instance may enter batches of its own
    outer = batch.instance
    first = batch.instances + 1
    batch.instances += len(generators)
    results: list[Any] = [None] * len(generators)
    live: dict[int, Any] = dict.fromkeys(range(len(generators)))
    with ExitStack() as closing:
        closing.callback(setattr, batch, "instance", outer)
        for generator, context in zip(generators, contexts, strict=True):
            closing.callback(context.run, generator.close)
        while live:
            wanted: dict[int, Any] = {}
            for number, numbers in live.items():
                batch.instance = first + number
                try:
                    wanted[number] = contexts[number].run(generators[number].send, numbers)
                except StopIteration as stop:
                    results[number] = stop.value
            batch.instance = outer
            ids: list[int] = []
            for number, value in wanted.items():
                ids += batch.ids_in(value, partial(_line_of_yield, generators[number]))
            live = dict(zip(wanted, batch.numpy_of_many(list(wanted.values()), ids), strict=True))
    return results


def _line_of_yield(generator: Generator[Any, Any, Any]) -> SourceLine:
    """The line of the `yield` at which a generator waits, in the innermost one that it waits for."""
    line = SourceLine.here()  # of `run_all`, for a generator of an extension, which shows no lines
    inner: object = generator
    while isinstance(inner, GeneratorType) and inner.gi_frame is not None:
        line = SourceLine(inner.gi_frame.f_code.co_filename, inner.gi_frame.f_lineno)
        inner = inner.gi_yieldfrom
    return line


def _checked(instances: Iterable[object]) -> list[Generator[Any, Any, Any]]:
    """The instances as a list; refuses anything but distinct generators that have not begun."""
    generators: list[Any] = list(instances)
    seen: set[int] = set()
    for number, generator in enumerate(generators):
        if not isinstance(generator, Generator):
            reason = f"is {generator!r:.60}, not a generator"
        elif isinstance(generator, GeneratorType) and getgeneratorstate(generator) != GEN_CREATED:
            reason = "has begun already"
        elif id(generator) in seen:
            reason = "has been given before"
        else:
            seen.add(id(generator))
            continue
        attempt = f"cannot run instances at {SourceLine.here()}"
        hint = "an instance is a new call of a function that yields: g.run_all(parse(s) for s in sentences)"
        raise ArrowTypeError(message(attempt, reason=f"instance {number} {reason}", hint=hint))
    return generators
