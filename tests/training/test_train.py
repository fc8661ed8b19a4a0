"""The training loop on a stand-in model that records its batches: steps, evaluations, epochs, callbacks."""

from __future__ import annotations

import json
import math
import signal
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import arrows as ar
from arrows.engine.device import get_device
from arrows.training import (
    SGD,
    Callback,
    Checkpoint,
    EarlyStopping,
    Epoch,
    Evaluation,
    JsonLines,
    Log,
    NotFiniteError,
    Plateau,
    train,
)
from arrows.training.interrupt import undisturbed


class Prepared:
    def __init__(self, examples: list[Any]) -> None:
        self.examples = examples

    def __len__(self) -> int:
        return len(self.examples)

    def __getitem__(self, indices: np.ndarray) -> list[Any]:
        return [self.examples[i] for i in indices]


class Bookkeeper:
    """The loss of a batch is its mean; every step moves `w` by one."""

    def __init__(self, device: str = "cpu") -> None:
        self.device = get_device(device)
        self.params = {"w": self.device.to_device(np.zeros(1))}
        self.batches: list[list[Any]] = []
        self.prepared = 0

    def prepare(self, examples: Any) -> Prepared:
        if isinstance(examples, Prepared):
            return examples
        self.prepared += 1
        return Prepared(list(examples))

    def train_step(self, batch: list[Any], optimizer: Any, check: Any = None) -> Any:
        self.batches.append(batch)
        optimizer.step(self, {"w": self.device.to_device(np.ones(1))})
        return self.device.to_device(np.array(float(np.mean(batch))))


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
def test_every_epoch_sees_every_example_once_in_another_order(device):
    model, seen = Bookkeeper(device), []
    history = train(
        model, list(range(10)), SGD(1.0), epochs=3, batch_size=4,
        evaluate=lambda: {"steps": len(model.batches)}, callbacks=[seen.append], progress=False,
    )  # fmt: skip
    assert model.prepared == 1
    assert [len(batch) for batch in model.batches] == [4, 4, 2] * 3
    epochs = [[x for batch in model.batches[i : i + 3] for x in batch] for i in (0, 3, 6)]
    assert all(sorted(epoch) == list(range(10)) for epoch in epochs)
    assert len({tuple(epoch) for epoch in epochs}) == 3
    assert [epoch.loss for epoch in history] == pytest.approx([4.5] * 3)
    assert [epoch.figures for epoch in history] == [{"steps": 3}, {"steps": 6}, {"steps": 9}]
    assert history == seen and [epoch.number for epoch in history] == [1, 2, 3]
    assert model.device.to_numpy(model.params["w"]).tolist() == [-9.0]


def test_the_order_depends_on_the_seed_alone():
    def order(seed: int) -> list[list[Any]]:
        model = Bookkeeper()
        train(model, Prepared(list(range(20))), SGD(0.0), epochs=2, batch_size=3, seed=seed, progress=False)
        assert model.prepared == 0  # prepared examples are used as they are
        return model.batches

    assert order(1) == order(1) != order(2)


def test_nothing_to_train_on():
    with pytest.raises(ValueError, match="train: there are no examples to learn from"):
        train(Bookkeeper(), [], SGD(0.0), progress=False)
    assert train(Bookkeeper(), [1], SGD(0.0), epochs=0, progress=False) == []


def test_the_bar_shows_the_epoch_and_an_epoch_prints_as_one_line(capsys):
    train(Bookkeeper(), [2] * 50, SGD(0.0), batch_size=50)
    assert "epoch 1/1" in (shown := capsys.readouterr().err) and "50" in shown
    assert str(Epoch(2, 1.5, 2.0, 1234.5, {"f": 0.5})) == "epoch 2: loss 1.5000, f 0.500, 1,234 examples/s"


@pytest.mark.parametrize("device", ["cpu", "fake"])
def test_callbacks_are_told_in_order(device):
    model, told = Bookkeeper(device), Told()
    figures = iter([0.5, 0.4, 0.6, 0.6])
    train(
        model, [2.0] * 6, SGD(0.1), epochs=2, batch_size=2, evaluate=lambda: {"f": next(figures)},
        evaluate_every=2, best_by="f", lower=False, callbacks=[told], progress=False,
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
        evaluate_every=2, callbacks=[EarlyStopping("f", patience=1, lower=False)], progress=False,
    )  # fmt: skip
    # Evaluations after the steps 2, 4, 5 (the epoch's end) and 6; the last two bring no improvement.
    assert [len(batch) for batch in model.batches] == [2] * 6
    assert [epoch.figures["f"] for epoch in history] == [1.5, 1.5]
    assert history[1].loss == np.mean(model.batches[5])


