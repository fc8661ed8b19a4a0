"""Schedules: their shapes against plain formulas, bad arguments, and runs that resume with a schedule."""

from __future__ import annotations

import math
import pickle
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from arrows.engine.device import get_device
from arrows.training import SGD, load_state, save_state
from arrows.training.schedules import (
    compounding,
    constant,
    constant_then,
    cyclic_triangular,
    decaying,
    slanted_triangular,
    warmup_linear,
)
from arrows.typesys.errors import ArrowValueError

ALL = [
    constant(0.1),
    constant_then(0.1, 5, 0.2),
    decaying(0.1, 0.3),
    compounding(0.1, 1.0, 1.5),
    warmup_linear(0.1, 3, 20),
    slanted_triangular(0.1, 20),
    cyclic_triangular(0.1, 0.2, 4),
]


def howard_ruder(t: int, rate: float, total: int, cut_frac: float, ratio: float) -> float:
    """Equation 3 as it stands."""
    cut = math.floor(total * cut_frac)
    p = t / cut if t < cut else 1 - (t - cut) / (cut * (1 / cut_frac - 1))
    return rate * (1 + p * (ratio - 1)) / ratio


def smith(iterations: int, stepsize: int, base: float, top: float) -> float:
    """The code of section 3.2."""
    cycle = math.floor(1 + iterations / (2 * stepsize))
    x = abs(iterations / stepsize - 2 * cycle + 1)
    return base + (top - base) * max(0.0, 1 - x)


def test_the_papers_formulas():
    slanted, cyclic = slanted_triangular(0.3, 100, 0.1, 32), cyclic_triangular(0.1, 0.4, 7)
    for step in range(101):
        assert slanted(step) == pytest.approx(howard_ruder(step, 0.3, 100, 0.1, 32))
        assert cyclic(step) == pytest.approx(smith(step, 7, 0.1, 0.4))


@pytest.mark.parametrize("schedule", ALL, ids=lambda s: type(s).__name__)
def test_rates_are_numbers_at_any_step_and_values_survive_pickling(schedule):
    for step in [*range(60), 10**6, 10**9]:
        assert 0 <= schedule(step) <= 1 and isinstance(schedule(step), float)
    assert pickle.loads(pickle.dumps(schedule)) == schedule
    assert eval(repr(schedule)) == schedule


def test_edges():
    assert warmup_linear(1.0, 0, 4)(0) == 1.0
    assert slanted_triangular(1.0, 3)(0) == 1.0  # too few steps for a rise
    assert compounding(1.0, 8.0, 2.0)(10**9) == 8.0 and compounding(8.0, 1.0, 0.5)(10**9) == 1.0
    assert constant_then(0.5, 2, lambda steps: steps / 10)(5) == 0.3


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: constant(-1), "constant: rate is -1"),
        (lambda: constant_then(0.1, -1, 0.1), "constant_then: steps is -1"),
        (lambda: constant_then(0.1, 1, -0.1), "constant_then: then is -0.1"),
        (lambda: decaying(0.1, -1), "decaying: decay is -1"),
        (lambda: compounding(0.1, 1.0, 0.5), "compounding: compound is 0.5, and should be at least 1"),
        (lambda: compounding(1.0, 0.1, 1.5), "compounding: compound is 1.5, and should be .* below 1"),
        (lambda: compounding(1.0, 0.1, 0.0), "compounding: compound is 0.0, and should be above 0"),
        (lambda: warmup_linear(0.1, 5, 5), "warmup_linear: total_steps is 5, and should be above 5"),
        (lambda: slanted_triangular(0.1, 0), "slanted_triangular: num_steps is 0"),
        (lambda: slanted_triangular(0.1, 9, cut_frac=1), "slanted_triangular: cut_frac is 1"),
        (lambda: slanted_triangular(0.1, 9, ratio=0.5), "slanted_triangular: ratio is 0.5"),
        (lambda: cyclic_triangular(0.2, 0.1, 3), "cyclic_triangular: max_rate is 0.1"),
        (lambda: cyclic_triangular(0.1, 0.2, 0), "cyclic_triangular: period is 0"),
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
    with pytest.raises(ArrowValueError, match="another optimizer"):
        load_state(tmp_path / "run", model(), SGD(decaying(1.0, 0.5), rates={"w": 1.0}))
