"""The networks of Neubig, Goldberg, Dyer (NIPS 2017) as programs on the fly, written for one example.

Each has the layers of a block of `benchmarks.networks` or `arrows.models`, by the same names, so that both
can work on the same parameters.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import arrows as ar
from arrows.data import Tree
from arrows.onthefly import LazyBatch, LazyTensor
from arrows.training import SGD
from benchmarks.task import RATE, System

Program = Callable[[LazyBatch, Any], Any]
"""Takes a batch and an example; returns the example's loss, or a generator that returns it."""


def training(net: ar.OnTheFly, program: Program, examples: Sequence[Any]) -> System:
    """Steps of gradient descent on the fly; programs that are generators run together."""
    optimizer = SGD(RATE)

    def step(batch: Iterable[int]) -> Any:
        with net.batch(training=True) as g:
            losses: list[Any] = [program(g, examples[i]) for i in batch]
            if inspect.isgenerator(losses[0]):
                losses = [loss for loss in g.run_all(losses) if loss is not None]
            return g.train_step(g.mean(losses), optimizer) if losses else None

    return step


def outputs(g: LazyBatch, cell: Any, x: Iterable[Any]) -> list[Any]:
    """The outputs of a recurrent cell along vectors, from a state of zeros."""
    state, states = g.zeros(cell.state), []
    for vector in x:
        state = cell(vector, state)
        states.append(state[0])
    return states


def tree_lstm(vocabulary: ar.Vocabulary, *, size: int = 64, num_classes: int = 5) -> Program:
    """The network of `arrows.models.sentiment`.

    >>> net = ar.OnTheFly()
    >>> with net.batch() as g:
    ...     float(tree_lstm(ar.Vocabulary(["good"]), size=4)(g, {"label": 3, "word": "good"})) > 0
    True
    """
    embed = ar.Embedding(len(vocabulary), size, name="embed")
    cell = ar.TreeLSTM(size, children=2, name="cell")
    classify, cross_entropy = ar.FC(num_classes, name="classify"), ar.SoftmaxCrossEntropy()

    def loss(g: LazyBatch, tree: Tree) -> LazyTensor:
        no_word, no_halves = g.zeros([size]), g.zeros((cell.state, cell.state))
        losses = []

        def state(node: Tree) -> Any:
            if "word" in node:
                h = cell(embed(vocabulary[node["word"]]), no_halves)
            else:
                h = cell(no_word, (state(node["left"]), state(node["right"])))
            losses.append(cross_entropy(classify(h[0]), node["label"]))
            return h

        state(tree)
        return g.sum(losses)

    return loss


def gated_tree_lstm(
    vocabulary: int, *, size: int = 150, embedding: int = 300, functions: bool = False
) -> Program:
    """A Tree-LSTM with a layer for each gate of leaves and of pairs, some twenty calls a node.

    This is how users of DyNet write it. With `functions`, a node is one call of a `Function`, and so are all
    losses of a tree. A node of a tree is [label, word] or [label, left, right].

    >>> net = ar.OnTheFly()
    >>> with net.batch() as g:
    ...     float(gated_tree_lstm(2, size=4)(g, [3, 1])) > 0
    True
    """
    sigmoid, tanh = ar.ops.sigmoid, ar.ops.tanh
    embed = ar.Embedding(vocabulary, embedding, name="embed")
    leaf_i, leaf_o, leaf_u = (ar.FC(size, name=f"leaf_{gate}") for gate in "iou")
    pair_i, pair_o, pair_u = (ar.FC(size, name=f"pair_{gate}") for gate in "iou")
    forget_left, forget_right = ar.FC(size, name="forget_left"), ar.FC(size, name="forget_right")
    classify, cross_entropy = ar.FC(5, name="classify"), ar.SoftmaxCrossEntropy()

    def leaf(word: Any) -> Any:
        x = embed(word)
        c = sigmoid(leaf_i(x)) * tanh(leaf_u(x))
        return sigmoid(leaf_o(x)) * tanh(c), c

    def pair(left: Any, right: Any) -> Any:
        (left_h, left_c), (right_h, right_c) = left, right
        x = ar.ops.concat([left_h, right_h])
        f, k = sigmoid(forget_left(x)), sigmoid(forget_right(x))
        c = sigmoid(pair_i(x)) * tanh(pair_u(x)) + f * left_c + k * right_c
        return sigmoid(pair_o(x)) * tanh(c), c

    def judge(h: Any, label: Any) -> Any:
        return cross_entropy(classify(h), label)

    steps: Any = leaf, pair, lambda states: ar.ops.segment_sum(judge(*states))
    at_leaf, at_pair, at_root = map(ar.Function, steps) if functions else steps

    def state(node: list[Any], states: list[Any]) -> Any:
        h = at_leaf(node[1]) if len(node) == 2 else at_pair(state(node[1], states), state(node[2], states))
        states.append((h[0], node[0]))
        return h

    def loss(g: LazyBatch, tree: list[Any]) -> Any:
        states: list[Any] = []
        state(tree, states)
        if functions:
            return at_root([(h, g.tensor(label)) for h, label in states])
        return g.sum([judge(h, label) for h, label in states])

    return loss
