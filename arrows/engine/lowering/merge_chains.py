"""Functions that follow one another become one operation: ``f >> g`` computes as ``x -> g(f(x))``.

Two blocks that stand side by side are two operations, each with its nodes, its steps and its array of results
in between.  Where the second always follows the first and neither stands anywhere else, nothing is lost if
they are one, and much is won: half the nodes and steps, and equations that can be written into one another
(a ``concat`` into its product, the product of an early part ahead of all steps).

Where a layer stands in several places after different blocks, it stays an operation of its own: all its
places run together.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from arrows import combinators as core
from arrows.inference import Typed
from arrows.ops import ROW, Trace, Tracer, TraceRecorder, Var

# No operation grows beyond about so many equations: one function is written for it.
_MOST = 100


@dataclass(frozen=True, eq=False, slots=True)
class Composed(Typed):
    """Occurrences of functions that follow one another, as one.

    Attributes:
        steps: these.
    """

    steps: tuple[Typed, ...] = ()


class Compositions:
    """Which functions of an expression always follow one another.

    Args:
        root: the typed expression.
    """

    def __init__(self, root: Typed) -> None:
        alone: dict[Hashable, int] = {}
        following: dict[tuple[int, int], tuple[Typed, Typed, int]] = {}
        for typed in root.walk():
            if isinstance(typed.form, core.Apply) and typed.trace is not None:
                key = typed.trace.key()
                alone[key] = alone.get(key, 0) + 1
            if isinstance(typed.form, core.Pipe):
                for first, second in pairwise(typed.parts):
                    if first.trace is not None and second.trace is not None:
                        at = id(first), id(second)
                        following[at] = first, second, following[at][2] + 1 if at in following else 1
        together: dict[tuple[Hashable, Hashable], int] = {}
        for first, second, count in following.values():
            if count == first.places and first.trace is not None and second.trace is not None:
                pair = first.trace.key(), second.trace.key()
                together[pair] = together.get(pair, 0) + 1
        self._made: dict[tuple[int, ...], Typed] = {}
        self._pairs = {
            pair
            for pair, count in together.items()
            if count == alone.get(pair[0]) == alone.get(pair[1]) and pair[0] != pair[1]
        }

    def steps(self, parts: Sequence[Typed]) -> Iterator[Typed]:
        """The steps of a chain, with those that always follow one another as one."""
        group: list[Typed] = []
        for part in parts:
            if group and not (_size(group) < _MOST and self._join(group[-1], part)):
                yield self._composed(group)
                group = []
            group.append(part)
        if group:
            yield self._composed(group)

    def _composed(self, steps: Sequence[Typed]) -> Typed:
        """The steps as one; the same steps in another chain, on the same value, are the same one."""
        if len(steps) == 1:
            return steps[0]
        key = tuple(map(id, steps))
        if key not in self._made:
            traces = [step.trace for step in steps if step.trace is not None]
            first, last = steps[0], steps[-1]
            self._made[key] = Composed(
                last.form,
                first.input,
                last.output,
                trace=compose(traces),
                path=last.path,
                places=last.places,
                steps=tuple(steps),
            )
        return self._made[key]

    def _join(self, first: Typed, second: Typed) -> bool:
        if first.trace is None or second.trace is None:
            return False
        if not (_plain(first) and _plain(second)):
            return False
        given = [var.type for var in first.trace.results]
        wanted = [var.type for var in second.trace.inputs]
        return given == wanted and (first.trace.key(), second.trace.key()) in self._pairs


def _plain(typed: Typed) -> bool:
    """Whether an occurrence is a function of single tensors, without chance."""
    trace = typed.trace
    assert trace is not None
    if not isinstance(typed.form, core.Apply) or trace.dropout_key is not None:
        return False
    return all(var.rows == ROW for var in (*trace.inputs, *trace.results))


def _size(steps: Sequence[Typed]) -> int:
    return sum(len(step.trace.equations) for step in steps if step.trace is not None)


def compose(traces: Sequence[Trace]) -> Trace:
    """The trace of functions that follow one another.

    Args:
        traces: the result of each is the input of the next, tensor by tensor.
    """
    recorder = TraceRecorder()
    values = [recorder.input(var.type, var.rows) for var in traces[0].inputs]
    for trace in traces:
        known: dict[Var, Tracer] = dict(zip(trace.inputs, values, strict=True))
        for owner, spec, var in trace.parameters:
            known[var] = recorder.parameter(owner, spec)
        for array, var in trace.constants:
            known[var] = recorder.constant(array)
        for equation in trace.equations:
            attributes: dict[str, Any] = dict(equation.attributes)
            operands = [known[var] for var in equation.operands]
            made = recorder.bind(equation.primitive, *operands, **attributes)
            assert isinstance(made, Tracer)
            known[equation.result] = made
        values = [known[var] for var in trace.results]
    return recorder.finish(tuple(value.var for value in values), traces[-1].output)
