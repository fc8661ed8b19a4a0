"""A line that makes operations for ever is warned of, once."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import arrows as ar

BLOCKS = (
    "201 blocks that LINE calls were made anew, and are not equal each one is traced, compiled and kept for "
    "good, and a new layer has new parameters hint make layers, Functions and other blocks once, outside of "
    "the loop"
)


@pytest.mark.parametrize(
    "call",
    [
        lambda g, x, n: ar.Function(lambda a: a * float(n))(x),
        lambda g, x, n: ar.FC(2)(x),
        lambda g, x, n: g(ar.InputTransform(lambda xs: n) >> ar.Scalar(), [1.0]),
    ],
)
def test_what_is_made_anew_is_warned_of(call: Any) -> None:
    net = ar.OnTheFly()
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        for number in range(3):
            with net.batch() as g:
                x = g.tensor([1.0, 2.0])
                for n in range(210):
                    call(g, x, 210 * number + n)
    (warning,) = warned
    line = call.__code__.co_firstlineno
    assert (warning.category, warning.filename, warning.lineno) == (UserWarning, __file__, line)
    assert " ".join(str(warning.message).split()) == BLOCKS.replace("LINE", f"test_growth.py:{line}")


def test_what_is_made_once_is_not_warned_of() -> None:
    net, double, experts = ar.OnTheFly(), ar.Function(lambda a: a * 2.0), [ar.FC(2) for _ in range(5)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for expert in experts:  # of one line, first called in different batches
            with net.batch() as g:
                expert(g.tensor([1.0, 2.0])).numpy()
                for n in range(60):
                    double(g.tensor(np.ones(n % 5 + 1)))
                    g.constant(np.zeros(2))
                    g.zeros([n % 7])


def test_a_nan_is_one_number_at_each_call() -> None:
    net = ar.OnTheFly()
    with net.batch() as g:
        x = g.tensor(1.0)
        for _ in range(3):
            x * float("nan")
            count = len(net.call_sites.sites)
    assert count == 3
