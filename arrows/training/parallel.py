"""Data-parallel training: each rank of an MPI job computes a share of each batch, and all take the same step.

An optimizer that sums up the gradients of all ranks stands in for the user's, as in Horovod (Sergeev, Del
Balso, "Horovod: fast and easy distributed deep learning in TensorFlow", 2018).
"""

from __future__ import annotations

import heapq
import os
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar, cast

import numpy as np

from arrows.arrays import Array, HostArray
from arrows.engine import Batch, Model, Prepared
from arrows.engine.device import Device
from arrows.engine.scheduling import AtOnce
from arrows.ops import RowSparse
from arrows.training.batching import share_of
from arrows.training.content import content_of
from arrows.training.learner import Learner
from arrows.training.optimizers import Optimizer
from arrows.training.optimizers.rule import Gradient
from arrows.training.progress import Progress
from arrows.training.saving import load_state, save_state
from arrows.typesys import ArrowTypeError, ArrowValueError, MissingExtraError

Result = TypeVar("Result")
LossCheck = Callable[[Array], None]

_PIECE = 1 << 30  # bytes; a count of MPI has 31 bits
# How many processes there are.  MPICH's variable is that of its relatives of Intel and Cray, too, and of
# `srun --mpi=pmi2`; where `mpirun` runs under Slurm, the first one that is there counts.
_SIZES = {"OMPI_COMM_WORLD_SIZE": "mpirun", "PMI_SIZE": "mpiexec", "SLURM_STEP_NUM_TASKS": "srun"}


class Ranks:
    """The processes that train one model; all call the same methods in the same order.

    Args:
        comm: a communicator of mpi4py, such as `MPI.COMM_WORLD`; None: this process is alone.

    Attributes:
        first: whether this is the rank that evaluates, prints, and writes files.
        several: whether there are others.

    Raises:
        ArrowValueError: the processes that a launcher has started do not see each other.
    """

    def __init__(self, comm: Any = None) -> None:
        mpi = getattr(sys.modules.get("mpi4py"), "MPI", None)
        if mpi is not None and comm == mpi.COMM_WORLD:
            require_connected(comm)
        self.several = comm is not None and comm.Get_size() > 1
        self.first = comm is None or comm.Get_rank() == 0
        self._comm, self._nodes = comm, np.zeros(0, np.int64)

    @contextmanager
    def guarded(self) -> Iterator[None]:
        """A context: an error in it ends the whole job, since the other ranks would wait for ever."""
        try:
            yield
        except BaseException:
            if self.several:
                traceback.print_exc()
                sys.stdout.flush()
                sys.stderr.flush()
                self._comm.Abort(1)
            raise

    def agree(self, model: Learner, prepared: object, **settings: object) -> None:
        """Refuses ranks that run different things: their sums would mean nothing, or never come.

        Raises:
            ArrowTypeError: the model is not compiled.
            ArrowValueError: it names what differs, and where.
        """
        if not self.several:
            return
        if not (isinstance(model, Model) and isinstance(prepared, Prepared)):
            raise ArrowTypeError("train: comm= takes a compiled model, not a network on the fly")
        self._nodes = prepared.nodes
        settings |= {
            "the model's seed": model.seed,
            "the parameters": {name: f"{a.dtype}{a.shape}" for name, a in model.params.items()},
            "the number of examples": len(prepared),
            "the hash of the examples": content_of(model, prepared),
        }
        everywhere = self._comm.allgather({name: str(value) for name, value in settings.items()})
        for rank, there in enumerate(everywhere):
            for name, value in everywhere[0].items():
                if there.get(name) != value:
                    raise ArrowValueError(
                        f"train: the ranks run different things: {name} is {value:.80} on rank 0, and "
                        f"{there.get(name)!s:.80} on rank {rank}"
                        + ("; a Python set has another order in each process" if "examples" in name else "")
                    )

    def share_state(self, model: Learner, optimizer: Optimizer, run: Progress) -> None:
        """Gives all ranks the parameters, the optimizer's state and the progress of the first."""
        if not self.several:
            return
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "state")
            if self.first:
                save_state(path, model, optimizer, run)
            content = path.read_bytes() if self.first else b""
            size = self._comm.bcast(len(content))
            pieces = [self._comm.bcast(content[k : k + _PIECE]) for k in range(0, size, _PIECE)]
            if not self.first:
                path.write_bytes(b"".join(pieces))
                saved, _ = load_state(path, model, optimizer)
                for name in Progress.__slots__:
                    setattr(run, name, getattr(saved, name))

    def from_first(self, function: Callable[[], Result]) -> Result:
        """What a function returns on the first rank, which alone calls it."""
        if not self.several:
            return function()
        return cast("Result", self._comm.bcast(function() if self.first else None))

    def train_step(
        self, model: Learner, batch: Any, optimizer: Optimizer, check: LossCheck | None, at_once: AtOnce
    ) -> Array:
        """Takes a step on a batch, of which each rank computes a share; returns the loss of the whole batch.

        The numbers are those of one process, to rounding: dropout depends on an example's place in the
        prepared set, and each rank's gradients count by its number of examples.
        """
        if not self.several:
            if at_once is None:  # a learner of the user's own need not know of parts
                return model.train_step(batch, optimizer, check=check)
            return model.train_step(batch, optimizer, check=check, at_once=at_once)
        assert isinstance(batch, Batch)
        size = self._comm.Get_size()
        own = shares(self._nodes[batch.indices], size)[self._comm.Get_rank()]
        part = batch.prepared[batch.indices[own]]
        step = _SummedStep(self._comm, optimizer, check, len(part) / max(len(batch), 1))
        model.train_step(part, cast("Optimizer", step), check=step.see, at_once=share_of(at_once, size))
        assert step.loss is not None
        return step.loss


