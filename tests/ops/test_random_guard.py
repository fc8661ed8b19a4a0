# ruff: noqa: NPY002, B008
"""Random numbers drawn while a function is traced are detected wherever they come from; nothing else is."""

from __future__ import annotations

import itertools
import queue
import random
import threading
from collections.abc import Callable
from functools import partial
from random import gauss
from typing import Any, Self

import numpy as np
import pytest

import arrows as ar
from arrows import ops
from arrows.ops import ShapeError, trace
from arrows.typesys import types as T

GENERATOR = np.random.default_rng(0)
STATE = np.random.RandomState(0)
PYTHON = random.Random(0)
TABLE = {"noise": [np.random.default_rng(1)]}


def of_numpy() -> Any:
    return np.random.normal()


def of_python() -> Any:
    return random.random()


def fresh_numpy(x: Any) -> Any:
    return x + np.random.default_rng().normal()


COUNT = itertools.count()


class Noisy:
    def __init__(self) -> None:
        self.generator = np.random.Generator(np.random.MT19937(3))

    def __call__(self, x: Any) -> Any:
        return x + self.generator.random()


class NoisyLayer(ar.Layer[Any, Any]):
    def parameters(self, input: Any) -> tuple[ops.Parameter, ...]:
        return ()

    def forward(self, p: Any, x: Any) -> Any:
        return x * np.random.uniform()


def default(x: Any, generator: Any = np.random.default_rng(4)) -> Any:
    return x + int(generator.integers(10**6))


def inside(x: Any) -> Any:
    import random as chance

    return x + chance.random()


def closed(generator: Any) -> Any:
    return lambda x: x + generator.random()


def nested(x: Any) -> Any:
    return x * sum(GENERATOR.random() for _ in range(2))


FROM_THE_GLOBAL_ONES: list[Any] = [
    lambda x: x + np.random.normal(),
    lambda x: x + random.random(),
    lambda x: x + gauss(0, 1),
    lambda x: x + of_numpy() + of_python(),
    inside,
]
FROM_ITS_OWN: list[Any] = [
    lambda x: x + STATE.rand(),
    lambda x: x + PYTHON.random(),
    lambda x: x + TABLE["noise"][0].random(),
    Noisy(),
    default,
    closed(np.random.default_rng(5)),
    partial(lambda generator, x: x + generator.random(), np.random.default_rng(6)),
    nested,
    fresh_numpy,
    lambda x: x + random.Random().random(),
    lambda x: x + next(COUNT),
]


def test_the_message_names_the_function_and_its_line() -> None:
    with pytest.raises(ar.ArrowTypeError) as caught:
        ar.infer(ar.Scalar() >> ar.Function(nested))
    line = nested.__code__.co_firstlineno
    assert f"nested (test_random_guard.py:{line}) gives other numbers" in str(caught.value)
    with pytest.raises(
        ar.ArrowTypeError, match=r"NoisyLayer.forward \(test_random_guard.py:\d+\) gives other"
    ):
        ar.compile(ar.Scalar() >> NoisyLayer())
    with pytest.raises(ar.ArrowTypeError, match="the same for every example"):
        (ar.Map(ar.Scalar()) >> ar.Map(ar.Function(lambda x: x * np.random.rand()))).eval([1])


class DrawsBeside:
    """Another thread, which draws once from each generator whenever `DrawsBeside.now()` is called."""

    now: Callable[[], None]

    def __init__(self, *generators: Callable[[], object]) -> None:
        self.generators = generators
        self.asked, self.done = queue.SimpleQueue[bool](), queue.SimpleQueue[bool]()

    def _now(self) -> None:
        self.asked.put(True)
        assert self.done.get(timeout=60)

    def __enter__(self) -> Self:
        DrawsBeside.now = self._now
        self.thread = threading.Thread(target=self._run)
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.asked.put(False)
        self.thread.join()

    def _run(self) -> None:
        while self.asked.get():
            for draw in self.generators:
                draw()
            self.done.put(True)


DRAWS = (np.random.normal, random.random, GENERATOR.random, STATE.rand, PYTHON.random)


def test_a_pure_function_passes_while_another_thread_draws() -> None:
    with DrawsBeside(*DRAWS):
        table = np.arange(3.0, dtype="float32")

        def pure(x: Any) -> Any:
            DrawsBeside.now()  # so that each trace sees that every generator has moved
            assert GENERATOR, STATE
            assert PYTHON, random
            return ops.where(x > 0, x * table, 2.5).sum()

        def of_a_new_layer(x: Any) -> Any:
            DrawsBeside.now()
            return ar.FC(2)(x)

        for _ in range(3):
            trace(pure, T.Tensor((3,)))
            trace(of_a_new_layer, T.Tensor((3,)))
        assert ar.compile(ar.Vector(3) >> ar.Function(pure))([[1, 2, 3]]).tolist() == [8.0]


@pytest.mark.parametrize("function", [*FROM_THE_GLOBAL_ONES, *FROM_ITS_OWN])
def test_what_is_drawn_is_told(function: Any) -> None:
    with pytest.raises(ShapeError, match="gives other numbers") as caught:
        trace(function, T.Tensor(()))
    assert "ops.normal or ops.uniform" in str(caught.value)


@pytest.mark.parametrize(
    "coin",
    [lambda x: x + int(np.random.randint(2)), lambda x: x * 2 if random.random() < 0.5 else x],
)
def test_a_coin_is_told(coin: Any) -> None:
    with pytest.raises(ShapeError, match="gives other numbers"):
        trace(coin, T.Tensor(()))


def test_what_does_not_draw_passes() -> None:
    constant = GENERATOR.normal(size=3).astype("float32")  # drawn outside: a constant

    def pure(x: Any, generator: Any = GENERATOR, of: Any = TABLE) -> Any:
        later = lambda: generator.normal() + np.random.normal() + random.random()  # noqa: E731
        assert later is not None and of
        return x * constant

    states = GENERATOR.bit_generator.state, np.random.get_state()[1].tolist(), random.getstate()
    trace(pure, T.Tensor((3,)))
    ar.compile(ar.Vector(3) >> ar.FC(2) >> ar.Dropout(0.5))
    assert states == (GENERATOR.bit_generator.state, np.random.get_state()[1].tolist(), random.getstate())


def test_functions_on_inputs_may_draw() -> None:
    block = ar.InputTransform(lambda x: x + np.random.normal()) >> ar.Scalar()
    assert block.eval(0.0) != block.eval(0.0)
    random_system = random.SystemRandom()
    trace(lambda x: x + 0 * random_system.random(), T.Tensor(()))


def test_another_global_generator() -> None:
    old = np.random.get_bit_generator()
    try:
        np.random.set_bit_generator(np.random.PCG64(3))
        with pytest.raises(ShapeError, match="gives other numbers"):
            trace(lambda x: x + np.random.random(), T.Tensor(()))
        trace(lambda x: x + 1, T.Tensor(()))
    finally:
        np.random.set_bit_generator(old)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x + np.random.default_rng(7).normal(),
        lambda x: x + next(iter([1, 2])),
        lambda x: ar.FC(2)(x),
    ],
)
def test_numbers_that_are_the_same_each_time(function: Any) -> None:
    trace(function, T.Tensor((3,)))
