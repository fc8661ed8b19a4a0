"""The arena: once a batch size has been seen, nothing large is allocated but what is handed out."""

from __future__ import annotations

import sys
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import arrows as ar
from arrows.engine.device import Arena, Buffer, get_device
from arrows.ops import RowSparse

LARGE = 64 << 10

devices = pytest.mark.parametrize("device", ["cpu", "fake"])


# ------------------------------------------------------------------------------------------ the arena


@devices
def test_the_same_name_is_the_same_memory(device: str) -> None:
    arena = Arena(get_device(device))
    a = arena.array("a", (10, 3), "float32")
    held = arena.bytes
    for shape in ((10, 3), (3, 10), (30,), (5, 2, 3), (0, 4), ()):
        again = arena.array("a", shape, "float32")
        assert again.shape == shape and again.dtype == "float32"
        a[...], again[...] = 3, 7
        assert float(ar.to_numpy(a).ravel()[0]) == (7 if again.size else 3)
    assert arena.bytes == held


def test_it_grows_with_room_to_spare_and_is_let_go() -> None:
    arena = Arena(get_device("cpu"))
    arena.array("a", (100,), "float32")
    assert arena.bytes == 400  # the only batch takes no more than it needs
    arena.array("a", (110,), "float32")
    held = arena.bytes
    assert held > 440
    arena.array("a", (120,), "float32")
    assert arena.bytes == held
    assert arena.bytes_with([Buffer("a", (20, 10), "float32"), Buffer("b", (10,), "float32")]) == 4 * (
        251 + 10
    )
    arena.array("a", (1000,), "float32")
    assert arena.bytes >= 4000
    arena.clear()
    assert arena.bytes == 0


# ------------------------------------------------------------------------------------------ a running model


@contextmanager
def watched(found: dict[tuple[str, int], int]) -> Iterator[None]:
    """Notes each line during which more than `LARGE` bytes were newly in use at once, and how many."""
    here = [("", 0)]
    base = [0]

    def note() -> None:
        grown = tracemalloc.get_traced_memory()[1] - base[0]
        if grown > LARGE:
            found[here[0]] = max(found.get(here[0], 0), grown)

    def follow(frame: Any, event: str, argument: Any) -> Any:
        note()
        here[0] = Path(frame.f_code.co_filename).name, frame.f_lineno
        base[0] = tracemalloc.get_traced_memory()[0]
        tracemalloc.reset_peak()
        return follow

    tracemalloc.start()
    before = sys.gettrace()
    try:
        base[0] = tracemalloc.get_traced_memory()[0]
        sys.settrace(follow)
        yield
    finally:
        sys.settrace(before)
        tracemalloc.stop()


def large(call: Callable[[], Any]) -> dict[tuple[str, int], int]:
    """The lines that allocate much when a call is made for the third time."""
    call()
    call()
    found: dict[tuple[str, int], int] = {}
    with watched(found):
        call()
    return found


class Steps:
    """Reads the gradients and makes a step without memory of its own."""

    def step(self, model: Any, grads: Any) -> None:
        for name, gradient in grads.items():
            if isinstance(gradient, RowSparse):
                continue
            gradient *= -0.01
            model.params[name][...] += gradient


SIZE = 24


def tree_model() -> ar.Model:
    """State, words and parameters are small, so that only what holds many rows is large."""
    cell, table = ar.TreeLSTM(SIZE, children=2), ar.Embedding(50, SIZE)

    @ar.fix
    def tree(me: Any) -> Any:
        leaf = (ar.Scalar("int32") >> table & ar.Zeros((cell.state, cell.state))) >> cell
        pair = (ar.Zeros([SIZE]) & (ar.GetItem(0) >> me & ar.GetItem(1) >> me)) >> cell
        state = ar.OneOf(lambda t: isinstance(t, tuple), {True: pair, False: leaf})
        loss = ar.GetItem(0) >> ar.FC(1) >> ar.Function(lambda x: (x * x).sum()) >> ar.Metric("loss")
        return state >> (ar.Identity() & loss) >> ar.GetItem(0)

    return ar.compile(tree >> ar.Void(), loss="loss")


def random_trees(count: int, leaves: int) -> list[Any]:
    generator = np.random.default_rng(0)

    def grow(n: int) -> Any:
        if n == 1:
            return int(generator.integers(50))
        left = int(generator.integers(1, n))
        return grow(left), grow(n - left)

    return [grow(leaves) for _ in range(count)]


def batch_of(model: ar.Model) -> Any:
    """702 cells: their gates take 340 kB, a state 67 kB; an index array takes 50 kB, a matrix 35 kB."""
    return model.prepare(random_trees(18, 20))[range(18)]


def test_a_training_step_allocates_nothing_large() -> None:
    model = tree_model()
    batch, optimizer = batch_of(model), Steps()
    assert large(lambda: model.train_step(batch, optimizer)) == {}
    assert model.executors.arena.bytes > 10 * LARGE


def test_a_forward_pass_allocates_nothing_large() -> None:
    model = tree_model()
    batch = batch_of(model)
    assert large(lambda: model(batch)) == {}
    assert model.executors.arena.bytes > 3 * LARGE


def test_what_is_handed_out_is_all_that_stays() -> None:
    """Many steps hold no more memory than a few: nothing is kept of a batch."""
    model = tree_model()
    batch = batch_of(model)
    for _ in range(3):
        model.value_and_grad(batch)
        model(batch)
    tracemalloc.start()
    try:
        model.value_and_grad(batch)
        model(batch)
        before = tracemalloc.get_traced_memory()[0]
        for _ in range(5):
            model.value_and_grad(batch)
            model(batch)
        assert tracemalloc.get_traced_memory()[0] - before < LARGE
    finally:
        tracemalloc.stop()
