"""Calls that always follow one another run as one, and nobody sees it but by the number of steps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import arrows as ar
from arrows.onthefly import chains
from arrows.training import Adam, Checkpoint, train
from tests.compare import close, dense

SENTENCES = [[n % 5 for n in range(length)] for length in (7, 3, 1, 9, 5, 8, 4, 6)] * 2


class Plain:
    """A recurrent cell written gate by gate, and by the numbers of what was computed."""

    def __init__(self, size: int = 3, *, alone: bool = False) -> None:
        self.embed = ar.Embedding(5, size, name="embed")
        self.gate, self.new = (ar.FC(size, name=name) for name in ("gate", "new"))
        self.size, self.alone = size, alone  # `alone`: what is new does not depend on the state

    def states(self, g: Any, words: list[int], gates: list[Any]) -> list[Any]:
        states = [g.tensor(np.zeros(self.size, "f"))]
        for word in words:
            both = ar.ops.concat([self.embed(word), states[-1]])
            gate = ar.ops.sigmoid(self.gate(both))
            kept, rest = gate * states[-1], 1.0 - gate
            new = g.tensor([0.1 * word] * self.size) if self.alone else self.new(both)
            states.append(kept + rest * ar.ops.tanh(new))
            gates.append(gate)
        return states


def losses(g: Any, cell: Plain, gates: list[Any]) -> list[Any]:
    return [ar.ops.sum(cell.states(g, words, gates)[-1] ** 2) for words in SENTENCES]


def results(g: Any, cell: Plain) -> list[Any]:
    value, gradients = g.value_and_grad(g.mean(losses(g, cell, [])))
    return [value, *(dense(x) for _, x in sorted(gradients.items()))]


def test_a_cell_written_call_by_call_takes_a_step_for_each_word() -> None:
    cell, alone = Plain(), ar.OnTheFly(schedule="none", float_type="float64")
    net = ar.OnTheFly(float_type="float64")
    with alone.batch() as g:
        wanted = results(g, cell)
    for _ in range(3):
        with net.batch() as g:
            found = results(g, cell)
        assert close(found, wanted, 1e-12)
        assert len(g.timelines[0].steps) < 20  # nine words at most, and nine calls for each
    assert any("concat ... add" in operation for operation in g.timelines[0].operations)


@pytest.mark.parametrize("learnt", [False, True])
def test_values_inside_of_a_chain_may_be_asked_for_later(learnt: bool, monkeypatch: Any) -> None:
    monkeypatch.setattr(chains, "FEW", 1)  # so that one value shows none
    cell, found = Plain(alone=not learnt), []
    for schedule in ("strata", "none"):
        net = ar.OnTheFly(schedule=schedule, float_type="float64")
        for _ in range(1 + learnt):
            with net.batch() as g:
                gates: list[Any] = []
                loss = g.mean(losses(g, cell, gates))
                gates[0].numpy()  # so the next run begins within a chain
                float(loss)
                inside = g.numpy(gates)
                value, gradients = g.value_and_grad(loss + sum(ar.ops.sum(gate) for gate in gates[::3]))
        found.append([*inside, value, *(x for name, x in sorted(gradients.items()) if "embed" not in name)])
    assert close(found[0], found[1], 1e-12)


def test_a_chain_does_what_its_functions_did_when_they_were_first_called() -> None:
    net = ar.OnTheFly(float_type="float64")
    functions = [ar.Function(lambda x: ar.ops.tanh(x * (k - 0.5)), name=f"f{n}") for n in range(3)]
    for _ in range(2):
        with net.batch() as g:
            found, wanted = [], []
            for number in range(40):
                x, y = g.tensor(float(number)), float(number)
                for _ in range(6):
                    for k, function in enumerate(functions):  # the functions read k
                        x, y = function(x), np.tanh(y * (k - 0.5))
                found.append(x)
                wanted.append(y)
            assert close(g.numpy(found), wanted, 1e-12)
    assert any("f0 ... f2" in operation for operation in g.timelines[0].operations)


def test_one_value_inside_of_a_chain_may_be_asked_for() -> None:
    net = ar.OnTheFly(float_type="float64")
    with net.batch() as g:
        ends, inside = [], []
        for number in range(40):
            x = g.tensor(float(number))
            for _ in range(6):
                inside.append(y := ar.ops.exp(-ar.ops.tanh(x)))
                x = ar.ops.tanh(ar.ops.sigmoid(y) - 1.0)
            ends.append(x)
        float(last := ar.ops.tanh(g.tensor(0.5)))
        ar.ops.exp(last)  # which is new: so chains are looked for again
        g.numpy([*ends, last])  # the last one has run
        assert close([inside[0].numpy(), inside[6 * 3].numpy()], [1.0, np.exp(-np.tanh(3.0))], 1e-12)


@pytest.mark.parametrize("longest", [1, 20])  # with 1, the first examples show no chains, and others would
def test_a_run_that_is_resumed_has_the_same_bits(longest: int, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(chains, "FEW", 16)
    draws, found = np.random.default_rng(0), {}
    lengths = [1 + n % longest for n in range(32)] + [2, 3, 4] * 13 + [60, 60]
    examples = [draws.integers(0, 5, length).tolist() for length in lengths]
    for name, epochs in (("whole", 3), ("resumed", 1), ("resumed", 3)):
        net, cell, path = ar.OnTheFly(seed=0), Plain(8), tmp_path / name
        learner = net.learner(lambda g, words, cell=cell: ar.ops.sum(cell.states(g, words, [])[-1] ** 2))
        checkpoint = Checkpoint(path, resume=path.exists())
        train(learner, examples, Adam(), epochs=epochs, batch_size=12, checkpoint=checkpoint, progress=False)
        assert net.call_sites.chains or longest == 1
        found[name] = [array.tobytes() for array in net.params.values()]
    assert found["whole"] == found["resumed"]
