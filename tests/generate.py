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
from tests import generate_parts as parts

WIDTH = parts.WIDTH
WORDS = parts.WORDS
HARDLY = 1e-12
"""A rate of dropout at which nothing is ever zeroed, and the rest grows by less than any tolerance."""

Draw = Callable[[st.SearchStrategy[Any]], Any]
Data = parts.Data


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
    if not scalar and not build.metrics and draw(st.booleans()):
        piece = build.with_loss(piece, depth)
    block = piece.block
    if build.metrics:
        names = sorted(build.metrics)
        loss: Any = draw(st.sampled_from([*names, {name: 0.5 + i for i, name in enumerate(names)}]))
    else:
        loss = None if scalar else ""
    size = draw(st.sampled_from([*range(1, max_examples + 1), 0]))
    examples = draw(st.lists(piece.data, min_size=size, max_size=size))
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
            block = ar.Map(element.block) >> ar.Function(
                self.one_of(parts.scaled, ops.segment_softmax, parts.centred)
            )
            return Piece(block, st.lists(element.data, max_size=3)), False
        element, _ = self.result(depth - 1) if depth > 1 else (self.vector(0), False)
        return Piece(ar.Map(element.block), st.lists(element.data, max_size=2)), False

    def with_loss(self, piece: Piece, depth: int) -> Piece:
        """The same result, with a loss beside it."""
        other = self.vector(depth)
        self.metrics.add("loss")
        block = ar.GetItem(0) >> piece.block & ar.GetItem(1) >> other.block >> self.score() >> ar.Metric(
            "loss"
        )
        return Piece(block, st.tuples(piece.data, other.data))

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
            self.converted,
            self.mapped_tuple,
            self.parameters,
            self.folded_input,
            self.twice_nested,
            self.binary_tree,
            self.tree_of_lists,
            self.chain,
            self.dag,
            self.graph,
            self.measured,
            self.labelled,
            self.transformed,
            self.cells,
            self.recurrent,
            self.zipped,
        ]
        production: Callable[[int], Piece] = self.one_of(*(leaves + inner if depth > 0 else leaves))
        return production(depth - 1)

    def read(self, depth: int) -> Piece:
        return Piece(ar.Vector(WIDTH, name=self.name("vector")), vectors)

    def scalar(self, depth: int) -> Piece:
        weights = np.linspace(-1, 1, WIDTH, dtype="float32")
        return Piece(ar.Scalar(name=self.name("scalar")) >> ar.Function(lambda x: x * weights), numbers)

    def embedded(self, depth: int) -> Piece:
        dtype = self.one_of("int32", "int64")
        table = self.layer(("embedding", dtype), lambda: ar.Embedding(WORDS, WIDTH))
        return Piece(ar.Scalar(dtype) >> table, words)

    def constant(self, depth: int) -> Piece:
        value = ar.Constant(np.linspace(0, 1, WIDTH, dtype="float32"))
        return Piece(self.one_of(ar.Zeros([WIDTH]), value), anything)

    def name(self, kind: str) -> str | None:
        name: str | None = self.one_of(None, f"{kind}_u", f"{kind}_v")
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
            return Piece(
                block >> ar.Function(self.one_of(parts.mean, parts.softmaxed, parts.counted, parts.numbered)),
                data,
            )
        if reduced == "pairs":
            both = ar.Map(element.block >> (ar.Identity() & self.change())) >> ar.Function(parts.pairs)
            return Piece(both, data)
        query = self.vector(depth)
        pair = ar.GetItem(0) >> block & ar.GetItem(1) >> query.block
        return Piece(pair >> ar.Function(parts.attend), st.tuples(data, query.data))

    def converted(self, depth: int) -> Piece:
        """Other element types and shapes, on their way to a vector of float32."""
        kind = self.one_of("float64", "bool", "uint8", "matrix", "empty")
        if kind == "matrix":
            rows = st.lists(st.lists(numbers, min_size=WIDTH, max_size=WIDTH), min_size=2, max_size=2)
            return Piece(ar.Tensor([2, WIDTH]) >> ar.Function(parts.means), rows)
        if kind == "empty":
            block = ar.Record({"none": ar.Vector(0), "some": ar.Vector(WIDTH)}) >> ar.Concat()
            return Piece(block, st.fixed_dictionaries({"none": st.just([]), "some": vectors}))
        values = {"float64": st.floats(-2, 2), "bool": st.booleans(), "uint8": st.integers(0, 3)}[kind]
        data = st.lists(values, min_size=WIDTH, max_size=WIDTH)
        return Piece(ar.Vector(WIDTH, kind) >> ar.Function(parts.to_float), data)

    def mapped_tuple(self, depth: int) -> Piece:
        """A tuple of one type is gone over like a sequence; a part of a sequence is one."""
        a, b, change = self.vector(depth), self.vector(depth), self.change()
        pair = ar.GetItem(0) >> a.block & ar.GetItem(1) >> b.block
        rest = ar.GetItem(self.one_of(slice(None), slice(1, None), slice(None, None, -1)))
        last = self.one_of(ar.Sum(), ar.Fold(self.join(2), ar.Zeros([WIDTH])))
        return Piece(pair >> ar.Map(change) >> rest >> last, st.tuples(a.data, b.data))

    def parameters(self, depth: int) -> Piece:
        """An arrow of several parameters, called on nested tuples, with a result that has keys."""
        a, b = self.vector(depth), self.vector(depth)
        join, change = self.join(2), self.change()

        @ar.arrow
        def inner(u: Any, vw: Any) -> Any:
            v, w = ar.unpack(vw, 2)
            return {"out": join(u, w), "state": (v, change(u))}

        @ar.arrow
        def outer(x: Any) -> Any:
            u, v = a.block(x["a"]), b.block(x["b"])
            record = inner(u, (v, u))
            return join(record["out"], record["state"][0])

        return Piece(outer, st.fixed_dictionaries({"a": a.data, "b": b.data}))

    def folded_input(self, depth: int) -> Piece:
        """A fold over Python objects, which are read inside its step."""
        element, join = self.vector(depth), self.join(2)
        step = (ar.GetItem(0) & ar.GetItem(1) >> element.block) >> join
        return Piece(ar.Fold(step, ar.Zeros([WIDTH])), st.lists(element.data, max_size=3))

    def twice_nested(self, depth: int) -> Piece:
        """A recursion inside a recursion, where the inner one calls the outer one."""
        own, join = self.vector(depth), self.join(2)

        def outer(me: Any) -> Any:
            def inner(again: Any) -> Any:
                pair = (ar.GetItem("first") >> me & ar.GetItem("rest") >> again) >> join
                return ar.OneOf(lambda x: x is None, {True: ar.Zeros([WIDTH]), False: pair})

            deeper = ar.GetItem("kids") >> ar.fix(inner)
            return ar.OneOf(lambda x: "kids" in x, {True: deeper, False: ar.GetItem("leaf") >> own.block})

        def linked(kids: list[Any]) -> Any:
            chain = None
            for kid in kids:
                chain = {"first": kid, "rest": chain}
            return {"kids": chain}

        leaf = st.fixed_dictionaries({"leaf": own.data})
        return Piece(
            ar.fix(outer), st.recursive(leaf, lambda t: st.lists(t, max_size=2).map(linked), max_leaves=4)
        )

    def binary_tree(self, depth: int) -> Piece:
        leaf, join = self.vector(depth), self.join(2)

        def tree(me: Any) -> Any:
            pair = ar.GetItem("l") >> me & ar.GetItem("r") >> me
            return ar.OneOf(
                lambda t: "leaf" in t, {True: ar.GetItem("leaf") >> leaf.block, False: pair >> join}
            )

        return Piece(ar.fix(tree), parts.trees(leaf.data))

    def tree_of_lists(self, depth: int) -> Piece:
        own, join = self.vector(depth), self.join(2)

        def tree(me: Any) -> Any:
            node = (ar.GetItem(0) >> own.block & ar.GetItem(1) >> ar.Map(me) >> ar.Sum()) >> join
            return ar.OneOf(lambda t: bool(t[1]), [ar.GetItem(0) >> own.block, node])

        return Piece(ar.fix(tree), parts.rose_trees(own.data))

    def chain(self, depth: int) -> Piece:
        own, join = self.vector(depth), self.join(2)

        def chain(me: Any) -> Any:
            return (
                ar.GetItem("x") >> own.block & ar.GetItem("next") >> ar.Optional(me, ar.Zeros([WIDTH]))
            ) >> join

        data = st.lists(own.data, min_size=1, max_size=4).map(parts.linked)
        return Piece(ar.fix(chain), data)

    def dag(self, depth: int) -> Piece:
        """A graph without cycles: what is reached twice is one object."""
        own, join = self.vector(depth), self.join(2)

        def node(me: Any) -> Any:
            x = ar.GetItem("x") >> own.block
            inner = (x & ar.GetItem("in") >> ar.Map(me) >> ar.Sum()) >> join
            return ar.shared(ar.OneOf(lambda t: bool(t["in"])).case(True, inner).case(False, x))

        nodes = st.lists(st.tuples(own.data, st.lists(st.integers(0, 3), max_size=2)), min_size=1, max_size=4)
        return Piece(ar.fix(node), nodes.map(parts.dag))

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
        loss = self.one_of(
            ar.SoftmaxCrossEntropy(), ar.SigmoidCrossEntropy(), ar.Hinge(), ar.Huber(), "distribution"
        )
        target: Any = ar.Scalar("int32")
        if not isinstance(loss, (ar.SoftmaxCrossEntropy, ar.Hinge)):
            target = target >> ar.Function(parts.unit)
        if loss == "distribution":
            loss = ar.SoftmaxCrossEntropy()

        @ar.arrow
        def classified(x: Any) -> Any:
            state = piece.block(x["of"])
            ar.Metric("loss")(loss(scores(state), target(x["label"])))
            return state

        return Piece(classified, st.fixed_dictionaries({"of": piece.data, "label": words}))

    def transformed(self, depth: int) -> Piece:
        piece = self.vector(depth)
        return Piece(ar.InputTransform(lambda x: x[1]) >> piece.block, st.tuples(anything, piece.data))

    def cells(self, depth: int) -> Piece:
        """Recurrent and recursive cells."""
        element = self.vector(depth)
        kind = self.one_of("lstm", "tree", "child sum", "gru")
        if kind == "gru":
            cell = self.layer("gru", lambda: ar.GRUCell(WIDTH, dropout=self.one_of(0.0, HARDLY)))
            return Piece(
                ar.Map(element.block) >> ar.RNN(cell) >> ar.GetItem(1), st.lists(element.data, max_size=4)
            )
        if kind == "lstm":
            cell = self.lstm()
            step = (
                ar.GetItem(1) & ar.GetItem(0)
            ) >> cell  # a Fold hands (state, element), a cell takes (x, state)
            block = ar.Map(element.block) >> ar.Fold(step, ar.Zeros(cell.state)) >> ar.GetItem(0)
            return Piece(block, st.lists(element.data, max_size=4))
        if kind == "child sum":
            cell = self.layer("child sum", lambda: ar.TreeLSTM(WIDTH, children=None))

            def rose(me: Any) -> Any:
                return (ar.GetItem(0) >> element.block & ar.GetItem(1) >> ar.Map(me)) >> cell

            return Piece(ar.fix(rose) >> ar.GetItem(0), parts.rose_trees(element.data))
        cell = self.layer("tree", lambda: ar.TreeLSTM(WIDTH, children=2, dropout=self.one_of(0.0, HARDLY)))

        def tree(me: Any) -> Any:
            leaf = (ar.GetItem("leaf") >> element.block & ar.Zeros((cell.state, cell.state))) >> cell
            pair = (ar.Zeros([WIDTH]) & (ar.GetItem("l") >> me & ar.GetItem("r") >> me)) >> cell
            return ar.OneOf(lambda t: "leaf" in t).case(True, leaf).case(False, pair)

        return Piece(ar.fix(tree) >> ar.GetItem(0), parts.trees(element.data))

    def recurrent(self, depth: int) -> Piece:
        """Networks over sequences, from either end: of tensors, of Python objects, of sequences."""
        element = self.vector(depth)
        data = st.lists(element.data, max_size=4)
        elements = ar.Map(element.block)
        kind = self.one_of("rnn", "state", "both", "scan", "objects", "levels")
        reverse = self.one_of(False, True)
        if kind == "rnn":
            network = elements >> ar.RNN(self.lstm(), reverse=reverse)
            return Piece(network >> self.reduced(), data)
        if kind == "state":
            start = self.one_of(ar.Zeros([WIDTH]), ar.Constant(np.full(WIDTH, 0.5, "float32")))
            return Piece(elements >> ar.RNN(self.join(2), start, reverse=reverse) >> self.reduced(), data)
        if kind == "both":
            network = elements >> ar.Bidirectional(self.lstm(), self.lstm())
            both = (
                ar.GetItem(0) >> ar.Sum() & ar.GetItem(1) >> ar.GetItem(1) >> ar.GetItem(1)
            ) >> ar.Concat()
            return Piece(network >> both >> ar.Function(parts.first_and_last), data)
        if kind == "levels":
            inner = elements >> ar.RNN(self.lstm(), reverse=reverse) >> ar.GetItem(1) >> ar.GetItem(0)
            network = ar.Map(inner) >> ar.RNN(self.lstm()) >> self.reduced()
            return Piece(network, st.lists(data, max_size=3))
        join, change, changes = self.join(2), self.change(), self.one_of(False, True)

        @ar.arrow
        def step(x: Any, state: Any) -> Any:
            read = x if kind == "scan" else element.block(x)
            return (change(state) if changes else state), join(read, state)

        scan = ar.Scan(step, ar.Zeros([WIDTH]), reverse=reverse)
        return Piece((elements if kind == "scan" else ar.Identity()) >> scan >> self.reduced(), data)

    def lstm(self) -> Any:
        return self.layer("lstm", lambda: ar.LSTMCell(WIDTH, dropout=self.one_of(0.0, HARDLY)))

    def reduced(self) -> Any:
        """A block from the outputs and the last state of a network to a vector."""
        kind = self.one_of("outputs", "state", "reversed")
        outputs = ar.GetItem(0)
        if kind == "outputs":
            return outputs >> ar.Sum()
        if kind == "reversed":
            return outputs >> ar.Reverse() >> ar.Fold(self.join(2), ar.Zeros([WIDTH]))
        # the state is (h, c), or h alone
        pair = ar.GetItem(1) & outputs >> ar.Sum()
        return pair >> ar.Concat(flatten=True) >> ar.Function(parts.first_and_last)

    def zipped(self, depth: int) -> Piece:
        """Sequences side by side, as long as the shortest."""
        a, b, join = self.vector(depth), self.vector(depth), self.join(2)
        data = st.tuples(st.lists(a.data, max_size=3), st.lists(b.data, max_size=3))
        read = ar.GetItem(0) >> ar.Map(a.block) & ar.GetItem(1) >> ar.Map(b.block)
        kind = self.one_of("tensors", "objects", "mixed", "columns")
        if kind == "tensors":
            return Piece(read >> ar.ZipWith(join) >> ar.Sum(), data)
        pair = (ar.GetItem(0) >> a.block & ar.GetItem(1) >> b.block) >> join
        if kind == "columns":
            return Piece(ar.Zip() >> ar.Map(pair) >> ar.Sum(), data)
        if kind == "objects":
            return Piece((ar.GetItem(0) & ar.GetItem(1)) >> ar.ZipWith(pair) >> ar.Sum(), data)
        mixed = (ar.GetItem(0) & ar.GetItem(1) >> ar.Map(b.block)) >> ar.Zip()
        return Piece(mixed >> ar.Map((ar.GetItem(0) >> a.block & ar.GetItem(1)) >> join) >> ar.Sum(), data)

    # ------------------------------------------------------------------ between tensors

    def change(self) -> Any:
        """A block from a vector to a vector."""
        kind = self.one_of("function", "layer", "identity", "split", "norm", "chance")
        if kind == "identity":
            return ar.Identity()
        if kind == "norm":
            return self.layer("norm", lambda: ar.LayerNorm(0.25))
        if kind == "chance":
            # All that dropout needs goes along, and the numbers are those of the reference.
            return ar.Dropout(0.0)
        if kind == "layer":
            return self.layer(("fc", WIDTH), self.dense)
        if kind == "split":
            return (
                (ar.Function(parts.split) & ar.Function(ops.tanh))
                >> ar.Concat(flatten=True)
                >> ar.Function(parts.narrowed)
            )
        return ar.Function(
            self.one_of(
                ops.tanh,
                ops.sigmoid,
                ops.softmax,
                parts.bell,
                parts.rolled,
                parts.matrix,
                ops.relu,
                parts.log,
                ops.gelu,
                ops.elu,
                parts.products,
                parts.branched,
                parts.running,
                parts.gathered,
                parts.short,
                parts.standard,
                parts.activated,
            )
        )

    def dense(self) -> Any:
        return self.one_of(
            ar.FC(WIDTH, activation=self.one_of(None, ops.tanh, ops.silu)),
            ar.Linear(WIDTH, bias=self.one_of(True, False), weight_norm=self.one_of(False, True)),
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
            return ar.Function(parts.tanh_of_sum)
        return ar.Function(self.one_of(parts.product, parts.largest, parts.gated))

    def score(self) -> Any:
        """A block from a vector to a float scalar."""
        return ar.Function(self.one_of(ops.sum, parts.squares, ops.logsumexp, parts.entropy))
