"""What was observed of a program that runs on the fly, in the form that lowering gives of a block."""

from __future__ import annotations

from collections.abc import Sequence

from arrows.engine.lowering.lower import Lowered, WrittenSource
from arrows.engine.lowering.sites import FlowGraph, Producer, ReachingProducers, Site
from arrows.engine.lowering.streams import Streams
from arrows.ops.arrays import HostArray
from arrows.typesys import types as T


class ObservedFlow(ReachingProducers):
    """The producers that were seen to reach each place of a program that runs on the fly."""

    def __init__(self, producers: Sequence[Sequence[Producer]]) -> None:
        self._by_place = producers

    def __getitem__(self, place: int) -> list[Producer]:
        return list(self._by_place[place])


def observed_sites(
    sites: Sequence[Site], constants: Sequence[HostArray], reads: Sequence[T.Tensor], flow: ObservedFlow
) -> Lowered:
    """What was observed of a program that runs on the fly, in the form of a lowered expression.

    There is no source that reads examples, since the program itself makes the nodes, and no stream of
    results, since any value may be asked for.

    Args:
        sites: the call sites.
        constants: the constants that operations are specialised to.
        reads: the types of the values that come in.
        flow: which outputs reached which places.
    """
    streams = Streams(FlowGraph(), T.Tuple(()))
    streams.reads += reads
    return Lowered(
        source=WrittenSource((), False, {}),
        streams=streams,
        sites=sites,
        constants=constants,
        reaching=flow,
        draws={},
    )
