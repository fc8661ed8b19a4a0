"""Losses that are read some steps later: no step waits, and a bad loss leaves what waiting would leave."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import arrows as ar
from arrows.training import SGD, Adam, NotFiniteError, load_state, train
from arrows.training import losses as module
from tests.training.optimizers.test_optimizers import KERNELS

others = pytest.mark.parametrize("device", ["fake", KERNELS])
TABLE = 12


def block() -> Any:
    """Sums of `exp` of words: a word of a large number makes the loss infinite."""
    word = ar.GetItem(0) >> ar.Scalar("int32") >> ar.Embedding(TABLE, 3, name="table")
    large = ar.GetItem(1) >> ar.Scalar()
    term = ar.Function(lambda y, x: ar.ops.exp(x) * (y[0] - 1.0) ** 2)
    scored = (word >> ar.FC(1, name="fc") & large) >> term
    return ar.Map(scored) >> ar.Sum()


def examples(bad: int | None) -> list[Any]:
    random = np.random.default_rng(0)
    sets: list[Any] = [
        [(int(random.integers(TABLE)), float(random.normal())) for _ in range(random.integers(1, 4))]
        for _ in range(30)
    ]
    if bad is not None:
        sets[bad] = [(1, 0.5), (2, 200.0)]
    return sets


class Outcome:
    """What a run leaves behind."""

    def __init__(self, device: str, optimizer: Any, bad: int | None, **more: Any) -> None:
        self.model, self.optimizer = ar.compile(block(), device=device), optimizer
        self.text, self.history = "", []
        with np.errstate(all="ignore"):
            try:
                self.history = train(
                    self.model, examples(bad), optimizer, batch_size=2, epochs=2, progress=False, **more
                )
            except NotFiniteError as error:
                self.text = str(error)

    @property
    def arrays(self) -> dict[str, Any]:
        state = self.optimizer.state.items()
        flat = {f"{name} {slot}": array for name, slots in state for slot, array in slots.items()}
        counts = {f"count {name}": np.asarray(count) for name, count in self.counts.items()}
        return {**ar.to_numpy(dict(self.model.params)), **ar.to_numpy(flat), **counts}

    @property
    def counts(self) -> dict[str, Any]:
        return {n: c if isinstance(c, int) else ar.to_numpy(c) for n, c in self.optimizer.counts.items()}

    def same_as(self, other: Outcome) -> None:
        assert self.optimizer.steps == other.optimizer.steps and self.model.step == other.model.step
        assert self.arrays.keys() == other.arrays.keys()
        for name, array in other.arrays.items():
            np.testing.assert_allclose(self.arrays[name], array, rtol=1e-4, atol=1e-5, err_msg=name)


@others
@pytest.mark.parametrize("steps", [1, 4, 64])
@pytest.mark.parametrize("bad", [None, 0, 13, 29])
@pytest.mark.parametrize(
    "make", [lambda: SGD(0.05), lambda: Adam(0.01, clip_norm=1.0, average=0.9)], ids=["sgd", "adam"]
)
def test_a_run_leaves_what_waiting_would_leave(
    device: str, steps: int, bad: int | None, make: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_STEPS", steps)
    there, here = Outcome(device, make(), bad), Outcome("cpu", make(), bad)
    there.same_as(here)
    assert there.text == here.text and (bad is None) == (not here.text)
    for epoch, other in zip(there.history, here.history, strict=True):
        assert epoch.loss == pytest.approx(other.loss, rel=1e-5)


@others
def test_ignoring_goes_on(device: str) -> None:
    there, here = (Outcome(name, SGD(0.05), 13, nan="ignore") for name in (device, "cpu"))
    there.same_as(here)
    assert np.isnan(here.history[-1].loss) and np.isnan(there.history[-1].loss)


# Without kernels, the host waits to learn how many different rows a table's gradient has.
in_kernels = pytest.mark.parametrize("device", [KERNELS])


@in_kernels
@pytest.mark.parametrize("nan", ["stop", "ignore"])
def test_no_step_of_an_epoch_waits(device: str, nan: str) -> None:
    """However many steps there are: what comes down are the losses, together, and which parameters are
    finite."""

    def downloads(count: int) -> tuple[int, int]:
        model = ar.compile(block(), device=device)
        batches = model.prepare(examples(None)[:count])
        before = model.device.counts
        train(model, batches, Adam(0.01, clip_norm=1.0), batch_size=2, progress=False, nan=nan)
        counts = model.device.counts - before
        return counts.downloads, counts.synchronizations

    assert downloads(4) == downloads(30) == (2 if nan == "stop" else 1, 0)


@in_kernels
def test_a_step_alone_does_not_wait_either(device: str) -> None:
    model, optimizer = ar.compile(block(), device=device), Adam(0.01, clip_norm=1.0)
    batch = model.prepare(examples(None)[:4])[:]
    model.train_step(batch, optimizer)
    before = model.device.counts
    model.train_step(batch, optimizer)
    counts = model.device.counts - before
    assert (counts.uploads, counts.downloads, counts.synchronizations) == (1, 0, 0)


@others
def test_a_saved_state_is_that_of_losses_that_were_read(device: str, tmp_path: Path) -> None:
    path = tmp_path / "run"
    there = Outcome(device, SGD(0.05), 13, checkpoint_path=path, checkpoint_every=2)
    model, optimizer = ar.compile(block()), SGD(0.05)
    load_state(path, model, optimizer)
    assert there.text and optimizer.steps == there.optimizer.steps // 2 * 2
    assert all(np.isfinite(array).all() for array in model.params.values())


@others
def test_an_error_in_a_later_step_takes_masked_steps_back(device: str) -> None:
    """A batch that cannot be made comes before the losses are looked at."""
    model, optimizer = ar.compile(block(), device=device), SGD(0.05)
    prepared = model.prepare([[(2, 200.0)]])
    before = ar.to_numpy(dict(model.params))

    class Batches:
        """The first has an infinite loss, and there is no second."""

        left = 1

        def __len__(self) -> int:
            return 2

        def __getitem__(self, numbers: Any) -> Any:
            self.left -= 1
            if self.left < 0:
                raise OSError("gone")
            return prepared[[0]]

    model.prepare = lambda examples: examples  # type: ignore[assignment, method-assign]
    with pytest.raises(OSError, match="gone"):
        train(model, Batches(), optimizer, batch_size=1, progress=False)
    assert optimizer.steps == 0 and model.step == 0 and optimizer.unless is None
    for name, array in ar.to_numpy(dict(model.params)).items():
        assert np.array_equal(array, before[name])


class Own(SGD):
    """Has a step of its own, which knows of no masks."""

    def step(self, model: Any, grads: Any) -> None:
        super().step(model, grads)


@others
def test_an_optimizer_of_ones_own_is_waited_for(device: str) -> None:
    there, here = Outcome(device, Own(0.05), 13), Outcome("cpu", Own(0.05), 13)
    there.same_as(here)
    assert there.text == here.text
