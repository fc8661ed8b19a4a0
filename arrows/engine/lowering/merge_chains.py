"""Functions that always follow one another become one operation: ``f >> g`` computes as ``x -> g(f(x))``.

Two blocks that stand side by side are two operations, each with its nodes, its steps and its array of results
in between.  Where the second always follows the first and neither stands anywhere else, one operation does
the same with half the nodes and steps, and their equations can be written into one another: a ``concat`` into
its product, the product of an early part ahead of all steps.

Where a layer stands in several places after different blocks, it stays an operation of its own, because then
all its places run together.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from arrows.combinators import Apply, Pipe
from arrows.inference import Typed
from arrows.ops import ROW, Trace, Tracer, TraceRecorder, Var

# About the most equations of an operation, because one Python function is written for it.
_MOST_EQUATIONS = 100


@dataclass(frozen=True, eq=False, slots=True)
class Composed(Typed):
    """Occurrences of functions that follow one another, its steps, as one."""

    steps: tuple[Typed, ...] = ()


class Compositions:
    """Which functions of an expression always follow one another."""

    def __init__(self, root: Typed) -> None:
        places: Counter[Hashable] = Counter()  # by trace
        following: Counter[tuple[Typed, Typed]] = Counter()
        for typed in root.walk():
            if isinstance(typed.form, Apply) and typed.trace is not None:
                places[typed.trace.key] += 1
            if isinstance(typed.form, Pipe):
                following.update(pairwise(typed.parts))
        together: Counter[tuple[Hashable, Hashable]] = Counter()  # by traces
        for (first, second), count in following.items():
            if count == first.places and first.trace is not None and second.trace is not None:
                together[first.trace.key, second.trace.key] += 1
        self._pairs = {
            (first, second)
            for (first, second), count in together.items()
            if count == places[first] == places[second] and first != second
        }
        self._composed: dict[tuple[Typed, ...], Typed] = {}

    def steps(self, parts: Sequence[Typed]) -> Iterator[Typed]:
        """The steps of a chain, where those that always follow one another are one."""
        group: list[Typed] = []
        for part in parts:
            if group and not (_size(group) < _MOST_EQUATIONS and self._join(group[-1], part)):
                yield self._compose(tuple(group))
                group = []
            group.append(part)
        if group:
            yield self._compose(tuple(group))

    def _compose(self, steps: tuple[Typed, ...]) -> Typed:
        """The steps as one; the same steps in another chain, on the same value, are the same one."""
        if len(steps) == 1:
            return steps[0]
        if steps not in self._composed:
            first, last = steps[0], steps[-1]
            self._composed[steps] = Composed(
                form=last.form,
                input=first.input,
                output=last.output,
                trace=compose([step.trace for step in steps if step.trace is not None]),
                places=last.places,
                steps=steps,
            )
        return self._composed[steps]

    def _join(self, first: Typed, second: Typed) -> bool:
        if not (_is_plain(first) and _is_plain(second)):
            return False
        assert first.trace is not None and second.trace is not None
        given_types = [var.type for var in first.trace.results]
        wanted_types = [var.type for var in second.trace.inputs]
        return given_types == wanted_types and (first.trace.key, second.trace.key) in self._pairs


def _is_plain(typed: Typed) -> bool:
    """Whether an occurrence is a function of single tensors, without dropout."""
    trace = typed.trace
    if trace is None or not isinstance(typed.form, Apply) or trace.dropout_key is not None:
        return False
    return all(var.rows == ROW for var in (*trace.inputs, *trace.results))


def _size(steps: Sequence[Typed]) -> int:
    return sum(len(step.trace.equations) for step in steps if step.trace is not None)


def compose(traces: Sequence[Trace]) -> Trace:
    """The trace of functions that follow one another: the result of each is the input of the next."""
    recorder = TraceRecorder()
    values = [recorder.input(var.type, var.rows) for var in traces[0].inputs]
    for trace in traces:
        tracers: dict[Var, Tracer] = dict(zip(trace.inputs, values, strict=True))
        for owner, spec, var in trace.parameters:
            tracers[var] = recorder.parameter(owner, spec)
        for array, var in trace.constants:
            tracers[var] = recorder.constant(array)
        for equation in trace.equations:
            operands = tuple([tracers[var] for var in equation.operands])
            tracers[equation.result] = recorder.apply(equation.primitive, operands, dict(equation.attributes))
        values = [tracers[var] for var in trace.results]
    return recorder.finish(tuple(value.var for value in values), traces[-1].output)
