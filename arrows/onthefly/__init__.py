"""On the fly: ordinary Python code that computes with lazy tensors, batched as it runs.

An `OnTheFly` has parameters, programs and memory. Each of its batches records calls on `LazyTensor`s in flat
lists, in the form that the engine gets by reading an example of a block, and the same engine runs them.
"""

from __future__ import annotations

from arrows.onthefly.batch import LazyBatch
from arrows.onthefly.network import OnTheFly
from arrows.onthefly.tensor import LazyTensor

__all__ = ["LazyBatch", "LazyTensor", "OnTheFly"]
