"""Optimizers against plain transcriptions of their papers, on every device."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

import arrows as ar
from arrows.engine.device import Device, get_device
from arrows.engine.values import Ragged
from arrows.ops import RowSparse
from arrows.training import SGD, Adagrad, Adam, AdamW, Optimizer, RMSprop, parameters as blocks
from arrows.typesys.errors import ArrowTypeError, ArrowValueError
from tests.marks import CUDA, KERNELS
from tests.profile import draws
from tests.training.optimizers.papers import CASES

DEVICES = ["cpu", "fake", KERNELS, CUDA]
SHAPES = {"scalar": (), "bias": (5,), "empty": (0, 3), "deep": (2, 3, 2), "table": (6, 3), "scalars": (4,)}
TABLES = ("table", "scalars", "deep")


@dataclass
class Model:
    """As much of a model as an optimizer sees."""

    device: Device
    params: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, device: str | Device, **arrays: Any) -> Model:
        place = get_device(device)
        return cls(place, {name: place.to_device(np.array(array)) for name, array in arrays.items()})

    def numpy(self, name: str) -> np.ndarray:
        return self.device.to_numpy(self.params[name])

    def sparse(self, rows: list[int], values: np.ndarray, shape: tuple[int, ...]) -> RowSparse:
        up = self.device.to_device
        return RowSparse(up(np.array(rows, np.int64)), up(values), shape)


def whole(shape: tuple[int, ...], rows: list[int] | None, values: np.ndarray) -> np.ndarray:
    """The dense array of a gradient."""
    if rows is None:
        return values
    dense = np.zeros(shape)
    np.add.at(dense, rows, values)
    return dense


STEP = st.lists(
    st.none() | st.just("dense") | st.lists(st.integers(0, 3), max_size=5), min_size=6, max_size=6
)
"""Of each parameter: no gradient, a dense one, or the rows of a sparse one."""


@pytest.mark.parametrize(
    ("device", "some"), [("cpu", 30), ("fake", 5), pytest.param("fake-kernels", 5, marks=KERNELS.marks)]
)
@pytest.mark.parametrize("block", [7, 1 << 17])
def test_steps_are_the_papers(device: str, some: int, block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Dense and sparse gradients in any order, lazy and dense, clipped, whole and in blocks."""
    monkeypatch.setattr(blocks, "BLOCK", block)

    @draws(some, 20 * some, device, str(block))
    @given(
        case=st.sampled_from(CASES),
        steps=st.lists(STEP, max_size=5),
        dtype=st.sampled_from(["float32", "float64"]),
        dense=st.booleans(),
        clip=st.sampled_from([None, 0.5, 1e3]),
        seed=st.integers(0, 9),
    )
    def check(case: Any, steps: Any, dtype: str, dense: bool, clip: float | None, seed: int) -> None:
        make, paper = case
        random = np.random.default_rng(seed)
        start = {name: random.normal(size=shape).astype(dtype) for name, shape in SHAPES.items()}
        model, optimizer = Model.of(device, **start), make(clip_norm=clip, dense=dense)
        live = dict(model.params)
        taken: dict[str, list[Any]] = {name: [] for name in SHAPES}  # with the rows
        for kinds in steps:
            grads, clear, norm = {}, {}, 0.0
            for (name, shape), kind in zip(SHAPES.items(), kinds, strict=True):
                if kind is None or (kind != "dense" and name not in TABLES):
                    continue
                rows = None if kind == "dense" else [row % shape[0] for row in kind]
                values = random.normal(size=shape if rows is None else (len(rows), *shape[1:])).astype(dtype)
                up = model.device.to_device(np.asarray(values))
                grads[name] = up if rows is None else model.sparse(rows, values, shape)
                clear[name] = whole(shape, rows, values.astype(float)), rows
                norm += float(np.sum(clear[name][0] ** 2))
            scale = 1.0 if clip is None else min(1.0, clip / max(norm**0.5, 1e-30))
            optimizer.step(model, grads)
            for name, (gradient, rows) in clear.items():
                lazy = name in TABLES and not dense and rows is not None
                hit = [rows is None or row in rows for row in range(SHAPES[name][0])] if lazy else None
                taken[name].append((gradient * scale, hit))
        assert optimizer.steps == len(steps)
        tolerance = 1e-10 if dtype == "float64" else 1e-4
        for name, shape in SHAPES.items():
            assert model.params[name] is live[name]
            expected = np.array(start[name], float)
            if name in TABLES:
                for row in range(shape[0]):
                    given = [g[row] if hit is None or hit[row] else None for g, hit in taken[name]]
                    expected[row] = paper(expected[row], given)
            else:
                expected = paper(expected, [g for g, _ in taken[name]])
            np.testing.assert_allclose(model.numpy(name), expected, tolerance, tolerance, err_msg=name)

    check()


