"""Reads molecules in SMILES, by RDKit, as graphs of plain dicts."""

from __future__ import annotations

import importlib
from typing import Any

from arrows.typesys import ArrowTypeError, InputError
from arrows.typesys.errors import MissingExtraError
from arrows.typesys.quoting import quoted

Molecule = dict[str, list[dict[str, Any]]]
"""A molecule: a dict with "atoms" and "bonds"."""


def parse_smiles(smiles: str, *, source: str = "") -> Molecule:
    """Reads a molecule in SMILES as a graph.

    Each of the "atoms" has its "element", "charge", "hydrogens" (how many, which are no atoms of their own),
    whether it is "aromatic" and in a "ring", and its "neighbours", the places of the atoms that it is bonded
    to.  Each of the "bonds" has its two "atoms", its "order" (1.5 if aromatic), and whether it is "aromatic"
    and in a "ring".

    Args:
        smiles: the molecule.
        source: where it stands, for errors: a file and a line.

    Raises:
        ArrowTypeError: not a text.
        InputError: this is no molecule; it quotes the text, and says why.
        MissingExtraError: RDKit is missing: pip install 'arrows[molecules]'.

    Source: Weininger, "SMILES, a chemical language and information system", 1988; RDKit, rdkit.org.

    Example, where RDKit is installed: ``parse_smiles("CO")["atoms"]`` is a carbon with three hydrogens and an
    oxygen with one.

    >>> parse_smiles(3)
    Traceback (most recent call last):
    ...
    arrows.typesys.errors.ArrowTypeError: parse_smiles: expected a text, got 3
    """
    if not isinstance(smiles, str):
        raise ArrowTypeError(f"parse_smiles: expected a text, got {smiles!r}")
    chemistry, base = _rdkit()
    with base.BlockLogs():  # RDKit prints its reasons, which the error gives
        parsed = chemistry.MolFromSmiles(smiles, sanitize=False)
        problems = [] if parsed is None else [p.Message() for p in chemistry.DetectChemistryProblems(parsed)]
        molecule = None if parsed is None or problems else chemistry.MolFromSmiles(smiles)
    if molecule is None or not molecule.GetNumAtoms():
        start = f"{source}: " if source else ""
        reason = problems[0] if problems else "it is no SMILES" if molecule is None else "it has no atoms"
        raise InputError(f"{start}{quoted(smiles)} is no molecule: {reason}")
    atoms = [
        {
            "element": atom.GetSymbol(),
            "charge": atom.GetFormalCharge(),
            "hydrogens": atom.GetTotalNumHs(),
            "aromatic": atom.GetIsAromatic(),
            "ring": atom.IsInRing(),
            "neighbours": [other.GetIdx() for other in atom.GetNeighbors()],
        }
        for atom in molecule.GetAtoms()
    ]
    bonds = [
        {
            "atoms": [bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()],
            "order": bond.GetBondTypeAsDouble(),
            "aromatic": bond.GetIsAromatic(),
            "ring": bond.IsInRing(),
        }
        for bond in molecule.GetBonds()
    ]
    return {"atoms": atoms, "bonds": bonds}


def _rdkit() -> tuple[Any, Any]:
    try:
        return importlib.import_module("rdkit.Chem"), importlib.import_module("rdkit.rdBase")
    except ModuleNotFoundError as error:
        raise MissingExtraError("molecules are read by RDKit", "molecules", error.name) from None
