"""Which producers can reach which places, known from the block before any data.

A *producer* is an output of a site (or a constant); a *place* is anything a tensor passes through: a result,
an element of a sequence, the state of a fold, the result of a recursion.  Places form a graph whose edges say
where a value may come from; cycles come from folds and recursion.  Two questions are asked of it once
everything is wired: which sites can feed a port (their condensation orders the schedule), and which outputs
can meet at one port (they share a slab, so that a gather reads one array).
"""

from __future__ import annotations

from collections.abc import Iterable


class FlowGraph:
    """A growing graph of places; a place is a plain integer."""

    def __init__(self) -> None:
        self._sources: list[list[int]] = []
        self._producer: list[int | None] = []
        self._reaching: list[int] | None = None

    def produce(self, producer: int) -> int:
        """Returns a new place that holds what ``producer`` (a number of the caller's) makes."""
        self._sources.append([])
        self._producer.append(producer)
        return len(self._sources) - 1

    def join(self, sources: Iterable[int] = ()) -> int:
        """Returns a new place that holds whatever reaches one of ``sources``."""
        self._sources.append(list(sources))
        self._producer.append(None)
        return len(self._sources) - 1

    def link(self, place: int, source: int) -> None:
        """Lets what reaches ``source`` reach ``place`` as well."""
        self._sources[place].append(source)

    def reaching(self, place: int) -> list[int]:
        """Returns the producers that can reach ``place``, in ascending order."""
        if self._reaching is None:
            self._reaching = self._solve()
        bits = self._reaching[place]
        found = []
        while bits:
            low = bits & -bits
            found.append(low.bit_length() - 1)
            bits ^= low
        return found

    def _solve(self) -> list[int]:
        """One bit set (a Python integer) a place, by a worklist: a set only ever grows."""
        readers: list[list[int]] = [[] for _ in self._sources]
        for place, sources in enumerate(self._sources):
            for source in sources:
                readers[source].append(place)
        reaching = [0 if producer is None else 1 << producer for producer in self._producer]
        work = [place for place, bits in enumerate(reaching) if bits]
        while work:
            place = work.pop()
            bits = reaching[place]
            for reader in readers[place]:
                if bits & ~reaching[reader]:
                    reaching[reader] |= bits
                    work.append(reader)
        return reaching