@pytest.mark.parametrize("device", DEVICES)
def test_clipping_scales_all_gradients_by_one_norm(device: str) -> None:
    # Repeated rows add up to (3, 0) before they count: the norm over both parameters is 5.
    model = Model.of(device, w=np.zeros((4, 2)), b=np.zeros(1))
    values = np.array([[1.0, 0.0], [2.0, 0.0]])
    grads = {"w": model.sparse([2, 2], values, (4, 2)), "b": model.device.to_device(np.array([4.0]))}
    SGD(1.0, clip_norm=2.5).step(model, grads)
    np.testing.assert_allclose(model.numpy("w"), [[0, 0], [0, 0], [-1.5, 0], [0, 0]])
    np.testing.assert_allclose(model.numpy("b"), [-2.0])
    SGD(1.0, clip_norm=2.5).step(model, {})


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("size", [1e20, 1e30, 1e-30])
def test_gradients_whose_squares_float32_cannot_hold_are_clipped(device: str, size: float) -> None:
    model = Model.of(device, w=np.zeros(2, "float32"))
    gradient = model.device.to_device(np.array([3 * size, 4 * size], "float32"))
    clip = 5 * min(size, 1)
    SGD(1.0, clip_norm=clip).step(model, {"w": gradient})
    np.testing.assert_allclose(model.numpy("w"), [-0.6 * clip, -0.8 * clip], rtol=1e-6)


def test_a_gradient_that_does_not_fit_changes_nothing() -> None:
    model, optimizer = Model.of("cpu", a=np.ones(2), w=np.ones((2, 3))), SGD(1.0)
    for bad, words in [
        ({"v": np.ones(2)}, "no parameter 'v'"),
        ({"w": np.ones((3, 2))}, r"'w' is float64\[2, 3\], its gradient is float64\[3, 2\]"),
        ({"w": np.ones((2, 3), np.float32)}, r"its gradient is float32\[2, 3\]"),
        ({"w": model.sparse([0], np.ones((1, 3)), (9, 3))}, r"its gradient is float64\[9, 3\]"),
    ]:
        with pytest.raises(ArrowValueError, match=words):
            optimizer.step(model, {"a": np.ones(2)} | bad)
    with pytest.raises(ArrowTypeError, match=r"gradient of 'w' must be an array of the device .*, not 3"):
        optimizer.step(model, {"a": np.ones(2), "w": 3})
    assert model.numpy("a").tolist() == [1, 1] and (model.numpy("w") == 1).all() and optimizer.steps == 0
    inputs = Ragged(np.ones((2, 3)), np.array([0, 1, 2]))
    optimizer.step(model, {"a": np.ones(2), "x": inputs})  # of inputs, which is passed over
    other = Adagrad(0.1)
    other.step(model, {"a": np.ones(2)})
    with pytest.raises(ArrowValueError, match=r"shape \[2\]; the model's has shape \[3\]"):
        other.step(Model.of("cpu", a=np.ones(3)), {"a": np.ones(3)})


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: SGD(-0.1), "SGD: learning_rate is -0.1, and should be at least 0"),
        (lambda: SGD(0.1, momentum=1.0), "SGD: momentum is 1.0, and should be at least 0 and below 1"),
        (lambda: Adagrad(0.1, initial_accumulator_value=-1), "Adagrad: initial_accumulator_value is -1"),
        (lambda: Adam(beta_1=1.0), "Adam: beta_1 is 1.0, and should be at least 0 and below 1"),
        (lambda: Adam(epsilon=0), "Adam: epsilon is 0, and should be above 0"),
        (lambda: AdamW(weight_decay=-1), "AdamW: weight_decay is -1"),
        (lambda: RMSprop(epsilon=float("nan")), "RMSprop: epsilon is nan"),
        (lambda: SGD(0.1, rates={"w": -1}), r"rates\['w'\] is -1, and should be at least 0"),
        (lambda: SGD(0.1, average=0), "average is 0, and should be above 0 and at most 1"),
        (lambda: SGD(0.1, clip_norm=0), "SGD: clip_norm is 0, and should be above 0"),
    ],
)
def test_hyperparameters_out_of_range_are_refused(make: Any, words: str) -> None:
    with pytest.raises(ArrowValueError, match=words):
        make()


