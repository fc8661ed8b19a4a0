"""Running a batch: forward, backward, and what comes out.

A `BatchRunner` takes a call of a model, gets the executor for what is asked, and collects results, metrics
and tapped values, or the loss and its gradients.  An executor runs the programs of all operations on one
device; what a step refuses, or what is not finite, is traced back to an example.
"""

from __future__ import annotations

from arrows.engine.running.batch_plan import PlannedBatch
from arrows.engine.running.batch_runner import BatchRunner, Differentiated, ModelCall, PartialRun, only_reads
from arrows.engine.running.executor import Executor, ExecutorChoices
from arrows.engine.running.executors import Executors
from arrows.engine.running.gradient_memory import Gradient, ParameterKey, add_gradients, own
from arrows.engine.running.memory import BatchMemoryError, parse_memory
from arrows.engine.running.operation_code import OperationCode
from arrows.engine.running.outputs import (
    CallRecord,
    Records,
    collect_record,
    collect_result,
    copy_rows,
    show_tapped,
    show_taps,
)
from arrows.engine.running.run import OperationRefused, Run

__all__ = [
    "BatchMemoryError",
    "BatchRunner",
    "CallRecord",
    "Differentiated",
    "Executor",
    "ExecutorChoices",
    "Executors",
    "Gradient",
    "ModelCall",
    "OperationCode",
    "OperationRefused",
    "ParameterKey",
    "PartialRun",
    "PlannedBatch",
    "Records",
    "Run",
    "add_gradients",
    "collect_record",
    "collect_result",
    "copy_rows",
    "only_reads",
    "own",
    "parse_memory",
    "show_tapped",
    "show_taps",
]
