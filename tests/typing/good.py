"""Must pass mypy --strict and pyright, and build: run by `test_static.py`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypedDict, assert_type

import arrows as ar
from arrows.combinators import Block, Wire
from arrows.combinators.fanout import AndFan
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


def add(a: V, b: V) -> V:
    raise NotImplementedError


def both(a: V, b: V) -> tuple[L, V]:
    raise NotImplementedError


def dist(a: V, b: V) -> Number:
    raise NotImplementedError


def fma(a: V, b: V, c: V) -> V:
    raise NotImplementedError


# 1 composition
f = ar.Scalar("int32") >> ar.Function(embed_hidden)
g = ar.Scalar("int32") >> ar.Function(embed_labels)
hid2lab = ar.Function(hidden_to_labels)
assert_type(ar.Function(embed_hidden), ar.Function[Index, V])
assert_type(f, Block[int, V])
assert_type(f >> hid2lab, Block[int, L])
assert_type(ar.Scalar() >> ar.Identity(), Block[float, Number])

# 2 map and fold
zeros: Block[object, V] = ar.Zeros([4])
assert_type(ar.Map(f), ar.Map[int, V])
total = ar.Map(f) >> ar.Fold(ar.Function(add), zeros)
assert_type(total, Block[Sequence[int], V])
assert_type(ar.Map(ar.Map(f)) >> ar.Identity(), Block[Sequence[Sequence[int]], Sequence[Sequence[V]]])

# 2b scans and networks
assert_type(ar.Map(f) >> ar.RNN(ar.Function(add), zeros), Block[Sequence[int], tuple[Sequence[Any], V]])
assert_type(ar.Map(f) >> ar.Scan(ar.Function(both), zeros), Block[Sequence[int], tuple[Sequence[L], V]])
assert_type(ar.RNN(ar.Function(add), zeros, reverse=True), ar.RNN[V, Any, V])

# 2c parts of sequences
assert_type(f >> ar.Broadcast(), Block[int, Sequence[V]])
beside = ar.GetItem("of") >> ar.Map(f) & ar.GetItem("by") >> f >> ar.Broadcast()
assert_type(beside >> ar.ZipWith(ar.Function(add)), Block[Any, Sequence[V]])

assert_type(ar.Map(f) >> ar.Reduce(ar.Function(add)), Block[Sequence[int], V])
started = ar.GetItem("of") >> ar.Map(f) & ar.GetItem("from") >> f
decoded: Block[Any, tuple[Sequence[Any], V]] = started >> ar.RNN(
    ar.Function(add), initial_state_from_input=True
)
assert_type(ar.Map(f) >> ar.Attention(hid2lab, hid2lab), Block[Sequence[int], L])

# 3 a run of & makes one flat tuple
assert_type((f & g) >> ar.Identity(), Block[int, tuple[V, L]])
assert_type((f & g & f & g) >> ar.Identity(), Block[int, tuple[V, L, V, L]])
assert_type((f & f) >> ar.Function(add), Block[int, V])
assert_type((f & f & f) >> ar.Function(fma), Block[int, V])
assert_type(ar.Scalar("int32") >> ar.Function(embed_hidden) & g, AndFan[int, V, L])
assert_type(ar.AllOf(f, g) >> ar.Identity(), Block[int, tuple[V, L]])

# 3b side by side on a pair
assert_type(f * g, Block[tuple[int, int], tuple[V, L]])
assert_type(
    f * ar.Identity() * g >> ar.Identity(), Block[tuple[tuple[int, Any], int], tuple[tuple[V, Any], L]]
)
assert_type((f & f) >> hid2lab * hid2lab, Block[int, tuple[L, L]])

# 4 polymorphic blocks in the middle and in front
assert_type(f >> ar.Identity() >> hid2lab, Block[int, L])
assert_type(ar.Identity() >> f, Block[int, V])

# 5 constants take any input
assert_type((f & zeros) >> ar.Function(add), Block[int, V])
assert_type(f >> ar.Void(), Block[int, None])


# 6 typed fields, and recursion
@dataclass
class Leaf:
    word: int


@dataclass
class Pair:
    left: Leaf | Pair
    right: Leaf | Pair


Tree = Leaf | Pair


def is_leaf(t: Tree) -> bool:
    return isinstance(t, Leaf)


def word_of(t: Tree) -> int:
    return t.word if isinstance(t, Leaf) else 0


def left_of(t: Tree) -> Tree:
    return t.left if isinstance(t, Pair) else t


leaf = ar.InputTransform(word_of) >> f
assert_type(leaf, Block[Tree, V])


@ar.fix
def tree(me: Block[Tree, V]) -> Block[Tree, V]:
    left = ar.InputTransform(left_of)
    pair = (left >> me & left >> me) >> ar.Function(add)
    return ar.OneOf(is_leaf).case(True, leaf).case(False, pair)


assert_type(tree, Block[Tree, V])


@ar.fix(output_type=[4])
def declared_tree(me: Block[Tree, V]) -> Block[Tree, V]:
    left = ar.InputTransform(left_of)
    return (left >> me & left >> me) >> ar.Function(add)


assert_type(declared_tree, Block[Tree, V])
assert_type(ar.fix(lambda me: leaf, input_type=None, output_type=[4]), Block[Tree, V])


# 6b definitions that refer to one another
def right_of(p: Pair) -> Tree:
    return p.right


def as_pair(t: Tree) -> Pair:
    return t if isinstance(t, Pair) else Pair(t, t)


def trees_and_pairs(tree: Block[Tree, V], pair: Block[Pair, V]) -> tuple[Block[Tree, V], Block[Pair, V]]:
    two = (ar.InputTransform(right_of) >> tree & ar.InputTransform(right_of) >> tree) >> ar.Function(add)
    choice = ar.OneOf(is_leaf).case(True, leaf).case(False, ar.InputTransform(as_pair) >> pair)
    return choice, two


of_tree, of_pair = ar.fix(trees_and_pairs)
assert_type(of_tree, Block[Tree, V])
assert_type(of_pair >> hid2lab, Block[Pair, L])


def rotated(
    a: Block[int, V], b: Block[int, V], c: Block[int, L]
) -> tuple[Block[int, V], Block[int, V], Block[int, L]]:
    return b, f, a >> hid2lab


one, two, three = ar.fix(rotated)
assert_type(one, Block[Any, Any])
declared: ar.ForwardDeclaration[Tree, V] = ar.ForwardDeclaration(name="tree")
assert_type(declared(), Block[Tree, V])
assert_type(declared.resolve_to(leaf), Block[Tree, V])
assert_type(ar.ForwardDeclaration(output_type=[4])(), Block[Any, Any])


# 7 arrow notation
@ar.arrow
def lstm(x: Wire[V], s: Wire[tuple[V, V]]) -> Wire[V]:
    h, c = ar.unpack(s, 2)
    assert_type(h, Wire[V])
    assert_type(s[1], Wire[V])
    return ar.Function(fma)(x, h, c)


assert_type(lstm >> hid2lab, Block[tuple[V, tuple[V, V]], L])


@ar.arrow
def swap(p: Wire[tuple[V, L]]) -> tuple[Wire[L], Wire[V]]:
    return p[1], p[0]


assert_type(swap >> ar.Identity(), Block[tuple[V, L], tuple[L, V]])

# 7b compositions
composed: ar.Composition[int, L] = ar.Composition(name="composed")
with composed.scope():
    assert_type(composed.input, Wire[int])
    vector = f.reads(composed.input)
    assert_type(vector, Wire[V])
    assert_type(ar.Function(add).reads(vector, vector), Wire[V])
    composed.output.reads(hid2lab.reads(vector))
assert_type(f >> ar.Identity() & composed, AndFan[int, V, L])
with ar.Composition().scope() as loose:
    loose.output.reads(ar.Function(add).reads(f.reads(loose.input), zeros.reads()))
assert_type(loose >> hid2lab, Block[Any, L])

# 8 choice by key; a block on Tree serves where a block on Leaf is wanted
chosen = ar.OneOf(is_leaf).case(True, leaf).case(False, tree)
assert_type(chosen >> hid2lab, Block[Tree, L])
on_leaf: Block[Leaf, V] = tree
optional = ar.Optional(f)
assert_type(optional >> hid2lab, Block[int | None, L])

# 9 shared, metrics, records
assert_type(ar.shared(tree) >> hid2lab, Block[Tree, L])
assert_type(f >> ar.Metric("m"), Block[int, None])
record: Block[Any, Any] = ar.Record({"a": f, "b": g})
either: Block[Any, V] = {"a": f, "b": f} >> ar.Function(add)

# 10 thirty steps in a row
i = ar.Identity()
long = f >> i >> i >> i >> i >> i >> i >> i >> i >> i >> i >> i >> i >> i >> i >> i
long = long >> i >> i >> i >> i >> i >> i >> i >> i >> i >> i >> i >> i >> i >> i >> i
assert_type(long, Block[int, V])


# 11 typed inputs: fields of dataclasses and of TypedDicts
class Token(TypedDict):
    word: int
    tag: str
    next: Token | None


pair_in = ar.Input(Pair)
assert_type(ar.Input(Leaf).get(lambda x: x.word) >> f, Block[Leaf, V])
assert_type(
    (pair_in.get(lambda p: p.left) >> tree & pair_in.get(lambda p: p.right) >> tree), AndFan[Pair, V, V]
)
word_in = ar.Input(Token).get(lambda t: t["word"])
assert_type(word_in >> f & word_in >> g, AndFan[Token, V, L])
assert_type(ar.Input[Leaf | Pair]() >> tree >> hid2lab, Block[Leaf | Pair, L])
tag = ar.Input(Token).get(lambda t: t["tag"]) >> ar.OneHotFromList(["noun", "verb"])
following = ar.Input(Token).get(lambda t: t["next"]) >> ar.Optional(
    ar.Input(Token).get(lambda t: t["word"]) >> f
)
assert_type(following, Block[Token, V])
assert_type(f >> ar.Tap("h") >> hid2lab, Block[int, L])
assert_type(ar.Tap("word", show=print) >> f, Block[int, V])
price: Block[V, Tensor[Any, tuple[()]]] = ar.FC([])

# 12 results of tensors are arrays, without a cast
best: float = ar.compile(ar.Vector(3)).predict([[1, 2, 3]]).argmax(axis=1).mean()
