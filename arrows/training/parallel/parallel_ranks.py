"""The ranks of an MPI job that train one model, and what they agree on: shares, sums, files, when to stop."""

from __future__ import annotations

import json
import tempfile
import traceback
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import numpy as np

from arrows.engine import Batch, Model, Prepared
from arrows.engine.scheduling import AtOnce, share_of
from arrows.ops import RowSparse
from arrows.ops.arrays import Array, HostArray
from arrows.training.learner import Learner, PreparedExamples
from arrows.training.optimizers import Optimizer
from arrows.training.parallel.communicator import Communicator
from arrows.training.parallel.flat_gradients import FlatGradients, HostLink
from arrows.training.parallel.gpu_link import linked_gpus
from arrows.training.parallel.ranks import LossCheck, RankError, Result
from arrows.training.parallel.shares import shares
from arrows.training.progress import Progress
from arrows.training.saving import load_state, save_state
from arrows.typesys import ArrowTypeError, ArrowValueError
from arrows.typesys.errors import NotFiniteError

_SKETCHED = 1024  # examples whose content ranks compare


class ParallelRanks:
    """The processes of an MPI job.

    Args:
        communicator: connects them.
    """

    def __init__(self, communicator: Communicator) -> None:
        self._communicator = communicator
        self._gradients: FlatGradients | None = None
        self._costs: HostArray = np.zeros(0, np.int64)
        self._content = ""
        self._granted: dict[str, bool] = {}
        self._shared: BaseException | None = None
        self._wishes: Mapping[str, Callable[[], bool]] = {}

    @property
    def size(self) -> int:
        return self._communicator.size

    @property
    def first(self) -> bool:
        return self._communicator.rank == 0

    @property
    def reads_losses(self) -> bool:
        return self._gradients is None or not self._gradients.link.stays

    @contextmanager
    def all_well(self) -> Iterator[None]:
        """See `Ranks`.

        Raises:
            RankError: another rank has failed.
        """
        error: Exception | None = None
        try:
            yield
        except Exception as caught:  # noqa: BLE001  raised below, once all ranks know
            error = caught
        reasons = self._communicator.gather_texts("" if error is None else _reason(error))
        if error is not None:
            raise self.together(error)
        for rank, reason in enumerate(reasons):
            if reason:
                raise self.together(RankError(rank, reason))

    def prepare(self, model: Learner, examples: Any) -> PreparedExamples:
        """Prepares the examples on each rank.

        Raises:
            ArrowTypeError: the model is not compiled.
            InputError: the model cannot read an example; or whatever reading raises.
        """
        if not isinstance(model, Model):
            raise ArrowTypeError("train: comm= takes a compiled model, not a network on the fly")
        prepared: Prepared = model.prepare(examples)
        self._costs, self._content = prepared.nodes, _sketch(prepared)
        return prepared

    def agree(self, settings: Mapping[str, object]) -> None:
        """See `Ranks`.

        Raises:
            ArrowValueError: it names what differs, and where; on all ranks.
        """
        here = json.dumps({name: str(value) for name, value in settings.items()})
        everywhere = [json.loads(text) for text in self._communicator.gather_texts(here)]
        for rank, other in enumerate(everywhere):
            for name, value in everywhere[0].items():
                if other.get(name) != value:
                    text = (
                        f"train: the ranks run different things: {name} is {_short(value)} on rank 0, and "
                        f"{_short(other.get(name))} on rank {rank}"
                    )
                    if name.endswith("of the examples"):
                        text += "; a Python set, or what is random, is another one in each process"
                    raise self.together(ArrowValueError(text))

    def connect(self, model: Learner, prepared: PreparedExamples) -> None:
        """Settles on how gradients travel.

        Raises:
            ArrowValueError: the ranks have different models or examples; on all ranks.
        """
        shapes = {name: (list(array.shape), str(array.dtype)) for name, array in model.params.items()}
        self.agree(
            {
                "the model's seed": getattr(model, "seed", None),
                "the parameters": json.dumps(shapes),
                "the number of examples": len(prepared),
                "the nodes of the examples": f"{zlib.crc32(self._costs.tobytes()):08x}",
                "the content of the examples": self._content,
            }
        )
        link = linked_gpus(self._communicator, model.device, self.from_first)
        self._gradients = FlatGradients(link or HostLink(self._communicator, model.device))

    def share_state(self, model: Learner, optimizer: Optimizer, run: Progress) -> None:
        """Gives all ranks the parameters, the optimizer's state and the progress of the first."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "state")
            if self.first:
                save_state(path, model, optimizer, run)
            content = self._communicator.broadcast(path.read_bytes() if self.first else b"")
            if not self.first:
                path.write_bytes(content)
                saved, _ = load_state(path, model, optimizer)
                for name in Progress.__slots__:
                    setattr(run, name, getattr(saved, name))

    def train_step(
        self, model: Learner, batch: Any, optimizer: Optimizer, check: LossCheck | None, at_once: AtOnce
    ) -> Array:
        """Takes a step on a batch, of which each rank computes a share; returns the loss of the whole batch.

        The numbers are those of one process, to rounding: dropout depends on an example's place in the
        prepared set, and each rank's gradients count by its number of examples.
        """
        assert isinstance(batch, Batch)
        own = shares(self._costs[batch.indices], self.size)[self._communicator.rank]
        part = batch.prepared[batch.indices[own]]
        step = _SummedStep(self, optimizer, check, len(part) / max(len(batch), 1))
        most = share_of(at_once, self.size)
        model.train_step(part, cast("Optimizer", step), check=step.see, at_once=most)
        assert step.loss is not None
        return step.loss

    def listen(self, **wishes: Callable[[], bool]) -> None:
        self._wishes, self._granted = wishes, {}

    def granted(self, wish: str) -> bool:
        return self._granted.get(wish, False)

    def from_first(self, function: Callable[[], Result]) -> Result:
        """What a function returns on the first rank, which alone calls it.

        Raises:
            Whatever the function raises, on the first rank.
            RankError: on the others.
        """
        if not self.first:
            outcome = json.loads(self._communicator.broadcast(b""))
            if "error" in outcome:
                self._shared = RankError(0, outcome["error"])
                raise self._shared
            return cast("Result", outcome["result"])
        try:
            result = function()
        except BaseException as error:
            self._shared = error
            self._communicator.broadcast(json.dumps({"error": _reason(error)}).encode())
            raise
        self._communicator.broadcast(json.dumps({"result": result}).encode())
        return result

    @contextmanager
    def guarded(self) -> Iterator[None]:
        """An error that not all ranks see ends the job: the others would wait for this rank for ever."""
        try:
            yield
        except (NotFiniteError, RankError):  # of the sum of all ranks
            raise
        except BaseException as error:
            if error is not self._shared:
                self._communicator.abort("".join(traceback.format_exception(error)))
            raise

    def together(self, error: BaseException) -> BaseException:
        self._shared = error
        return error

    def sum(
        self, model: Learner, gradients: Mapping[str, Any], loss: Array, share: float
    ) -> tuple[Array, dict[str, Any]]:
        """The loss and the gradients of the whole batch; learns what the ranks wish."""
        assert self._gradients is not None
        wishes = np.array([wish() for wish in self._wishes.values()], np.int64)
        sums = self._gradients.sum(gradients, loss, wishes, share)
        self._granted = dict(zip(self._wishes, (sums.wishes > 0).tolist(), strict=True))
        return sums.loss, sums.gradients


class _SummedStep:
    """An optimizer that takes its step on the gradients of all ranks.

    Args:
        ranks: sum them up.
        optimizer: takes the step.
        check: sees the loss of the whole batch before.
        share: the part of the batch's examples that this rank has.
    """

    def __init__(
        self, ranks: ParallelRanks, optimizer: Optimizer, check: LossCheck | None, share: float
    ) -> None:
        self._ranks, self._optimizer, self._check, self._share = ranks, optimizer, check, share
        self.loss: Array | None = None

    def see(self, loss: Array) -> None:
        self.loss = loss

    def only_reads_gradients(self) -> bool:
        """True: `step` reads them into a buffer."""
        return True

    def step(self, model: Learner, gradients: Mapping[str, Any]) -> None:
        assert self.loss is not None
        if getattr(self._optimizer, "dense", False):  # all rows are updated, so a table goes the shorter way
            xp = model.device.xp
            gradients = {n: g.to_dense(xp) if isinstance(g, RowSparse) else g for n, g in gradients.items()}
        self.loss, sums = self._ranks.sum(model, gradients, self.loss, self._share)
        if self._check is not None:
            self._check(self.loss)
        self._optimizer.step(model, sums)


def _reason(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"


def _sketch(prepared: Prepared) -> str:
    """A text that is another one where ranks have read other examples, such as with words numbered otherwise.

    It covers some examples alone, the integers that they hold, and real numbers by their size: functions of
    the users' may round these in another way on another machine.
    """
    count = len(prepared)
    places = np.unique(np.linspace(0, count - 1, min(count, _SKETCHED)).astype(np.intp))
    wirings = prepared.wirings.select(places)
    checksum = zlib.crc32(wirings.site.values.tobytes())
    sizes = []
    for column in wirings.raw:
        if column.values.dtype.kind == "f":
            sizes.append(f"{float(np.abs(column.values).sum(dtype=np.float64)):.3g}")
        else:
            checksum = zlib.crc32(column.values.tobytes(), checksum)
    return " ".join([f"{checksum:08x}", *sizes])


def _short(value: object) -> str:
    text = str(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
