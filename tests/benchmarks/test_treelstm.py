"""The Tree-LSTM benchmark at a tiny size: tasks and systems, the JSON file, and its trees."""

from __future__ import annotations

import importlib.util
import json

import numpy as np
import pytest

from arrows.data import format_tree, generate
from arrows.typesys.errors import InputError
from benchmarks import command, host, treelstm
from benchmarks.datasets import load_trees


@pytest.fixture
def folder(tmp_path):
    text = "\n".join(format_tree(tree) for tree in generate(80, words=(1, 6)))
    (tmp_path / "train.txt").write_text(text, encoding="utf-8")
    return tmp_path


def test_a_tiny_run_has_every_task_and_writes_its_json(folder, capsys, monkeypatch):
    measured = treelstm.run
    monkeypatch.setattr(
        treelstm, "run", lambda **options: measured(sizes=[treelstm.Size(4, 3)], seconds=0.001, **options)
    )
    target = folder / "results.jsonl"
    options = ["treelstm", "--quick", "--data", str(folder), "--json", str(target)]
    assert command.measure(command.parser().parse_args(options)) == 0
    machine, *results = map(json.loads, target.read_text(encoding="utf-8").splitlines())
    assert machine["machine"]["cores"] >= 1
    systems = ["arrows", "one-by-one", "numpy-hand"]
    systems[1:1] = ["arrows-jit"] * bool(importlib.util.find_spec("numba"))
    systems += ["torch-hand"] * bool(importlib.util.find_spec("torch"))
    assert [(r["config"]["mode"], r["system"]) for r in results] == [
        (mode, system) for mode in ("train", "inference") for system in systems
    ]
    for result in results:
        assert result["bench"] == "treelstm" and result["config"]["trees"] == "sst"
        assert len(result["runs"]) == 5 and result["median_s"] == np.median(result["runs"]) > 0
    out = capsys.readouterr().out
    assert "treelstm, mode train, state 4, batch 3" in out and "■" in out


def test_a_folder_without_trees_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"train\.txt"):
        load_trees(tmp_path)
    (tmp_path / "train.txt").write_text("(3 a", encoding="utf-8")
    with pytest.raises(InputError, match=r"train\.txt:1:5"):
        load_trees(tmp_path)


def test_without_the_treebank_trees_are_generated(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    trees, source = load_trees(None)
    assert source == "generated" and len(trees) == 4000


def test_batches_of_one_tree_are_also_run_node_by_node(folder):
    results = list(treelstm.run(quick=True, data=folder, sizes=[treelstm.Size(4, 1)], seconds=0.001))
    assert all(result.figures["trees/s"] > 0 for result in results)
    nodewise = [result.config["mode"] for result in results if result.system == "torch-nodewise"]
    assert nodewise == (["train", "inference"] if importlib.util.find_spec("torch") else [])


def test_host_work_is_a_share_of_the_step(folder):
    prepare, merge, step = host.run(quick=True, data=folder, state=4, batch=3, trees=9)
    assert step.figures["share of step"] == 1.0 and merge.figures["share of step"] > 0
    assert prepare.figures["ns/node"] < 1e3 * prepare.figures["µs/tree"]
