"""The states of runs: what a run may replace, what may change when it goes on, and what is refused."""

from __future__ import annotations

import io
import os
import re
import tempfile
from contextlib import redirect_stderr, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

import arrows as ar
from arrows.training import SGD, Adam, Callback, Checkpoint, save, schedules, train
from arrows.training.content import content_of
from arrows.typesys import ArrowValueError
from tests.profile import draws


def some_block() -> Any:
    return ar.Vector(1) >> ar.FC(1, name="fc") >> ar.Function(lambda y: (y[0] - 1.0) ** 2)


def states(folder: Path, **more: Any) -> tuple[Any, list[Any]]:
    """A run of four steps, which saves its state after each."""
    model = ar.compile(some_block())
    when = {"keep": 3, "every": 1}
    when |= {name: more.pop(name) for name in list(more) if name in Checkpoint.__slots__}
    settings: dict[str, Any] = {"epochs": 1, "batch_size": 1, **more}
    optimizer = settings.pop("optimizer", None) or Adam(0.1)
    examples = settings.pop("examples", [[1.0], [2.0], [3.0], [4.0]])
    checkpoint = Checkpoint(folder / "run", **when)
    history = train(model, examples, optimizer, checkpoint=checkpoint, progress=False, **settings)
    return model, history


def bits(model: Any) -> dict[str, bytes]:
    return {name: array.tobytes() for name, array in model.params.items()}


def test_the_state_before_is_taken_instead_of_a_damaged_one(tmp_path):
    (tmp_path / "whole").mkdir()
    expected, _ = states(tmp_path / "whole", epochs=2)
    states(tmp_path)
    assert sorted(os.listdir(tmp_path)) == ["run", "run.1", "run.2", "whole"]
    path = tmp_path / "run"
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.warns(UserWarning, match=r"(?s)run .*goes on from the state before, .*run\.1, at step 4"):
        model, history = states(tmp_path, epochs=2, resume=True)
    assert bits(model) == bits(expected)
    assert [epoch.number for epoch in history] == [1, 2]


def test_a_damaged_state_never_takes_the_place_of_a_good_one(tmp_path):
    states(tmp_path, keep=2)
    path = tmp_path / "run"
    good = (tmp_path / "run.1").read_bytes()
    path.write_bytes(b"damaged")
    with pytest.warns(UserWarning, match="goes on from"), pytest.raises(ZeroDivisionError):
        states(tmp_path, keep=2, epochs=2, resume=True, callbacks=[Fails(at=0)])
    assert (tmp_path / "run.1").read_bytes() == good


class Fails(Callback):
    """Fails after its first step, and before the second state is saved."""

    def __init__(self, at: int) -> None:
        self.at = at

    def after_step(self, step: Any) -> None:
        self.at -= 1
        if self.at < 0:
            raise ZeroDivisionError


def test_no_state_can_be_taken(tmp_path):
    states(tmp_path)
    with pytest.raises(ArrowValueError, match="run is the state of another run:\n  seed: 0 in the saved"):
        states(tmp_path, resume=True, seed=7)
    for name in ("run", "run.1", "run.2"):
        (tmp_path / name).write_bytes(b"damaged")
    before = sorted(path.read_bytes() for path in tmp_path.iterdir())
    with pytest.raises(ArrowValueError, match=r"run is no safetensors file to read"):
        states(tmp_path, resume=True)
    assert sorted(path.read_bytes() for path in tmp_path.iterdir()) == before


def test_a_new_run_does_not_go_on_from_an_older_one(tmp_path):
    states(tmp_path, seed=1)
    states(tmp_path, seed=2, overwrite=True, callbacks=[Fails(at=9)])
    with pytest.raises(ArrowValueError, match="seed: 2 in the saved state, 1 now"):
        states(tmp_path, seed=1, resume=True)


