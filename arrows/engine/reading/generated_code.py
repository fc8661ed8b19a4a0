"""Completes the code that lowering wrote for a model, and runs it on a stack of our own."""

from __future__ import annotations

import re
from collections.abc import Generator, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

from arrows.engine.lowering import KeyLine
from arrows.engine.planning import Plan
from arrows.engine.reference import most_levels
from arrows.engine.values import REREADABLE, IteratorReplay


class TooManyNodes(Exception):
    """An example made more nodes or calls than ``max_nodes``."""


def completed_source(plan: Plan) -> str:
    """The source of the module that reads examples, with shifts, ids of constants and depth keys put in."""
    lines: list[str] = []
    for line in plan.lowered.lines:
        if isinstance(line, KeyLine):
            lines.extend(
                _key_lines(line, int(plan.sites.base[line.site]), bool(plan.sites.static[line.site]))
            )
        else:
            lines.append(line)
    source = "\n".join(lines).replace("@W", str(plan.shift))
    return re.sub(r"@C(\d+)@", lambda constant: str(int(constant[1]) << plan.shift), source)


def _key_lines(line: KeyLine, base: int, static: bool) -> list[str]:
    """The lines that compute the key of a node: one more than the largest key of its inputs.

    It is at least its component's base. Components are numbered in topological order, so keys of earlier
    components are smaller than ``base``.
    """
    name, pad = line.name, line.indent
    if static or not (line.rows or line.lists):
        return [f"{pad}{name} = {base}"]
    out = [f"{pad}{name} = {base - 1}"]
    for row in dict.fromkeys(line.rows):
        out += [f"{pad}t = K[{row} >> @W]", f"{pad}if t > {name}: {name} = t"]
    for rows in line.lists:
        out += [f"{pad}for j in {rows}:", f"{pad}    t = K[j >> @W]", f"{pad}    if t > {name}: {name} = t"]
    out.append(f"{pad}{name} += 1")
    return out


def drive(main: Generator[Any, Any, Any], most: int) -> Any:
    """Runs a generator of the generated code and the calls that it yields, on a stack of our own.

    Args:
        main: the generator to run.
        most: how many calls one example may make; they may nest `most_levels(most)` deep, for a call costs
            memory.

    Raises:
        TooManyNodes: more calls than ``most``, or deeper ones than that.
    """
    stack: list[Any] = []
    push, pop = stack.append, stack.pop
    send = main.send
    value: Any = None
    levels = most_levels(most)
    calls, check = 0, levels + 1  # the first call that could break a limit
    while True:
        try:
            callee = send(value)
        except StopIteration as stop:
            if not stack:
                return stop.value
            value = stop.value
            send = pop()
        else:
            push(send)
            send = callee.send
            value = None
            calls += 1
            if calls >= check:
                if calls > most or len(stack) > levels:
                    raise TooManyNodes
                check = calls + min(levels + 1 - len(stack), most + 1 - calls)


class Containers:
    """The elements of a user's containers, ``most`` at most: an iterator may have no end, and a `range` more
    items than memory.

    Args:
        most: how many elements one container may have.
        replay: reads the iterators.
    """

    def __init__(self, most: int, replay: IteratorReplay) -> None:
        self.most, self.replay = most, replay

    def items(self, container: Any) -> Iterable[Any]:
        """The elements of a container."""
        if hasattr(container, "__len__") and len(container) > self.most:
            raise TooManyNodes
        return container if isinstance(container, REREADABLE) else self._counted(container)

    def _counted(self, container: Any) -> Iterator[Any]:
        for number, item in enumerate(self.replay(container)):
            if number >= self.most:
                raise TooManyNodes
            yield item

    def even(self, *columns: Any) -> Sequence[Sequence[Any]]:
        """The columns, which must have one length, or a ValueError."""
        if all(type(column) is list for column in columns):
            if len(set(map(len, columns))) > 1:
                raise ValueError("sequences of different lengths")
            return columns
        rows = self._rows(zip(*map(self.replay, columns), strict=True))
        return list(zip(*rows, strict=True)) or [()] * len(columns)

    def zipped(self, *columns: object) -> list[tuple[Any, ...]]:
        """The rows of columns, as many as the shortest has."""
        return self._rows(zip(*map(self.replay, columns)))  # noqa: B905 (it ends with the shortest)

    def _rows(self, rows: Iterable[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
        first = list(islice(rows, self.most + 1))  # a column may be endless
        if len(first) > self.most:
            raise TooManyNodes
        return first
