"""Runs that are cut off anywhere and go on: the same bits as those of a run in one piece."""

from __future__ import annotations

import random
import signal
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

import arrows as ar
from arrows.training import (
    SGD,
    Adagrad,
    Adam,
    Callback,
    Checkpoint,
    EarlyStopping,
    Log,
    Plateau,
    schedules,
    train,
)
from tests.profile import NIGHTLY, counted, draws
from tests.training.models import sequences, word_sums

EXAMPLES = sequences(13, 12, 4)
PLACES = ["step", "evaluate", "evaluation", "epoch", "function", "stops", "rate_factor"]


class Cut(Exception):
    """Ends a run in the middle."""


@dataclass(frozen=True, slots=True)
class Death:
    """How a life of a run ends: what happens at a moment of a kind, and which of these.

    Attributes:
        how: "raise" what no run expects, "interrupt" as the second Ctrl-C does, "signal" as the first.
        damage: what then becomes of the newest state: "" nothing, "cut", "flip" or "foreign".
    """

    how: str
    place: str
    number: int
    damage: str


@dataclass(slots=True)
class Fate:
    """Counts the moments of a life, and ends it."""

    death: Death | None
    seen: int = 0

    def at(self, place: str) -> None:
        if self.death is None or place != self.death.place:
            return
        self.seen += 1
        if self.seen == self.death.number:
            if self.death.how == "raise":
                raise Cut
            if self.death.how == "interrupt":
                raise KeyboardInterrupt
            signal.raise_signal(signal.SIGINT)


@dataclass(frozen=True, slots=True)
class Told(Callback):
    """Is told of all, and notes what was said last of each moment: a resumed run may say it again."""

    fate: Fate
    said: dict[Any, Any] = field(default_factory=dict)

    def after_step(self, step: Any) -> None:
        self.note(("step", step.step), step)
        self.fate.at("step")

    def after_evaluation(self, evaluation: Any) -> None:
        self.note(("evaluation", evaluation.step, evaluation.epoch), evaluation)
        self.fate.at("evaluation")

    def after_epoch(self, epoch: Any) -> None:
        self.note(("epoch", epoch.number), (epoch.loss, epoch.figures, epoch.best))
        self.fate.at("epoch")

    def note(self, key: Any, what: Any) -> None:
        assert self.said.setdefault(key, what) == what, (key, what)


class Moments(Callback):
    """Ends lives where rules are asked."""

    def __init__(self, fate: Fate) -> None:
        self.fate = fate

    def stops(self, evaluations: Any) -> bool:
        self.fate.at("stops")
        return False

    def rate_factor(self, evaluations: Any) -> float:
        self.fate.at("rate_factor")
        return 1.0


@cache
def compiled(dropout: float) -> tuple[ar.Model, dict[str, Any]]:
    """A model, and the parameters that it begins with."""
    model = ar.compile(word_sums(12, 3, 3, dropout))
    return model, {name: array.copy() for name, array in model.params.items()}


def newborn(dropout: float) -> ar.Model:
    """A model as in a new process."""
    model, params = compiled(dropout)
    for name, array in params.items():
        model.params[name][...] = array
    model.step = 0
    return model


@st.composite
def runs(draw: Any) -> tuple[Callable[[], Any], dict[str, Any], float]:
    """A function that makes the optimizer, what `train` is told, and a share of dropout."""
    rule = draw(st.sampled_from(["sgd", "adam", "adagrad"]))
    rate = draw(st.sampled_from(["number", "schedule"]))
    settings = {
        "average": draw(st.sampled_from([None, 0.9, 1.0])),
        "clip_norm": draw(st.sampled_from([None, 0.5])),
        "weight_decay": draw(st.sampled_from([0.0, 0.01])),
        "dense": draw(st.booleans()),
    }

    def make() -> Any:
        step: Any = 0.01 if rate == "number" else schedules.cosine(0.02, 40, 0.001)
        if rule == "sgd":
            return SGD(step, momentum=0.5, **settings)
        return Adam(step, **settings) if rule == "adam" else Adagrad(step, **settings)

    how: dict[str, Any] = {
        "epochs": draw(st.integers(1, 4)),
        "batch_size": draw(st.sampled_from([1, 2, 5, 13, 40, ar.ByNodes(9), ar.Bucketed(3, pool=2)])),
        "accumulate": draw(st.sampled_from([1, 1, 2, 3])),
        "seed": draw(st.integers(0, 2)),
        "checkpoint": {
            "every": draw(st.sampled_from([None, 1, 2, 3])),
            "keep": draw(st.sampled_from([1, 2, 3])),
        },
        "callbacks": [],
    }
    if draw(st.sampled_from([True, True, False])):
        stop = st.builds(EarlyStopping, st.just("luck"), st.sampled_from([1, 3]), lower=st.booleans())
        plateau = st.builds(
            Plateau, st.just("luck"), st.just(0.5), st.sampled_from([0, 1]), lower=st.booleans()
        )
        how |= {
            "evaluate_every": draw(st.sampled_from([None, 1, 2, 3])),
            "callbacks": draw(
                st.sampled_from([[], [draw(stop)], [draw(plateau)], [draw(stop), draw(plateau)]])
            ),
            "evaluate": True,
        }
        how |= draw(
            st.sampled_from([{}, {"best_by": "luck", "lower": False}, {"best_by": "sum", "lower": True}])
        )
    return make, how, draw(st.sampled_from([0.0, 0.3]))


