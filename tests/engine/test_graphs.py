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


@pytest.mark.parametrize(
    ("edges", "place", "reason"),
    [
        ([[0, 1], [0, 2]], "edges > [1]", "there is no element 2 in a list of 2"),
        ([[2, 0]], "edges > [0]", "there is no element 2 in a list of 2"),
        ([[0, -1]], "edges > [0]", "there is no element -1 in a list of 2"),
        ([[0, "1"]], "edges > [0]", "expected an integer as the place of an element, got '1'"),
        ([[0]], "edges > [0]", "there is no item 1 in a list of 1"),
    ],
)
def test_an_edge_to_nowhere_is_refused(edges: Any, place: str, reason: str) -> None:
    block = (ar.GetItem("nodes") >> ar.Map(ar.Scalar()) & ar.GetItem("edges")) >> ar.MessagePassing(
        ar.GetItem(0), name="bonds"
    )
    bad = {"nodes": [1, 2], "edges": edges}
    model = ar.compile(block)
    for number, call in (
        ("example 1: ", lambda: model([{"nodes": [], "edges": []}, bad])),
        ("", lambda: block.eval(bad)),
    ):
        with pytest.raises(ar.InputError) as caught:
            call()
        assert f"{number}{place}: {reason}\n  in  bonds  test_graphs.py" in str(caught.value)


def test_each_edge_has_its_features() -> None:
    bad = {**a_graph(3, 4), "bonds": [1.0]}
    with pytest.raises(ar.InputError, match="each edge has its features") as caught:
        ar.compile(network("sum"), loss="loss")([a_graph(2, 2), bad])
    assert "example 1: the sequences have different lengths" in str(caught.value)


def test_places_of_groups() -> None:
    words = ar.GetItem("words") >> ar.Map(ar.Scalar())
    block = (words & ar.GetItem("of") & ar.GetItem("people")) >> ar.GroupBy() >> ar.Map(ar.Max(default=-1))
    people = {"people": "ab", "words": [1, 3, 2], "of": (0, 0, 0)}
    model = ar.compile(block)
    assert model([people, {"people": {}, "words": [], "of": []}]).tolist() == [[3, -1], []]
    for of, text in (
        ([0, 0, 2], "of > [2]: there is no element 2 in a list of 2"),
        ([0, -1, 1], "of > [1]: there is no element -1 in a list of 2"),
        ([0, 1], "there are 3 elements, and 2 places"),
        ([0, 0.5, 1], "of > [1]: expected an integer as the place of an element, got 0.5"),
    ):
        with pytest.raises(ar.InputError) as caught:
            model([people, {**people, "of": of}])
        assert f"example 1: {text}" in str(caught.value)


def test_rows_of_a_zip_remember_their_places() -> None:
    block = (ar.GetItem("a") & ar.GetItem("b") >> ar.Broadcast()) >> ar.ZipWith(
        ar.GetItem(0) >> ar.Scalar() & ar.GetItem(1) >> ar.Scalar()
    )
    with pytest.raises(ar.InputError, match=r"a > \[1\]: expected a number"):
        block.eval({"a": [1, "x"], "b": 1})
    with pytest.raises(ar.InputError, match=r"^b: expected a number"):
        block.eval({"a": [1, 2], "b": "x"})
