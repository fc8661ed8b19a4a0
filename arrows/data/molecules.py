"""Reads molecules in SMILES, by RDKit, as graphs of plain dicts."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from arrows.data.file_examples import FileExamples, FileStream, collected, lines_of
from arrows.data.utf8 import decoded
from arrows.files import require_path
from arrows.typesys import ArrowTypeError, InputError
from arrows.typesys.errors import MissingExtraError
from arrows.typesys.quoting import quoted

Molecule = dict[str, Any]
"""A molecule: a dict with "atoms" and "bonds", which are lists of dicts."""


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


def read_smiles(path: str | Path, *, errors: str = "stop") -> FileExamples[Molecule]:
    """Reads a file with a molecule in each line: its SMILES, and behind a blank its name, if it has one.

    Blank lines are skipped.  Of a table, `read_csv(path, columns={"smiles": parse_smiles})` reads a column.

    Args:
        path: the file, in UTF-8; if its name ends in `.gz` or `.zst`, it is decompressed.
        errors: "stop" at the first error; or "skip": leave out the lines with errors, and list these in the
            result's `skipped`.

    Returns:
        A list of molecules as `parse_smiles` gives them, with a "name" besides; it also knows the `places`
        where they stood.

    Raises:
        InputError: a line that begins with no molecule, or bytes that are not UTF-8; it names file, line and
            column.
        MissingExtraError: RDKit is missing: pip install 'arrows[molecules]'.
        OSError: the file cannot be read.

    Source: the `.smi` files of Daylight, "SMILES", daylight.com/dayhtml/doc/theory.

    Example, where RDKit is installed: ``read_smiles("drugs.smi")[0]["name"]``.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "none.smi").write_text("\\n")
    ...     read_smiles(Path(folder, "none.smi"))
    []
    """
    path = require_path("read_smiles: path", path)
    return collected(path, _molecules(path), errors)


def iterate_smiles(path: str | Path, *, errors: str = "stop") -> FileStream[Molecule]:
    """As `read_smiles`, but one molecule after the other, for a file that is larger than memory.

    With `errors="skip"`, the result's `skipped` lists what has been left out so far.

    Example, where RDKit is installed: ``sum(len(m["atoms"]) for m in iterate_smiles("drugs.smi.gz"))``.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "none.smi").write_text("\\n")
    ...     list(iterate_smiles(Path(folder, "none.smi")))
    []
    """
    path = require_path("iterate_smiles: path", path)
    return FileStream(path, _molecules(path), errors)


def _molecules(path: Path) -> Iterator[tuple[int, Callable[[], Molecule]]]:
    for number, raw in lines_of(path):
        if raw.strip():
            yield number, partial(_molecule, raw, path, number)


def _molecule(raw: bytes, path: Path, number: int) -> Molecule:
    text = decoded(raw, path, number)
    line = text.lstrip(" \t")
    smiles, *name = line.rstrip("\r").split(maxsplit=1)
    place = f"{path}:{number}:{len(text) - len(line) + 1}"
    return {"name": name[0].rstrip() if name else "", **parse_smiles(smiles, source=place)}


def _rdkit() -> tuple[Any, Any]:
    try:
        return importlib.import_module("rdkit.Chem"), importlib.import_module("rdkit.rdBase")
    except ModuleNotFoundError as error:
        raise MissingExtraError("molecules are read by RDKit", "molecules", error.name) from None
