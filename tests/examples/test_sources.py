"""Molecules are read as graphs, and their model learns."""

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
