# ruff: noqa: NPY002
"""Random numbers drawn while a function is traced are detected wherever they come from; nothing else is."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from functools import partial
from random import gauss
from typing import Any

import numpy as np
import pytest

import arrows as ar
from arrows import ops
from arrows.ops import ShapeError, trace
from arrows.typesys import types as T

GENERATOR = np.random.default_rng(0)
PYTHON = random.Random(0)


def of_numpy() -> Any:
    return np.random.normal()


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


def closed(generator: Any) -> Any:
    return lambda x: x + generator.random()


def nested(x: Any) -> Any:
    return x * sum(GENERATOR.random() for _ in range(2))


COUNT = itertools.count()

DRAWING: list[Any] = [
    lambda x: x + random.random(),
    lambda x: x + gauss(0, 1),
    lambda x: x + of_numpy(),  # from a global generator, behind a name that does not tell it
    lambda x: x + PYTHON.random(),
    Noisy(),
    closed(np.random.default_rng(5)),
    partial(lambda generator, x: x + generator.random(), np.random.default_rng(6)),
    nested,
    lambda x: x + np.random.default_rng().normal(),
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


def test_a_pure_function_passes_while_generators_move() -> None:
    """As they do where another thread draws."""
    table, layer = np.arange(3.0, dtype="float32"), ar.FC([])

    def pure(x: Any) -> Any:
        for draw in (np.random.normal, random.random, GENERATOR.random, PYTHON.random):
            draw()
        return ops.where(x > 0, x * table, 2.5).sum() + layer(x)

    for _ in range(3):
        trace(pure, T.Tensor((3,)))


@pytest.mark.parametrize("draw", [of_numpy, lambda: gauss(0, 1)])
def test_what_a_generator_has_kept_is_told(draw: Callable[[], float]) -> None:
    """Both draw two normal numbers at a time, and give the second without another draw."""
    for _ in range(2):
        draw()
        with pytest.raises(ShapeError, match="gives other numbers"):
            trace(lambda x: x + draw(), T.Tensor(()))


@pytest.mark.parametrize("function", DRAWING)
def test_what_is_drawn_is_told(function: Any) -> None:
    with pytest.raises(ShapeError, match="gives other numbers") as caught:
        trace(function, T.Tensor(()))
    assert "ops.normal or ops.uniform" in str(caught.value)


@pytest.mark.parametrize(
    "coin", [lambda x: x + int(np.random.randint(2)), lambda x: x * 2 if random.random() < 0.5 else x]
)
def test_a_coin_is_told(coin: Any) -> None:
    with pytest.raises(ShapeError, match="gives other numbers"):
        trace(coin, T.Tensor(()))


def test_what_does_not_draw_passes() -> None:
    constant = GENERATOR.normal(size=3).astype("float32")  # drawn outside: a constant

    def pure(x: Any, generator: Any = GENERATOR, of: Any = (PYTHON,)) -> Any:
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
    "function", [lambda x: x + np.random.default_rng(7).normal(), lambda x: x + next(iter([1, 2]))]
)
def test_numbers_that_are_the_same_each_time(function: Any) -> None:
    trace(function, T.Tensor((3,)))
