"""Productions over graphs: messages along edges, and elements in groups."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

import arrows as ar
from tests.generation.build import Build, Data, Piece, anything, production


@production
def passed(build: Build, depth: int) -> Piece:
    """Messages along the edges of a graph, combined in each way, once or twice, with and without features."""
    features, updates = build.one_of(False, True), build.one_of(True, False)
    node = build.vector(depth)
    edge = build.vector(depth) if features else Piece(ar.Identity(), anything)
    attention = ar.Attention(build.score(), default=build.one_of(0.0, 0.5))
    round_ = ar.MessagePassing(
        build.join(2 + features),
        build.join(2) if updates else None,
        combine=build.one_of("sum", "mean", "max", attention),
        features=features,
    )

    @ar.arrow
    def graph(g: Any) -> Any:
        nodes = ar.Map(node.block)(g["nodes"])
        edges = [g["edges"], *([ar.Map(edge.block)(g["features"])] if features else [])]
        for _ in range(build.one_of(1, 2)):
            nodes = round_(nodes, *edges)
        return ar.Sum()(nodes)

    return Piece(graph, graphs(node.data, edge.data))


@production
def grouped(build: Build, depth: int) -> Piece:
    """Elements in groups: tensors, objects that are read in their group, groups of a tuple's length."""
    edge, node = build.vector(depth), anything
    targets = ar.GetItem("edges") >> ar.Map(ar.GetItem(1))
    kind = build.one_of("tensors", "objects", "tuple")
    last = build.one_of(ar.Sum(), ar.Fold(build.join(2), ar.Zeros([3])))
    if kind == "tuple":
        of = ar.AllOf(ar.GetItem("nodes"), ar.GetItem("features"))
        groups = (ar.GetItem("features") >> ar.Map(edge.block) & ar.GetItem("halves") & of) >> ar.GroupBy()
        return Piece(groups >> ar.Map(last) >> ar.Sum(), graphs(node, edge.data))
    read = ar.Map(edge.block)
    elements = ar.GetItem("features") >> (read if kind == "tensors" else ar.Identity())
    groups = (elements & targets & ar.GetItem("nodes")) >> ar.GroupBy()
    each = ar.Map(last if kind == "tensors" else read >> last)
    return Piece(groups >> each >> ar.Sum(), graphs(node, edge.data))


def graphs(node: Data, edge: Data) -> Data:
    """Graphs of at most four nodes and five edges; an edge may stand twice, or lead back to its node."""

    def with_edges(nodes: list[Any]) -> Data:
        place = st.integers(0, max(len(nodes) - 1, 0))
        row = st.tuples(place, place, st.integers(0, 1), edge)
        return st.lists(row, max_size=5 if nodes else 0).map(
            lambda rows: {
                "nodes": nodes,
                "edges": [[source, target] for source, target, _, _ in rows],
                "halves": [half for _, _, half, _ in rows],
                "features": [feature for _, _, _, feature in rows],
            }
        )

    return st.lists(node, max_size=4).flatmap(with_edges)
