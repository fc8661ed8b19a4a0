"""The sentiment Tree-LSTM, written for one tree: the model of the demo and of the Tree-LSTM benchmark.

A tree is a nested dict: `{"label": 3, "word": "good"}` or `{"label": 3, "left": tree, "right": tree}`. The
state of a leaf comes from its word, and that of a pair from its two halves; the state of every node is
classified.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import arrows as ar
from arrows.combinators import AnyBlock


@dataclass(frozen=True, slots=True)
class Sentiment:
    """Two blocks made of the same layers: one to train and one to predict with.

    Attributes:
        learn: reads trees with labels; the metric `loss` is the cross-entropy of each node.
        judge: reads trees with or without labels and returns the class scores of the root,
            `float32[classes]`; the metric `scores` holds those of each node, in the order left half, right
            half, then the pair.

    >>> sentiment({"good": 1}, size=4).learn is not None
    True
    """

    learn: AnyBlock
    judge: AnyBlock


def sentiment(
    vocabulary: Mapping[str, int],
    *,
    size: int = 64,
    embedding: int | None = None,
    classes: int = 5,
    dropout: float = 0.0,
    word_dropout: float = 0.0,
    recurrent_dropout: float = 0.0,
) -> Sentiment:
    """A binary Tree-LSTM with a classifier at every node.

    Tai, Socher, Manning, "Improved Semantic Representations From Tree-Structured Long Short-Term Memory
    Networks", ACL 2015, section 3.2 with N = 2, and section 4.1.

    Args:
        vocabulary: word -> its number, from 1; unknown words have number 0.
        size: size of the hidden state and of the memory cell.
        embedding: size of the word vectors; default: `size`.
        classes: number of classes; labels run from 0 to `classes - 1`.
        dropout: dropout rate of the hidden state before the classifier.
        word_dropout: dropout rate of the word vectors.
        recurrent_dropout: dropout rate of what a node adds to its memory cell.

    >>> import arrows as ar
    >>> model = ar.compile(sentiment({"not": 1, "good": 2}, size=8).judge)
    >>> tree = {"left": {"word": "not"}, "right": {"word": "good"}}
    >>> model([tree, {"word": "good"}]).shape, model.metrics["scores"].lengths.tolist()
    ((2, 5), [3, 1])
    """
    embedding = size if embedding is None else embedding
    embed = ar.Embedding(max(vocabulary.values(), default=0) + 1, embedding, name="embed")
    cell = ar.TreeLSTM(size, children=2, dropout=recurrent_dropout, name="cell")
    classify = ar.FC(classes, name="classify")
    scores = ar.Dropout(dropout) >> classify if dropout else classify
    vector = embed >> ar.Dropout(word_dropout) if word_dropout else embed
    cross_entropy = ar.SoftmaxCrossEntropy()

    number = ar.InputTransform(vocabulary.get) >> ar.Optional(ar.Scalar("int32"), ar.Constant(0, "int32"))
    leaf = (ar.GetItem("word") >> number >> vector & ar.Zeros((cell.state, cell.state))) >> cell
    label = ar.GetItem("label") >> ar.Scalar("int32")

    def node(tree: AnyBlock) -> AnyBlock:
        """The state of a node, given the block for its halves."""
        halves = ar.GetItem("left") >> tree & ar.GetItem("right") >> tree
        pair = (ar.Zeros([embedding]) & halves) >> cell
        return ar.OneOf(lambda t: "word" in t).case(True, leaf).case(False, pair)

    @ar.fix
    def tree(me: Any) -> Any:
        @ar.arrow
        def labelled(t: Any) -> Any:
            state = node(me)(t)
            ar.Metric("loss")(cross_entropy(scores(state[0]), label(t)))
            return state

        return labelled

    @ar.fix
    def bare_tree(me: Any) -> Any:
        @ar.arrow
        def scored(t: Any) -> Any:
            state = node(me)(t)
            ar.Metric("scores")(classify(state[0]))
            return state

        return scored

    return Sentiment(tree, bare_tree >> ar.GetItem(0) >> classify)
