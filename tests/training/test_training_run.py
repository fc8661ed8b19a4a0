"""Evaluations within an epoch, what they decide, and what callbacks are told."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import arrows as ar
from arrows.training import (
    SGD,
    Callback,
    EarlyStopping,
    Evaluation,
    JsonLines,
    Plateau,
    TensorBoard,
    WeightsAndBiases,
    load_state,
    train,
)
from tests.training.test_loop import Bookkeeper


class Told(Callback):
    def __init__(self) -> None:
        self.events: list[tuple[Any, ...]] = []

    def after_step(self, step):
        self.events.append(("step", step.step, step.epoch, step.loss, step.learning_rate, step.examples))

    def after_evaluation(self, evaluation):
        self.events.append(("evaluation", evaluation.step, dict(evaluation.figures), evaluation.best))

    def after_epoch(self, epoch):
        self.events.append(("epoch", epoch.number, dict(epoch.figures), epoch.best))


@pytest.mark.parametrize("device", ["cpu", "fake"])
def test_callbacks_are_told_in_order(device):
    model, told = Bookkeeper(device), Told()
    figures = iter([0.5, 0.4, 0.6, 0.6])
    train(
        model, [2.0] * 6, SGD(0.1), epochs=2, batch_size=2, evaluate=lambda: {"f": next(figures)},
        evaluate_every=2, best_by="f", callbacks=[told], progress=False,
    )  # fmt: skip
    steps = [("step", n, 1 + n // 4, 2.0, 0.1, 2) for n in range(1, 7)]
    assert told.events == [
        *steps[:2],
        ("evaluation", 2, {"f": 0.5}, True),
        steps[2],
        ("evaluation", 3, {"f": 0.4}, False),
        ("epoch", 1, {"f": 0.4}, False),
        steps[3],
        ("evaluation", 4, {"f": 0.6}, True),
        *steps[4:],
        ("evaluation", 6, {"f": 0.6}, False),  # due anyway, and at the end of the epoch: once
        ("epoch", 2, {"f": 0.6}, False),
    ]


def test_a_run_that_stops_early():
    model = Bookkeeper()
    figures = iter([1.0, 2.0, 1.5, 1.5, 9.0])
    history = train(
        model, list(range(10)), SGD(1.0), epochs=9, batch_size=2, evaluate=lambda: {"f": next(figures)},
        evaluate_every=2, stop_when=EarlyStopping("f", patience=1), progress=False,
    )  # fmt: skip
    # Evaluations after the steps 2, 4, 5 (the epoch's end) and 6; the last two bring no improvement.
    assert [len(batch) for batch in model.batches] == [2] * 6
    assert [epoch.figures["f"] for epoch in history] == [1.5, 1.5]
    assert history[1].loss == np.mean(model.batches[5])


def test_rates_on_a_plateau():
    model, optimizer, told = Bookkeeper(), SGD(1.0, rates={"w": lambda steps: 0.5}), Told()
    figures = iter([1.0, 1.0, 2.0, 2.0, 2.0])
    train(
        model, [1.0] * 2, optimizer, epochs=5, batch_size=2, evaluate=lambda: {"f": next(figures)},
        plateau=Plateau("f", 0.25, patience=0), callbacks=[told], progress=False,
    )  # fmt: skip
    assert [event[4] for event in told.events if event[0] == "step"] == [1.0, 1.0, 0.25, 0.25, 0.0625]
    np.testing.assert_allclose(model.params["w"], -0.5 * (1 + 1 + 0.25 + 0.25 + 0.0625))
    assert optimizer.rate_factor == 1.0  # as before the run


@pytest.mark.parametrize(
    ("values", "patience", "lower", "counts"),
    [
        ([1, 2, 2, 1], 0, False, 2),
        ([1, 2, 2, 1], 1, False, 1),
        ([1, 2, 2, 1], 2, False, 0),
        ([3, 2, 2.5, 2.5, 2.5, 2.5], 1, True, 2),
        ([math.nan, math.nan, 1.0], 0, False, 2),
        ([1.0, math.nan, 2.0], 0, False, 1),
    ],
)
def test_when_figures_do_not_improve(values, patience, lower, counts):
    evaluations = [Evaluation(1, n, {"f": value}) for n, value in enumerate(values)]
    assert Plateau("f", 0.5, patience, lower=lower)(evaluations) == 0.5**counts
    stops = [EarlyStopping("f", patience, lower=lower)(evaluations[:n]) for n in range(len(values) + 1)]
    assert not stops[0] and any(stops) == (counts > 0)
    assert Plateau("f", 0.5, patience, lower=lower, floor=0.3)(evaluations) == max(0.3, 0.5**counts)


@pytest.mark.parametrize(
    ("figure", "lower", "low"),
    [
        ("loss", None, True),
        ("dev/Loss", None, True),
        ("validation_error", None, True),
        ("rootMeanSquaredError", None, True),
        ("perplexity", None, True),
        ("accuracy", None, False),
        ("R squared", None, False),
        ("minus_log_likelihood", None, True),
        ("neg_log_likelihood", None, True),
        ("log-likelihood", None, False),
        ("neg_mean_squared_error", None, False),
        ("binary_crossentropy", None, True),
        ("logloss", None, True),
        ("MSELoss", None, True),
        ("Brier score", None, True),
        ("f1_loss", None, True),
        ("loss1", None, True),
        ("1 - accuracy", None, True),
        ("negative recall", None, False),
        ("minus loss", None, False),
        ("-loss", None, False),
        ("lossless", None, False),
        ("error recall", None, False),
        ("seconds", True, True),
        ("loss", False, False),
    ],
)
def test_best_by_and_early_stopping_and_plateau_know_which_way_a_figure_goes(figure, lower, low):
    """Of figures that rise, then: the first is the best where low ones are good, the last elsewhere."""
    figures = iter([1.0, 2.0, 3.0, 4.0])
    assert EarlyStopping(figure, 1, lower=lower).lower is Plateau(figure, lower=lower).lower is low
    optimizer = SGD(1.0)
    told = Told()
    history = train(
        Bookkeeper(), [1.0], optimizer, epochs=4, evaluate=lambda: {figure: next(figures)}, best_by=figure,
        lower=lower, stop_when=EarlyStopping(figure, 1, lower=lower), callbacks=[told],
        plateau=Plateau(figure, 0.5, 0, lower=lower), progress=False,
    )  # fmt: skip
    assert [evaluation.best for evaluation in history.evaluations] == (
        [True, False, False] if low else [True] * 4
    )
    assert [event[4] for event in told.events if event[0] == "step"][-1] == (0.5 if low else 1.0)


def test_rules_that_take_a_figure_both_ways_are_refused_before_the_training():
    model = Bookkeeper()
    for rule in ({"stop_when": EarlyStopping("f", 1, lower=True)}, {"plateau": Plateau("f", lower=True)}):
        with pytest.raises(ar.ArrowValueError, match="of 'f', higher is better by best_by, and lower by"):
            train(model, [1.0], SGD(0.1), evaluate=lambda: {"f": 1.0}, best_by="f", progress=False, **rule)
    for bad in ({"lower": True}, {"best_by": "f", "lower": 1}, {"best_by": 3}):
        with pytest.raises((ar.ArrowTypeError, ar.ArrowValueError), match=r"lower|best_by"):
            train(model, [1.0], SGD(0.1), evaluate=lambda: {"f": 1.0}, progress=False, **bad)
    assert not model.batches


@pytest.mark.parametrize(
    "rule",
    [{"best_by": "acuracy"}, {"stop_when": EarlyStopping("acuracy", 1)}, {"plateau": Plateau("acuracy")}],
)
def test_a_misspelt_figure_costs_no_steps(tmp_path, rule):
    """Which figures there are is known from the first evaluation on; the steps before it are saved."""
    run: dict[str, Any] = {"checkpoint_path": tmp_path / "run", "evaluate": lambda: {"accuracy": 1.0}}
    run |= {"batch_size": 1, "progress": False}
    with pytest.raises(ar.ArrowValueError, match="gives accuracy; did you mean 'accuracy'"):
        train(Bookkeeper(), [1.0, 2.0], SGD(0.1), **run, **rule)
    model = Bookkeeper()
    history = train(model, [1.0, 2.0], SGD(0.1), **run, resume=True, best_by="accuracy")
    assert not model.batches and len(history) == 1


def test_small_improvements_do_not_count():
    evaluations = [Evaluation(1, n, {"f": value}) for n, value in enumerate([1.0, 1.05, 1.1, 1.15])]
    assert EarlyStopping("f", 2, least=0.2)(evaluations) and not EarlyStopping("f", 2, least=0.1)(evaluations)


def test_a_resumed_run_may_give_other_figures(tmp_path):
    """What was not given before is not the best of nothing, and no error after an epoch of training."""

    def run(name: str, **more: Any) -> Any:
        return train(
            Bookkeeper(), [1.0] * 4, SGD(0.1), batch_size=2, evaluate=lambda: {name: 1.0}, best_by=name,
            checkpoint_path=tmp_path / "run", progress=False, **more,
        )  # fmt: skip

    run("old")
    history = run("new", epochs=3, resume=True)
    assert [epoch.best for epoch in history] == [True, True, False]


def test_the_saved_state_knows_the_evaluations(tmp_path):
    def run(**more: Any) -> Any:
        model = ar.compile(ar.Vector(1) >> ar.FC(1, name="fc") >> ar.Function(lambda y: y[0] ** 2))
        optimizer = SGD(0.1)
        settings: dict[str, Any] = {"plateau": Plateau("f", 0.5, patience=0), **more}
        train(
            model, [[1.0]] * 4, optimizer, batch_size=1, evaluate=lambda: {"f": 1.0}, evaluate_every=2,
            checkpoint_path=tmp_path / "run", progress=False, **settings,
        )  # fmt: skip
        return load_state(tmp_path / "run", model, optimizer)[0]

    assert [(e.step, e.epoch) for e in run(epochs=1).evaluations] == [(2, 1), (4, 1)]
    assert [e.step for e in run(epochs=2, resume=True).evaluations] == [2, 4, 6, 8]
    assert len(run(epochs=5, resume=True, stop_when=EarlyStopping("f", 0)).evaluations) == 4  # at once


def test_a_log_as_json_lines(tmp_path):
    path = tmp_path / "log.jsonl"
    train(
        Bookkeeper(), [1.0, 2.0, 3.0, math.inf], SGD(0.1), batch_size=1, evaluate=lambda: {"f": 0.5},
        nan="ignore", callbacks=[JsonLines(path, every=2)], progress=False,
    )  # fmt: skip
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert [line["step"] for line in lines] == [2, 4, 4, 4] and lines[2] == {"step": 4, "evaluation/f": 0.5}
    assert set(lines[0]) == {"step", "epoch", "loss", "learning_rate"} and lines[3]["epoch/loss"] is None


@pytest.mark.skipif(os.name != "posix", reason="RLIMIT_FSIZE")
def test_a_log_on_a_full_disk_has_whole_lines(tmp_path):
    """In a process of its own, which may write no more than 90 bytes."""
    program = """
