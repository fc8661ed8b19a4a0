"""Scheduling turns the wirings of a batch into steps, in an order that makes few and large ones.

A `BatchReader` takes what a user hands in: plain examples, or a `Batch` of a `Prepared` set, whose nodes are
numbered once.  `merge` sorts the numbers of a batch's nodes, which gives every value its row, every port the
rows that it gathers, and the steps; `step_order` puts these in order, by the model's schedule.
"""

from __future__ import annotations

from arrows.engine.scheduling.batch_input import (
    BatchInput,
    BatchReader,
    Examples,
    naming_places,
    place_of,
    placed,
)
from arrows.engine.scheduling.batching import (
    AtOnce,
    BatchSize,
    Bucketed,
    ByNodes,
    at_once_of,
    batch_size_of,
    checked_at_once,
    checked_batch_size,
    checked_count,
    epoch_batches,
    share_of,
)
from arrows.engine.scheduling.dropout_keys import DropoutSeed, dropout_keys
from arrows.engine.scheduling.example_sources import as_examples, as_stream
from arrows.engine.scheduling.merge import Merged, OperationRows, PortRows, Timeline, merge, timeline
from arrows.engine.scheduling.prepared_set import Batch, Prepared, WiredBatch

__all__ = [
    "AtOnce",
    "Batch",
    "BatchInput",
    "BatchReader",
    "BatchSize",
    "Bucketed",
    "ByNodes",
    "DropoutSeed",
    "Examples",
    "Merged",
    "OperationRows",
    "PortRows",
    "Prepared",
    "Timeline",
    "WiredBatch",
    "as_examples",
    "as_stream",
    "at_once_of",
    "batch_size_of",
    "checked_at_once",
    "checked_batch_size",
    "checked_count",
    "dropout_keys",
    "epoch_batches",
    "merge",
    "naming_places",
    "place_of",
    "placed",
    "share_of",
    "timeline",
]
