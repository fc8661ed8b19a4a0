"""Running a batch: forward, backward, and what comes out.

A `BatchRunner` takes a call of a model, gets the executor for what is asked, and collects results, metrics
and tapped values, or the loss and its gradients.  An executor runs the programs of all operations on one
device; what a step refuses, or what is not finite, is traced back to an example.
"""

from __future__ import annotations

from arrows.engine.running.batch_plan import PlannedBatch as PlannedBatch
from arrows.engine.running.batch_runner import (
    BatchMemoryError as BatchMemoryError,
    BatchRunner as BatchRunner,
    Differentiated as Differentiated,
    ModelCall as ModelCall,
    PartialRun as PartialRun,
    only_reads as only_reads,
    parse_memory as parse_memory,
)
from arrows.engine.running.executor import (
    Executor as Executor,
    ExecutorChoices as ExecutorChoices,
    Executors as Executors,
    OperationRefused as OperationRefused,
    Run as Run,
)
from arrows.engine.running.gradient_flow import (
    Gradient as Gradient,
    ParameterKey as ParameterKey,
    add_gradients as add_gradients,
    own as own,
)
from arrows.engine.running.outputs import (
    CallRecord as CallRecord,
    Records as Records,
    collect_record as collect_record,
    collect_result as collect_result,
    copy_rows as copy_rows,
    show_tapped as show_tapped,
    show_taps as show_taps,
)