deaths = st.builds(
    Death,
    how=st.sampled_from(["raise", "interrupt", "signal"]),
    place=st.sampled_from([*PLACES, "step", "evaluate"]),
    number=st.sampled_from([1, 1, 2, 2, 3, 4, 7, 12]),
    damage=st.sampled_from(["", "", "", "cut", "flip", "foreign"]),
)


def live(run: Any, told: Told, path: Path | None) -> Any:
    """A life of a run; what it came to, or None if it was cut off."""
    make, how, dropout = run
    model, optimizer = newborn(dropout), make()
    settings, fate = dict(how), told.fate
    log = Log(lambda step, numbers: told.said.update({("log", step, *numbers): True}), every=2)
    callbacks = [told, log, *settings.pop("callbacks"), lambda epoch: fate.at("function")]
    if how.get("evaluate"):

        def evaluate() -> dict[str, float]:
            fate.at("evaluate")
            total = float(ar.to_numpy(model(EXAMPLES[:4])).sum())
            return {"luck": random.Random(optimizer.steps).random(), "sum": -total}

        settings["evaluate"] = evaluate
        callbacks.append(Moments(fate))
    when = settings.pop("checkpoint")
    checkpoint = None if path is None else Checkpoint(path, resume=True, **when)
    try:
        history = train(
            model, EXAMPLES, optimizer, callbacks=callbacks, checkpoint=checkpoint, progress=False, **settings
        )
    except (Cut, KeyboardInterrupt):
        return None
    averages = {}
    if optimizer.averages is not None and optimizer.steps:
        with optimizer.use_averages(model):
            averages = {name: array.tobytes() for name, array in model.params.items()}
    return (
        {name: array.tobytes() for name, array in model.params.items()},
        averages,
        optimizer.steps,
        [(epoch.number, epoch.loss, epoch.figures, epoch.best) for epoch in history],
        history.evaluations,
    )


def damage(path: Path, how: str) -> None:
    """Damages the newest state if another one is kept."""
    if not how or not path.exists() or not path.with_name(f"{path.name}.1").exists():
        return
    content = path.read_bytes()
    middle = len(content) // 2
    flipped = content[:middle] + bytes([content[middle] ^ 8]) + content[middle + 1 :]
    path.unlink()  # the state before may be the same file
    path.write_bytes({"cut": content[:middle], "flip": flipped, "foreign": b"GIF89a"}[how])


def compare(run: Any, fates: list[Death]) -> int:
    """Runs in one piece and in several; returns in how many."""
    whole = Told(Fate(None))
    expected = live(run, whole, None)
    lives = 0
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path, said = Path(folder, "run"), {}
        for death in [*fates, None]:
            lives += 1
            actual = live(run, Told(Fate(death), said), path)
            if actual is not None:
                break
            damage(path, death.damage if death is not None else "")
        # A run that is over stays as it is.
        again = live(run, Told(Fate(None), said), path)
    assert actual == expected and again == expected and said == whole.said
    return lives


@pytest.mark.parametrize(
    "how",
    [
        pytest.param("raise", marks=pytest.mark.nightly),
        pytest.param("interrupt", marks=pytest.mark.nightly),
        "signal",
    ],
)
def test_each_moment_of_a_run_that_stops_early(how):
    """Within its second epoch, whose end is told all the same, once the run goes on."""
    rules = [EarlyStopping("luck", 2, lower=False), Plateau("luck", 0.5, 0, lower=False)]
    settings = {
        "epochs": 3, "batch_size": 3, "evaluate": True, "evaluate_every": 2, "best_by": "sum",
        "lower": False, "callbacks": rules, "checkpoint": {"keep": 2},
    }  # fmt: skip
    run = (lambda: Adam(0.01, average=0.9)), settings, 0.3
    expected = live(run, Told(Fate(None)), None)
    assert expected[2] % 5 != 0 and len(expected[3]) == 2, expected[2:]
    for place in PLACES:
        number = 1
        while compare(run, [Death(how, place, number, "")]) > 1:
            number += 1
        assert number > 2, place


def test_runs_that_are_cut_off_end_as_those_in_one_piece(record_property: Any) -> None:
    sizes = (25, 3000)
    with counted(record_property, sizes[NIGHTLY] * 9 // 10) as count:

        @draws(*sizes)
        @given(run=runs(), fates=st.lists(deaths, min_size=1, max_size=5))
        def pair(run: Any, fates: list[Death]) -> None:
            count.examples += compare(run, fates)
            count.pairs += 1

        pair()
