"""Mistakes that type checkers must find: each marked line; `test_static.py` holds mypy to them. Never run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypedDict

import arrows as ar
from arrows.combinators import Block, Wire
from arrows.typesys.static import F32, I32, Axis, Tensor


class Hidden(Axis):
    size = 4


class Labels(Axis):
    size = 2


V = Tensor[F32, tuple[Hidden]]
L = Tensor[F32, tuple[Labels]]
Number = Tensor[F32, tuple[()]]
Index = Tensor[I32, tuple[()]]


def embed_hidden(i: Index) -> V:
    raise NotImplementedError


def embed_labels(i: Index) -> L:
    raise NotImplementedError


def hidden_to_labels(x: V) -> L:
    raise NotImplementedError


def labels_to_hidden(x: L) -> V:
    raise NotImplementedError


def add(a: V, b: V) -> V:
    raise NotImplementedError


def dist(a: V, b: L) -> Number:
    raise NotImplementedError


def length(x: str) -> int:
    raise NotImplementedError


f = ar.Scalar("int32") >> ar.Function(embed_hidden)
g = ar.Scalar("int32") >> ar.Function(embed_labels)
h = ar.InputTransform(length) >> f
hid2lab = ar.Function(hidden_to_labels)
lab2hid = ar.Function(labels_to_hidden)
zeros: Block[object, V] = ar.Zeros([4])


@dataclass
class Leaf:
    word: int


@dataclass
class Pair:
    left: Leaf | Pair
    right: Leaf | Pair


Tree = Leaf | Pair


def word_of(n: Leaf) -> int:
    raise NotImplementedError


def misspelt(n: Leaf) -> int:
    return n.wrod  # E misspelt field


def left_of(n: Pair) -> Tree:
    raise NotImplementedError


def is_leaf(t: Tree) -> bool:
    raise NotImplementedError


word = ar.InputTransform(word_of)

ar.Scalar("int32") >> hid2lab  # E element type and rank: an index into a vector
ar.Scalar() >> hid2lab  # E rank: scalar into vector
ar.Scalar() >> ar.Function(embed_hidden)  # E element type: float32 into int32
f >> lab2hid  # E axis: Hidden into Labels
f >> ar.Function(labels_to_hidden)  # E the same, built in place
f >> ar.Scalar("int32")  # E tensor back into a Python input
f >> ar.InputTransform(length)  # E tensor into a function of text
word >> ar.InputTransform(length)  # E int into a function of text
ar.Map(f) >> f  # E sequence into a scalar input
f >> ar.Map(f)  # E scalar into a sequence input
f >> ar.Fold(ar.Function(add), zeros)  # E no sequence to fold
ar.Map(g) >> ar.Fold(ar.Function(add), zeros)  # E element Labels, state Hidden
ar.Map(f) >> ar.Fold(g, zeros)  # E step is not a (state, element) block
f >> ar.RNN(ar.Function(add), zeros)  # E no sequence to run over
ar.Map(g) >> ar.RNN(ar.Function(add), zeros)  # E element Labels, state Hidden, in a network
ar.RNN(g, zeros)  # E a cell that takes no pair
ar.Scan(ar.Function(add), zeros)  # E a step that gives no pair
ar.Map(f) >> ar.RNN(ar.Function(add), zeros) >> hid2lab  # E the pair of outputs and state into a function
(f & g) >> ar.Function(add)  # E operands of different axes
(f & f & f) >> ar.Function(add)  # E three outputs into a two-place block
(f & f) >> ar.Function(dist)  # E second argument has another axis
(f & g) >> hid2lab * hid2lab  # E another axis on the right side of a pair
f * g >> ar.Function(add)  # E the axes of a pair made side by side
f * 3  # E nothing that goes side by side
f & word  # E fan-out over different inputs
ar.AllOf(f, g) >> ar.Function(add)  # E AllOf of different axes
f.eval("word")  # E wrong Python input
ar.Map(f).eval([1, "two"])  # E wrong element of a Python list
h.eval(3)  # E a number where text is read
word >> ar.Scalar() >> hid2lab  # E rank again, behind a transform
ar.fix(lambda me: me >> hid2lab >> f)  # E recursion into a block of another input


@ar.fix  # E recursion that changes its type
def wrong(me: Block[Tree, V]) -> Block[Tree, L]:
    return me >> hid2lab


def swapped(one: Block[Tree, V], two: Block[Pair, L]) -> tuple[Block[Pair, L], Block[Tree, V]]:
    return two, one


ar.fix(swapped)  # E definitions in the wrong order
tree: ar.ForwardDeclaration[Tree, V] = ar.ForwardDeclaration(name="tree")
tree() >> lab2hid  # E a declaration's result into another axis
tree.resolve_to(word >> hid2lab)  # E a definition of another type
tree >> hid2lab  # E a declaration is no block
ar.OneOf(is_leaf).case("yes", ar.InputTransform(left_of))  # E key of the wrong type
ar.OneOf(is_leaf).case(True, word >> f)  # E a case that takes less than the choice
ar.OneOf(length).case(1, h).case(2, h >> hid2lab)  # E branches of different axes
ar.OneOf(length).case(1, h) >> lab2hid  # E after a choice
ar.Optional(f) >> lab2hid  # E after an Optional
total: Block[Tree, V] = word >> f  # E not total: a Pair has no word
ar.Identity() >> f >> lab2hid  # E behind a polymorphic left hand
f >> ar.Identity() >> lab2hid  # E behind a polymorphic middle
ar.Map(f >> ar.Identity()) >> ar.Map(lab2hid)  # E inside Map
ar.Map(f) >> ar.Fold(ar.Function(add), zeros) >> lab2hid  # E after a fold
ar.Map(f) >> ar.Reduce(ar.Function(add)) >> lab2hid  # E after a reduce
ar.Map(f) >> ar.Attention(hid2lab, hid2lab) >> hid2lab  # E after attention pooling
ar.shared(f) >> lab2hid  # E after shared
f >> ar.Broadcast() >> ar.Map(lab2hid)  # E at every place of an endless sequence
f >> ar.Void() >> hid2lab  # E nothing into a function
f >> 3  # E not a block
f & 3  # E not a block either
f >> (lambda x: x.reshape(3))  # E unknown method in a lambda
ar.Scalar(3)  # E an element type is no number
ar.Metric(3)  # E a metric's name is text
ar.Map(3)  # E no block to map


@ar.arrow
def wired(x: Wire[V], s: Wire[tuple[V, V]]) -> Wire[V]:
    return lab2hid(s[1])  # E axis, inside arrow notation


@ar.arrow
def wired2(s: Wire[tuple[V, V]]) -> Wire[V]:
    return s[2]  # E no third item


@ar.arrow
def wired3(s: Wire[tuple[V, L]]) -> Wire[V]:
    _, b = ar.unpack(s, 2)
    return b  # E the other item


@ar.arrow
def wired4(x: Wire[V], y: Wire[L]) -> Wire[V]:
    return ar.Function(add)(x, y)  # E second argument, inside arrow notation


wired >> lab2hid  # E after an arrow
f >> wired2  # E a vector where an arrow takes a pair


class Token(TypedDict):
    word: int
    tag: str


ar.Input(Leaf).get(lambda x: x.wrod)  # E misspelt field of a dataclass
ar.Input(Token).get(lambda t: t["wrod"])  # E misspelt key of a TypedDict
ar.Input(Leaf).get(lambda x: x.word) >> h  # E a number where text is read, in a field
ar.Input(Token).get(lambda t: t["tag"]) >> f  # E text where an index is read
ar.Input(Token).get(lambda t: t["tag"]) >> ar.OneHot(4)  # E text where an integer is read
ar.Input[Tree]().get(lambda t: t.left)  # E a Leaf has no such field
ar.Input(Leaf).get(lambda x: x.word) & ar.Input(Pair).get(lambda x: x.left)  # E fields of two classes
ar.OneHot("noun")  # E an element where a size is wanted
f >> ar.Tap("h") >> lab2hid  # E behind a tap
ar.Tap(3)  # E a tap's name is text
ar.Tap("h", show=3)  # E what shows a value is a function
composed: ar.Composition[int, L] = ar.Composition()
with composed.scope():
    vector = f.reads(composed.input)
    lab2hid.reads(vector)  # E axis, in a scope
    ar.Function(dist).reads(vector, vector)  # E the second source has another axis
    composed.output.reads(3)  # E not a wire
    composed.output.reads(vector)  # E another axis flows out
composed >> hid2lab  # E after a Composition
ar.Linnear(3)  # E a misspelt name of the package
ar.trainning  # E a misspelt room
ar.LSTM(3)  # E a name of PyTorch
ar.training.Adam(lr=0.1)  # E an argument of PyTorch
ar.FC(units=3)  # E an argument of Keras
ar.compile(f).save("weights")  # E a method of Keras
ar.training.train(ar.compile(f), [], ar.training.Adam(), n_epochs=3)  # E no argument of train
ar.FC([3])  # E a shape with an axis where a size is wanted
ar.Function(dist) >> ar.FC([]) >> ar.Scalar()  # E a scalar into a reader