class _SummedStep:
    """An optimizer that takes its step on the gradients of all ranks.

    Args:
        comm: connects them.
        optimizer: takes the step.
        check: sees the loss of the whole batch before.
        share: the part of the batch's examples that this rank has.
    """

    def __init__(self, comm: Any, optimizer: Optimizer, check: LossCheck | None, share: float) -> None:
        self._comm, self._optimizer, self._check, self._share = comm, optimizer, check, share
        self.loss: Array | None = None

    def see(self, loss: Array) -> None:
        self.loss = loss

    def only_reads_gradients(self) -> bool:
        """True: `step` sums them up in memory of its own."""
        return True

    def step(self, model: Learner, gradients: Mapping[str, Gradient]) -> None:
        assert self.loss is not None
        loss = np.asarray(self.loss) if np.isscalar(self.loss) else self.loss
        sums = summed(self._comm, model.device, {**gradients, "": loss}, self._share)
        self.loss = sums.pop("")
        if self._check is not None:
            self._check(self.loss)
        self._optimizer.step(model, sums)


def summed(comm: Any, device: Device, gradients: Mapping[str, Gradient], share: float) -> dict[str, Any]:
    """The sums over all ranks, each of which counts by its share.

    Dense gradients travel in one flat all-reduce for each element type.  Of row-sparse ones each rank gets
    the rows of all, and adds up those that several have.

    Args:
        comm: connects the ranks.
        device: where gradients are; they travel through the host's memory.
        gradients: by name; the same names, shapes and element types on all ranks.
        share: of this rank.
    """
    sums: dict[str, Any] = {}
    dense: dict[str, dict[str, HostArray]] = {}
    for name, gradient in sorted(gradients.items()):
        if isinstance(gradient, RowSparse):
            rows, values = device.to_numpy(gradient.rows), device.to_numpy(gradient.values)
            own = RowSparse(rows, values, gradient.shape).coalesce(np)
            scaled = own.values * own.values.dtype.type(share)
            all_rows, all_values = zip(*comm.allgather((own.rows.astype(np.int64), scaled)), strict=True)
            every = RowSparse(np.concatenate(all_rows), np.concatenate(all_values), gradient.shape)
            merged = every.coalesce(np)
            rows, values = np.asarray(merged.rows), np.asarray(merged.values)
            sums[name] = RowSparse(
                device.to_device(rows), device.to_device(values), gradient.shape, distinct=True
            )
        else:
            dense.setdefault(str(gradient.dtype), {})[name] = device.to_numpy(gradient)
    for dtype, arrays in sorted(dense.items()):
        flat = np.concatenate([array.ravel() for array in arrays.values()])
        flat *= np.dtype(dtype).type(share)
        total = np.empty_like(flat)
        comm.Allreduce(flat, total)
        on_device, start = device.to_device(total), 0
        for name, array in arrays.items():
            sums[name] = on_device[start : start + array.size].reshape(array.shape)
            start += array.size
    return sums


