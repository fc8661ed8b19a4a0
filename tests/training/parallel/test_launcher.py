"""What launchers of jobs tell the processes that they start, and processes that MPI does not connect."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

import arrows as ar
from arrows.cli import job
from arrows.engine.device import get_device
from arrows.engine.device.devices import shared_device
from arrows.training import SGD, train, world
from arrows.training.parallel import launched
from arrows.typesys import ArrowValueError
from arrows.typesys.errors import MissingExtraError
from tests.training.parallel import pretend_nccl

VARIABLES = ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS", "SLURM_NTASKS")


class World:
    """`MPI.COMM_WORLD` of a job whose ranks all lie on one machine."""

    def __init__(self, rank: int, size: int) -> None:
        self.rank, self.size = rank, size

    def Get_rank(self) -> int:
        return self.rank

    def Get_size(self) -> int:
        return self.size

    def Split_type(self, kind: str) -> World:
        assert kind == "shared"
        return self

    Iallreduce = Abort = None


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Makes this process one that a launcher has started, with an MPI that sees `size` processes."""

    def start(rank: int = 0, size: int = 1, **variables: str) -> World:
        for name in VARIABLES:
            monkeypatch.delenv(name, raising=False)
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        world = World(rank, size)
        module: Any = ModuleType("mpi4py")
        module.MPI = SimpleNamespace(
            COMM_WORLD=world,
            COMM_TYPE_SHARED="shared",
            Get_library_version=lambda: "Open MPI v5.0.11, package: Open MPI user@host\0",
        )
        monkeypatch.setitem(sys.modules, "mpi4py", module)
        return world

    return start


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({}, (1, "")),
        ({"OMPI_COMM_WORLD_SIZE": "4"}, (4, "mpirun")),
        ({"PMI_SIZE": "3"}, (3, "mpiexec")),
        ({"SLURM_STEP_NUM_TASKS": "8"}, (8, "srun")),
        ({"SLURM_NTASKS": "8"}, (1, "")),  # in a batch script, whose lines run once
        ({"SLURM_STEP_NUM_TASKS": "2", "OMPI_COMM_WORLD_SIZE": "64"}, (64, "mpirun")),  # a daemon a machine
        ({"SLURM_STEP_NUM_TASKS": "2", "PMI_SIZE": "1"}, (1, "mpiexec")),
        ({"PMI_SIZE": "many", "SLURM_STEP_NUM_TASKS": ""}, (1, "")),
    ],
)
def test_how_many_were_started(variables: dict[str, str], expected: tuple[int, str], started: Any) -> None:
    everyone = started(size=expected[0], **variables)
    assert launched() == expected
    assert job.in_job() == (expected[0] > 1)
    assert world() is (everyone if expected[0] > 1 else None)


def test_processes_that_mpi_does_not_connect_are_refused(started: Any) -> None:
    """Else each would train a model of its own, and write it over those of the others."""
    everyone = started(SLURM_STEP_NUM_TASKS="4")
    reason = (
        "train: srun has started 4 processes, and to MPI each of them is alone: mpi4py runs on Open MPI "
        "v5.0.11, which does not know this srun. Use srun --mpi=pmix (or pmi2), or the mpirun that belongs "
        "to it"
    )
    for ask in (world, job.is_first):
        with pytest.raises(ArrowValueError) as refused:
            ask()
        assert str(refused.value) == reason
    model = ar.compile(ar.Vector(1) >> ar.FC(1) >> ar.Function(lambda y: y[0]))
    with pytest.raises(ArrowValueError, match="srun has started 4 processes"):
        train(model, [[1.0]], SGD(0.1), comm=everyone, progress=False)
    train(model, [[1.0]], SGD(0.1), comm=World(0, 1), progress=False)  # COMM_SELF, say: it is meant


def test_a_job_without_mpi4py_is_refused(started: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    started(SLURM_STEP_NUM_TASKS="2")
    monkeypatch.setitem(sys.modules, "mpi4py", None)
    with pytest.raises(MissingExtraError, match=r"arrows\[mpi\]"):
        world()


def test_each_rank_of_a_machine_takes_a_gpu_of_its_own(started: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    pretend_nccl.pretend(monkeypatch, b"")  # two GPUs
    cuda = get_device("cuda")
    assert job.own_device(cuda) is cuda
    names = []
    for rank in range(3):
        started(rank, 3, OMPI_COMM_WORLD_SIZE="3")
        names.append(job.own_device(cuda).name)
        assert job.own_device(get_device("cpu")).name == "cpu"
        assert job.own_device(get_device("cuda:1")).name == "cuda:1"
    assert names == ["cuda", "cuda:1", "cuda"]
    shared_device.cache_clear()
