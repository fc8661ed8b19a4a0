"""The benchmark of two checkouts: both run the same tasks, each with its own package."""

from __future__ import annotations

import shutil

import pytest

from arrows.typesys.errors import ArrowValueError
from benchmarks import NAMES, pair, tasks


def test_each_process_runs_its_own_package(tmp_path):
    shutil.copytree(pair.ROOT / "arrows", tmp_path / "arrows", ignore=shutil.ignore_patterns("__pycache__"))
    with (tmp_path / "arrows" / "__init__.py").open("a", encoding="utf-8") as file:
        file.write("import pathlib\npathlib.Path(__file__).with_name('imported').touch()\n")
    results = list(pair.run(quick=True, old=tmp_path, bench="infer", rounds=2))
    assert [result.system for result in results] == ["arrows", "old"] * 8
    assert all(len(result.runs) == 2 and result.median > 0 for result in results)
    assert (tmp_path / "arrows" / "imported").exists()
    assert not (pair.ROOT / "arrows" / "imported").exists()


def test_a_folder_without_the_package_is_refused(tmp_path):
    with pytest.raises(ArrowValueError, match="holds no package arrows"):
        list(pair.run(old=tmp_path, bench="infer"))


def test_a_process_that_fails_is_told(tmp_path, capfd):
    (tmp_path / "arrows").mkdir()
    (tmp_path / "arrows" / "__init__.py").write_text("raise RuntimeError('no')", encoding="utf-8")
    with pytest.raises(ArrowValueError, match="ended with status 1"):
        list(pair.run(old=tmp_path, bench="infer"))
    assert "RuntimeError: no" in capfd.readouterr().err


def test_tasks_have_the_names_of_benchmarks():
    assert set(tasks.TASKS) < set(NAMES)


@pytest.mark.parametrize("bench", ["bilstm-char", "onthefly"])
def test_a_task_runs(bench):
    ours = tasks.TASKS[bench](quick=True, data=None)
    next(iter(ours.values()))()
    assert all(name.startswith("train, ") for name in ours)