@pytest.mark.parametrize("keep", [1, 2, 3])
def test_a_new_run_leaves_no_state_of_an_older_one_that_kept_more(tmp_path, keep):
    states(tmp_path, keep=4)
    with pytest.raises(ZeroDivisionError):
        states(tmp_path, keep=keep, overwrite=True, callbacks=[Fails(at=1)])  # it has saved one state
    assert [path.name for path in tmp_path.iterdir()] == ["run"]
    (tmp_path / "run").write_bytes(b"")
    with pytest.raises(ArrowValueError, match="is no safetensors file"):
        states(tmp_path, keep=4, resume=True)


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


LEFT = {
    "a run": (
        lambda path: states(path.parent, epochs=2),
        r"the state of a run, .*: 2 of 2 epochs, 8",
    ),
    "parameters": (lambda path: save(ar.compile(some_block()), path), "is parameters, written "),
    "a model": (
        lambda path: ar.save_model(ar.compile(ar.models.sentiment(ar.Vocabulary([]), size=2).judge), path),
        "is a trained model, written ",
    ),
    "another file": (lambda path: path.write_text("ten hours"), "is a file of 9 bytes, written"),
}


@pytest.mark.parametrize("what", LEFT)
def test_a_run_that_begins_replaces_nothing_unasked(tmp_path, what):
    make, words = LEFT[what]
    make(tmp_path / "run")
    before = contents(tmp_path)
    with pytest.raises(ArrowValueError) as caught:
        states(tmp_path)
    message = " ".join(str(caught.value).split())
    assert re.search(words, message) and "another path" in message, message
    assert ("resume=True" in message) == (what == "a run"), message
    assert contents(tmp_path) == before
    if what in ("a model", "parameters"):  # no run takes the place of what was trained
        with pytest.raises(ArrowValueError, match="give another path"):
            states(tmp_path, overwrite=True)
        assert contents(tmp_path) == before
    else:
        states(tmp_path, overwrite=True)
        assert contents(tmp_path)["run"] != before["run"]


def test_a_state_that_was_kept_is_not_lost_either(tmp_path):
    states(tmp_path)
    (tmp_path / "run").unlink()
    before = contents(tmp_path)
    with pytest.raises(ArrowValueError, match=r"run\.1\s+is\s+the\s+state\s+of\s+a\s+run"):
        states(tmp_path)
    assert contents(tmp_path) == before


@pytest.mark.parametrize("place", ["run", "run.1", "run.2"])
@pytest.mark.parametrize("what", ["a model", "parameters"])
def test_a_run_that_goes_on_takes_no_place_of_what_was_trained(tmp_path, what, place):
    states(tmp_path)
    (tmp_path / place).unlink()
    LEFT[what][0](tmp_path / place)
    before = contents(tmp_path)
    with pytest.raises(ArrowValueError, match="give another path"):
        states(tmp_path, epochs=2, resume=True)
    assert contents(tmp_path) == before


def held(rate: float) -> Any:
    return lambda steps: rate


CHANGES: dict[str, tuple[dict[str, Any], str]] = {
    "rate": ({"optimizer": Adam(0.01)}, "learning rate 0.1 before, 0.01 now"),
    "schedule": ({"optimizer": Adam(schedules.cosine(0.1, 9))}, "learning rate 0.1 before, cosine"),
    "function": ({"optimizer": Adam(held(0.1))}, "learning rate 0.1 before, <function held"),
    "rates": ({"optimizer": Adam(0.1, rates={"fc/bias": 0})}, "0.1 before, 0.1, fc/bias: 0.0 now"),
    "epochs": ({"epochs": 3}, "epochs 2 before, 3 now"),
    "batch size": ({"batch_size": 3}, "batch_size 1 before, 3 now"),
    "rule": ({"batch_size": ar.Bucketed(2)}, "batch_size 1 before, Bucketed"),
    "accumulate": ({"accumulate": 2}, "accumulate 1 before, 2 now"),
}  # fmt: skip


