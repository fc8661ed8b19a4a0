"""Mistakes that type checkers must find: `make types` fails where a mark ignores nothing. Never run."""

from __future__ import annotations

from typing import TypedDict

from good import (  # beside this file
    L,
    Leaf,
    Number,
    Pair,
    Tree,
    V,
    add,
    embed_hidden,
    f,
    g,
    hid2lab,
    is_leaf,
    zeros,
)

import arrows as ar
from arrows.combinators import Block, Wire


def labels_to_hidden(x: L) -> V:
    raise NotImplementedError


def dist(a: V, b: L) -> Number:
    raise NotImplementedError


def length(x: str) -> int:
    raise NotImplementedError


h = ar.InputTransform(length) >> f
lab2hid = ar.Function(labels_to_hidden)


def word_of(n: Leaf) -> int:
    raise NotImplementedError


def misspelt(n: Leaf) -> int:
    return n.wrod  # type: ignore[no-any-return, attr-defined]  # misspelt field


def left_of(n: Pair) -> Tree:
    raise NotImplementedError


word = ar.InputTransform(word_of)

ar.Scalar("int32") >> hid2lab  # type: ignore[operator]  # element type and rank: an index into a vector
ar.Scalar() >> hid2lab  # type: ignore[operator]  # rank: scalar into vector
ar.Scalar() >> ar.Function(embed_hidden)  # type: ignore[operator]  # element type: float32 into int32
f >> lab2hid  # type: ignore[operator]  # axis: Hidden into Labels
f >> ar.Function(labels_to_hidden)  # type: ignore[operator]  # the same, built in place
f >> ar.Scalar("int32")  # type: ignore[operator]  # tensor back into a Python input
f >> ar.InputTransform(length)  # type: ignore[operator]  # tensor into a function of text
word >> ar.InputTransform(length)  # type: ignore[operator]  # int into a function of text
ar.Map(f) >> f  # type: ignore[operator]  # sequence into a scalar input
f >> ar.Map(f)  # type: ignore[operator]  # scalar into a sequence input
f >> ar.Fold(ar.Function(add), zeros)  # type: ignore[operator]  # no sequence to fold
ar.Map(g) >> ar.Fold(ar.Function(add), zeros)  # type: ignore[operator]  # element Labels, state Hidden
ar.Map(f) >> ar.Fold(g, zeros)  # type: ignore[operator, arg-type]  # step is not a (state, element) block
f >> ar.RNN(ar.Function(add), zeros)  # type: ignore[operator]  # no sequence to run over
ar.Map(g) >> ar.RNN(ar.Function(add), zeros)  # type: ignore[operator]  # element Labels, state Hidden, in a network
ar.RNN(g, zeros)  # type: ignore[arg-type]  # a cell that takes no pair
ar.Scan(ar.Function(add), zeros)  # type: ignore[arg-type]  # a step that gives no pair
ar.Map(f) >> ar.RNN(ar.Function(add), zeros) >> hid2lab  # type: ignore[operator]  # the pair of outputs and state into a function
(f & g) >> ar.Function(add)  # type: ignore[operator]  # operands of different axes
(f & f & f) >> ar.Function(add)  # type: ignore[operator]  # three outputs into a two-place block
(f & f) >> ar.Function(dist)  # type: ignore[operator]  # second argument has another axis
(f & g) >> hid2lab * hid2lab  # type: ignore[operator]  # another axis on the right side of a pair
f * g >> ar.Function(add)  # type: ignore[operator]  # the axes of a pair made side by side
f * 3  # type: ignore[operator]  # nothing that goes side by side
f & word  # type: ignore[operator]  # fan-out over different inputs
ar.AllOf(f, g) >> ar.Function(add)  # type: ignore[operator]  # AllOf of different axes
f.eval("word")  # type: ignore[arg-type]  # wrong Python input
ar.Map(f).eval([1, "two"])  # type: ignore[list-item]  # wrong element of a Python list
h.eval(3)  # type: ignore[arg-type]  # a number where text is read
word >> ar.Scalar() >> hid2lab  # type: ignore[operator]  # rank again, behind a transform
ar.fix(lambda me: me >> hid2lab >> f)  # type: ignore[operator]  # recursion into a block of another input


@ar.fix  # type: ignore[misc]  # recursion that changes its type
def wrong(me: Block[Tree, V]) -> Block[Tree, L]:
    return me >> hid2lab


def swapped(one: Block[Tree, V], two: Block[Pair, L]) -> tuple[Block[Pair, L], Block[Tree, V]]:
    return two, one


