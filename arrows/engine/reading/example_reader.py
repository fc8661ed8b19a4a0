"""Reads examples: runs the code that was generated for a model, and gives wirings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from arrows.engine.planning import Plan
from arrows.engine.reading.example_streams import ExampleStreams, Explain
from arrows.engine.reading.fingerprint import described
from arrows.engine.reading.generated_code import completed_source
from arrows.engine.reading.index_bounds import index_ports
from arrows.engine.reading.process_pool import map_chunks
from arrows.engine.reading.structural_hash import classify, unique_hashes
from arrows.engine.reading.wiring import Wirings
from arrows.typesys.runtime import cached_property

# So many examples become arrays at once: it bounds the Python lists that the generated code fills.
_CHUNK = 1024


class ExampleReader:
    """Reads examples with the code that was generated for one model.

    Args:
        plan: the model's plan, with the code that lowering wrote.
        max_nodes: the most nodes, and the most calls of recursive blocks, of one example.
        explain: called as ``explain(example, number, values)`` to raise the `InputError` that says what is
            wrong; ``values`` means that it shows only once values are computed.

    Threads may read at the same time, and a user's function may call the same model meanwhile: each has
    streams of its own. Streams are never used again if reading failed or was interrupted, or was under way in
    another thread when the process was forked.
    """

    def __init__(self, plan: Plan, max_nodes: int, explain: Explain) -> None:
        self.plan = plan
        self.max_nodes = max_nodes
        self.explain = explain
        self.ports = index_ports(plan)
        self.source = completed_source(plan)
        self.code = compile(self.source, "<arrows lowering>", "exec")
        self._idle: list[ExampleStreams] = []

    @cached_property
    def description(self) -> str:
        """A hash of how the block reads, without what its functions say."""
        return described(self.plan, self.ports, self.source)

    def read_all(self, examples: Sequence[object], processes: int = 1) -> Wirings:
        """Reads examples, in so many processes.

        Raises:
            InputError: an example is not what the block expects; it says which, where and why.
        """
        try:
            streams = self._idle.pop()
        except IndexError:
            streams = ExampleStreams(
                self.plan, self.code, ports=self.ports, max_nodes=self.max_nodes, explain=self.explain
            )
        chunks = map_chunks(
            lambda chunk: streams.read(examples[chunk], chunk.start), len(examples), _CHUNK, processes
        )
        self._idle.append(streams)
        wirings = Wirings.joined([part for part, _ in chunks])
        if all(hashes is None for _, hashes in chunks):
            return wirings
        all_hashes, nodes = [], 0
        for part, hashes in chunks:
            count = len(part.site.values)
            all_hashes.append(hashes if hashes is not None else unique_hashes(nodes, count))
            nodes += count
        return replace(wirings, same=classify(np.concatenate(all_hashes, axis=1), wirings.site.offsets))
