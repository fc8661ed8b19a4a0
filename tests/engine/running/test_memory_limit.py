"""With a limit on memory, the peak of what a call allocates stays below it, or the call is refused."""

from __future__ import annotations

import gc
import tracemalloc
import weakref
from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np
import pytest

import arrows as ar
from arrows import ops
from arrows.data import generate
from arrows.models import sentiment
from arrows.testing.fake import FakeArray
from arrows.training import Adam
from benchmarks.networks import attention_tagger, bilstm_tagger, random_trees
from examples.tied_language_model import language_model
from tests.marks import needs_compiler
from tests.profile import sampled

SMALL = 600_000
"""Bytes that are not counted: Python objects of a call, and NumPy's copies within an operation."""

WORDS = [np.random.default_rng(n).integers(0, 2000, 40).tolist() for n in range(96)]
VECTORS = [np.random.default_rng(n).normal(size=(30, 64)).astype("float32") for n in range(48)]
TREES = generate(80)
PAIRS = [(line, [word % 17 for word in line]) for line in WORDS]
NESTED = [reduce(lambda tree, word: (word, tree), line) for line in WORDS]


def scored(block: Any) -> Any:
    return block >> ar.FC(1, name="score") >> ar.Function(lambda y: (y[0] - 1.0) ** 2)


def words(wide: int, name: str = "table") -> Any:
    return ar.Map(ar.Scalar("int32") >> ar.Embedding(2000, wide, name=name))


def twice(table: Any) -> Callable[[Any], Any]:
    """A function of ids that looks them up in two ways."""
    return lambda ids: ops.segment_sum(table(ids)) * ops.segment_max(table(ids * 0 + 1))


VOCABULARY = ar.Vocabulary.of(ar.data.words(TREES))
Made = Callable[[], tuple[Any, list[Any], str | None]]
MODELS: dict[str, Made] = {
    "a Tree-LSTM of 60": lambda: (sentiment(VOCABULARY, size=60, embedding=60).learn, TREES, "loss"),
    "a bag of words of 64": lambda: (scored(words(64) >> ar.Sum()), WORDS, None),
    "an LSTM": lambda: (
        scored(words(32) >> ar.RNN(ar.LSTMCell(48, name="cell")) >> ar.GetItem(1) >> ar.GetItem(0)),
        WORDS,
        None,
    ),
    "attention of 2 heads": lambda: (
        scored(ar.Map(ar.Vector(64)) >> ar.MultiHeadAttention(2, name="m") >> ar.Sum()),
        VECTORS,
        None,
    ),
    "a GRU with dropout": lambda: (
        scored(
            ar.Map(ar.Vector(64) >> ar.Dropout(0.3)) >> ar.RNN(ar.GRUCell(48, name="cell")) >> ar.GetItem(1)
        ),
        VECTORS,
        None,
    ),
    "a fold of outer products": lambda: (
        scored(
            ar.Map(ar.Vector(64) >> ar.FC(24, name="a"))
            >> ar.Fold(ar.Function(lambda h, x: h * 0.5 + ops.outer(x, x)), ar.Zeros([24, 24]))
            >> ar.Function(lambda h: h.reshape([576]))
        ),
        VECTORS,
        None,
    ),
    "a choice for each element": lambda: (
        scored(
            ar.Map(
                ar.OneOf(lambda v: bool(v[0] > 0))
                .case(True, ar.Vector(64) >> ar.FC(80, name="a"))
                .case(False, ar.Vector(64) >> ar.FC(80, ops.tanh, name="b"))
            )
            >> ar.Sum()
        ),
        VECTORS,
        None,
    ),
    "a table that is multiplied too": lambda: (
        scored(ar.Map(ar.Scalar("int32")) >> ar.Function(twice(ar.Embedding(2000, 48)))),
        WORDS,
        None,
    ),
    "two layers of both directions": lambda: (bilstm_tagger(2000, 32, 24, 2, 20), PAIRS, "loss"),
    "attention of 4 heads": lambda: (attention_tagger(2000, 64, 4, 17), PAIRS, "loss"),
    "a language model": lambda: (language_model(2000, 32, tied=True), WORDS, "loss"),
    "a random tree": lambda: (scored(random_trees(64, 2000)), NESTED, None),
    "windows of 5": lambda: (
        scored(ar.Map(ar.Vector(64)) >> ar.Conv1d(48, 5, name="c") >> ar.Max()),
        VECTORS,
        None,
    ),
    "triples": lambda: (
        scored(words(24) >> ar.NGrams(3) >> ar.Map(ar.Concat() >> ar.FC(32, name="f")) >> ar.Mean()),
        WORDS,
        None,
    ),
    "a pooling by scores": lambda: (
        scored(
            ar.Map(ar.Vector(64) >> ar.FC(64, ops.tanh, name="a"))
            >> ar.Attention(ar.FC([], name="b"), default=0.0)
        ),
        VECTORS,
        None,
    ),
    "normalized layers": lambda: (
        scored(
            ar.Map(ar.Vector(64) >> ar.FC(96, ops.gelu, name="a") >> ar.LayerNorm(name="n"))
            >> ar.Reduce(ar.Concat() >> ar.FC(96, name="b"), ar.Zeros([96]))
        ),
        VECTORS,
        None,
    ),
    "matrices": lambda: (
        scored(
            ar.Map(ar.Tensor([8, 8]) >> ar.Function(lambda x: ops.tanh(x @ x.T) @ x))
            >> ar.Max()
            >> ar.Function(lambda x: x.reshape((64,)))
        ),
        [[row.reshape(8, 8) for row in rows] for rows in VECTORS],
        None,
    ),
    "messages along pairs": lambda: (
        ar.Record((ar.Map(ar.Vector(64) >> ar.FC(32, name="a")), ar.Identity()))
        >> ar.MessagePassing(ar.Concat() >> ar.FC(32, name="m"), ar.GRUCell(32, name="u"))
        >> ar.Sum()
        >> scored(ar.Identity()),
        [(rows, [(n, (7 * n) % 30) for n in range(30)]) for rows in VECTORS],
        None,
    ),
    "softmaxes": lambda: (
        scored(ar.Map(ar.Vector(64) >> ar.Function(lambda x: ops.softmax(x) * ops.logsumexp(x))) >> ar.Sum()),
        VECTORS,
        None,
    ),
    "a long chain": lambda: (
        scored(
            ar.Map(ar.Vector(64)) >> ar.Fold(ar.Concat() >> ar.FC(64, ops.tanh, name="s"), ar.Zeros([64]))
        ),
        [np.concatenate(VECTORS[n::4]) for n in range(4)],
        None,
    ),
}


