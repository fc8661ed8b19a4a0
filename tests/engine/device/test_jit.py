"""Compiled chains: NumPy's numbers to the rounding of float32, and compiled once for all processes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import arrows as ar
from arrows.engine.program.numbers import IN_LOOPS
from tests.marks import numba
from tests.profile import at_night


@pytest.fixture
def kept(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for what is compiled, the same for all tests of a session."""
    folder = tmp_path_factory.getbasetemp() / "chains"
    monkeypatch.setenv("ARROWS_CACHE", str(folder))
    return folder


def network() -> tuple[ar.Block[Any, Any], list[Any]]:
    """A tree network with all kinds of cells and activations, and trees for it."""
    cell, follow = ar.TreeLSTM(6, children=2), ar.LSTMCell(5)
    word = ar.Vector(3, name="x") >> ar.FC(4, activation=ar.ops.relu)
    leaf = (word & ar.Zeros((cell.state,) * 2)) >> cell

    @ar.fix
    def tree(me: Any) -> Any:
        pair = (ar.Zeros([4]) & (ar.GetItem(0) >> me & ar.GetItem(1) >> me)) >> cell
        return ar.OneOf(lambda t: isinstance(t, tuple)).case(True, pair).case(False, leaf)

    states = ar.Map(tree >> ar.GetItem(0)) >> ar.RNN(follow) >> ar.GetItem(0)
    score = ar.Function(lambda rows: ar.ops.segment_sum(ar.ops.sqrt(ar.ops.square(rows) + 1.0) - abs(rows)))
    block = states >> score >> ar.Function(lambda x: (x / (abs(x) + 2.0)).sum())
    leaves = np.random.default_rng(0).normal(size=(9, 3)).tolist()
    a, b, c, d, e, f, g, h, i = leaves
    return block, [[(a, b), (c, (d, e))], [], [f], [((g, h), i), a, (a, b)]]


@numba
@pytest.mark.parametrize("schedule", ["strata", at_night("none")])
def test_the_numbers_are_those_of_numpy(kept: Path, schedule: str) -> None:
    block, batch = network()
    compiled = ar.compile(block, jit=True, schedule=schedule)
    plain = ar.compile(block, jit=False, schedule=schedule, params=compiled.params)
    np.testing.assert_allclose(compiled(batch), plain(batch), rtol=1e-5, atol=1e-6)
    value, grads = compiled.value_and_grad(batch, inputs=["x"])
    wanted, expected = plain.value_and_grad(batch, inputs=["x"])
    np.testing.assert_allclose(value, wanted, rtol=1e-5)
    for name, found in grads.items():
        pair = [g.values if name == "x" else g for g in (found, expected[name])]
        np.testing.assert_allclose(*pair, rtol=2e-4, atol=1e-6, err_msg=name)
    assert list(kept.glob("*.code"))


@pytest.mark.nightly
@numba
def test_functions_of_chains(kept: Path) -> None:
    """Over all of float32, with infinities and not-a-number."""
    wide = np.geomspace(1e-38, 1e38, 999)
    x = np.concatenate([np.linspace(-12, 12, 100_001), wide, -wide])
    x = np.append(x, [0.0, np.inf, -np.inf, np.nan]).astype(np.float32)[None]
    others = np.resize(np.array([2.0, -3.0, 0.7, -1e-3, np.inf, np.nan, 1e30], np.float32), x.shape)
    for name in sorted(IN_LOOPS):
        tolerance = 4e-7 if name in ("tanh", "sigmoid") else 0
        function, two = getattr(ar.ops, name), name in ("add", "divide", "multiply", "subtract")
        vector = ar.Vector(x.shape[1])
        read = ar.Record((vector, vector)) if two else vector
        block = read >> ar.Function(lambda *vs, f=function: f(*vs) * 2.0)
        examples = [(x[0], others[0])] if two else x
        with np.errstate(all="ignore"):
            found = ar.compile(block, jit=True)(examples)
            wanted = ar.compile(block, jit=False)(examples)
        np.testing.assert_allclose(found, wanted, rtol=3 * tolerance, atol=tolerance, err_msg=name)


@pytest.mark.parametrize(
    ("jit", "device", "text"),
    [
        (1, "cpu", "jit must be True, False or left out, not 1"),
        (True, "fake", "jit=True compiles for the CPU, and the device is 'fake'; leave it out"),
    ],
)
def test_arguments_that_cannot_be(jit: Any, device: str, text: str) -> None:
    with pytest.raises(ar.ArrowValueError, match=text):
        ar.compile(ar.Scalar(), jit=jit, device=device)
