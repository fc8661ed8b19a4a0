"""Scheduling turns the wirings of a batch into steps, in an order that makes few and large ones.

A `BatchReader` takes what a user hands in: plain examples, or a `Batch` of a `Prepared` set, whose nodes are
numbered once.  `merge` sorts the numbers of a batch's nodes, which gives every value its row, every port the
rows that it gathers, and the steps; `step_order` puts these in order, by the model's schedule.
"""

from __future__ import annotations

from arrows.engine.scheduling.batch_input import BatchInput as BatchInput
from arrows.engine.scheduling.batch_input import BatchReader as BatchReader
from arrows.engine.scheduling.batch_input import Examples as Examples
from arrows.engine.scheduling.batch_input import naming_places as naming_places
from arrows.engine.scheduling.batch_input import place_of as place_of
from arrows.engine.scheduling.batch_input import placed as placed
from arrows.engine.scheduling.batching import AtOnce as AtOnce
from arrows.engine.scheduling.batching import BatchSize as BatchSize
from arrows.engine.scheduling.batching import Bucketed as Bucketed
from arrows.engine.scheduling.batching import ByNodes as ByNodes
from arrows.engine.scheduling.batching import at_once_of as at_once_of
from arrows.engine.scheduling.batching import batch_size_of as batch_size_of
from arrows.engine.scheduling.batching import checked_at_once as checked_at_once
from arrows.engine.scheduling.batching import checked_batch_size as checked_batch_size
from arrows.engine.scheduling.batching import checked_count as checked_count
from arrows.engine.scheduling.batching import epoch_batches as epoch_batches
from arrows.engine.scheduling.batching import share_of as share_of
from arrows.engine.scheduling.dropout_keys import DropoutSeed as DropoutSeed
from arrows.engine.scheduling.dropout_keys import dropout_keys as dropout_keys
from arrows.engine.scheduling.example_sources import as_examples as as_examples
from arrows.engine.scheduling.example_sources import as_stream as as_stream
from arrows.engine.scheduling.merge import Merged as Merged
from arrows.engine.scheduling.merge import OperationRows as OperationRows
from arrows.engine.scheduling.merge import PortRows as PortRows
from arrows.engine.scheduling.merge import Timeline as Timeline
from arrows.engine.scheduling.merge import merge as merge
from arrows.engine.scheduling.merge import timeline as timeline
from arrows.engine.scheduling.prepared_set import Batch as Batch
from arrows.engine.scheduling.prepared_set import Prepared as Prepared
from arrows.engine.scheduling.prepared_set import WiredBatch as WiredBatch
