"""Molecules are read as graphs, and their model learns."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def names(example: str) -> dict[str, Any]:
    return runpy.run_path(str(EXAMPLES / f"{example}.py"))


def test_molecules(tmp_path):
    pytest.importorskip("rdkit")
    found = names("molecules")
    molecule = found["parse_smiles"]("C=O ")
    assert molecule["pairs"] == [(0, 1), (1, 0)] and [len(atom) for atom in molecule["atoms"]] == [24, 24]
    with pytest.raises(ValueError, match="'C1CC' is no molecule"):
        found["parse_smiles"]("C1CC")
    chains = ["C" * n + "O" * m for n in range(1, 21) for m in (0, 1, 2)]
    rows = [f"{smiles},{smiles.count('O') - smiles.count('C') / 4}" for smiles in chains]
    table = tmp_path / "table.csv"
    table.write_text("\n".join([f"smiles,{found['SOLUBILITY']}", *rows]))
    assert found["main"](["--data", str(table), "--epochs", "20"]) < 1.0  # the spread is 1.6
