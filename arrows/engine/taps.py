"""Values tapped on the way: the streams of the wiring that hold them, and what a model makes of these."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from arrows.engine.results import Ragged, assemble, collate, element, to_numpy
from arrows.engine.wiring import Outputs, Visits
from arrows.typesys import types as T

Array = Any
Show = Callable[[Any], object]


@dataclass(frozen=True, slots=True)
class Outlet:
    """The streams that values of one type go into: one for each tensor leaf, one for each level of nesting.

    Attributes:
        type: the values' type.
        leaf, leaves: the number of the first leaf's stream, and how many there are.
        level, levels: the same of the levels of nesting.
    """

    type: T.Type
    leaf: int
    leaves: int
    level: int
    levels: int

    def collected(self, arrays: Sequence[Array], lengths: Sequence[np.ndarray]) -> Any:
        """All values that went in, as one result: of the arrays of all leaves, the lengths of all levels."""
        mine = lengths[self.level : self.level + self.levels]
        offsets = [np.concatenate(([0], np.cumsum(column, dtype=np.int64))) for column in mine]
        return assemble(self.type, arrays[self.leaf : self.leaf + self.leaves], offsets)


@dataclass(frozen=True, slots=True)
class TapStream:
    """What is collected under one name.

    Attributes:
        name: the name.
        outlet: where tensors go; None if Python objects are collected.
        objects: the number of the stream of Python objects; -1 if tensors are collected.
    """

    name: str
    outlet: Outlet | None
    objects: int = -1


def holds_objects(of: T.Type) -> bool:
    """Whether a tap collects values of this type as Python objects: there is an `Input` inside.

    >>> holds_objects(T.Tuple((T.Input(), T.Input()))), holds_objects(T.Tensor(()))
    (True, False)
    """
    todo = [of]
    while todo:
        one = todo.pop()
        if isinstance(one, T.Input):
            return True
        todo.extend(one.children)
    return False


def levels(of: T.Type) -> int:
    """How many levels of nesting there are in a type.

    >>> levels(T.Tuple((T.Sequence(T.Sequence(T.Tensor(()))), T.Sequence(T.Void()))))
    3
    """
    found, todo = 0, [of]
    while todo:
        one = todo.pop()
        found += isinstance(one, T.Sequence)
        todo.extend(one.children)
    return found


@dataclass(frozen=True, eq=False, slots=True)
class Taps:
    """The taps of a model.

    Attributes:
        streams: one for each name.
        sites: for each place where a tap stands, its stream, and what shows its values.
    """

    streams: tuple[TapStream, ...]
    sites: tuple[tuple[int, Show | None], ...]

    def collected(self, arrays: Sequence[Array], outputs: Outputs | None) -> dict[str, Any]:
        """For each name what was tapped, by example, then visit.

        Args:
            arrays: one array for each leaf stream of the model.
            outputs: what comes out of the batch; None if there has not been any.
        """
        found: dict[str, Any] = {}
        if not self.streams:
            return found
        visits = outputs.visits if outputs is not None else None
        if visits is None:
            visits = Visits.none(len(self.streams))
        of_visit = np.array([stream for stream, _ in self.sites], np.int64)[visits.sites.values]
        nothing = np.zeros(0, np.int64)
        for number, stream in enumerate(self.streams):
            if stream.outlet is None:
                found[stream.name] = [list(some) for some in visits.objects[stream.objects]]
                continue
            counted = np.concatenate(([0], np.cumsum(of_visit == number, dtype=np.int64)))
            offsets = counted[visits.sites.offsets - visits.sites.offsets[0]]
            outlet = stream.outlet
            lengths = (
                [column.values for column in outputs.levels]
                if outputs is not None
                else [nothing] * (outlet.level + outlet.levels)
            )
            found[stream.name] = Ragged(outlet.collected(arrays, lengths), offsets)
        return found

    def show(self, collected: dict[str, Any], outputs: Outputs) -> None:
        """Shows the values of those taps that show them, in the order of the examples and of the visits."""
        if outputs.visits is None or not any(show for _, show in self.sites):
            return
        shown = {stream for stream, show in self.sites if show is not None}
        values: dict[int, Iterator[Any]] = {
            number: _one_by_one(collected[stream.name])
            for number, stream in enumerate(self.streams)
            if number in shown
        }
        for site in outputs.visits.sites.values.tolist():
            stream, show = self.sites[site]
            if stream in values:
                value = next(values[stream])
                if show is not None:
                    show(value)


def _one_by_one(collected: Any) -> Iterator[Any]:
    """What was tapped, visit by visit, on the host."""
    if isinstance(collected, list):
        return chain.from_iterable(collected)
    values = to_numpy(collected.values)
    return (element(values, i) for i in range(int(collected.offsets[-1])))


def show_tapped(tapped: Sequence[tuple[Any, T.Type, Any]]) -> None:
    """Shows what the reference tapped of one example: for each visit the `Tap`, its type and the value."""
    for tap, of, value in tapped:
        if tap.show is not None:
            tap.show(value if holds_objects(of) else element(collate(of, [value]), 0))