@pytest.mark.parametrize("change", CHANGES)
def test_a_resumed_run_may_have_other_numbers_and_says_so_in_a_line(tmp_path, capsys, change):
    more, words = CHANGES[change]
    with pytest.raises(ZeroDivisionError):
        states(tmp_path, epochs=2, callbacks=[Fails(at=5)])
    assert capsys.readouterr().err == ""
    _, history = states(tmp_path, **{"epochs": 2, "resume": True, **more})
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"{tmp_path / 'run'}: the run goes on at step 5; ") and words in line, line
    assert line.count("before") == 1 and len(history) == more.get("epochs", 2)
    more = {name: value for name, value in more.items() if name != "optimizer"}
    states(
        tmp_path, **{"epochs": 2, "resume": True, **more, "optimizer": CHANGES[change][0].get("optimizer")}
    )
    assert capsys.readouterr().err == ""  # it has the new numbers now


class Told(Callback):
    def __init__(self) -> None:
        self.rates: list[float] = []
        self.sizes: list[int] = []

    def after_step(self, step: Any) -> None:
        self.rates.append(step.learning_rate)
        self.sizes.append(step.examples)


def test_another_rate_and_batch_size_are_those_of_the_steps_to_come(tmp_path):
    with pytest.raises(ZeroDivisionError):
        states(tmp_path, epochs=2, callbacks=[Fails(at=2)])
    told, more = Told(), {"epochs": 3, "resume": True, "optimizer": Adam(0.001), "batch_size": 2}
    states(tmp_path, callbacks=[told], **more)
    assert told.rates == [0.001] * 5 and told.sizes == [2] * 5


@pytest.mark.parametrize(
    "other", [[[1.0], [2.0], [3.0], [4.5]], [[2.0], [1.0], [3.0], [4.0]], [[1.0], [2.0]]]
)
def test_a_run_does_not_go_on_with_other_examples(tmp_path, other):
    states(tmp_path, epochs=1)
    before = contents(tmp_path)
    with pytest.raises(ArrowValueError, match=r"another run:\n  (hash of the )?examples: .*\n  hint  give"):
        states(tmp_path, epochs=2, resume=True, examples=other)
    assert contents(tmp_path) == before
    states(tmp_path, epochs=2, resume=True)


trees = st.recursive(
    st.integers(0, 3), lambda below: st.tuples(below, below) | st.lists(below, max_size=3), max_leaves=6
)


@draws(40, 1500)
@given(one=st.lists(trees, min_size=1, max_size=4), other=st.lists(trees, min_size=1, max_size=4))
def test_examples_have_one_hash_if_they_are_the_same(one: Any, other: Any) -> None:
    """Trees of three kinds of nodes; a set in a file has the hash of the one in memory."""

    @ar.fix
    def tree(me: Any) -> Any:
        pair = (ar.GetItem(0) >> me & ar.GetItem(1) >> me) >> ar.Function(lambda a, b: a - 2.0 * b)
        listed = ar.Map(me) >> ar.Sum()
        kinds = ar.OneOf(lambda x: type(x).__name__).case("int", ar.Scalar())
        return kinds.case("tuple", pair).case("list", listed)

    model = ar.compile(tree)
    hashes = [content_of(model, model.prepare(examples)) for examples in (one, other)]
    assert (hashes[0] == hashes[1]) == (one == other)
    with tempfile.TemporaryDirectory() as folder:
        assert content_of(model, model.prepare(one, cache=Path(folder, "set"))) == hashes[0]


sizes = st.sampled_from(
    [1, 2, 3, 7, 50, ar.ByNodes(9), ar.Bucketed(3, pool=2), ar.Bucketed(ar.ByNodes(9), 1)]
)


