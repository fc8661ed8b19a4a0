"""The growth benchmark: the hand-written chain is the same model, and a tiny run has both modes."""

from __future__ import annotations

import numpy as np
import pytest

import arrows as ar
from arrows.data import format_tree, generate
from benchmarks import growth
from benchmarks.baselines.chain_numpy import Chain
from benchmarks.networks import chain


@pytest.mark.parametrize(("float_type", "tolerance"), [("float32", 1e-4), ("float64", 1e-10)])
@pytest.mark.parametrize("length", [1, 2, 30])
def test_a_chain_by_hand_is_the_same_model(length, float_type, tolerance):
    model = ar.compile(chain(5, 10), float_type=float_type)
    words = np.random.default_rng(length).integers(0, 10, length)
    nested = None
    for word in words.tolist():
        nested = (nested, word)
    loss, gradients = model.value_and_grad([nested])
    value, by_hand = Chain(model.params).value_and_gradients(words)
    assert abs(value - loss) <= tolerance * (1 + abs(loss))
    dense = np.zeros_like(model.params["words/weight"])
    dense[by_hand.pop("rows")] = by_hand["words/weight"]
    for name, gradient in (by_hand | {"words/weight": dense}).items():
        expected = gradients[name].to_dense(np) if name == "words/weight" else gradients[name]
        assert gradient.dtype == expected.dtype
        np.testing.assert_allclose(gradient, expected, atol=tolerance, rtol=tolerance)


def test_a_tiny_run(tmp_path):
    text = "\n".join(format_tree(tree) for tree in generate(20, words=(1, 6)))
    (tmp_path / "train.txt").write_text(text, encoding="utf-8")
    results = list(growth.run(quick=True, data=tmp_path, wide=(100, 400), deep=(3, 9), state=4))
    ours = [r for r in results if r.system == "arrows"]
    assert [r.config["mode"] for r in ours] == ["wide", "wide", "deep", "deep"]
    assert [r.figures["growth"] for r in ours[::2]] == [1.0, 1.0]
    assert {"arrows", "numpy-hand"} <= {r.system for r in results}
    assert all(r.figures["MB"] > 0 for r in results)
    assert ours[1].config["nodes"] > 2 * ours[0].config["nodes"]
