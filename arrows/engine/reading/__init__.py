"""Reading turns each example, once, into a wiring: flat arrays of numbers.

An `ExampleReader` runs the code that lowering generated for a model, if asked in several processes; checks
the indices that examples hold; and hashes nodes, so that a batch can compute equal ones once.  `fingerprint`
says how a model reads, so that only models that read alike share prepared sets.
  The helpers for index arrays, which later rooms use too, are also here.
"""

from __future__ import annotations

from arrows.engine.reading.content_digest import Unhashable, digest
from arrows.engine.reading.example_reader import ExampleReader
from arrows.engine.reading.example_streams import ReadNotes
from arrows.engine.reading.fingerprint import Fingerprint, fingerprint
from arrows.engine.reading.index_arrays import (
    index_type,
    largest_first,
    lengths_of,
    range_of,
    ranges_of,
    stable_order,
    starts_of_runs,
    with_stop,
)
from arrows.engine.reading.index_bounds import (
    IndexPort,
    computed_indices,
    index_of,
    index_ports,
    indices_out_of_range,
)
from arrows.engine.reading.structural_hash import classify
from arrows.engine.reading.wiring import Column, Outputs, Wirings, element_ids, source_layout
from arrows.engine.reading.workers import (
    checked_executor,
    read_by_executor,
    read_by_processes,
)

__all__ = [
    "Column",
    "ExampleReader",
    "Fingerprint",
    "IndexPort",
    "Outputs",
    "ReadNotes",
    "Unhashable",
    "Wirings",
    "checked_executor",
    "classify",
    "computed_indices",
    "digest",
    "element_ids",
    "fingerprint",
    "index_of",
    "index_ports",
    "index_type",
    "indices_out_of_range",
    "largest_first",
    "lengths_of",
    "range_of",
    "ranges_of",
    "read_by_executor",
    "read_by_processes",
    "source_layout",
    "stable_order",
    "starts_of_runs",
    "with_stop",
]
