"""Scans, recurrent networks and sequences side by side: what they refuse, print and keep apart."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import arrows as ar
from arrows.engine.scheduling import merge
from arrows.typesys import types as T
from tests.combinators.kit import Embedding

TOTAL = ar.Function(lambda x, total: (total, total + x))
NUMBERS = ar.Map(ar.Scalar())
LENGTHS = [3, 0, 1, 5]


def rows(seed: int = 0) -> list[Any]:
    generator = np.random.default_rng(seed)
    return [generator.normal(size=(length, 3)).astype("float32").tolist() for length in LENGTHS]


def steps(model: ar.Model, examples: Any) -> int:
    return len(merge(model.plan, model.prepare(examples)[:].wired).steps)


# ------------------------------------------------------------------------------------------ errors in data


# ------------------------------------------------------------------------------------------ as values


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_copies_keep_which_cells_are_one(copied: Any) -> None:
    cell = ar.LSTMCell(4, name="cell")
    block = ar.Map(ar.Vector(3)) >> ar.Bidirectional(cell, cell)
    made = copied(block)
    assert repr(made) == repr(block)
    forward, backward = made.parts[1].spelling.blocks
    assert forward is backward is not cell
    assert list(ar.compile(made).params) == ["cell/weight", "cell/bias"]
    example = rows()[0]
    assert all(map(np.array_equal, made.eval(example)[0], block.eval(example)[0]))


def test_types_flow_backwards_through_a_network() -> None:
    table = Embedding(5, 3)
    step = (ar.GetItem(0) >> table & ar.GetItem(1)) >> ar.Function(lambda x, h: x + h)
    # only the start says what the state is, and a reader behind it what an open result is
    typed = ar.infer(ar.Map(ar.Identity()) >> ar.RNN(step, ar.Zeros([3])), T.Sequence(T.Tensor((), "int32")))
    assert typed.output == T.as_type((T.Sequence(T.as_type([3])), [3]))
    optional = ar.Optional(ar.Vector(3) >> ar.FC(3))
    assert ar.infer(ar.RNN(ar.GetItem(0) >> optional, ar.Zeros([3]))).input == T.Input()


# ------------------------------------------------------------------------------------------ in batches


def test_one_cell_in_both_directions_takes_the_steps_of_one() -> None:
    cell = ar.LSTMCell(4)
    read = ar.Map(ar.Vector(3))
    alone = ar.compile(read >> ar.RNN(cell) >> ar.GetItem(0), schedule="strata")
    twice = read >> (ar.RNN(cell) >> ar.GetItem(0) & ar.RNN(cell, reverse=True) >> ar.GetItem(0))
    assert steps(alone, rows()) == max(LENGTHS)
    assert steps(ar.compile(twice, schedule="strata"), rows()) == max(LENGTHS)
    # ... and joining both directions is one step for the batch, behind them
    joined = ar.compile(read >> ar.Bidirectional(cell, cell) >> ar.GetItem(0), schedule="strata")
    assert steps(joined, rows()) == max(LENGTHS) + 1
