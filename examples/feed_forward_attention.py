"""Feed-forward attention on the addition problem: add two marked numbers of a long sequence.

The model has no recurrence: a softmax over learned scores picks the elements that matter (Raffel, Ellis,
"Feed-forward networks with attention can solve some long-term memory problems", 2015). Looks et al., "Deep
learning with dynamic computation graphs" (ICLR 2017), appendix A, write it in TensorFlow Fold.

    python examples/feed_forward_attention.py

trains it on sequences of 20 to 60 elements. On new ones the squared error falls from 0.292 to 0.0025 after
4 s of processor time.
"""

from __future__ import annotations

import random
from typing import Any

import arrows as ar
from arrows import ops
from arrows.training import Adam, train

SIZE = 32

# ------------------------------------------------------------------------------------------ the model
hidden = ar.Map(ar.Vector(2, name="x") >> ar.FC(SIZE, activation=ops.leaky_relu, name="hidden"))
score: ar.Block[Any, Any] = ar.FC(1, activation=ops.tanh, name="score")
answer = ar.FC(SIZE, activation=ops.leaky_relu, name="mixed") >> ar.FC(1, name="answer")


def model(attention: ar.Block[Any, Any]) -> ar.Block[Any, Any]:
    """The network around a form of attention: it answers an example, and records the loss as a metric."""

    @ar.arrow
    def network(example: Any) -> Any:
        y = answer(attention(hidden(example["xs"])))
        ar.Metric("loss")(ar.SquaredError()(y, (ar.GetItem("sum") >> ar.Vector(1))(example)))
        return y

    return network


attention = ar.Attention(score)

# The same attention as Fold spells it out: alpha = exp(e) / sum of all exp(e), c = sum of all alpha * h.
spelled_out = ar.Composition()
with spelled_out.scope():
    h = spelled_out.input
    exp_e = ar.Map(score >> ar.Function(ops.exp)).reads(h)
    z = ar.Broadcast().reads(ar.Sum().reads(exp_e))
    alpha = ar.ZipWith(ar.Function(lambda a, b: a / b)).reads(exp_e, z)
    c = ar.ZipWith(ar.Function(lambda a, x: a * x)).reads(alpha, h)
    spelled_out.output.reads(ar.Sum().reads(c))
# ------------------------------------------------------------------------------------------ end of the model

network, by_hand = model(attention), model(spelled_out)


def addition(generator: random.Random, shortest: int, longest: int) -> dict[str, Any]:
    """A sequence of pairs (number, mark), and the sum of the two numbers that have the mark 1.

    The problem is that of Hochreiter, Schmidhuber, "Long short-term memory", 1997, section 5.4; marks and
    scale are those of Raffel and Ellis.
    """
    length = generator.randint(shortest, longest)
    marked = {generator.randrange(1, 10), generator.randrange(10, length // 2 + 5)}
    xs = [[generator.uniform(-1, 1), 0.0] for _ in range(length)]
    xs[0][1] = xs[-1][1] = -1.0
    for place in marked:
        xs[place][1] = 1.0
    return {"xs": xs, "sum": [0.5 + sum(xs[place][0] for place in marked) / 4.0]}


def main(examples: int = 1500, epochs: int = 10) -> tuple[float, float]:
    """Trains a model and returns its mean squared error on new examples, before and after."""
    generator = random.Random(0)
    data = [addition(generator, 20, 60) for _ in range(examples)]
    unseen = [addition(generator, 20, 60) for _ in range(300)]
    learner = ar.compile(network, loss="loss", seed=0)

    def error() -> float:
        learner(unseen)
        losses: Any = ar.to_numpy(learner.metrics["loss"]).values
        return float(losses.mean())

    before = error()
    train(learner, data, Adam(0.003), epochs=epochs, batch_size=50)
    after = error()
    print(f"squared error on 300 new sequences: {before:.3f} before training, {after:.4f} after")
    return before, after


if __name__ == "__main__":
    main()
