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
from arrows.ops import ROW, Trace, TraceRecorder

# About the most equations of an operation, because one Python function is written for it.
_MOST_EQUATIONS = 100


@dataclass(frozen=True, eq=False, slots=True)
class Composed(Typed):
    """Occurrences of functions that follow one another, its steps, as one."""

    steps: tuple[Typed, ...] = ()


class Compositions:
    """Which functions of an expression always follow one another."""

    def __init__(self, root: Typed) -> None:
        places: Counter[Hashable] = Counter()
        following: Counter[tuple[Typed, Typed]] = Counter()
        for typed in root.walk():
            places[_key(typed)] += 1
            if isinstance(typed.form, Pipe):
                following.update(pairwise(typed.parts))
        together = Counter(
            (_key(first), _key(second))
            for (first, second), count in following.items()
            if count == first.places and _fits(first.trace, second.trace)
        )
        self._pairs = {
            (first, second)
            for (first, second), count in together.items()
            if count == places[first] == places[second] and first != second and None not in (first, second)
        }
        self._composed: dict[tuple[Typed, ...], Typed] = {}

    def steps(self, parts: Sequence[Typed]) -> Iterator[Typed]:
        """The steps of a chain, where those that always follow one another are one."""
        group: list[Typed] = []
        for part in parts:
            follows = group and (_key(group[-1]), _key(part)) in self._pairs
            size = sum(len(step.trace.equations) for step in group if step.trace is not None)
            if group and not (follows and size < _MOST_EQUATIONS):
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


def _key(typed: Typed) -> Hashable:
    """Tells functions of single tensors apart that draw no random numbers; None for all else."""
    trace = typed.trace
    if trace is None or not isinstance(typed.form, Apply) or trace.dropout_key is not None:
        return None
    return trace.key if all(var.rows == ROW for var in (*trace.inputs, *trace.results)) else None


def _fits(first: Trace | None, second: Trace | None) -> bool:
    """Whether a function takes what another gives."""
    given = None if first is None else [var.type for var in first.results]
    return second is not None and given == [var.type for var in second.inputs]


def compose(traces: Sequence[Trace]) -> Trace:
    """The trace of functions that follow one another: the result of each is the input of the next."""
    recorder = TraceRecorder()
    values = [recorder.input(var.type, var.rows) for var in traces[0].inputs]
    for trace in traces:
        values = recorder.replay(trace, values)
    return recorder.finish(tuple(value.var for value in values), traces[-1].output)
