"""The same Tree-LSTM as a block and on the fly: equal losses, gradients and parameters, step after step."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import arrows as ar
from arrows import ops
from arrows.training import Adam
from tests.compare import close
from tests.onthefly.test_programs import SCHEDULES, dense
from tests.profile import sampled

WORDS, SIZE = 12, 5


def trees(count: int) -> list[Any]:
    """Random binary trees: a leaf is a word, a node a pair; every node has a label."""
    generator = np.random.default_rng(4)

    def tree(depth: int) -> Any:
        label = int(generator.integers(3))
        if depth == 0 or generator.random() < 0.3:
            return {"label": label, "word": int(generator.integers(WORDS))}
        return {"label": label, "left": tree(depth - 1), "right": tree(depth - 1)}

    return [tree(int(generator.integers(5))) for _ in range(count)]


def layers() -> tuple[Any, ...]:
    return (
        ar.Embedding(WORDS, SIZE, name="words"),
        ar.TreeLSTM(SIZE, children=2, name="cell"),
        ar.FC(3, name="score"),
        ar.SoftmaxCrossEntropy(),
    )


def block(embed: Any, cell: Any, score: Any, cross_entropy: Any) -> Any:
    leaf = (ar.GetItem("word") >> ar.Scalar("int32") >> embed & ar.Zeros((cell.state, cell.state))) >> cell

    @ar.fix
    def tree(me: Any) -> Any:
        children = ar.GetItem("left") >> me & ar.GetItem("right") >> me
        node = (
            ar.OneOf(lambda t: "word" in t)
            .case(True, leaf)
            .case(False, (ar.Zeros([SIZE]) & children) >> cell)
        )

        @ar.arrow
        def labelled(t: Any) -> Any:
            state = node(t)
            label = (ar.GetItem("label") >> ar.Scalar("int32"))(t)
            ar.Metric("loss")(cross_entropy(score(state[0]), label))
            return state

        return labelled

    return tree


@pytest.mark.parametrize("schedule", sampled(SCHEDULES, 2))
@pytest.mark.parametrize("device", ["cpu", "fake"])
def test_a_tree_lstm_twice(schedule: str | None, device: str) -> None:
    examples, parts = trees(12), layers()
    embed, cell, score, cross_entropy = parts
    model = ar.compile(block(*parts), loss="loss", seed=7, float_type="float64", device=device)
    net = ar.OnTheFly(seed=7, float_type="float64", schedule=schedule, device=device)
    first, second = Adam(0.05), Adam(0.05)

    def state(g: Any, tree: Any, losses: list[Any]) -> Any:
        if "word" in tree:
            result = cell(embed(tree["word"]), g.zeros((cell.state, cell.state)))
        else:
            children = state(g, tree["left"], losses), state(g, tree["right"], losses)
            result = cell(g.zeros([SIZE]), children)
        losses.append(cross_entropy(score(result[0]), tree["label"]))
        return result

    for step in range(6):
        batch = examples[2 * step : 2 * step + 6]
        value, gradients = model.value_and_grad(batch)
        with net.batch() as g:
            losses: list[Any] = []
            roots = [state(g, tree, losses)[0] for tree in batch]
            if step % 2:
                g.numpy(roots[::2])
            loss = g.sum(losses) / len(batch)
            found, others = g.value_and_grad(loss)
            assert close(float(ar.to_numpy(found)), float(ar.to_numpy(value)), 1e-9)
            assert isinstance(others["words/weight"], ops.RowSparse)
            assert close(dense(others), dense(gradients), 1e-9)
            g.train_step(loss, second)
        first.step(model, gradients)
        for name, array in model.params.items():
            assert close(ar.to_numpy(net.params[name]), ar.to_numpy(array), 1e-9)
    assert sorted(net.params) == sorted(model.params)
