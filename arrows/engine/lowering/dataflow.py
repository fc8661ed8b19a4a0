"""Which producers can reach which places, known from the block before any data.

A *producer* is an output of a site.  A *place* is anything a tensor passes through: a result, an element of a
sequence, the state of a fold, the result of a recursion.  Places form a graph whose edges say where a value
may come from; folds and recursion close cycles in it.  Once the whole expression is lowered, the graph is
solved as compilers solve *reaching definitions*.  Two things are read off it: which sites can feed a port
(their condensation orders the schedule), and which outputs can meet at one port (they share a slab, so that a
gather reads one array).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

Producer = tuple[int, int]
"""The number of a site, and of one of its outputs."""


class ReachingProducers:
    """For each place of a solved flow graph, the producers that can reach it."""

    def __init__(self, producers: Sequence[Producer], bits: Sequence[int]) -> None:
        self._producers, self._bits = producers, bits

    def __getitem__(self, place: int) -> list[Producer]:
        bits = self._bits[place]
        reaching = []
        while bits:
            low = bits & -bits
            reaching.append(self._producers[low.bit_length() - 1])
            bits ^= low
        return reaching


class FlowGraph:
    """A growing graph of places; a place is a plain integer."""

    def __init__(self) -> None:
        self._sources: list[list[int]] = []
        self._producers: list[Producer] = []
        self._produced: list[int] = []  # the place that each producer fills

    def produce(self, producer: Producer) -> int:
        """Returns a new place that holds what ``producer`` makes."""
        self._producers.append(producer)
        self._produced.append(len(self._sources))
        return self.join()

    def join(self, sources: Iterable[int] = ()) -> int:
        """Returns a new place that holds whatever reaches one of ``sources``."""
        self._sources.append(list(sources))
        return len(self._sources) - 1

    def link(self, place: int, source: int) -> None:
        """Lets what reaches ``source`` reach ``place`` as well."""
        self._sources[place].append(source)

    def solve(self) -> ReachingProducers:
        """Returns which producers reach each place.

        The sets of producers are bit sets in Python integers: a union of two is one operation on machine
        words. They only ever grow, so a worklist ends.

        >>> flow = FlowGraph()
        >>> start, state, step = flow.produce((0, 0)), flow.join(), flow.produce((1, 0))
        >>> flow.link(state, start)
        >>> flow.link(state, step)
        >>> flow.solve()[state]
        [(0, 0), (1, 0)]
        """
        readers: list[list[int]] = [[] for _ in self._sources]
        for place, sources in enumerate(self._sources):
            for source in sources:
                readers[source].append(place)
        reaching = [0] * len(self._sources)
        for number, place in enumerate(self._produced):
            reaching[place] = 1 << number
        work = list(self._produced)
        while work:
            place = work.pop()
            bits = reaching[place]
            for reader in readers[place]:
                if bits & ~reaching[reader]:
                    reaching[reader] |= bits
                    work.append(reader)
        return ReachingProducers(self._producers, reaching)
