"""Networks that several benchmarks share, as blocks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import arrows as ar
from arrows.data import TAGS

AnyBlock = ar.Block[Any, Any]  # by a public name: old checkouts import this file too


def bilstm_tagger(
    vocabulary: int = 1000, embedding: int = 200, size: int = 256, layers: int = 2, labels: int = 300
) -> AnyBlock:
    """A tagger of several bidirectional layers over word numbers, with a loss at every word.

    An example is a pair of equally long lists: numbers of words and of labels.
    Neubig, Goldberg, Dyer, "On-the-fly Operation Batching in Dynamic Computation Graphs", NIPS 2017,
    section 5.1.

    >>> model = ar.compile(bilstm_tagger(5, 3, 4, 1, 2), loss="loss")
    >>> _ = model.value_and_grad([([1, 2, 4], [0, 1, 1])])
    >>> model.metrics["loss"].lengths.tolist()
    [3]
    """
    states: AnyBlock = ar.Map(ar.Scalar("int32") >> ar.Embedding(vocabulary, embedding, name="words"))
    for layer in range(layers):
        cells = [ar.LSTMCell(size, name=f"{way}_{layer}") for way in ("forward", "backward")]
        states = states >> ar.Bidirectional(*cells) >> ar.GetItem(0)
    return _classified(ar.GetItem(0) >> states, ar.GetItem(1) >> ar.Map(ar.Scalar("int32")), labels)


def attention_tagger(vocabulary: int = 1000, size: int = 64, heads: int = 4, labels: int = 17) -> AnyBlock:
    """A tagger over word numbers by attention within the sentence, with a loss at every word.

    An example is a pair of equally long lists: numbers of words and of labels.

    >>> model = ar.compile(attention_tagger(5, 4, 2, 3), loss="loss")
    >>> _ = model.value_and_grad([([1, 2, 4], [0, 1, 2])])
    >>> model.metrics["loss"].lengths.tolist()
    [3]
    """
    words = ar.Map(ar.Scalar("int32") >> ar.Embedding(vocabulary, size, name="words"))
    attend = ar.MultiHeadAttention(heads, name="heads")
    return _classified(ar.GetItem(0) >> words >> attend, ar.GetItem(1) >> ar.Map(ar.Scalar("int32")), labels)


def random_trees(size: int = 1024, vocabulary: int = 10_000) -> AnyBlock:
    """The Tree-LSTM variant that Looks et al. (ICLR 2017, table 1) measure dynamic batching by.

    A tree is a word's number or a pair of trees. The states of the halves go through a hidden layer of `size`
    units; from it come four gates, of the new value, the two halves and the candidate. There is no memory
    beside the state.

    >>> random_trees(4, 10).eval(((1, 2), 3)).shape
    (4,)
    """
    hidden = ar.FC(size, activation=ar.ops.relu, name="hidden")
    gates = ar.FC(4 * size, name="gates")

    def join(left: Any, right: Any) -> Any:
        every = gates(hidden(ar.ops.concat([left, right])))
        opened, candidate = ar.ops.sigmoid(every[: 3 * size]), ar.ops.tanh(every[3 * size :])
        new, from_left, from_right = (opened[k * size : (k + 1) * size] for k in range(3))
        return new * candidate + from_left * left + from_right * right

    leaf = ar.Scalar("int32") >> ar.Embedding(vocabulary, size, name="words")
    cell = ar.Function(join, name="join")

    @ar.fix
    def tree(me: AnyBlock) -> AnyBlock:
        pair = (ar.GetItem(0) >> me & ar.GetItem(1) >> me) >> cell
        return ar.OneOf(lambda t: isinstance(t, tuple)).case(True, pair).case(False, leaf)

    return tree


def character_tagger(
    words: ar.Vocabulary,
    characters: ar.Vocabulary,
    *,
    embedding: int = 128,
    size: int = 128,
    character_embedding: int = 20,
    tags: Sequence[str] = TAGS,
) -> AnyBlock:
    """A bidirectional tagger whose rare words are read by their characters, with a loss at every word.

    The vector of a frequent word is its embedding; that of another word is made of the last states of a
    BiLSTM over its characters, each of half its size.
    Neubig, Goldberg, Dyer, "On-the-fly Operation Batching in Dynamic Computation Graphs", NIPS 2017,
    section 5.1.

    >>> tagger = character_tagger(ar.Vocabulary(["trees"]), ar.Vocabulary(["g"]), embedding=4, size=3)
    >>> model = ar.compile(tagger, loss="loss")
    >>> _ = model.value_and_grad([[{"word": "trees", "tag": "NOUN"}, {"word": "grow", "tag": "VERB"}]])
    >>> model.metrics["loss"].lengths.tolist()
    [2]
    """

    def last(name: str, *, reverse: bool = False) -> AnyBlock:
        cell = ar.LSTMCell(embedding // 2, name=name)
        return ar.RNN(cell, reverse=reverse) >> ar.GetItem(1) >> ar.GetItem(0)

    letter = ar.Scalar("int32") >> ar.Embedding(len(characters), character_embedding, name="characters")
    spelling: AnyBlock = (
        ar.InputTransform(lambda form: characters.numbers(list(form)))
        >> ar.Map(letter)
        >> ar.AllOf(last("spelling_forward"), last("spelling_backward", reverse=True))
        >> ar.Concat()
    )
    embed = ar.Embedding(len(words), embedding, name="words")
    frequent: AnyBlock = ar.InputTransform(lambda form: words[form.lower()]) >> ar.Scalar("int32") >> embed
    word = ar.GetItem("word") >> ar.OneOf(lambda form: words[form.lower()] > 0).case(True, frequent).case(
        False, spelling
    )
    cells = [ar.LSTMCell(size, name=way) for way in ("forward", "backward")]
    states = ar.Map(word) >> ar.Bidirectional(*cells) >> ar.GetItem(0)
    tag = ar.GetItem("tag") >> ar.InputTransform({name: k for k, name in enumerate(tags)}.__getitem__)
    return _classified(states, ar.Map(tag >> ar.Scalar("int32")), len(tags))


def _classified(states: AnyBlock, right: AnyBlock, labels: int) -> AnyBlock:
    """The loss of a classifier at each place, given the states and the right labels."""
    scores = states >> ar.Map(ar.FC(labels, name="classify"))
    return ar.AllOf(scores, right) >> ar.ZipWith(ar.SoftmaxCrossEntropy() >> ar.Metric("loss"))


def chain(size: int = 100, vocabulary: int = 1000) -> AnyBlock:
    """An LSTM along nested pairs `(rest, word)`; the sum of the squares of its last state.

    Its forget gates are all but open. With half-open ones gradients sink below the smallest normal number
    within a few hundred steps, and some processors take many times as long to compute with such numbers.

    >>> chain(4, 10).eval(None)
    array(0., dtype=float32)
    """
    embed = ar.Scalar("int32") >> ar.Embedding(vocabulary, size, name="words")
    cell = ar.TreeLSTM(size, children=1, forget_bias=10.0, name="cell")

    @ar.fix
    def state(me: AnyBlock) -> AnyBlock:
        more = (ar.GetItem(1) >> embed & ar.AllOf(ar.GetItem(0) >> me)) >> cell
        return ar.OneOf(lambda t: t is None).case(True, ar.Zeros(cell.state)).case(False, more)

    return state >> ar.GetItem(0) >> ar.Function(lambda h: ar.ops.sum(h * h))
