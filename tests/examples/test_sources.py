"""Molecules and programs are read as trees, and their models learn."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def names(example: str) -> dict[str, Any]:
    return runpy.run_path(str(EXAMPLES / f"{example}.py"))


def test_molecules():
    pytest.importorskip("rdkit")
    found = names("molecules")
    atoms = found["parse_smiles"]("C=O")["atoms"]
    assert atoms[0] == {"element": "C", "aromatic": False, "bonds": [{"order": 2.0, "to": 1}]}
    with pytest.raises(ValueError, match="'C1CC' is no molecule"):
        found["parse_smiles"]("C1CC")
    before, after = found["main"](epochs=20)
    assert after < before / 2


def test_programs(tmp_path, capsys):
    found = names("python_source")
    (tree,) = found["parse_python"]("+".join(["x"] * 2000))["children"]
    assert tree["kind"] == "Expr"
    (tmp_path / "a.py").write_text("def get_a(x):\n    return x\n" * 9 + "def put(x):\n    x.y = 3\n" * 9)
    (tmp_path / "b.py").write_text("def broken(")
    assert found["main"](tmp_path, epochs=30) == 1.0
    assert "b.py: '(' was never closed" in capsys.readouterr().err
