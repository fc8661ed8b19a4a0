"""The tagger with attention is the same model in PyTorch."""

from __future__ import annotations

import importlib.util

import pytest

import arrows as ar
from arrows.training import SGD
from benchmarks import attention
from benchmarks.baselines.attention_torch import TorchAttention
from benchmarks.networks import attention_tagger
from tests.benchmarks.agreement import agree

TORCH = importlib.util.find_spec("torch") is not None
TOLERANCE = {"float32": 1e-4, "float64": 1e-10}
EXAMPLES = [([1, 2, 4], [0, 1, 2]), ([3], [1]), ([0, 0, 4, 2, 1], [2, 2, 1, 0, 1]), ([2, 1, 0], [0, 0, 2])]


@pytest.mark.skipif(not TORCH, reason="PyTorch is not installed")
@pytest.mark.parametrize("float_type", ["float32", "float64"])
def test_in_pytorch(float_type):
    model = ar.compile(attention_tagger(5, 6, 2, 3), loss="loss", float_type=float_type)
    hand = TorchAttention(model.params, 2)
    prepared, optimizer, tolerance = hand.prepare(EXAMPLES), SGD(0.1), TOLERANCE[float_type]
    for batch in ([0, 1, 2, 3], [0, 3], [1], [2, 2, 0]):
        loss, gradients = model.value_and_grad([EXAMPLES[i] for i in batch])
        total = hand.loss([prepared[i] for i in batch])
        total.backward()
        assert abs(total.item() - loss) <= tolerance * (1 + abs(loss))
        agree(hand.gradients, gradients, tolerance)
        optimizer.step(model, gradients)
        hand.update(0.1)
        agree(hand.parameters, dict(model.params), tolerance)


def test_tiny_runs_have_every_system():
    sizes = {"vocabulary": 9, "size": 4, "heads": 2, "labels": 3}
    results = list(attention.run(quick=True, batch=3, sizes=sizes, lengths=((3, 3), (1, 4)), seconds=0.001))
    systems = [r.system for r in results if r.system != "arrows-jit"]
    assert systems == ["arrows", *["torch-hand"] * TORCH] * 2
    assert {r.config["length"] for r in results} == {"3", "1 to 4"}
