"""Parameters are saved and loaded as a user expects: train, save; in a new process load, predict."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import arrows as ar
from arrows.training import Adam, load, load_state, save, save_state
from tests.compare import close
from tests.onthefly.said import said

EXAMPLE = [1.0, 2.0, 3.0]


class Scorer:
    """Two layers, as each process makes them anew."""

    def __init__(self, named: bool = True, width: int = 4) -> None:
        self.hidden = ar.FC(width, name="hidden" if named else None)
        self.score = ar.FC(2, name="score" if named else None)

    def __call__(self, g: Any, x: Any) -> Any:
        return self.score(ar.ops.tanh(self.hidden(g.tensor(x))))


def predicted(net: ar.OnTheFly, scorer: Any) -> Any:
    with net.batch(gradients=False) as g:
        return scorer(g, EXAMPLE).numpy()


def trained(scorer: Any, steps: int = 3) -> tuple[ar.OnTheFly, Adam]:
    net, optimizer = ar.OnTheFly(seed=0), Adam(0.1)
    for _ in range(steps):
        with net.batch(training=True) as g:
            g.train_step(ar.ops.sum(scorer(g, EXAMPLE) ** 2), optimizer)
    return net, optimizer


@pytest.fixture(params=[True, False])
def saved(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, Any, bool]:
    net, _ = trained(scorer := Scorer(request.param))
    save(net, tmp_path / "net", {"by": "us"})
    return tmp_path / "net", predicted(net, scorer), request.param


@pytest.mark.parametrize("device", ["cpu", "fake"])
def test_loaded_before_any_layer_is_called(saved: tuple[Path, Any, bool], device: str) -> None:
    path, wanted, named = saved
    net = ar.OnTheFly(seed=1, device=device)
    assert load(net, path) == {"by": "us"}
    assert not net.params
    assert len(net.params.waiting) == 4
    assert close(predicted(net, Scorer(named)), wanted, 1e-6)
    assert len(net.params) == 4
    assert not net.params.waiting


def test_loaded_into_layers_of_which_some_were_called(saved: tuple[Path, Any, bool]) -> None:
    path, wanted, named = saved
    net, scorer = ar.OnTheFly(seed=1), Scorer(named)
    with net.batch() as g:
        scorer.hidden(g.tensor(EXAMPLE)).numpy()
    load(net, path)
    assert sorted(net.params.waiting) == [
        f"{'score' if named else 'FC_2'}/{part}" for part in ("bias", "weight")
    ]
    assert close(predicted(net, scorer), wanted, 1e-6)


def test_a_parameter_that_waits_is_told_from_one_that_is_unknown(tmp_path: Path) -> None:
    net, _ = trained(Scorer())
    save(net, tmp_path / "net")
    net = ar.OnTheFly()
    load(net, tmp_path / "net")
    with pytest.raises(KeyError, match="'hidden/bias' was loaded, and waits for the first call of its layer"):
        net.params["hidden/bias"]
    with pytest.raises(KeyError, match="no parameter 'hidden'; there are none"):
        net.params["hidden"]


def words(error: pytest.ExceptionInfo[BaseException], path: Path) -> str:
    return " ".join(said(error).replace(str(path), "PATH").split())


def test_a_layer_that_does_not_fit_what_was_loaded(tmp_path: Path) -> None:
    path = tmp_path / "net"
    net, _ = trained(Scorer())
    save(net, path)
    net, other = ar.OnTheFly(), ar.FC(2, name="other")
    load(net, path)
    with net.batch() as g:
        x = g.tensor(EXAMPLE)
        wide = (
            "cannot call hidden on float32[3] at LINE parameter 'hidden/weight' is float32[3, 4] in PATH, "
            "and this call would make it float32[3, 5]"
        )
        absent = (
            "cannot call other on float32[3] at LINE parameter 'other/weight' is not in PATH, from which "
            "parameters were loaded hint name the layer as there; for their layers wait hidden/bias, "
            "hidden/weight, score/bias, score/weight"
        )
        for layer, reason in ((Scorer(width=5).hidden, wide), (other, absent)):
            with pytest.raises(ar.ArrowTypeError) as error:
                layer(x)
            assert words(error, path) == reason


def test_layers_that_could_be_confused_are_called_before_loading(tmp_path: Path) -> None:
    """Which of two unnamed layers of one shape is called first may depend on the data."""

    def both(g: Any, x: Any) -> Any:
        return second(first(g.tensor(x)))

    path, first, second = tmp_path / "net", ar.FC(3), ar.FC(3)
    net, _ = trained(both)
    with pytest.warns(UserWarning, match="FC_1, FC_2: these layers have the same shapes"):
        save(net, path)
    fresh = ar.OnTheFly(seed=1)
    with pytest.raises(ar.ArrowValueError) as error:
        load(fresh, path)
    assert words(error, path) == (
        "cannot load PATH: the layers FC_1, FC_2 may have changed places they have the same shapes and no "
        "names of their own, and the file is loaded before they have been called hint give every layer a "
        "name; to load this file, the one that its weights have in it, as in name='FC_1'"
    )
    predicted(fresh, both)
    load(fresh, path)
    assert close(predicted(fresh, both), predicted(net, both), 0)


def test_the_state_of_a_run_goes_on_with_layers_that_were_not_called(tmp_path: Path) -> None:
    scorer = Scorer()
    net, optimizer = trained(scorer)
    save_state(tmp_path / "run", net, optimizer)
    again, resumed = ar.OnTheFly(seed=0), Adam(0.1)
    load_state(tmp_path / "run", again, resumed)
    save_state(tmp_path / "again", again, resumed)
    later, last = ar.OnTheFly(seed=0), Adam(0.1)
    load_state(tmp_path / "again", later, last)
    extra = ar.FC(2, name="extra")
    for one, its in ((net, optimizer), (later, last)):
        with one.batch(training=True) as g:
            g.train_step(ar.ops.sum(scorer(g, EXAMPLE) ** 2 + extra(g.tensor(EXAMPLE))), its)
    assert dict(later.params).keys() == dict(net.params).keys()
    for name, array in net.params.items():
        assert np.array_equal(later.params[name], array), name


def test_averages_stand_in_for_what_waits(tmp_path: Path) -> None:
    scorer, net, optimizer = Scorer(), ar.OnTheFly(seed=0), Adam(0.1, average=0.9)
    for _ in range(3):
        with net.batch(training=True) as g:
            g.train_step(ar.ops.sum(scorer(g, EXAMPLE) ** 2), optimizer)
    save_state(tmp_path / "run", net, optimizer)
    again, resumed = ar.OnTheFly(seed=0), Adam(0.1, average=0.9)
    load_state(tmp_path / "run", again, resumed)
    after = predicted(net, scorer)
    with resumed.use_averages(again), optimizer.use_averages(net):
        averaged = predicted(again, scorer)
        assert close(averaged, predicted(net, scorer), 0)
    assert not close(averaged, after, 1e-4)
    assert close(predicted(again, scorer), after, 0)
