"""Networks that several benchmarks share, as blocks."""

from __future__ import annotations

from typing import Any

import arrows as ar


def bilstm_tagger(
    vocabulary: int = 1000, embedding: int = 200, size: int = 256, layers: int = 2, labels: int = 300
) -> ar.Block[Any, Any]:
    """A tagger of several bidirectional layers over word numbers, with a loss at every word.

    An example is a pair of equally long lists: numbers of words and of labels.
    Neubig, Goldberg, Dyer, "On-the-fly Operation Batching in Dynamic Computation Graphs", NIPS 2017,
    section 5.1.

    >>> model = ar.compile(bilstm_tagger(5, 3, 4, 1, 2), loss="loss")
    >>> _ = model.value_and_grad([([1, 2, 4], [0, 1, 1])])
    >>> len(model.metrics["loss"])
    3
    """
    states: ar.Block[Any, Any] = ar.Map(
        ar.Scalar("int32") >> ar.Embedding(vocabulary, embedding, name="words")
    )
    for layer in range(layers):
        cells = [ar.LSTMCell(size, name=f"{way}_{layer}") for way in ("forward", "backward")]
        states = states >> ar.Bidirectional(*cells) >> ar.GetItem(0)
    scores = ar.GetItem(0) >> states >> ar.Map(ar.FC(labels, name="classify"))
    right = ar.GetItem(1) >> ar.Map(ar.Scalar("int32"))
    return ar.AllOf(scores, right) >> ar.ZipWith(ar.SoftmaxCrossEntropy() >> ar.Metric("loss"))


def residual_lstms(size: int = 8, layers: int = 2) -> ar.Block[Any, Any]:
    """LSTM layers over a sequence of vectors, each added to what it read by one and the same function.

    >>> ar.infer(residual_lstms(4)).output
    Sequence(float32[4])
    """
    add = ar.ZipWith(ar.Function(lambda x, y: x + y, name="add"))
    states: ar.Block[Any, Any] = ar.Map(ar.Vector(size))
    for layer in range(layers):
        states = states >> ar.AllOf(
            ar.Identity(), ar.RNN(ar.LSTMCell(size, name=f"layer_{layer}")) >> ar.GetItem(0)
        )
        states = states >> add
    return states


def attention(size: int = 8) -> ar.Block[Any, Any]:
    """Feed-forward attention over a sequence of vectors.

    Raffel, Ellis, "Feed-Forward Networks with Attention Can Solve Some Long-Term Memory Problems", 2015;
    Looks et al., ICLR 2017, appendix A.

    >>> ar.infer(attention(4)).output
    float32[2]
    """
    score = ar.FC(1, name="score") >> ar.Function(lambda x: x[0])
    hidden = (
        ar.Vector(size)
        >> ar.FC(size, activation=ar.ops.tanh, name="hidden")
        >> ar.AllOf(score, ar.Identity())
    )

    def attend(rows: Any) -> Any:
        scores, states = rows
        return ar.ops.segment_sum(ar.ops.reshape(ar.ops.segment_softmax(scores), (1,)) * states)

    return ar.Map(hidden) >> ar.Function(attend) >> ar.FC(2, name="classify")