def peak(call: Callable[[], Any]) -> tuple[int, bool]:
    """The most bytes that a call allocates at a time, with what it gives; and whether it refuses."""
    gc.collect()
    refused = False
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        tracemalloc.reset_peak()
        try:
            found = call()
            del found
        except ar.BatchMemoryError:
            refused = True
        return tracemalloc.get_traced_memory()[1] - before, refused
    finally:
        tracemalloc.stop()


def calls(model: ar.Model, prepared: Any) -> dict[str, tuple[Callable[[], Any], tuple[float, ...]]]:
    """By its name, a call, and the shares of its peak that are its limits."""
    adam = Adam(0.0)
    model.train_step(prepared[:2], adam)  # makes the programs, and the optimizer's state
    model(prepared[:2])
    return {
        "values": (lambda: model(prepared[:]), (0.2,)),
        "gradients": (lambda: model.value_and_grad(prepared[:]), (0.5,)),
        "a step": (lambda: model.train_step(prepared[:], adam), (0.5, 0.2)),
    }


@pytest.mark.parametrize("name", sampled(MODELS, 3))
def test_the_peak_of_a_call_stays_below_the_limit(name: str) -> None:
    block, examples, loss = MODELS[name]()
    ran = 0
    model = ar.compile(block, loss=loss, jit=False)
    prepared = model.prepare(examples)
    for kind, (call, shares) in calls(model, prepared).items():
        model.executors.arena.clear()
        model.memory_limit = None
        whole, _ = peak(call)
        for share in shares:
            model.executors.arena.clear()
            model.memory_limit = limit = int(share * whole)
            most, refused = peak(call)
            ran += not refused
            assert most <= limit + SMALL, (kind, share, most, limit)
    assert ran, "all calls were refused"


class DeviceMemory:
    """Counts the bytes of the fake device's arrays, and the most that there were at a time."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.bytes = self.most = 0
        self._alive: set[int] = set()
        make = FakeArray.__init__

        def counted(array: FakeArray, data: Any) -> None:
            make(array, data)
            while isinstance(data.base, np.ndarray):
                data = data.base
            if id(data) not in self._alive:
                self._alive.add(id(data))
                self._change(data.nbytes)
                weakref.finalize(data, self._gone, id(data), data.nbytes)

        patch.setattr(FakeArray, "__init__", counted)

    def _gone(self, number: int, size: int) -> None:
        self._alive.discard(number)
        self._change(-size)

    def _change(self, by: int) -> None:
        self.bytes += by
        self.most = max(self.most, self.bytes)

    def peak(self, model: ar.Model, call: Callable[[], Any]) -> tuple[int, bool]:
        """As `peak`, of the device's memory alone; what the model keeps counts."""
        gc.collect()
        model.executors.arena.clear()
        before = self.most = self.bytes
        try:
            call()
        except ar.BatchMemoryError:
            return self.most - before, True
        return self.most - before, False


@needs_compiler
@pytest.mark.parametrize("name", sampled(MODELS, 2))
def test_a_device_takes_no_more_memory_than_the_limit(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    memory = DeviceMemory(monkeypatch)
    block, examples, loss = MODELS[name]()
    ran = 0
    model = ar.compile(block, loss=loss, device="fake-kernels")
    prepared = model.prepare(examples)
    for kind, (call, shares) in calls(model, prepared).items():
        model.memory_limit = None
        whole, _ = memory.peak(model, call)
        for share in shares:
            model.memory_limit = limit = int(share * whole)
            most, refused = memory.peak(model, call)
            ran += not refused
            assert most <= limit, (kind, share, most, limit)
    assert ran, "all calls were refused"
