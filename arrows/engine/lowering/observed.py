"""What was observed of a program that runs on the fly, in the form that lowering gives of a block."""

from __future__ import annotations

from collections.abc import Sequence

from arrows.engine.lowering.lower import Lowered, WrittenSource
from arrows.engine.lowering.sites import FlowGraph, Reaching, Site
from arrows.engine.lowering.streams import Streams
from arrows.ops.arrays import HostArray
from arrows.typesys import types as T


def observed_sites(
    sites: Sequence[Site], constants: Sequence[HostArray], reads: Sequence[T.Tensor], flow: Reaching
) -> Lowered:
    """What was observed of a program that runs on the fly, in the form of a lowered expression.

    There is no source that reads examples, since the program itself makes the nodes, and no stream of
    results, since any value may be asked for.

    Args:
        sites: the call sites.
        constants: the constants that operations are specialised to.
        reads: the types of the values that come in.
        flow: for each place, which outputs reached it.
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
