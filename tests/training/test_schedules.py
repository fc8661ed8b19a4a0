"""Schedules: their shapes against plain formulas, bad arguments, and runs that resume with a schedule."""

from __future__ import annotations

import math

import numpy as np
import pytest

from arrows.training.schedules import cosine, one_cycle, rate_text, step_decay, warmup_cosine, warmup_linear
from arrows.typesys.errors import ArrowValueError

ALL = [
    warmup_linear(0.1, 3, 20),
    cosine(0.5, 20, 0.1),
    warmup_cosine(0.5, 3, 20, 0.01),
    step_decay(0.5, 0.9, 7),
    step_decay(0.5, 0.1, (3, 50)),
    step_decay(0.5, 0.1, [3, 50]),
    one_cycle(1.0, 20),
]


def loshchilov_hutter(t: int, low: float, high: float, total: int) -> float:
    """Equation 5, without restarts."""
    return low + 0.5 * (high - low) * (1 + math.cos(min(t / total, 1.0) * math.pi))


def smith_topin(t: int, top: float, total: int, rise: float, divide: float, final: float) -> float:
    """Section 4: two steps of equal length between a least and a greatest rate, then a fall far below."""
    low, half = top / divide, rise * total
    points = {0: low, half: top, 2 * half: low, total: low / final}
    return float(np.interp(t, [*points], [*points.values()]))


def test_the_papers_formulas():
    for step in range(150):
        assert cosine(0.7, 100, 0.1)(step) == pytest.approx(loshchilov_hutter(step, 0.1, 0.7, 100))
        warm = 0.7 * step / 20 if step < 20 else loshchilov_hutter(step - 20, 0.1, 0.7, 100)
        assert warmup_cosine(0.7, 20, 120, 0.1)(step) == pytest.approx(warm)
        for rise in (0.1, 0.45):
            expected = smith_topin(step, 2.0, 100, rise, 10, 50)
            assert one_cycle(2.0, 100, rise, 10, 50)(step) == pytest.approx(expected)
        assert step_decay(0.5, 0.9, 7)(step) == pytest.approx(0.5 * 0.9 ** math.floor(step / 7))
        expected = 0.5 if step < 3 else 0.05 if step < 50 else 0.005
        assert step_decay(0.5, 0.1, (3, 50))(step) == pytest.approx(expected)
    assert cosine(0.7, 8)(9) == 0.0 and warmup_linear(1.0, 0, 4)(0) == 1.0
    assert [one_cycle(1.0, 10, pct_start=0.5)(step) for step in (5, 10, 11, 90)] == [1.0, 0.04, 4e-4, 4e-4]


@pytest.mark.parametrize("schedule", ALL, ids=rate_text)
def test_rates_are_numbers_at_any_step_and_schedules_are_named_by_their_call(schedule):
    for step in [*range(60), 10**6, 10**9]:
        assert 0 <= schedule(step) <= 1 and isinstance(schedule(step), float)
    again = eval(rate_text(schedule))
    assert [again(step) for step in range(60)] == [schedule(step) for step in range(60)]


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: warmup_linear(0.1, 5, 5), "warmup_linear: total_steps is 5, and should be above 5"),
        (lambda: cosine(-1, 3), "cosine: initial_rate is -1"),
        (lambda: step_decay(1, 1.5, 3), "step_decay: factor is 1.5"),
        (lambda: step_decay(1, 0.5, 0), "step_decay: every is 0"),
        (lambda: step_decay(1, 0.5, (3, -1)), "step_decay: every is -1"),
        (lambda: one_cycle(1, 9, pct_start=0.6), "one_cycle: pct_start is 0.6"),
        (lambda: one_cycle(1, 9, div_factor=0.5), "one_cycle: div_factor is 0.5"),
    ],
)
def test_bad_arguments(make, words):
    with pytest.raises(ArrowValueError, match=words):
        make()
