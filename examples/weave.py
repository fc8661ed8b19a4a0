"""Graph convolutions by weave modules, on molecules of any size.

Each module computes new features of every atom and of every pair of atoms from those of both; pairs are a
sequence of sequences (Kearnes, McCloskey, Berndl, Pande, Riley, "Molecular graph convolutions: moving beyond
fingerprints", 2016, section 2.3). Looks et al., "Deep learning with dynamic computation graphs" (ICLR 2017),
appendix B, write it in TensorFlow Fold.

    python examples/weave.py

trains it to count the carbon-oxygen bonds of generated molecules of 2 to 9 atoms. On new ones the squared
error falls from 38.95 to 0.29 after 4 s of processor time.
"""

from __future__ import annotations

import random
from typing import Any

import arrows as ar
from arrows import ops
from arrows.training import Adam, train

ELEMENTS = "CNO"
FEATURES = 3  # of a pair: bonded, distance in bonds, the same atom

# ------------------------------------------------------------------------------------------ the model


def fc(size: int) -> ar.Block[Any, Any]:
    return ar.FC(size, activation=ops.tanh)


def weave(atom_size: int, pair_size: int) -> ar.Block[Any, Any]:
    """One module: (atoms, pairs) to the next (atoms, pairs)."""
    module, row, pair = ar.Composition(), ar.Composition(), ar.Composition()
    both = ar.Concat() >> fc(pair_size)  # of two atoms; summed over both orders
    with module.scope():
        atoms, pairs = module.input[0], module.input[1]
        with row.scope():  # all pairs of one atom
            with pair.scope():
                a, b, p = pair.input[0], pair.input[1], pair.input[2]
                from_atoms = ar.Sum().reads(both.reads(a, b), both.reads(b, a))
                pair.output.reads((ar.Concat() >> fc(pair_size)).reads(from_atoms, fc(pair_size).reads(p)))
            atom = ar.Broadcast().reads(row.input[0])
            row.output.reads(ar.ZipWith(pair).reads(atom, row.input[1], row.input[2]))
        from_pairs = ar.Map(ar.Map(fc(atom_size)) >> ar.Sum()).reads(pairs)
        from_atoms = ar.Map(fc(atom_size)).reads(atoms)
        next_atoms = ar.ZipWith(ar.Concat() >> fc(atom_size)).reads(from_atoms, from_pairs)
        next_pairs = ar.ZipWith(row).reads(atoms, ar.Broadcast().reads(atoms), pairs)
        module.output.reads(next_atoms, next_pairs)
    return module


atoms = ar.GetItem("atoms") >> ar.Map(ar.OneHotFromList(ELEMENTS))
pairs = ar.GetItem("pairs") >> ar.Map(ar.Map(ar.Vector(FEATURES, name="pair")))
molecule = (atoms & pairs) >> weave(16, 8) >> weave(16, 8) >> ar.GetItem(0) >> ar.Sum() >> ar.FC(1)
loss = (molecule & ar.GetItem("bonds") >> ar.Vector(1)) >> ar.SquaredError() >> ar.Metric("loss")
model = (molecule & loss) >> ar.GetItem(0)
# ------------------------------------------------------------------------------------------ end of the model


def generated(generator: random.Random, atoms: int) -> dict[str, Any]:
    """A molecule, which is a tree of atoms or has one ring, and how many bonds between C and O it has."""
    elements = [generator.choice(ELEMENTS) for _ in range(atoms)]
    bonds = {(generator.randrange(i), i) for i in range(1, atoms)}
    if atoms > 3 and generator.random() < 0.5:
        bonds.add((0, atoms - 1))
    bonds |= {(b, a) for a, b in bonds}
    distance = [
        [0 if a == b else 1 if (a, b) in bonds else atoms for b in range(atoms)] for a in range(atoms)
    ]
    for via in range(atoms):
        for row in distance:
            row[:] = [min(old, row[via] + distance[via][b]) for b, old in enumerate(row)]
    pairs = [
        [[float((a, b) in bonds), distance[a][b] / 4.0, float(a == b)] for b in range(atoms)]
        for a in range(atoms)
    ]
    count = sum(elements[a] + elements[b] == "CO" for a, b in bonds)
    return {"atoms": elements, "pairs": pairs, "bonds": [float(count)]}


def main(examples: int = 400, epochs: int = 12) -> tuple[float, float]:
    """Trains the model and returns its mean squared error on new molecules, before and after."""
    generator = random.Random(0)
    data = [generated(generator, generator.randint(2, 9)) for _ in range(examples)]
    unseen = [generated(generator, generator.randint(2, 9)) for _ in range(100)]
    learner = ar.compile(model, loss="loss", seed=0)

    def error() -> float:
        learner(unseen)
        losses: Any = ar.to_numpy(learner.metrics["loss"]).values
        return float(losses.mean())

    before = error()
    train(learner, data, Adam(0.005), epochs=epochs, batch_size=20)
    after = error()
    print(f"squared error on 100 new molecules: {before:.3f} before training, {after:.3f} after")
    return before, after


if __name__ == "__main__":
    main()