@draws(8, 1500)
@given(lives=st.lists(st.tuples(sizes, st.integers(1, 4)), min_size=1, max_size=4), last=sizes)
def test_an_epoch_in_batches_of_several_sizes_has_each_example_once(lives: Any, last: Any) -> None:
    seen: list[tuple[int, list[float]]] = []
    examples = [[float(n)] * (1 + n * 7 % 5) for n in range(17)]

    def life(path: Path, size: Any, steps: int) -> Any:
        block = ar.Map(ar.Scalar()) >> ar.Mean() >> ar.Function(lambda x: ar.ops.stack([x, x * 0.0 + 1.0]))
        model = ar.compile(block >> ar.FC(1, name="fc") >> ar.Function(lambda y: y[0] * 0.0))
        step, taken = model.train_step, [0]

        def train_step(batch: Any, *arguments: Any, **named: Any) -> Any:
            if taken[0] == steps:
                raise ZeroDivisionError
            taken[0] += 1
            seen.append((len(batch), [examples[number][0] for number in batch.indices.tolist()]))
            return step(batch, *arguments, **named)

        model.train_step = train_step  # type: ignore[method-assign]
        return train(
            model, examples, SGD(0.1), epochs=2, batch_size=size, progress=False,
            checkpoint=Checkpoint(path, every=1, resume=True),
        )  # fmt: skip

    with tempfile.TemporaryDirectory() as folder, redirect_stderr(io.StringIO()):
        for size, steps in lives:
            with suppress(ZeroDivisionError):
                life(Path(folder, "run"), size, steps)
        life(Path(folder, "run"), last, 999)
    order = [example for _, batch in seen for example in batch]
    for epoch in (order[:17], order[17:]):
        assert sorted(epoch) == list(range(17))
    # A batch size holds from the moment on that it is given.
    first, (steps, *_) = lives[0][0], [lives[0][1]]
    if isinstance(first, int) and isinstance(last, int) and len(lives) == 1 and first * steps < 17:
        assert seen[steps][0] == min(last, 17 - first * steps)
        whole = [*np.random.default_rng((0, 1)).permutation(17)]
        assert order[:17] == whole  # in the order that the epoch began with


def test_how_many_states_are_kept_and_when(tmp_path):
    states(tmp_path, keep=1)
    assert os.listdir(tmp_path) == ["run"]
    for seconds, saved in ((0.0, True), (1e9, False)):
        folder = tmp_path / str(seconds)
        folder.mkdir()
        with pytest.raises(ZeroDivisionError):
            states(folder, every=None, seconds=seconds, callbacks=[Fails(at=2)])
        assert (folder / "run").exists() == saved


def test_a_place_that_cannot_be_written_to_is_said_before_the_training(tmp_path):
    for path, words in (
        (tmp_path / "nowhere" / "run", "no such folder"),
        (tmp_path, "this is a folder"),
        (".", "this is a folder"),
        ("/dev/null", "a device"),
        ("", "names no file"),
    ):
        model = ar.compile(some_block())
        with pytest.raises((OSError, ArrowValueError), match=words):
            train(model, [[1.0]], SGD(0.1), checkpoint=Checkpoint(path), progress=False)
        assert not os.listdir(tmp_path) and model.step == 0


def test_another_run_s_state_is_refused_with_the_differences(tmp_path):
    states(tmp_path, seed=4, metadata={"size": "3", "words": "w"})
    with pytest.raises(ArrowValueError) as caught:
        states(tmp_path, seed=5, metadata={"size": "4", "cell": "x"}, resume=True)
    assert str(caught.value).splitlines() == [
        f"{tmp_path / 'run'} is the state of another run:",
        "  cell: None in the saved state, x now",
        "  seed: 4 in the saved state, 5 now",
        "  size: 3 in the saved state, 4 now",
        "  words: w in the saved state, None now",
        "  hint  give what it was saved with, or begin a new run at another path",
    ]


def test_a_resumed_run_may_give_other_figures(tmp_path):
    """What was not given before is not the best of nothing, and no error after an epoch of training."""

    def run(name: str, **more: Any) -> Any:
        return states(tmp_path, evaluate=lambda: {name: 1.0}, best_by=name, lower=False, **more)[1]

    run("old")
    assert [epoch.best for epoch in run("new", epochs=3, resume=True)] == [True, True, False]


def test_what_a_rule_of_batches_needs() -> None:
    fc = ar.FC(1, name="fc")
    learner = ar.OnTheFly().learner(lambda g, x: ar.ops.sum(fc(g.tensor(x))))
    with pytest.raises(ar.ArrowTypeError, match="needs to know how many nodes each example has"):
        train(learner, [[1.0, 2.0]], SGD(0.01), batch_size=ar.ByNodes(60), progress=False)
