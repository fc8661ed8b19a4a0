"""Productions over trees, chains and graphs."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

import arrows as ar
from tests.generation import parts
from tests.generation.build import WIDTH, Build, Piece, production


@production
def binary_tree(build: Build, depth: int) -> Piece:
    leaf, join = build.vector(depth), build.join(2)

    def tree(me: Any) -> Any:
        pair = ar.GetItem("l") >> me & ar.GetItem("r") >> me
        return ar.OneOf(parts.is_leaf, {True: ar.GetItem("leaf") >> leaf.block, False: pair >> join})

    return Piece(ar.fix(tree), parts.trees(leaf.data))


@production
def tree_of_lists(build: Build, depth: int) -> Piece:
    own, join = build.vector(depth), build.join(2)

    def tree(me: Any) -> Any:
        node = (ar.GetItem(0) >> own.block & ar.GetItem(1) >> ar.Map(me) >> ar.Sum()) >> join
        return ar.OneOf(parts.watched(lambda t: bool(t[1])), [ar.GetItem(0) >> own.block, node])

    return Piece(ar.fix(tree), parts.rose_trees(own.data))


@production
def declared_result(build: Build, depth: int) -> Piece:
    """A recursion that ends at empty lists alone, so that its declared type is all that fixes its result."""
    own = build.scalar(depth)
    decay = ar.Function(lambda x, sums: x - sums * np.linspace(0.25, 0.5, WIDTH, dtype="float32"))

    def tree(me: Any) -> Any:
        return (ar.GetItem(0) >> own.block & ar.GetItem(1) >> ar.Map(me) >> ar.Sum()) >> decay

    declare = build.one_of({"output_type": [WIDTH]}, {"output_type": [WIDTH], "input_type": ar.types.Input()})
    return Piece(ar.fix(**declare)(tree), parts.rose_trees(own.data))


@production
def chain(build: Build, depth: int) -> Piece:
    own, join = build.vector(depth), build.join(2)

    def chain(me: Any) -> Any:
        rest = ar.GetItem("next") >> ar.Optional(me, ar.Zeros([WIDTH]))
        return (ar.GetItem("x") >> own.block & rest) >> join

    return Piece(ar.fix(chain), st.lists(own.data, min_size=1, max_size=4).map(parts.linked))


@production
def dag(build: Build, depth: int) -> Piece:
    """A graph without cycles: what is reached twice is one object."""
    own, join = build.vector(depth), build.join(2)

    def node(me: Any) -> Any:
        x = ar.GetItem("x") >> own.block
        inner = (x & ar.GetItem("in") >> ar.Map(me) >> ar.Sum()) >> join
        leads = parts.watched(lambda t: bool(t["in"]))
        return ar.shared(ar.OneOf(leads).case(True, inner).case(False, x))

    nodes = st.lists(st.tuples(own.data, st.lists(st.integers(0, 3), max_size=2)), min_size=1, max_size=4)
    return Piece(ar.fix(node), nodes.map(parts.dag))


@production
def twice_nested(build: Build, depth: int) -> Piece:
    """A recursion inside a recursion, where the inner one calls the outer one."""
    own, join = build.vector(depth), build.join(2)

    def outer(me: Any) -> Any:
        def inner(again: Any) -> Any:
            pair = (ar.GetItem("first") >> me & ar.GetItem("rest") >> again) >> join
            return ar.OneOf(parts.watched(lambda x: x is None), {True: ar.Zeros([WIDTH]), False: pair})

        deeper = ar.GetItem("kids") >> ar.fix(inner)
        return ar.OneOf(
            parts.watched(lambda x: "kids" in x), {True: deeper, False: ar.GetItem("leaf") >> own.block}
        )

    def linked(kids: list[Any]) -> Any:
        chain = None
        for kid in kids:
            chain = {"first": kid, "rest": chain}
        return {"kids": chain}

    leaf = st.fixed_dictionaries({"leaf": own.data})
    data = st.recursive(leaf, lambda t: st.lists(t, max_size=2).map(linked), max_leaves=4)
    return Piece(ar.fix(outer), data)


@production
def tree_lstm(build: Build, depth: int) -> Piece:
    """Recursive cells: of two children, and of the sum of any number."""
    own = build.vector(depth)
    if build.one_of("binary", "child sum") == "child sum":
        cell = build.layer("child sum", lambda: ar.TreeLSTM(WIDTH, children=None))

        def rose(me: Any) -> Any:
            return (ar.GetItem(0) >> own.block & ar.GetItem(1) >> ar.Map(me)) >> cell

        return Piece(ar.fix(rose) >> ar.GetItem(0), parts.rose_trees(own.data))
    rate = build.one_of(0.0, build.dropout)
    cell = build.layer("tree", lambda: ar.TreeLSTM(WIDTH, children=2, dropout=rate))

    def tree(me: Any) -> Any:
        leaf = (ar.GetItem("leaf") >> own.block & ar.Zeros((cell.state, cell.state))) >> cell
        pair = (ar.Zeros([WIDTH]) & (ar.GetItem("l") >> me & ar.GetItem("r") >> me)) >> cell
        return ar.OneOf(parts.is_leaf).case(True, leaf).case(False, pair)

    return Piece(ar.fix(tree) >> ar.GetItem(0), parts.trees(own.data))


@production
def mutual(build: Build, depth: int) -> Piece:
    """Blocks that refer to one another: by `fix`, or by declarations; with types declared or not."""
    own, join, change = build.vector(depth), build.join(2), build.change()
    kind = build.one_of("fix", "declarations", "typed declarations")

    def even(other: Any) -> Any:
        return (ar.GetItem("x") >> own.block & ar.GetItem("next") >> ar.Optional(other)) >> join

    def odd(other: Any) -> Any:
        return ar.OneOf(parts.ends, {True: ar.GetItem("x") >> own.block, False: even(other) >> change})

    data = st.lists(own.data, min_size=1, max_size=5).map(parts.linked)
    if kind == "fix":
        a, b = ar.fix(lambda a, b: (even(b), odd(a)))
        return Piece(build.one_of(a, b), data)
    given = (None, [WIDTH]) if kind == "typed declarations" else (None, None)
    first = ar.ForwardDeclaration(*given, name="first")
    second = ar.ForwardDeclaration(*given)
    again = first()
    a, b = first.resolve_to(even(second())), second.resolve_to(odd(again))
    return Piece(build.one_of(a, b), data)


@production
def declared(build: Build, depth: int) -> Piece:
    """A tree of a declared block, which stands in two places."""
    own, join = build.vector(depth), build.join(2)
    tree = ar.ForwardDeclaration(name="tree")
    pair = (ar.GetItem("l") >> tree() & ar.GetItem("r") >> tree()) >> join
    block = tree.resolve_to(
        ar.OneOf(parts.is_leaf).case(True, ar.GetItem("leaf") >> own.block).case(False, pair)
    )
    if build.one_of("once", "twice") == "once":
        return Piece(block, parts.trees(own.data))
    return Piece(block * block >> join, st.tuples(parts.trees(own.data), parts.trees(own.data)))