ar.fix(swapped)  # type: ignore[arg-type]  # definitions in the wrong order
tree: ar.ForwardDeclaration[Tree, V] = ar.ForwardDeclaration(name="tree")
tree() >> lab2hid  # type: ignore[operator]  # a declaration's result into another axis
tree.resolve_to(word >> hid2lab)  # type: ignore[operator]  # a definition of another type
tree >> hid2lab  # type: ignore[operator]  # a declaration is no block
ar.OneOf(is_leaf).case("yes", ar.InputTransform(left_of))  # type: ignore[arg-type]  # key of the wrong type
ar.OneOf(is_leaf).case(True, word >> f)  # type: ignore[arg-type]  # a case that takes less than the choice
ar.OneOf(length).case(1, h).case(2, h >> hid2lab)  # type: ignore[operator]  # branches of different axes
ar.OneOf(length).case(1, h) >> lab2hid  # type: ignore[operator]  # after a choice
ar.Optional(f) >> lab2hid  # type: ignore[operator]  # after an Optional
total: Block[Tree, V] = word >> f  # type: ignore[assignment]  # not total: a Pair has no word
ar.Identity() >> f >> lab2hid  # type: ignore[operator]  # behind a polymorphic left hand
f >> ar.Identity() >> lab2hid  # type: ignore[operator]  # behind a polymorphic middle
ar.Map(f >> ar.Identity()) >> ar.Map(lab2hid)  # type: ignore[operator]  # inside Map
ar.Map(f) >> ar.Fold(ar.Function(add), zeros) >> lab2hid  # type: ignore[operator]  # after a fold
ar.Map(f) >> ar.Reduce(ar.Function(add)) >> lab2hid  # type: ignore[operator]  # after a reduce
ar.Map(f) >> ar.Attention(hid2lab, hid2lab) >> hid2lab  # type: ignore[operator]  # after attention pooling
ar.shared(f) >> lab2hid  # type: ignore[operator]  # after shared
f >> ar.Broadcast() >> ar.Map(lab2hid)  # type: ignore[operator]  # at every place of an endless sequence
f >> ar.Void() >> hid2lab  # type: ignore[operator]  # nothing into a function
f >> 3  # type: ignore[operator]  # not a block
f & 3  # type: ignore[operator]  # not a block either
f >> (lambda x: x.reshape(3))  # type: ignore[attr-defined]  # unknown method in a lambda
ar.Scalar(3)  # type: ignore[call-overload]  # an element type is no number
ar.Metric(3)  # type: ignore[arg-type]  # a metric's name is text
ar.Map(3)  # type: ignore[arg-type]  # no block to map


@ar.arrow
def wired(x: Wire[V], s: Wire[tuple[V, V]]) -> Wire[V]:
    return lab2hid(s[1])  # type: ignore[arg-type]  # axis, inside arrow notation


@ar.arrow
def wired2(s: Wire[tuple[V, V]]) -> Wire[V]:
    return s[2]  # type: ignore[no-any-return, call-overload]  # no third item


@ar.arrow
def wired3(s: Wire[tuple[V, L]]) -> Wire[V]:
    _, b = ar.unpack(s, 2)
    return b  # type: ignore[return-value]  # the other item


@ar.arrow
def wired4(x: Wire[V], y: Wire[L]) -> Wire[V]:
    return ar.Function(add)(x, y)  # type: ignore[arg-type]  # second argument, inside arrow notation


wired >> lab2hid  # type: ignore[operator]  # after an arrow
f >> wired2  # type: ignore[operator]  # a vector where an arrow takes a pair


class Token(TypedDict):
    word: int
    tag: str


ar.Input(Leaf).get(lambda x: x.wrod)  # type: ignore[attr-defined]  # misspelt field of a dataclass
ar.Input(Token).get(lambda t: t["wrod"])  # type: ignore[typeddict-item]  # misspelt key of a TypedDict
ar.Input(Leaf).get(lambda x: x.word) >> h  # type: ignore[operator]  # a number where text is read, in a field
ar.Input(Token).get(lambda t: t["tag"]) >> f  # type: ignore[operator]  # text where an index is read
ar.Input(Token).get(lambda t: t["tag"]) >> ar.OneHot(4)  # type: ignore[operator]  # text where an integer is read
ar.Input[Tree]().get(lambda t: t.left)  # type: ignore[union-attr]  # a Leaf has no such field
ar.Input(Leaf).get(lambda x: x.word) & ar.Input(Pair).get(lambda x: x.left)  # type: ignore[operator]  # fields of two classes
ar.OneHot("noun")  # type: ignore[arg-type]  # an element where a size is wanted
f >> ar.Tap("h") >> lab2hid  # type: ignore[operator]  # behind a tap
ar.Tap(3)  # type: ignore[arg-type]  # a tap's name is text
ar.Tap("h", show=3)  # type: ignore[arg-type]  # what shows a value is a function
composed: ar.Composition[int, L] = ar.Composition()
with composed.scope():
    vector = f.reads(composed.input)
    lab2hid.reads(vector)  # type: ignore[arg-type]  # axis, in a scope
    ar.Function(dist).reads(vector, vector)  # type: ignore[arg-type]  # the second source has another axis
    composed.output.reads(3)  # type: ignore[call-overload]  # not a wire
    composed.output.reads(vector)  # type: ignore[arg-type]  # another axis flows out
composed >> hid2lab  # type: ignore[operator]  # after a Composition
ar.Linnear(3)  # type: ignore[attr-defined]  # a misspelt name of the package
ar.trainning  # type: ignore[attr-defined]  # a misspelt room
ar.LSTM(3)  # type: ignore[attr-defined]  # a name of PyTorch
ar.training.Adam(lr=0.1)  # type: ignore[call-arg]  # an argument of PyTorch
ar.FC(units=3)  # type: ignore[call-arg]  # an argument of Keras
ar.compile(f).save("weights")  # type: ignore[attr-defined]  # a method of Keras
ar.training.train(ar.compile(f), [], ar.training.Adam(), n_epochs=3)  # type: ignore[call-arg]  # no argument of train
ar.FC([3])  # type: ignore[list-item]  # a shape with an axis where a size is wanted
ar.Function(dist) >> ar.FC([]) >> ar.Scalar()  # type: ignore[operator]  # a scalar into a reader