def test_rates_on_a_plateau_and_by_a_rule_of_one_s_own():
    class Halves(Callback):
        def rate_factor(self, evaluations):
            return 0.5

    model, optimizer, told = Bookkeeper(), SGD(1.0, rates={"w": lambda steps: 0.5}), Told()
    figures = iter([1.0, 1.0, 2.0, 2.0, 2.0])
    train(
        model, [1.0] * 2, optimizer, epochs=5, batch_size=2, evaluate=lambda: {"f": next(figures)},
        callbacks=[Halves(), Plateau("f", 0.25, patience=0, lower=False), told], progress=False,
    )  # fmt: skip
    assert [event[4] for event in told.events if event[0] == "step"] == [0.5, 0.5, 0.125, 0.125, 0.03125]
    np.testing.assert_allclose(model.params["w"], -0.25 * (1 + 1 + 0.25 + 0.25 + 0.0625))
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
    assert Plateau("f", 0.5, patience, lower=lower).rate_factor(evaluations) == 0.5**counts
    stop = EarlyStopping("f", patience, lower=lower)
    stops = [stop.stops(evaluations[:n]) for n in range(len(values) + 1)]
    assert not stops[0] and any(stops) == (counts > 0)
    low = Plateau("f", 0.5, patience, lower=lower, floor=0.3)
    assert low.rate_factor(evaluations) == max(0.3, 0.5**counts)


def test_small_improvements_do_not_count():
    evaluations = [Evaluation(1, n, {"f": value}) for n, value in enumerate([1.0, 1.05, 1.1, 1.15])]
    assert EarlyStopping("f", 2, min_delta=0.2, lower=False).stops(evaluations)
    assert not EarlyStopping("f", 2, min_delta=0.1, lower=False).stops(evaluations)


LOW = ["loss", "dev/Loss", "validation_error", "rootMeanSquaredError", "perplexity", "logloss", "loss1"]
HIGH = ["accuracy", "macro F1", "roc_auc"]
OPEN = ["seconds", "neg_mean_squared_error", "log-likelihood", "1 - accuracy", "error recall", "lossless"]


@pytest.mark.parametrize("figure", [*LOW, *HIGH, *OPEN])
def test_which_way_a_figure_goes_is_told_by_its_name_or_asked(figure):
    """Of figures that rise: the first is the best where low ones are good, the last elsewhere."""

    def run(lower: bool | None, rules: Any = ()) -> Any:
        rising = iter([1.0, 2.0, 3.0, 4.0])
        return train(
            Bookkeeper(), [1.0], SGD(1.0), epochs=4, evaluate=lambda: {figure: next(rising)},
            best_by=figure, lower=lower, callbacks=rules, progress=False,
        )  # fmt: skip

    for lower in (True, False) if figure in OPEN else (True, False, None):
        low = figure in LOW if lower is None else lower
        rules = [EarlyStopping(figure, 1, lower=lower), Plateau(figure, lower=lower)]
        assert [rule.lower for rule in rules] == [low, low]
        best = [e.best for e in run(lower, rules).evaluations]
        assert best == ([True, False, False] if low else [True] * 4)
    for ask in (lambda: run(None), lambda: EarlyStopping(figure, 1), lambda: Plateau(figure)):
        if figure in OPEN:
            with pytest.raises(ar.ArrowValueError, match="say lower=True, or lower=False"):
                ask()


@pytest.mark.parametrize(
    "rule",
    [
        {"best_by": "acuracy", "lower": False},
        {"callbacks": [EarlyStopping("acuracy", 1, lower=False)]},
        {"callbacks": [Plateau("acuracy", lower=False)]},
    ],
)
def test_a_misspelt_figure_costs_no_steps(tmp_path, rule):
    """Which figures there are is known from the first evaluation on; the steps before it are saved."""
    run: dict[str, Any] = {"evaluate": lambda: {"accuracy": 1.0}, "batch_size": 1, "progress": False}
    with pytest.raises(ar.ArrowValueError, match="gives accuracy; did you mean 'accuracy'"):
        train(Bookkeeper(), [1.0, 2.0], SGD(0.1), checkpoint=Checkpoint(tmp_path / "run"), **run, **rule)
    model, again = Bookkeeper(), Checkpoint(tmp_path / "run", resume=True)
    history = train(model, [1.0, 2.0], SGD(0.1), checkpoint=again, **run, best_by="accuracy")
    assert not model.batches and len(history) == 1


def test_a_log_as_json_lines_and_by_a_function(tmp_path):
    path, rows = tmp_path / "log.jsonl", []
    logs = [JsonLines(path, every=2), Log(lambda step, numbers: rows.append((step, dict(numbers))))]
    train(
        Bookkeeper(), [1.0] * 4, SGD(0.1), batch_size=1, evaluate=lambda: {"f": math.nan}, callbacks=logs,
        progress=False,
    )  # fmt: skip
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert [line["step"] for line in lines] == [2, 4, 4, 4] and lines[2] == {"step": 4, "evaluation/f": None}
    assert set(lines[0]) == {"step", "epoch", "loss", "learning_rate"} and lines[3]["epoch/loss"] == 1.0
    assert rows[0] == (1, {"epoch": 1, "loss": 1.0, "learning_rate": 0.1}) and len(rows) == 6


