"""Writes the function that lowers one example: a typed expression becomes straight Python code.

The code is written once for a model.  It does what an interpreter of the expression would do for each
example, but the structure of the expression is gone from it: no dispatch on forms, no dictionary of values,
and no object for a node.  Each visit of a site appends the site's number, the value ids that it reads and its
depth key to lists.  A recursive block becomes a generator function that yields the calls it wants made
(`drive` keeps their stack), so data may be as deep as memory allows.

While the code is written, the symbols of `arrows.engine.lowering.sites` stand for the values, and the walk
records which site can feed which (`arrows.engine.lowering.sites`).

Names in the written code: ``x`` is a function's input, ``v3`` a value id, ``n3`` the first value id of a
node, ``o3`` an object, ``l3`` a list, ``k3`` a depth key; ``S K SRC CNT`` are the streams of the wiring,
``RAW3 RES3 LEN3 MET3 LAB3 VISIT OBJ3`` those of inputs, results, metrics and taps; ``ITEMS`` goes over the
user's containers, ``ZIPPED`` over several at a time.  Three things are put in once all sites are known and
planned: ``@W`` (the shift from node to value id), ``@C3@`` (a constant's value id) and the depth keys.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from arrows import combinators as core
from arrows.arrays import HostArray
from arrows.combinators import AnyBlock
from arrows.engine.lowering import apply, control_flow, sequences
from arrows.engine.lowering.expression_writer import Emitter, ExpressionWriter, KeyLine
from arrows.engine.lowering.sites import FlowGraph, ObjectSymbol, Reaching, Site
from arrows.engine.lowering.streams import Streams
from arrows.engine.reference import drawing_occurrences
from arrows.engine.values import trampoline
from arrows.inference import Typed
from arrows.typesys import types as T

EMITTERS: dict[type[AnyBlock], Emitter] = {
    core.Pipe: control_flow.emit_pipe,
    core.Fan: control_flow.emit_fan,
    core.Graph: control_flow.emit_graph,
    core.Choice: control_flow.emit_choice,
    core.Reference: control_flow.emit_recursion,
    core.Map: sequences.emit_map,
    core.Zip: sequences.emit_zip,
    core.Broadcast: sequences.emit_broadcast,
    core.Loop: sequences.emit_loop,
    core.Reduce: sequences.emit_reduce,
    core.Item: sequences.emit_item,
    core.Nth: sequences.emit_nth,
    core.GroupBy: sequences.emit_group_by,
    core.Apply: apply.emit_apply,
    core.Constant: apply.emit_constant,
    core.Read: apply.emit_read,
    core.SideOutput: apply.emit_side_output,
    core.Shared: control_flow.emit_shared,
}
"""For each core form, the function that writes the code of an occurrence on a value."""


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class Lowered:
    """What lowering a typed expression gives.

    Attributes:
        lines: the source of the lowering function: the lines of its module, key lines still open; ``main`` is
            its entry.
        main_yields: whether ``main`` is a generator function: it calls one.
        names: what the source refers to (users' functions, tables of cases, memos of shared blocks).
        streams: the streams that it appends to.
        sites: the sites.
        constants: the values of the constants.
        reaching: which outputs of sites can reach each place of the flow graph.
        draws: by site, the number of its occurrence among those that draw random numbers.
    """

    lines: Sequence[str | KeyLine] = ()
    main_yields: bool = False
    names: Mapping[str, object] = field(default_factory=dict)
    streams: Streams
    sites: Sequence[Site]
    constants: Sequence[HostArray]
    reaching: Reaching
    draws: Mapping[int, int] = field(default_factory=dict)


def lower(root: Typed) -> Lowered:
    """Writes the lowering function of a typed expression."""
    writer = ExpressionWriter(EMITTERS, root)
    with writer.function("main", generator=False) as main:
        apply.write_values(writer, trampoline(writer.walk(root, ObjectSymbol("x"))), writer.streams.result)
    return Lowered(
        lines=writer.finished,
        main_yields=main.is_generator,
        names=writer.names,
        streams=writer.streams,
        sites=writer.sites.sites,
        constants=writer.sites.constants,
        reaching=writer.flow.solve(),
        draws=_draws(root, writer.sites.sites),
    )


def _draws(root: Typed, sites: Sequence[Site]) -> Mapping[int, int]:
    numbers = drawing_occurrences(root)
    return {
        site.index: numbers[id(site.typed)]
        for site in sites
        if site.kind == "apply" and id(site.typed) in numbers
    }


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
    return Lowered(streams=streams, sites=sites, constants=constants, reaching=flow)
