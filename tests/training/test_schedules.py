"""Schedules: their shapes against plain formulas, bad arguments, and runs that resume with a schedule."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from arrows.engine.device import get_device
from arrows.training import SGD, Adam, Optimizer, load_state, save_state, schedules
from arrows.training.learning_rates import rate_text
from arrows.training.schedules import (
    compounding,
    cosine,
    cyclic_triangular,
    decaying,
    one_cycle,
    step_decay,
    warmup_cosine,
    warmup_linear,
)
from arrows.typesys.errors import ArrowTypeError, ArrowValueError

ALL = [
    decaying(0.1, 0.3),
    compounding(0.1, 1.0, 1.5),
    warmup_linear(0.1, 3, 20),
    cyclic_triangular(0.1, 0.2, 4),
    cosine(0.5, 20, 0.1),
    cosine(0.5, 3, restarts=1),
    cosine(0.5, 3, 0.1, restarts=1.5),
    warmup_cosine(0.5, 3, 20, 0.01),
    step_decay(0.5, 0.9, 7),
    step_decay(0.5, 0.1, (3, 50)),
    one_cycle(1.0, 20),
]


def smith(iterations: int, stepsize: int, base: float, top: float) -> float:
    """The code of section 3.2."""
    cycle = math.floor(1 + iterations / (2 * stepsize))
    x = abs(iterations / stepsize - 2 * cycle + 1)
    return base + (top - base) * max(0.0, 1 - x)


def loshchilov_hutter(t: int, low: float, high: float, first: int, mult: float) -> float:
    """Equation 5, with the restarts of section 3: wave i has T_0 * T_mult^i steps."""
    wave = 0
    while t >= sum(first * mult**i for i in range(wave + 1)):
        wave += 1
    current = t - sum(first * mult**i for i in range(wave))
    return low + 0.5 * (high - low) * (1 + math.cos(current / (first * mult**wave) * math.pi))


def smith_topin(t: int, top: float, total: int, rise: float, divide: float, final: float) -> float:
    """Section 4: two steps of equal length between a least and a greatest rate, then a fall far below."""
    low, half = top / divide, rise * total
    points = {0: low, half: top, 2 * half: low, total: low / final}
    return float(np.interp(t, [*points], [*points.values()]))


def test_the_papers_formulas():
    cyclic = cyclic_triangular(0.1, 0.4, 7)
    for step in range(150):
        assert cyclic(step) == pytest.approx(smith(step, 7, 0.1, 0.4))
        for mult in (1, 2, 1.5):
            expected = loshchilov_hutter(step, 0.1, 0.7, 8, mult)
            assert cosine(0.7, 8, 0.1, restarts=mult)(step) == pytest.approx(expected)
        assert cosine(0.7, 200, 0.1)(step) == pytest.approx(loshchilov_hutter(step, 0.1, 0.7, 200, 1))
        expected = 0.7 * step / 20 if step < 20 else loshchilov_hutter(step - 20, 0.1, 0.7, 130, 1)
        assert warmup_cosine(0.7, 20, 150, 0.1)(step) == pytest.approx(expected)
        for rise in (0.1, 0.45):
            expected = smith_topin(step, 2.0, 100, rise, 10, 50)
            assert one_cycle(2.0, 100, rise, 10, 50)(step) == pytest.approx(expected)
        assert step_decay(0.5, 0.9, 7)(step) == pytest.approx(0.5 * 0.9 ** math.floor(step / 7))
        expected = 0.5 if step < 3 else 0.05 if step < 50 else 0.005
        assert step_decay(0.5, 0.1, (3, 50))(step) == pytest.approx(expected)
    assert cosine(0.7, 8)(9) == 0.0
    assert [one_cycle(1.0, 10, rise=0.5)(step) for step in (5, 10, 11, 90)] == [1.0, 0.04, 4e-4, 4e-4]


def test_an_unknown_schedule_says_which_there_are():
    for name, words in [
        ("CosineAnnealingLR", "did you mean cosine[?]"),
        ("cosin", "did you mean cosine[?]"),
        ("StepLR", "did you mean step_decay[?]"),
        ("polynomial", "did you mean one of compounding, cosine, .*warmup_linear"),
    ]:
        with pytest.raises(AttributeError, match=words):
            getattr(schedules, name)
        with pytest.raises(ImportError, match=words):
            exec(f"from arrows.training.schedules import {name}")
    made = {name for name, value in vars(schedules).items() if hasattr(value, "makes_schedules")}
    assert made == set(schedules.__all__)


@pytest.mark.parametrize("parameters", [{"w": np.ones(1)}, [np.ones(1)], iter([np.ones(1)])])
def test_an_optimizer_takes_no_parameters(parameters):
    for make in (Adam, SGD, Optimizer):
        with pytest.raises(ArrowTypeError, match=rf"{make.__name__}.* takes no parameters: train"):
            make(parameters, 0.01)  # type: ignore[call-arg]
        with pytest.raises(ArrowTypeError, match="takes no parameters"):
            make(SimpleNamespace(params=parameters))
    with pytest.raises(ArrowTypeError, match="takes learning_rate by position, and got 2 arguments"):
        Adam(0.01, 0.9)  # type: ignore[call-arg]


@pytest.mark.parametrize("schedule", ALL, ids=rate_text)
def test_rates_are_numbers_at_any_step_and_schedules_are_named_by_their_call(schedule):
    for step in [*range(60), 10**6, 10**9]:
        assert 0 <= schedule(step) <= 1 and isinstance(schedule(step), float)
    again = eval(rate_text(schedule))
    assert [again(step) for step in range(60)] == [schedule(step) for step in range(60)]


def test_edges():
    assert warmup_linear(1.0, 0, 4)(0) == 1.0
    assert compounding(1.0, 8.0, 2.0)(10**9) == 8.0 and compounding(8.0, 1.0, 0.5)(10**9) == 1.0
    assert compounding(0.0, 8.0, 2.0)(10**9) == 0.0 and compounding(8.0, 0.0, 0.5)(10**9) == 0.0
    assert compounding(2.0, 2.0, 1.0)(5) == 2.0


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: decaying(0.1, -1), "decaying: decay is -1"),
        (lambda: compounding(0.1, 1.0, 0.5), "compounding: compound is 0.5, and should be at least 1"),
        (lambda: compounding(1.0, 0.1, 1.5), "compounding: compound is 1.5, and should be .* below 1"),
        (lambda: compounding(1.0, 0.1, 0.0), "compounding: compound is 0.0, and should be above 0"),
        (lambda: warmup_linear(0.1, 5, 5), "warmup_linear: total_steps is 5, and should be above 5"),
        (lambda: cyclic_triangular(0.2, 0.1, 3), "cyclic_triangular: max_rate is 0.1"),
        (lambda: cyclic_triangular(0.1, 0.2, 0), "cyclic_triangular: period is 0"),
        (lambda: cosine(-1, 3), "cosine: initial_rate is -1"),
        (lambda: cosine(1, 3, -1), "cosine: final_rate is -1"),
        (lambda: cosine(1, 0), "cosine: total_steps is 0"),
        (lambda: cosine(1, 3, restarts=0.5), "cosine: restarts is 0.5"),
        (lambda: warmup_cosine(1, 5, 5), "warmup_cosine: total_steps is 5, and should be above 5"),
        (lambda: step_decay(1, 1.5, 3), "step_decay: factor is 1.5"),
        (lambda: step_decay(1, 0.5, 0), "step_decay: every is 0"),
        (lambda: step_decay(1, 0.5, (3, 0)), "step_decay: every is 0"),
        (lambda: one_cycle(1, 9, rise=0.6), "one_cycle: rise is 0.6"),
        (lambda: one_cycle(1, 9, divide=0.5), "one_cycle: divide is 0.5"),
    ],
)
def test_bad_arguments(make, words):
    with pytest.raises(ArrowValueError, match=words):
        make()


def test_a_resumed_run_has_the_same_schedule(tmp_path):
    def model() -> Any:
        return SimpleNamespace(params={"w": np.zeros(1)}, device=get_device("cpu"))

    first, optimizer = model(), SGD(decaying(1.0, 1.0), rates={"w": compounding(1.0, 9.0, 2.0)})
    for _ in range(3):
        optimizer.step(first, {"w": np.ones(1)})
    assert first.params["w"].tolist() == [-7.0]
    save_state(tmp_path / "run", first, optimizer)
    again = SGD(decaying(1.0, 1.0), rates={"w": compounding(1.0, 9.0, 2.0)})
    load_state(tmp_path / "run", other := model(), again)
    again.step(other, {"w": np.ones(1)})
    assert other.params["w"].tolist() == [-15.0]
