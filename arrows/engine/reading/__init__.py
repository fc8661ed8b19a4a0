"""Reading turns each example, once, into a wiring: flat arrays of numbers.

An `ExampleReader` runs the code that lowering generated for a model, if asked in several processes; checks
the indices that examples hold; and hashes nodes, so that a batch can compute equal ones once.  `fingerprint`
says how a model reads, so that only models that read alike share prepared sets.
  The helpers for index arrays, which later rooms use too, are also here.
"""

from __future__ import annotations

from arrows.engine.reading.example_reader import ExampleReader as ExampleReader, blocks as blocks
from arrows.engine.reading.hashes import (
    Fingerprint as Fingerprint,
    Unhashable as Unhashable,
    classify as classify,
    digest as digest,
    fingerprint as fingerprint,
)
from arrows.engine.reading.wiring import (
    Column as Column,
    IndexPort as IndexPort,
    Outputs as Outputs,
    Wirings as Wirings,
    computed_indices as computed_indices,
    element_ids as element_ids,
    index_of as index_of,
    index_ports as index_ports,
    index_type as index_type,
    indices_out_of_range as indices_out_of_range,
    joined_ranges as joined_ranges,
    lengths_of as lengths_of,
    range_of as range_of,
    ranges_of as ranges_of,
    source_layout as source_layout,
    spliced as spliced,
    stable_order as stable_order,
    starts_of_runs as starts_of_runs,
    with_stop as with_stop,
)
from arrows.engine.reading.workers import (
    read_by_executor as read_by_executor,
    read_by_processes as read_by_processes,
)
