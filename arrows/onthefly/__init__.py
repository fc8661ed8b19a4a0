"""On the fly: ordinary Python code that computes with lazy tensors, batched as it runs.

An `OnTheFly` has parameters, programs and memory; each of its batches records calls on `LazyTensor`s as flat
lists, the lists that reading an example fills for a block, and hands them to the same engine.
"""

from __future__ import annotations

from arrows.onthefly.batch import LazyBatch
from arrows.onthefly.network import OnTheFly
from arrows.onthefly.tensor import LazyTensor

__all__ = ["LazyBatch", "LazyTensor", "OnTheFly"]
