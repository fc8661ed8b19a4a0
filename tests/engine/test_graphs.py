"""`MessagePassing` and `GroupBy`: what they mean, what they cost, and what they refuse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import arrows as ar
from arrows import ops

WIDTH = 4


def a_graph(nodes: int, edges: int, seed: int = 0) -> dict[str, Any]:
    random = np.random.default_rng(seed)
    return {
        "nodes": random.standard_normal((nodes, WIDTH)).tolist(),
        "edges": random.integers(0, max(nodes, 1), (edges, 2)).tolist(),
        "bonds": random.standard_normal(edges).tolist(),
    }


GRAPHS = [a_graph(5, 9), a_graph(0, 0), a_graph(1, 0), a_graph(2, 1, 3), a_graph(7, 20, 4)]


def network(combine: Any, rounds: int = 2) -> Any:
    """Rounds with shared weights; the loss weighs all of the nodes."""
    passing = ar.MessagePassing(
        ar.Function(lambda source, target, bond: ops.tanh(source - target * 0.5) * bond),
        ar.GRUCell(WIDTH, name="update"),
        combine=combine,
        features=True,
    )

    @ar.arrow
    def graph(g: Any) -> Any:
        nodes, bonds = ar.Map(ar.Vector(WIDTH, name="x"))(g["nodes"]), ar.Map(ar.Scalar(name="b"))(g["bonds"])
        for _ in range(rounds):
            nodes = passing(nodes, g["edges"], bonds)
        return nodes, ar.Metric("loss")((ar.Map(ar.FC([], name="score")) >> ar.Sum())(nodes))

    return graph


COMBINED = {
    "sum": lambda rows: sum(rows, np.zeros(WIDTH)),
    "mean": lambda rows: np.mean(rows, axis=0) if rows else np.zeros(WIDTH),
    "max": lambda rows: np.max(rows, axis=0) if rows else np.zeros(WIDTH),
}


@pytest.mark.parametrize("combine", COMBINED)
def test_messages_are_those_of_plain_code(combine: str) -> None:
    message = ar.Function(lambda source, target, bond: (source + 2.0 * target) * bond)
    update = ar.Function(lambda messages, node: messages - node)
    features = ar.GetItem("bonds") >> ar.Map(ar.Scalar())
    graph = ar.GetItem("nodes") >> ar.Map(ar.Vector(WIDTH)) & ar.GetItem("edges") & features
    block = graph >> ar.MessagePassing(message, update, combine, features=True)
    for g, got in zip(GRAPHS, ar.compile(block, float_type="float64")(GRAPHS).tolist(), strict=True):
        nodes = np.array(g["nodes"]).reshape(-1, WIDTH)
        to: list[list[Any]] = [[] for _ in nodes]
        for (source, target), bond in zip(g["edges"], g["bonds"], strict=True):
            to[target].append((nodes[source] + 2 * nodes[target]) * bond)
        wanted = [COMBINED[combine](rows) - node for rows, node in zip(to, nodes, strict=True)]
        np.testing.assert_allclose(np.reshape(got, (-1, WIDTH)), np.reshape(wanted, (-1, WIDTH)), atol=1e-12)


def test_a_round_is_one_step_each_of_messages_sums_and_updates() -> None:
    nodes, edges, rounds = 50, 150, 3
    batch = [a_graph(nodes, edges, seed) for seed in range(4)]
    timeline = ar.compile(network("sum", rounds)).timeline(batch)
    steps: dict[str, list[int]] = {}
    for operation, rows in timeline.steps:
        steps.setdefault(timeline.operations[operation], []).append(rows)
    messages, sums = steps["Function"], steps["Sum"]
    assert steps["update"] == [4 * nodes] * rounds and len(messages) == rounds
    assert all(rows <= 4 * edges for rows in messages)  # equal edges send one message
    assert sum(sums) <= 4 * nodes * rounds and len(sums) <= rounds + 1  # nodes without messages come first
