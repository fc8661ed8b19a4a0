"""Hypothesis strategies: random well-typed blocks together with data that fits them.

`cases()` draws a block, a batch of examples, what its loss is and which inputs are named. The block and its
data are drawn hand in hand: every production gives a block from `Input` and the strategy of the objects
that it reads, so nothing is ever filtered out for being ill-typed. Most productions give a vector of
`WIDTH` floats, the common currency in which they combine. Values stay within a few units, so that float32
keeps 1e-4.

Production lists begin with the simplest one, because that is where hypothesis shrinks to.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from hypothesis import strategies as st

import arrows as ar
from arrows import ops

WIDTH = 3
WORDS = 4

Draw = Callable[[st.SearchStrategy[Any]], Any]
Data = st.SearchStrategy[Any]


@dataclass
class Case:
    """A block and a batch that fits it.

    Attributes:
        block: from `Input`; its result is no `Input` and not endless.
        examples: Python objects.
        loss: what to differentiate: None (the result is a float scalar), a metric's name, or names and
            weights; `""` where there is nothing to differentiate.
        inputs: names of the inputs whose gradients may be asked for.
    """

    block: Any
    examples: list[Any]
    loss: Any
    inputs: tuple[str, ...]


@dataclass(frozen=True)
class Piece:
    """A block from `Input`, and the objects that it reads."""

    block: Any
    data: Data


numbers = st.one_of(
    st.integers(-2, 2), st.floats(-2, 2, width=16), st.booleans(), st.floats(-2, 2, width=32).map(np.float32)
)
vectors = st.one_of(
    st.lists(numbers, min_size=WIDTH, max_size=WIDTH),
    st.tuples(*[st.floats(-2, 2, width=16)] * WIDTH).map(lambda xs: np.array(xs, "float32")),
)
words = st.integers(0, WORDS - 1)
anything = st.sampled_from([None, 0, "text"])


@st.composite
def cases(draw: Draw, depth: int = 3, max_examples: int = 4) -> Case:
    """A random block with a batch of 0 to `max_examples` examples.

    Args:
        draw: given by hypothesis.
        depth: how deep productions may nest.
        max_examples: the size of the largest batch.
    """
    build = _Build(draw)
    piece, scalar = build.result(depth)
    block = piece.block
    if build.metrics:
        names = sorted(build.metrics)
        loss: Any = draw(st.sampled_from([*names, {name: 0.5 + i for i, name in enumerate(names)}]))
    else:
        loss = None if scalar else ""
    examples = draw(st.lists(piece.data, max_size=max_examples))
    return Case(block, examples, loss, tuple(sorted(build.named)))


@dataclass
class _Build:
    """One block in the making: what it has in common all over."""

    draw: Draw
    layers: dict[Any, list[Any]] = field(default_factory=dict)
    metrics: set[str] = field(default_factory=set)
    named: set[str] = field(default_factory=set)

    def one_of(self, *choices: Any) -> Any:
        return self.draw(st.sampled_from(choices))

    def layer(self, key: Any, make: Callable[[], Any]) -> Any:
        """A layer for this use: a new one, or one that stands elsewhere already and is shared."""
        known = self.layers.setdefault(key, [])
        number = self.draw(st.integers(0, len(known)))
        if number == len(known):
            known.append(make())
        return known[number]

    # ------------------------------------------------------------------ the result

    def result(self, depth: int) -> tuple[Piece, bool]:
        """A piece of any result type; whether it is a float scalar."""
        kind = self.one_of(
            "vector", "scalar", "tuple", "record", "sequence", "ragged", "nested", "void", "index"
        )
        if kind == "vector":
            return self.vector(depth), False
        if kind == "scalar":
            piece = self.vector(depth)
            return Piece(piece.block >> self.score(), piece.data), True
        if kind == "index":
            return Piece(ar.Scalar(self.one_of("int32", "int64", "uint8")), words), False
        if kind == "void":
            piece = self.vector(depth)
            self.metrics.add("loss")
            return Piece(piece.block >> self.score() >> ar.Metric("loss"), piece.data), False
        if kind == "tuple":
            first, _ = self.result(depth - 1) if depth > 1 else (self.vector(0), False)
            second = self.vector(depth - 1)
            block = ar.GetItem(0) >> first.block & ar.GetItem(1) >> second.block & ar.Void()
            return Piece(block, st.tuples(first.data, second.data)), False
        if kind == "record":
            a, b = self.vector(depth - 1), self.vector(depth - 1)
            record = ar.Record({"a": a.block, "z": ar.Zeros(([2], "int32")), "b": b.block})
            return Piece(record, st.fixed_dictionaries({"a": a.data, "b": b.data})), False
        if kind == "sequence":
            element = self.vector(depth - 1)
            return Piece(ar.Map(element.block), st.lists(element.data, max_size=3)), False
        if kind == "ragged":
            element = self.vector(depth - 1)
            block = ar.Map(element.block) >> ar.Function(self.one_of(_scaled, ops.segment_softmax, _centred))
            return Piece(block, st.lists(element.data, max_size=3)), False
        element, _ = self.result(depth - 1) if depth > 1 else (self.vector(0), False)
        return Piece(ar.Map(element.block), st.lists(element.data, max_size=2)), False

    # ------------------------------------------------------------------ vectors

    def vector(self, depth: int) -> Piece:
        """A block from `Input` to a vector of `WIDTH` floats."""
        leaves = [self.read, self.scalar, self.embedded, self.constant]
        inner = [
            self.changed,
            self.record,
            self.again,
            self.choice,
            self.optional,
            self.sequence,
            self.binary_tree,
            self.tree_of_lists,
            self.chain,
            self.dag,
            self.graph,
            self.measured,
            self.labelled,
            self.transformed,
            self.cells,
        ]
        production: Callable[[int], Piece] = self.one_of(*(leaves + inner if depth > 0 else leaves))
        return production(depth - 1)

    def read(self, depth: int) -> Piece:
        return Piece(ar.Vector(WIDTH, name=self.name()), vectors)

    def scalar(self, depth: int) -> Piece:
        weights = np.linspace(-1, 1, WIDTH, dtype="float32")
        return Piece(ar.Scalar(name=self.name()) >> ar.Function(lambda x: x * weights), numbers)

    def embedded(self, depth: int) -> Piece:
        dtype = self.one_of("int32", "int64")
        table = self.layer(("embedding", dtype), lambda: ar.Embedding(WORDS, WIDTH))
        return Piece(ar.Scalar(dtype) >> table, words)

    def constant(self, depth: int) -> Piece:
        value = ar.Constant(np.linspace(0, 1, WIDTH, dtype="float32"))
        return Piece(self.one_of(ar.Zeros([WIDTH]), value), anything)

    def name(self) -> str | None:
        name: str | None = self.one_of(None, "u", "v")
        if name is not None:
            self.named.add(name)
        return name

    def changed(self, depth: int) -> Piece:
        piece = self.vector(depth)
        return Piece(piece.block >> self.change(), piece.data)

    def record(self, depth: int) -> Piece:
        keys = self.one_of(("a",), ("a", "b"), ("a", "b", "c"))
        pieces = {key: self.vector(depth) for key in keys}
        data = st.fixed_dictionaries(
            {key: piece.data for key, piece in pieces.items()}, optional={"extra": anything}
        )
        block = ar.Record({key: piece.block for key, piece in pieces.items()})
        return Piece(block >> self.join(len(keys)), data)

    def again(self, depth: int) -> Piece:
        """One object read twice by the same block: the block stands in two places."""
        piece = self.vector(depth)
        return Piece((piece.block & piece.block >> self.change()) >> self.join(2), piece.data)

    def choice(self, depth: int) -> Piece:
        pieces = [self.vector(depth) for _ in range(self.one_of(1, 2, 3))]
        cases = {f"case {i}": ar.GetItem("of") >> piece.block for i, piece in enumerate(pieces)}
        tagged = [
            st.fixed_dictionaries({"kind": st.just(f"case {i}"), "of": piece.data})
            for i, piece in enumerate(pieces)
        ]
        key = self.one_of(lambda x: x["kind"], ar.GetItem("kind"))
        return Piece(ar.OneOf(key, cases), st.one_of(tagged))

    def optional(self, depth: int) -> Piece:
        piece = self.vector(depth)
        # None must mean nothing: what the piece itself reads as None goes inside a list
        some = ar.GetItem(0) >> piece.block
        none = self.one_of(None, ar.Constant(np.ones(WIDTH, "float32")))
        return Piece(ar.Optional(some, none), st.none() | st.tuples(piece.data))

    def sequence(self, depth: int) -> Piece:
        element = self.vector(depth)
        reduced = self.one_of("sum", "fold", "segments", "attention", "pairs")
        data = st.lists(element.data, max_size=4)
        block = ar.Map(element.block)
        if reduced == "sum":
            return Piece(block >> ar.Sum(), data)
        if reduced == "fold":
            return Piece(block >> ar.Fold(self.join(2), ar.Zeros([WIDTH])), data)
        if reduced == "segments":
            return Piece(block >> ar.Function(self.one_of(_mean, _softmaxed, _counted)), data)
        if reduced == "pairs":
            both = ar.Map(element.block >> (ar.Identity() & self.change())) >> ar.Function(_pairs)
            return Piece(both, data)
        query = self.vector(depth)
        pair = ar.GetItem(0) >> block & ar.GetItem(1) >> query.block
        return Piece(pair >> ar.Function(_attend), st.tuples(data, query.data))

    def binary_tree(self, depth: int) -> Piece:
        leaf, join = self.vector(depth), self.join(2)

        def tree(me: Any) -> Any:
            pair = ar.GetItem("l") >> me & ar.GetItem("r") >> me
            return ar.OneOf(
                lambda t: "leaf" in t, {True: ar.GetItem("leaf") >> leaf.block, False: pair >> join}
            )

        return Piece(ar.fix(tree), _trees(leaf.data))

    def tree_of_lists(self, depth: int) -> Piece:
        own, join = self.vector(depth), self.join(2)

        def tree(me: Any) -> Any:
            node = (ar.GetItem(0) >> own.block & ar.GetItem(1) >> ar.Map(me) >> ar.Sum()) >> join
            return ar.OneOf(lambda t: bool(t[1]), [ar.GetItem(0) >> own.block, node])

        return Piece(ar.fix(tree), _rose_trees(own.data))

    def chain(self, depth: int) -> Piece:
        own, join = self.vector(depth), self.join(2)

        def chain(me: Any) -> Any:
            return (
                ar.GetItem("x") >> own.block & ar.GetItem("next") >> ar.Optional(me, ar.Zeros([WIDTH]))
            ) >> join

        data = st.lists(own.data, min_size=1, max_size=4).map(_linked)
        return Piece(ar.fix(chain), data)

    def dag(self, depth: int) -> Piece:
        """A graph without cycles: what is reached twice is one object."""
        own, join = self.vector(depth), self.join(2)

        def node(me: Any) -> Any:
            x = ar.GetItem("x") >> own.block
            inner = (x & ar.GetItem("in") >> ar.Map(me) >> ar.Sum()) >> join
            return ar.shared(ar.OneOf(lambda t: bool(t["in"])).case(True, inner).case(False, x))

        nodes = st.lists(st.tuples(own.data, st.lists(st.integers(0, 3), max_size=2)), min_size=1, max_size=4)
        return Piece(ar.fix(node), nodes.map(_dag))

    def graph(self, depth: int) -> Piece:
        first, second, join = self.vector(depth), self.vector(depth), self.join(2)
        change = self.change()

        @ar.arrow
        def wired(x: Any) -> Any:
            a, b = first.block(x["a"]), second.block(x["b"])
            c = join(a, change(b))
            return join(c, a)

        return Piece(wired, st.fixed_dictionaries({"b": second.data, "a": first.data}))

    def measured(self, depth: int) -> Piece:
        piece, score = self.vector(depth), self.score()
        name = self.one_of("loss", "other")
        self.metrics.add(name)

        @ar.arrow
        def measured(x: Any) -> Any:
            state = piece.block(x)
            ar.Metric(name)(score(state))
            return state

        return Piece(measured, piece.data)

    def labelled(self, depth: int) -> Piece:
        """A loss against a label, inside a tree of other things."""
        piece = self.vector(depth)
        scores = self.layer("scores", lambda: ar.FC(WORDS))
        self.metrics.add("loss")

        @ar.arrow
        def classified(x: Any) -> Any:
            state = piece.block(x["of"])
            ar.Metric("loss")(ar.SoftmaxCrossEntropy()(scores(state), ar.Scalar("int32")(x["label"])))
            return state

        return Piece(classified, st.fixed_dictionaries({"of": piece.data, "label": words}))

    def transformed(self, depth: int) -> Piece:
        piece = self.vector(depth)
        return Piece(ar.InputTransform(lambda x: x[1]) >> piece.block, st.tuples(anything, piece.data))

    def cells(self, depth: int) -> Piece:
        """Recurrent and recursive cells."""
        element = self.vector(depth)
        kind = self.one_of("lstm", "tree", "child sum")
        if kind == "lstm":
            cell = self.layer("lstm", lambda: ar.LSTMCell(WIDTH))
            step = (
                ar.GetItem(1) & ar.GetItem(0)
            ) >> cell  # a Fold hands (state, element), a cell takes (x, state)
            block = ar.Map(element.block) >> ar.Fold(step, ar.Zeros(cell.state)) >> ar.GetItem(0)
            return Piece(block, st.lists(element.data, max_size=4))
        if kind == "child sum":
            cell = self.layer("child sum", lambda: ar.TreeLSTM(WIDTH, children=None))

            def rose(me: Any) -> Any:
                return (ar.GetItem(0) >> element.block & ar.GetItem(1) >> ar.Map(me)) >> cell

            return Piece(ar.fix(rose) >> ar.GetItem(0), _rose_trees(element.data))
        cell = self.layer("tree", lambda: ar.TreeLSTM(WIDTH, children=2))

        def tree(me: Any) -> Any:
            leaf = (ar.GetItem("leaf") >> element.block & ar.Zeros((cell.state, cell.state))) >> cell
            pair = (ar.Zeros([WIDTH]) & (ar.GetItem("l") >> me & ar.GetItem("r") >> me)) >> cell
            return ar.OneOf(lambda t: "leaf" in t).case(True, leaf).case(False, pair)

        return Piece(ar.fix(tree) >> ar.GetItem(0), _trees(element.data))

    # ------------------------------------------------------------------ between tensors

    def change(self) -> Any:
        """A block from a vector to a vector."""
        kind = self.one_of("function", "layer", "identity", "split")
        if kind == "identity":
            return ar.Identity()
        if kind == "layer":
            return self.layer(("fc", WIDTH), lambda: ar.FC(WIDTH, activation=self.one_of(None, ops.tanh)))
        if kind == "split":
            return (
                (ar.Function(_split) & ar.Function(ops.tanh))
                >> ar.Concat(flatten=True)
                >> ar.Function(_narrowed)
            )
        return ar.Function(
            self.one_of(ops.tanh, ops.sigmoid, ops.softmax, _bell, _rolled, _matrix, ops.relu, _log)
        )

    def join(self, count: int) -> Any:
        """A block from `count` vectors to a vector."""
        kind = self.one_of("sum", "function", "layer", "Sum")
        if kind == "layer":
            fc = self.layer(("fc", count * WIDTH), lambda: ar.FC(WIDTH, activation=ops.tanh))
            return ar.Concat() >> fc
        if kind == "Sum":
            return ar.Sum() >> ar.Function(ops.tanh)
        if kind == "sum":
            return ar.Function(_tanh_of_sum)
        return ar.Function(self.one_of(_product, _largest, _gated))

    def score(self) -> Any:
        """A block from a vector to a float scalar."""
        return ar.Function(self.one_of(ops.sum, _squares, ops.logsumexp, _entropy))


# Functions of one example.


def _scaled(rows: Any) -> Any:
    return rows * 0.5 + 1.0


def _centred(rows: Any) -> Any:
    return rows - ops.segment_mean(rows, default=0.0)


def _mean(rows: Any) -> Any:
    return ops.segment_mean(rows, default=0.5)


def _softmaxed(rows: Any) -> Any:
    return ops.segment_sum(rows * ops.segment_softmax(rows))


def _counted(rows: Any) -> Any:
    return ops.tanh(ops.segment_sum(rows)) + ops.segment_max(rows, default=0.0)


def _pairs(rows: Any) -> Any:
    a, b = rows
    return ops.segment_sum(a * b) * 0.5


def _attend(rows: Any, query: Any) -> Any:
    weights = ops.segment_softmax((rows * query).sum())
    return ops.segment_sum(rows * ops.reshape(weights, (1,)))


def _split(x: Any) -> Any:
    return {"head": x[0], "tail": x[1:]}


def _narrowed(x: Any) -> Any:
    return x[: 2 * WIDTH : 2] * 0.5 + x[-1]


def _bell(x: Any) -> Any:
    return ops.exp(-x * x)


def _rolled(x: Any) -> Any:
    return ops.concat([x[1:], x[:1]])


def _matrix(x: Any) -> Any:
    square = ops.outer(x, ops.tanh(x))
    return (square.T @ x) / (1.0 + (x * x).sum())


def _log(x: Any) -> Any:
    return ops.log(x * x + 1.0)


def _tanh_of_sum(*xs: Any) -> Any:
    total = xs[0]
    for x in xs[1:]:
        total = total + x
    return ops.tanh(total)


def _product(*xs: Any) -> Any:
    result = xs[0] * 0.5
    for x in xs[1:]:
        result = result * x
    return ops.tanh(result)


def _largest(*xs: Any) -> Any:
    result = xs[0]
    for x in xs[1:]:
        result = ops.maximum(result, x)
    return ops.tanh(result)


def _gated(*xs: Any) -> Any:
    gate = ops.sigmoid(xs[0])
    return gate * xs[-1] + (1.0 - gate) * ops.tanh(xs[0])


def _squares(x: Any) -> Any:
    return (x * x).mean()


def _entropy(x: Any) -> Any:
    return -ops.sum(ops.softmax(x) * ops.log_softmax(x))


# Data with a shape of its own.


def _trees(leaf: Data) -> Data:
    return st.recursive(
        st.fixed_dictionaries({"leaf": leaf}), lambda t: st.fixed_dictionaries({"l": t, "r": t}), max_leaves=4
    )


def _rose_trees(own: Data) -> Data:
    return st.recursive(
        st.tuples(own, st.just([])), lambda t: st.tuples(own, st.lists(t, max_size=3)), max_leaves=4
    )


def _linked(values: list[Any]) -> Any:
    chain = None
    for value in values:
        chain = {"x": value, "next": chain}
    return chain


def _dag(nodes: list[tuple[Any, list[int]]]) -> Any:
    made: list[Any] = []
    for value, earlier in nodes:
        made.append({"x": value, "in": [made[i % len(made)] for i in earlier] if made else []})
    return made[-1]
