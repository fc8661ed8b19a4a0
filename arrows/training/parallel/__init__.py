"""Data-parallel training: each rank of a job computes a share of each batch, and all take the same steps."""

from __future__ import annotations

from arrows.training.parallel.communicator import Communicator, MpiCommunicator, as_communicator
from arrows.training.parallel.launcher import launched, require_connected, world
from arrows.training.parallel.parallel_ranks import ParallelRanks
from arrows.training.parallel.ranks import Alone, RankError, Ranks

__all__ = [
    "Alone",
    "Communicator",
    "MpiCommunicator",
    "ParallelRanks",
    "RankError",
    "Ranks",
    "as_communicator",
    "launched",
    "require_connected",
    "world",
]
