"""Scheduling turns the wirings of a batch into steps, in an order that makes few and large ones.

A `BatchReader` takes what a user hands in: plain examples, or a `Batch` of a `Prepared` set, whose nodes are
numbered once.  `merge` sorts the numbers of a batch's nodes, which gives every value its row, every port the
rows that it gathers, and the steps, in the order of the model's schedule.
"""

from __future__ import annotations

from arrows.engine.scheduling.batch_input import (
    AtOnce as AtOnce,
    BatchInput as BatchInput,
    BatchReader as BatchReader,
    ByNodes as ByNodes,
    Examples as Examples,
    as_examples as as_examples,
    as_stream as as_stream,
    batch_stops as batch_stops,
    checked_count as checked_count,
    naming_places as naming_places,
    place_of as place_of,
    placed as placed,
)
from arrows.engine.scheduling.merge import (
    DropoutSeed as DropoutSeed,
    Merged as Merged,
    OperationRows as OperationRows,
    Timeline as Timeline,
    dropout_keys as dropout_keys,
    merge as merge,
    timeline as timeline,
)
from arrows.engine.scheduling.node_table import (
    Batch as Batch,
    Prepared as Prepared,
    WiredBatch as WiredBatch,
)
