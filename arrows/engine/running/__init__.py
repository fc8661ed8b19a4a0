"""Running a batch: forward, backward, and what comes out.

A `BatchRunner` takes a call of a model, gets the executor for what is asked, and collects results, metrics
and tapped values, or the loss and its gradients.  An executor runs the programs of all operations on one
device; what a step refuses, or what is not finite, is traced back to an example.
"""

from __future__ import annotations

from arrows.engine.running.batch_plan import PlannedBatch as PlannedBatch
from arrows.engine.running.batch_runner import BatchRunner as BatchRunner
from arrows.engine.running.batch_runner import Differentiated as Differentiated
from arrows.engine.running.batch_runner import ModelCall as ModelCall
from arrows.engine.running.batch_runner import PartialRun as PartialRun
from arrows.engine.running.batch_runner import only_reads as only_reads
from arrows.engine.running.executor import Executor as Executor
from arrows.engine.running.executor import ExecutorChoices as ExecutorChoices
from arrows.engine.running.executors import Executors as Executors
from arrows.engine.running.gradient_memory import Gradient as Gradient
from arrows.engine.running.gradient_memory import ParameterKey as ParameterKey
from arrows.engine.running.gradient_memory import add_gradients as add_gradients
from arrows.engine.running.gradient_memory import own as own
from arrows.engine.running.memory import BatchMemoryError as BatchMemoryError
from arrows.engine.running.memory import parse_memory as parse_memory
from arrows.engine.running.operation_code import OperationCode as OperationCode
from arrows.engine.running.outputs import CallRecord as CallRecord
from arrows.engine.running.outputs import Records as Records
from arrows.engine.running.outputs import collect_record as collect_record
from arrows.engine.running.outputs import collect_result as collect_result
from arrows.engine.running.outputs import copy_rows as copy_rows
from arrows.engine.running.outputs import show_tapped as show_tapped
from arrows.engine.running.outputs import show_taps as show_taps
from arrows.engine.running.run import OperationRefused as OperationRefused
from arrows.engine.running.run import Run as Run