import resource, signal, sys
from arrows.training import JsonLines
log = JsonLines(sys.argv[1])
log.write(1, {"loss": 0.5})
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (90, 90))
for step in range(2, 99):
    log.write(step, {"loss": 0.5})
"""
    path = tmp_path / "log.jsonl"
    ended = subprocess.run([sys.executable, "-c", program, path], capture_output=True, text=True, check=False)
    assert "File too large" in ended.stderr
    JsonLines(path).write(99, {"loss": 0.5})
    lines = [json.loads(line)["step"] for line in path.read_text().splitlines()]
    assert lines == [1, 2, 3, 99]


@pytest.mark.parametrize("every", [0, -1, 1.5, "x", None])
def test_a_log_of_each_so_manieth_step(every):
    with pytest.raises((ar.ArrowTypeError, ar.ArrowValueError), match="JsonLines: every"):
        JsonLines("log.jsonl", every=every)


def test_logs_of_others():
    scalars: list[Any] = []
    rows: list[Any] = []

    class Writer:
        def add_scalar(self, *row: Any) -> None:
            scalars.append(row)

    class Run:
        def log(self, data: Any, step: int) -> None:
            rows.append((data, step))

    logs = [TensorBoard(Writer()), WeightsAndBiases(Run())]
    train(Bookkeeper(), [1.0], SGD(0.1), evaluate=lambda: {"f": 0.5}, callbacks=logs, progress=False)
    assert ("evaluation/f", 0.5, 1) in scalars and ("loss", 1.0, 1) in scalars
    assert ({"epoch": 1, "loss": 1.0, "learning_rate": 0.1}, 1) in rows
    for build in (TensorBoard, WeightsAndBiases):
        with pytest.raises(ar.ArrowTypeError, match="such as"):
            build(print)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"callbacks": print}, "callbacks must be a list of them"),
        ({"callbacks": [print]}, "a function goes to after_epoch="),
        ({"callbacks": Told()}, "must be a list of them"),
        ({"evaluate_every": 0}, "evaluate_every is 0"),
        ({"evaluate_every": 2}, "evaluate_every is 2, and evaluate"),
        ({"stop_when": EarlyStopping("f", 1)}, "stop_when is .* and evaluate"),
        (
            {"epochs": 2, "evaluate": lambda: {"g": 1}, "stop_when": EarlyStopping("f", 1)},
            "the figure 'f', and gives g",
        ),
        ({"stop_when": EarlyStopping}, "stop_when must be a function"),
        ({"evaluate": lambda: {"g": 1}, "plateau": lambda evaluations: -1}, "the factor -1"),
        ({"evaluate": lambda: {"g": 1}, "plateau": lambda evaluations: "1"}, "must be a number"),
    ],
)
def test_what_is_refused(arguments, words):
    with pytest.raises((ar.ArrowTypeError, ar.ArrowValueError), match=words):
        train(Bookkeeper(), [1.0], SGD(0.1), progress=False, **arguments)


@pytest.mark.parametrize(
    "build",
    [
        lambda: EarlyStopping(1, 2),
        lambda: EarlyStopping("f", -1),
        lambda: EarlyStopping("f", 1, least=-1),
        lambda: Plateau("f", factor=1.5),
        lambda: Plateau("f", floor=2),
        lambda: JsonLines(""),
    ],
)
def test_rules_that_cannot_be(build):
    with pytest.raises((ar.ArrowTypeError, ar.ArrowValueError)):
        build()


def test_the_path_of_a_log_may_be_a_path():
    assert JsonLines(Path("log.jsonl")).path == Path("log.jsonl")
