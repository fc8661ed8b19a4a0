"""Molecules as graphs: a reader of SMILES by RDKit, and a network that passes messages along the bonds.

    pip install rdkit
    python examples/molecules.py

It learns the number of hydrogens of small molecules from their heavy atoms and bonds, which takes some
seconds. Of a table of your own, `ar.data.read_csv(path, columns={"smiles": parse_smiles, "y": float})` reads
the column.

Source: Weininger, "SMILES, a chemical language and information system", 1988; Gilmer et al., "Neural Message
Passing for Quantum Chemistry", ICML 2017.
"""

from __future__ import annotations

import importlib
from typing import Any

import arrows as ar

SMILES = """
C CC CCC CCCC CO CCO CC(C)O C=C C#C CC=C C=O CC=O CC(=O)O C1CC1 C1CCC1 c1ccccc1 Cc1ccccc1 Oc1ccccc1 N CN CCN
C#N CC#N NC=O CC(N)=O OCC(O)CO C1CCCCC1 c1ccncc1 CCOCC COC O=C=O OO NN CNC CN(C)C NCCN OCCO
"""


def parse_smiles(smiles: str) -> dict[str, Any]:
    """A molecule: its atoms, each with its element and those that it is bonded to, and its hydrogens.

    Raises:
        ValueError: this is no molecule.
    """
    chemistry, base = importlib.import_module("rdkit.Chem"), importlib.import_module("rdkit.rdBase")
    with base.BlockLogs():  # RDKit prints its reasons
        molecule = chemistry.MolFromSmiles(smiles)
    if molecule is None or not molecule.GetNumAtoms():
        raise ValueError(f"{smiles!r} is no molecule")
    atoms = [
        {
            "element": atom.GetSymbol(),
            "aromatic": atom.GetIsAromatic(),
            "bonds": [
                {"order": bond.GetBondTypeAsDouble(), "to": bond.GetOtherAtomIdx(atom.GetIdx())}
                for bond in atom.GetBonds()
            ],
        }
        for atom in molecule.GetAtoms()
    ]
    return {"atoms": atoms, "hydrogens": sum(atom.GetTotalNumHs() for atom in molecule.GetAtoms())}


def reads(size: int = 16) -> Any:
    """A molecule's loss: each atom is its element with the sum over its bonds; the sum over atoms counts."""
    element = ar.Vocabulary(["C", "N", "O"])
    bond = ar.GetItem("order") >> ar.Scalar() >> ar.Function(lambda order: order[None]) >> ar.FC(size)
    bonds = ar.GetItem("bonds") >> ar.Map(bond) >> ar.Sum()
    atom = ar.GetItem("element") >> element.block() >> ar.Embedding(len(element), size) & bonds
    vector = ar.Map(atom >> ar.Concat() >> ar.FC(size, activation=ar.ops.tanh)) >> ar.Sum()
    count = ar.GetItem("atoms") >> vector >> ar.FC([], name="count")
    return (count & ar.GetItem("hydrogens") >> ar.Scalar()) >> ar.SquaredError()


def main(epochs: int = 60) -> tuple[float, float]:
    """Trains the model and returns its mean squared error before and after."""
    molecules = [parse_smiles(smiles) for smiles in SMILES.split()]
    model = ar.compile(reads())
    before = float(ar.to_numpy(model(molecules)).mean())
    ar.training.train(model, molecules, ar.training.Adam(0.01), epochs=epochs, batch_size=8, progress=False)
    after = float(ar.to_numpy(model(molecules)).mean())
    print(f"{len(molecules)} molecules: squared error {before:.2f} before, {after:.2f} after training")
    return before, after


if __name__ == "__main__":
    main()