def test_the_learning_rate_alone_may_change() -> None:
    model, optimizer = Model.of("cpu", w=np.zeros(1)), SGD(1.0)
    optimizer.step(model, {"w": np.ones(1)})
    optimizer.learning_rate = 0.5
    optimizer.step(model, {"w": np.ones(1)})
    assert model.numpy("w").tolist() == [-1.5] and "learning_rate=0.5" in repr(optimizer)
    with pytest.raises(AttributeError, match="SGD: momentum stays as it is"):
        optimizer.momentum = 0.9
    assert Adam(0.1).settings == Adam(0.2).settings != Adam(0.1, dense=True).settings


@dataclass(eq=False)
class Lion(Optimizer):
    """A user's, with all that one may do: decide, forget, keep two values that change places."""

    beta: float = 0.5

    @property
    def slots(self) -> dict[str, float]:
        return {"old": 0.0, "mean": 1.0}

    def update(self, parameter: Any, gradient: Any, state: Any, *, rate: Any, step: Any) -> Any:
        state["old"], state["mean"] = parameter, self.beta * state["mean"] + gradient
        moved = ar.ops.where(state["mean"] > 0, rate, -rate)
        return parameter - moved / step + 0.0 * state["old"]


@pytest.mark.parametrize("device", DEVICES)
def test_an_optimizer_of_ones_own(device: str) -> None:
    start, random = np.arange(6.0).reshape(2, 3), np.random.default_rng(0)
    model, optimizer = Model.of(device, w=start), Lion(0.1, beta=0.25)
    w, mean = start, np.ones((2, 3))
    for step in range(1, 4):
        gradient = random.normal(size=(2, 3))
        optimizer.step(model, {"w": model.device.to_device(gradient.copy())})
        old, mean = w, 0.25 * mean + gradient
        w = w - np.where(mean > 0, 0.1, -0.1) / step
    np.testing.assert_allclose(model.numpy("w"), w, rtol=1e-12)
    np.testing.assert_allclose(model.device.to_numpy(optimizer.state["w"]["old"]), old, rtol=1e-12)


class Normalizing(Optimizer):
    """Looks at a whole array."""

    def update(self, parameter: Any, gradient: Any, state: Any, *, rate: Any, step: Any) -> Any:
        return parameter - rate * gradient / ar.ops.max(ar.ops.abs(gradient))


class Forgetting(Optimizer):
    """Returns nothing."""

    def update(self, parameter: Any, gradient: Any, state: Any, *, rate: Any, step: Any) -> None:
        parameter -= rate * gradient


@pytest.mark.parametrize("device", ["cpu", KERNELS])
@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Normalizing(0.1), "Normalizing.update must work element by element.*max"),
        (lambda: Forgetting(0.1), "Forgetting.update must return the parameter's new value.*NoneType"),
        (lambda: Optimizer(0.1), "Optimizer does not say how a parameter changes; use one such as Adam"),
    ],
)
def test_updates_that_cannot_run_by_rows_are_refused(device: str, make: Any, words: str) -> None:
    model = Model.of(device, w=np.ones(3))
    with pytest.raises((ArrowValueError, ArrowTypeError), match=words):
        make().step(model, {"w": model.device.to_device(np.ones(3))})
    assert model.numpy("w").tolist() == [1.0, 1.0, 1.0]