def test_a_log_is_added_to_logs_alone(tmp_path):
    """A slip of a path costs nobody his notes, nor his examples."""
    for text in ("some notes", "[1]\n", '{"text": "good"}\n', "\n", "\0"):
        path = tmp_path / "other.jsonl"
        path.write_text(text)
        with pytest.raises(ar.ArrowValueError, match=r"other.jsonl holds no log of a run; give another path"):
            JsonLines(path)
        assert path.read_text() == text
    path = tmp_path / "log.jsonl"
    path.touch()
    for step in (1, 2):
        JsonLines(path).write(step, {})
    assert [json.loads(line) for line in path.read_text().splitlines()] == [{"step": 1}, {"step": 2}]


class Factor(Callback):
    def __init__(self, factor: Any) -> None:
        self.factor = factor

    def rate_factor(self, evaluations):
        return self.factor


def figures() -> dict[str, float]:
    return {"g": 1.0}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"batch_size": 0}, "batch_size is 0"),
        ({"callbacks": Told()}, "must be a list of them"),
        ({"callbacks": [3]}, "or a function that is called with each epoch, not 3"),
        ({"callbacks": [EarlyStopping("loss", 1)]}, "callbacks needs evaluate="),
        ({"evaluate": figures, "callbacks": [EarlyStopping("loss", 1)]}, "the figure 'loss', and gives g"),
        ({"evaluate": figures, "callbacks": [Factor(-1)]}, "rate_factor returns is -1"),
        ({"evaluate": figures, "callbacks": [Factor("1")]}, "must be a number"),
        ({"evaluate_every": 2}, "evaluate_every needs evaluate="),
        ({"best_by": "loss"}, "best_by needs evaluate="),
        ({"evaluate": figures, "best_by": "loss"}, "the figure 'loss', and gives g"),
        ({"checkpoint": "run"}, r"such as Checkpoint\('run.state'\), not 'run'"),
        ({"patience": 3}, r"callbacks=\[EarlyStopping"),
        ({"resume": True}, r"checkpoint=Checkpoint\(path, resume=True\)"),
        ({"accumulate": 0}, "train: accumulate is 0, and should be 1 or more"),
    ],
)
def test_what_is_refused(arguments, words):
    with pytest.raises((ar.ArrowTypeError, ar.ArrowValueError), match=words):
        train(Bookkeeper(), [1.0], SGD(0.1), **{"epochs": 2, "progress": False, **arguments})


@pytest.mark.parametrize(
    "build",
    [
        lambda: EarlyStopping("loss", -1),
        lambda: Plateau("loss", factor=1.5),
        lambda: Plateau("loss", floor=2),
        lambda: Checkpoint("run", seconds=math.nan),
        lambda: Checkpoint("run", keep=0),
        lambda: Checkpoint("run", resume=True, overwrite=True),
        lambda: Checkpoint(""),
        lambda: Checkpoint("run", metadata={"size": 3}),
        lambda: Checkpoint("run", metadata={"arrows.run": ""}),
    ],
)
def test_rules_that_cannot_be(build):
    with pytest.raises((ar.ArrowTypeError, ar.ArrowValueError)):
        build()


@pytest.mark.parametrize("device", ["cpu", "fake"])
def test_a_loss_that_is_not_finite_points_at_the_last_state(tmp_path, device):
    """On a device losses are read some steps later, and before a state is saved."""

    class Spoilt(Bookkeeper):
        def train_step(self, batch: list[Any], optimizer: Any, check: Any = None) -> Any:
            loss = super().train_step(batch, optimizer)
            return loss * math.nan if optimizer.steps == 5 else loss

    def run(model: Any, path: Path, **when: Any) -> str:
        how: dict[str, Any] = {"epochs": 2, "batch_size": 2, "progress": False}
        with pytest.raises(NotFiniteError, match="epoch 2, step 5: the loss is nan") as caught:
            train(model, [1.0] * 8, SGD(0.1), checkpoint=Checkpoint(path, **when), **how)
        return "\n".join(caught.value.__notes__)

    path = tmp_path / "run"
    assert f"the last state, of step 4, is {path}; Checkpoint('{path}', resume=True)" in run(
        Spoilt(device), path
    )
    state = path.read_bytes()
    run(Spoilt(device), path, resume=True, every=1)
    assert path.read_bytes() == state  # nothing was saved after it


def test_a_second_interrupt_does_not_wait_and_handlers_of_others_are_left_alone():
    after: list[str] = []

    def interrupted(times: int) -> None:
        with undisturbed():
            for _ in range(times):
                signal.raise_signal(signal.SIGINT)
            after.append("done")

    for times, done in ((1, ["done"]), (2, [])):
        after.clear()
        with pytest.raises(KeyboardInterrupt):
            interrupted(times)
        assert after == done and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    found: list[Any] = []

    def look() -> None:
        with undisturbed():
            found.append(signal.getsignal(signal.SIGINT))

    own = lambda *_: None  # noqa: E731
    before = signal.signal(signal.SIGINT, own)
    try:
        look()
    finally:
        signal.signal(signal.SIGINT, before)
    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    assert found == [own, signal.default_int_handler]