def shares(costs: HostArray, ranks: int) -> list[HostArray]:
    """Divides examples, the costliest first, each to the rank that has the least so far.

    The most that a rank has is at most 4/3 of the least possible (Graham, "Bounds on multiprocessing timing
    anomalies", SIAM Journal on Applied Mathematics 17, 1969, theorem 2).

    Args:
        costs: of each example, such as its number of nodes.
        ranks: how many there are.

    Returns:
        For each rank the places of its examples, ascending.

    >>> [share.tolist() for share in shares(np.array([1, 9, 5, 4, 1]), 2)]
    [[0, 1], [2, 3, 4]]
    """
    loads = [(0, rank) for rank in range(ranks)]
    places: list[list[int]] = [[] for _ in range(ranks)]
    for place in np.argsort(-costs, kind="stable").tolist():
        load, rank = loads[0]
        places[rank].append(place)
        # An example costs something even if it has no nodes: else one rank would get all of these.
        heapq.heapreplace(loads, (load + int(costs[place]) + 1, rank))
    return [np.array(sorted(own), np.intp) for own in places]


def launched() -> tuple[int, str]:
    """How many processes a launcher has started, and its name; 1 and "" if none has."""
    for variable, name in _SIZES.items():
        value = os.environ.get(variable, "")
        if value.isdecimal():
            return int(value), name
    return 1, ""


def world() -> Any:
    """What `train(comm=)` wants of a program that may run alone or under `mpirun`, `mpiexec` or `srun`.

    Returns:
        `MPI.COMM_WORLD` of mpi4py, if a launcher has started several processes; else None.

    Raises:
        ModuleNotFoundError: pip install 'arrows[mpi]'.
        ArrowValueError: the launcher and MPI do not belong together, so that each process would be alone.

    >>> comm = world()
    >>> first = comm is None or comm.Get_rank() == 0  # which alone should print and write
    """
    if launched()[0] == 1:
        return None
    try:
        from mpi4py import MPI
    except ModuleNotFoundError as error:
        raise MissingExtraError("the ranks of a job train together by mpi4py", "mpi", error.name) from None
    require_connected(MPI.COMM_WORLD)
    return MPI.COMM_WORLD


def require_connected(world: Any) -> None:
    """Refuses a job whose processes do not see each other: each would train a model of its own.

    Args:
        world: `MPI.COMM_WORLD`.

    Raises:
        ArrowValueError: it says which launcher and which MPI do not go together.
    """
    size, name = launched()
    if size > 1 and int(world.Get_size()) == 1:
        from mpi4py import MPI

        library = MPI.Get_library_version().partition("\n")[0].partition(", package")[0].strip(" \0")
        other = "srun --mpi=pmix (or pmi2), or " if name == "srun" else ""
        raise ArrowValueError(
            f"train: {name} has started {size} processes, and to MPI each of them is alone: mpi4py runs on "
            f"{library}, which does not know this {name}. Use {other}the mpirun that belongs to it"
        )
