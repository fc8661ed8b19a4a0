"""Examples that are read in the workers of executors."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import arrows as ar
from arrows.engine.reading import workers

ROOT = Path(__file__).parents[3]
COUNT = 1100  # more than two chunks
WORDS = {f"w{n}": n for n in range(50)}


def make_model(**arguments: Any) -> ar.Model:
    word = ar.InputTransform(lambda w: WORDS.get(w, 0)) >> ar.Scalar("int32") >> ar.Embedding(50, 3, name="e")
    return ar.compile(
        ar.Map(word) >> ar.Sum() >> ar.FC(1, name="fc") >> ar.Function(lambda y: y[0] * y[0]), **arguments
    )


def make_examples(count: int = COUNT) -> list[list[str]]:
    random = np.random.default_rng(0)
    return [[f"w{n}" for n in random.integers(0, 60, random.integers(0, 6))] for _ in range(count)]


def check(executor: Executor, tmp_path: Path) -> None:
    """Whatever reads, the set is the same, in memory and in a file; and an error is that of one process."""
    model, examples = make_model(), make_examples()
    there, here = model.prepare(examples, executor=executor), model.prepare(examples)
    cached = model.prepare(iter(examples), executor=executor, cache=tmp_path / "set", data="words")
    order = np.random.default_rng(1).permutation(COUNT)[:100]
    for prepared in (there, cached):
        assert prepared.nodes.tolist() == here.nodes.tolist()
        assert np.array_equal(model(prepared[order]), model(here[order]))
    examples[451] = ["w1", ["w2"]]  # type: ignore[list-item]
    messages = []
    for arguments in ({"executor": executor}, {}):
        with pytest.raises(ar.InputError, match=r"example 451: \[1\]: .*unhashable") as caught:
            model.prepare(examples, **arguments)
        messages.append(str(caught.value))
    assert messages[0] == messages[1]


def test_processes_that_share_nothing(tmp_path: Path) -> None:
    with ProcessPoolExecutor(2, get_context("spawn")) as executor:
        check(executor, tmp_path)


class Inline(Executor):
    """Runs at once, and remembers what was sent."""

    def __init__(self) -> None:
        self.sent: list[Any] = []
        self.waiting = 0

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **named: Any) -> Future[Any]:
        self.sent.append(arguments)
        self.waiting += 1
        future: Future[Any] = Future()
        try:
            future.set_result(function(*arguments, **named))
        except Exception as error:  # noqa: BLE001
            future.set_exception(error)
        return future


def test_few_chunks_are_under_way_at_a_time(tmp_path: Path) -> None:
    taken = 0

    def examples() -> Iterator[list[str]]:
        nonlocal taken
        for example in make_examples(512 * 40):
            taken += 1
            yield example

    seen: list[int] = []

    class Counting(Inline):
        def submit(self, function: Callable[..., Any], /, *arguments: Any, **named: Any) -> Future[Any]:
            future = super().submit(function, *arguments, **named)
            result = future.result

            def counted(timeout: float | None = None) -> Any:
                seen.append(self.waiting)
                self.waiting -= 1
                return result(timeout)

            future.result = counted  # type: ignore[method-assign]
            return future

    make_model().prepare(examples(), executor=Counting(), cache=tmp_path / "set", data="words")
    assert taken == 512 * 40 and max(seen) <= workers._PENDING


def test_without_cloudpickle_its_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ar.ArrowTypeError, match=r"(?s)cannot be pickled: .*arrows\[cloudpickle\]"):
        make_model().prepare([["w1"]], executor=Inline())
    plain = ar.compile(ar.Map(ar.Scalar()) >> ar.Sum())
    assert plain(plain.prepare([[1, 2]], executor=Inline())).tolist() == [3.0]


class Dying(Inline):
    """Takes so many chunks, and then no more."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self.most = most

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **named: Any) -> Future[Any]:
        if len(self.sent) == self.most:
            raise BrokenExecutor("a worker has died")
        return super().submit(function, *arguments, **named)


@pytest.mark.parametrize("most", [0, 1, 17])
def test_an_executor_that_breaks_on_the_way_leaves_nothing(most: int, tmp_path: Path) -> None:
    model, examples = make_model(), make_examples(512 * 20)
    for arguments in ({}, {"cache": tmp_path / "set"}):
        with pytest.raises(BrokenExecutor, match="a worker has died"):
            model.prepare(examples, executor=Dying(most), **arguments)  # type: ignore[arg-type]
    assert not [*tmp_path.iterdir()]
    assert len(model.prepare(examples[:9])) == 9


def test_arguments() -> None:
    model = make_model()
    assert len(model.prepare([], executor=Inline())) == 0
    for executor, processes in ((5, 1), (Inline(), 2)):
        with pytest.raises(
            ar.ArrowTypeError, match=r"takes a concurrent\.futures\.Executor or processes; it"
        ):
            model.prepare([], executor=executor, processes=processes)


SCRIPT = """
import sys
sys.path.insert(0, {root!r})
import pathlib
from tests.engine.reading.test_executors import check

if __name__ == "__main__":
    {imported}
    with {executor} as executor:
        check(executor, pathlib.Path({folder!r}))
    print("done")
"""


def run(folder: Path, imported: str, executor: str, command: list[str]) -> None:
    """Checks an executor in a process of its own."""
    script = folder / "script.py"
    script.write_text(SCRIPT.format(root=str(ROOT), folder=str(folder), imported=imported, executor=executor))
    environment = os.environ | {"PYTHONPATH": str(ROOT), "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(
        [*command, str(script)], capture_output=True, text=True, env=environment, check=False
    )
    assert done.stdout.endswith("done\n"), done.stderr


def test_a_dask_cluster(tmp_path: Path) -> None:
    pytest.importorskip("distributed", reason="Dask is not installed")
    cluster = "LocalCluster(n_workers=1, threads_per_worker=2, processes=True, dashboard_address=None)"
    executor = f"{cluster} as cluster, Client(cluster) as client, client.get_executor()"
    run(tmp_path, "from distributed import Client, LocalCluster", executor, [sys.executable])


@pytest.mark.nightly
def test_mpi_ranks(tmp_path: Path) -> None:
    pytest.importorskip("mpi4py", reason="mpi4py is not installed")
    mpirun = shutil.which("mpirun", path=os.pathsep.join([sys.prefix + "/bin", os.environ.get("PATH", "")]))
    if mpirun is None:
        pytest.skip("there is no mpirun")
    version = subprocess.run([mpirun, "--version"], capture_output=True, text=True, check=False).stdout
    open_mpi = ["--allow-run-as-root", "--oversubscribe"] if "Open MPI" in version else []
    started = [mpirun, "-n", "2", *open_mpi, sys.executable, "-m", "mpi4py.futures"]
    run(tmp_path, "from mpi4py.futures import MPIPoolExecutor", "MPIPoolExecutor()", started)
