"""The figures of `evaluate`: numbers of any kind become floats, and an error names any other value."""

from __future__ import annotations

import re

import numpy as np
import pytest

import arrows as ar
from arrows.training import SGD, Checkpoint, train
from arrows.typesys.errors import ArrowTypeError

DATA = [[1.0, 2.0], [3.0, 4.0]]
BLOCK = ar.Vector(2) >> ar.FC(1, name="fc") >> ar.Function(lambda y: y[0] ** 2)


def run(evaluate, path=None, **more):
    checkpoint = None if path is None else Checkpoint(path, resume=True)
    return train(
        ar.compile(BLOCK), DATA, SGD(0.01), evaluate=evaluate, checkpoint=checkpoint, progress=False, **more
    )


@pytest.mark.parametrize("number", [0.5, np.float32(0.5), np.array(0.5), np.float64(0.5)])
def test_numbers_of_any_kind_are_floats(number, tmp_path):
    for path in (tmp_path / "run", None):
        (epoch,) = run(lambda: {"accuracy": number}, path, best_by="accuracy")
        assert epoch.figures == {"accuracy": 0.5} and type(epoch.figures["accuracy"]) is float and epoch.best


def test_a_number_on_the_models_device_is_brought_down():
    model = ar.compile(BLOCK, device="fake")
    half = model.device.to_device(np.array(0.5))
    (epoch,) = train(model, DATA, SGD(0.01), evaluate=lambda: {"accuracy": half}, progress=False)
    assert epoch.figures == {"accuracy": 0.5} and type(epoch.figures["accuracy"]) is float


def test_nan_is_never_the_best_and_anything_is_better():
    nan = float("nan")
    for given, best in (
        ([0.5, nan, 0.6, 0.4], [True, False, True, False]),
        ([nan, nan, 0.5, 0.6, nan], [False, False, True, True, False]),
    ):
        figures = iter(given)
        history = run(lambda: {"accuracy": next(figures)}, epochs=len(given), best_by="accuracy")  # noqa: B023
        assert [epoch.best for epoch in history] == best


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (None, "train: evaluate must return figures by name, such as {'accuracy': 0.5}, not None"),
        ({"a": "0.5"}, "train: the figure 'a' of evaluate must be a number, not '0.5'"),
        (
            {"a": np.ones(1)},
            "train: the figure 'a' of evaluate must be a number, not a value of the type ndarray",
        ),
    ],
)
def test_what_is_no_figure_is_refused_by_name(given, words, tmp_path):
    with pytest.raises(ArrowTypeError, match=re.escape(words)):
        run(lambda: given, tmp_path / "run")
    # The epoch is not lost: the run goes on after it, with an evaluation that gives figures.
    (epoch,) = run(lambda: {"accuracy": 1.0}, tmp_path / "run")
    assert epoch.number == 1 and epoch.figures == {"accuracy": 1.0}
