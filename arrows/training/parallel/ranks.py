"""What the training loop asks of the ranks of a job, and one process as all of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Protocol, TypeVar

from arrows.engine.scheduling import AtOnce
from arrows.ops.arrays import Array
from arrows.training.learner import Learner, PreparedExamples
from arrows.training.optimizers import Optimizer
from arrows.training.progress import Progress

Result = TypeVar("Result")
LossCheck = Callable[[Array], None]


class RankError(RuntimeError):
    """Another rank of the job has failed; the message says which, and why.

    >>> print(RankError(2, "OSError: the disk is full"))
    rank 2 failed: OSError: the disk is full
    """

    def __init__(self, rank: int, reason: str) -> None:
        super().__init__(f"rank {rank} failed: {reason}")
        self.rank = rank


class Ranks(Protocol):
    """The processes that train one model together.

    Attributes:
        size: how many there are.
        first: whether this is the one that evaluates, prints, and writes files.
        reads_losses: whether the host has read the loss when a step ends; else it may still be computed.
    """

    @property
    def size(self) -> int: ...
    @property
    def first(self) -> bool: ...
    @property
    def reads_losses(self) -> bool: ...

    def prepare(self, model: Learner, examples: Any) -> PreparedExamples:
        """Prepares the examples on each rank."""

    def all_well(self) -> AbstractContextManager[None]:
        """A context: an error in it on one rank ends it on all, which raise `RankError`."""

    def agree(self, settings: Mapping[str, object]) -> None:
        """Refuses ranks with different settings: later they would wait for each other for ever."""

    def connect(self, model: Learner, prepared: PreparedExamples) -> None:
        """Refuses ranks with different models or examples, and gets ready for steps."""

    def share_state(self, model: Learner, optimizer: Optimizer, run: Progress) -> None:
        """Gives all ranks the parameters, the optimizer's state and the progress of the first."""

    def listen(self, **wishes: Callable[[], bool]) -> None:
        """Says how each rank tells, during a step, what it wishes."""

    def granted(self, wish: str) -> bool:
        """Whether a rank wished this during the last step."""

    def train_step(
        self, model: Learner, batch: Any, optimizer: Optimizer, check: LossCheck | None, at_once: AtOnce
    ) -> Array:
        """Takes a step on a batch, and returns its loss."""

    def from_first(self, function: Callable[[], Result]) -> Result:
        """What a function returns on the first rank, which alone calls it: None, numbers, texts, or dicts."""

    def guarded(self) -> AbstractContextManager[None]:
        """A context: an error in it that not all ranks see ends the job."""

    def together(self, error: BaseException) -> BaseException:
        """Notes that all ranks raise this error, and returns it."""


class Alone:
    """One process, which is all ranks."""

    size, first, reads_losses = 1, True, False

    def __init__(self) -> None:
        self._wishes: Mapping[str, Callable[[], bool]] = {}

    def listen(self, **wishes: Callable[[], bool]) -> None:
        self._wishes = wishes

    def granted(self, wish: str) -> bool:
        return self._wishes[wish]()

    def prepare(self, model: Learner, examples: Any) -> PreparedExamples:
        return model.prepare(examples)

    def all_well(self) -> AbstractContextManager[None]:
        return nullcontext()

    def agree(self, settings: Mapping[str, object]) -> None:
        pass

    def connect(self, model: Learner, prepared: PreparedExamples) -> None:
        pass

    def share_state(self, model: Learner, optimizer: Optimizer, run: Progress) -> None:
        pass

    def train_step(
        self, model: Learner, batch: Any, optimizer: Optimizer, check: LossCheck | None, at_once: AtOnce
    ) -> Array:
        if at_once is None:  # a learner of the user's own need not know of parts
            return model.train_step(batch, optimizer, check=check)
        return model.train_step(batch, optimizer, check=check, at_once=at_once)

    def from_first(self, function: Callable[[], Result]) -> Result:
        return function()

    def guarded(self) -> AbstractContextManager[None]:
        return nullcontext()

    def together(self, error: BaseException) -> BaseException:
        return error
