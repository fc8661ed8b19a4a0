"""The training loop, on a stand-in model that records its batches."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from arrows.engine.device import get_device
from arrows.training import SGD, Epoch, train
from arrows.typesys.errors import ArrowValueError


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


@pytest.mark.parametrize("device", ["cpu", "fake"])
def test_every_epoch_sees_every_example_once_in_another_order(device):
    model, seen = Bookkeeper(device), []
    history = train(
        model,
        list(range(10)),
        SGD(1.0),
        epochs=3,
        batch_size=4,
        evaluate=lambda: {"steps": len(model.batches)},
        after_epoch=seen.append,
        progress=False,
    )
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
        train(model, list(range(20)), SGD(0.0), epochs=2, batch_size=3, seed=seed, progress=False)
        return model.batches

    assert order(1) == order(1) != order(2)


def test_prepared_examples_are_used_as_they_are():
    model = Bookkeeper()
    train(model, Prepared([1, 2]), SGD(0.0), progress=False)
    assert model.prepared == 0 and sorted(model.batches[0]) == [1, 2]


def test_nothing_to_train_on():
    (epoch,) = train(Bookkeeper(), [], SGD(0.0), progress=False)
    assert epoch.loss == 0.0
    assert train(Bookkeeper(), [1], SGD(0.0), epochs=0, progress=False) == []


def test_the_bar_shows_epoch_loss_and_unit(capsys):
    train(Bookkeeper(), [2] * 50, SGD(0.0), batch_size=50, unit="tree")
    assert "epoch 1/1" in (shown := capsys.readouterr().err) and "50" in shown


@pytest.mark.parametrize("bad", [{"epochs": -1}, {"batch_size": 0}])
def test_bad_arguments_are_refused(bad):
    with pytest.raises(ArrowValueError, match=f"{next(iter(bad))} is"):
        train(Bookkeeper(), [1], SGD(0.0), **bad)


def test_an_epoch_prints_as_one_line():
    full, bare = Epoch(2, 1.5, 2.0, 1234.5, {"root": 0.5}), Epoch(1, 0.0, 0.0, 0.0, {}, "tree")
    assert str(full) == "epoch 2: loss 1.5000, root 0.500, 1,234 examples/s"
    assert str(bare) == "epoch 1: loss 0.0000, 0 trees/s"
