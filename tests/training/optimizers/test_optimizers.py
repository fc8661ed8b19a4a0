"""Optimizers against plain transcriptions of their papers: dense and sparse, on NumPy and the fake device."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arrows.engine.device import Device, get_device
from arrows.engine.device.host_compiler import host_compiler
from arrows.engine.values import Ragged
from arrows.ops import RowSparse
from arrows.training import SGD, Adadelta, Adagrad, Adam, AdamW, Optimizer, RMSprop
from arrows.training import parameters as module
from arrows.typesys.errors import ArrowValueError
from tests.training.optimizers.papers import CASES, NAMES

KERNELS = pytest.param(
    "fake-kernels",
    marks=pytest.mark.skipif(host_compiler() is None, reason="the host has no C compiler"),
)
DEVICES = ["cpu", "fake", KERNELS, pytest.param("cuda", marks=pytest.mark.gpu)]


@dataclass
class Model:
    """As much of a model as an optimizer sees."""

    device: Device
    params: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, device: str | Device, **arrays: np.ndarray) -> Model:
        place = get_device(device)
        return cls(place, {name: place.to_device(array.copy()) for name, array in arrays.items()})

    def numpy(self, name: str) -> np.ndarray:
        return self.device.to_numpy(self.params[name])

    def sparse(self, rows: list[int], values: np.ndarray, shape: tuple[int, ...]) -> RowSparse:
        up = self.device.to_device
        return RowSparse(up(np.array(rows, np.int64)), up(values), shape)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(("make", "paper"), CASES, ids=NAMES)
@pytest.mark.parametrize("shape", [(), (5,), (3, 4), (2, 3, 2), (0, 3)], ids=str)
def test_dense_updates_are_the_papers(device, make, paper, shape):
    random = np.random.default_rng(0)
    start, gradients = random.normal(size=shape), [random.normal(size=shape) for _ in range(5)]
    start = np.asarray(start)
    model, optimizer = Model.of(device, w=start), make()
    live = model.params["w"]
    for gradient in gradients:
        optimizer.step(model, {"w": model.device.to_device(np.asarray(gradient))})
    assert model.params["w"] is live
    np.testing.assert_allclose(model.numpy("w"), paper(start, gradients), rtol=1e-12)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(("make", "paper"), CASES, ids=NAMES)
def test_sparse_updates_touch_their_rows_alone(device, make, paper):
    random = np.random.default_rng(1)
    start = random.normal(size=(6, 3))
    model, optimizer = Model.of(device, w=start), make()
    touched: dict[int, list[Any]] = {row: [] for row in range(6)}
    for rows in ([4, 1, 4], [], [1, 0, 2, 1, 1], [0, 2, 3], [3, 2]):
        values = random.normal(size=(len(rows), 3))
        optimizer.step(model, {"w": model.sparse(rows, values, (6, 3))})
        for row in range(6):
            mine = [value for r, value in zip(rows, values, strict=True) if r == row]
            touched[row].append(sum(mine) if mine else None)
    for row, gradients in touched.items():
        np.testing.assert_allclose(model.numpy("w")[row], paper(start[row], gradients), rtol=1e-12)
    assert np.array_equal(model.numpy("w")[5], start[5])


@given(
    rows=st.lists(st.integers(0, 7), max_size=12),
    clip=st.sampled_from([None, 1e-3, 1.0, 1e3]),
    seed=st.integers(0, 2**16),
    case=st.sampled_from(range(len(CASES))),
)
def test_first_sparse_step_is_the_dense_step_on_touched_rows(rows, clip, seed, case):
    random = np.random.default_rng(seed)
    start, values = random.normal(size=(8, 2)), random.normal(size=(len(rows), 2))
    bias = random.normal(size=2)
    dense = np.zeros((8, 2))
    np.add.at(dense, rows, values)
    make = CASES[case][0]
    one, other = Model.of("cpu", w=start, b=bias), Model.of("cpu", w=start, b=bias)
    make(clip_norm=clip).step(one, {"w": one.sparse(rows, values, (8, 2)), "b": bias})
    make(clip_norm=clip).step(other, {"w": dense, "b": bias})
    np.testing.assert_allclose(one.numpy("b"), other.numpy("b"), rtol=1e-12)
    for row in range(8):
        expected = other.numpy("w")[row] if row in rows else start[row]
        np.testing.assert_allclose(one.numpy("w")[row], expected, rtol=1e-12)


@pytest.mark.parametrize("device", DEVICES)
def test_clipping_scales_all_gradients_by_one_norm(device):
    # Repeated rows add up to (3, 0) before they count: the norm over both parameters is 5.
    model = Model.of(device, w=np.zeros((4, 2)), b=np.zeros(1))
    up = model.device.to_device
    grads = {"w": model.sparse([2, 2], np.array([[1.0, 0.0], [2.0, 0.0]]), (4, 2)), "b": up(np.array([4.0]))}
    SGD(1.0, clip_norm=2.5).step(model, grads)
    np.testing.assert_allclose(model.numpy("w"), [[0, 0], [0, 0], [-1.5, 0], [0, 0]])
    np.testing.assert_allclose(model.numpy("b"), [-2.0])


def test_gradients_below_the_norm_are_not_scaled():
    model = Model.of("cpu", w=np.zeros(2))
    SGD(1.0, clip_norm=5.0).step(model, {"w": np.array([3.0, 4.0])})
    assert model.numpy("w").tolist() == [-3.0, -4.0]
    SGD(1.0, clip_norm=5.0).step(model, {"w": np.zeros(2)})
    SGD(1.0, clip_norm=5.0).step(model, {})
    assert model.numpy("w").tolist() == [-3.0, -4.0]


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("size", [1e20, 1e30, 1e-30])
def test_gradients_whose_squares_float32_cannot_hold_are_clipped(device, size):
    model = Model.of(device, w=np.zeros(2, "float32"))
    gradient = model.device.to_device(np.array([3 * size, 4 * size], "float32"))
    clip = 5 * min(size, 1)
    SGD(1.0, clip_norm=clip).step(model, {"w": gradient})
    np.testing.assert_allclose(model.numpy("w"), [-0.6 * clip, -0.8 * clip], rtol=1e-6)


@pytest.mark.parametrize(("make", "paper"), CASES, ids=NAMES)
def test_blocks_give_what_the_whole_gives(make, paper, monkeypatch):
    monkeypatch.setattr(module, "BLOCK", 7)
    random = np.random.default_rng(2)
    start = random.normal(size=(11, 3))
    gradients = [random.normal(size=(11, 3)) for _ in range(3)]
    dense, sparse = Model.of("cpu", w=start), Model.of("cpu", w=start)
    one, other = make(clip_norm=1e6), make(clip_norm=1e6)
    rows = list(range(11))
    for gradient in gradients:
        one.step(dense, {"w": gradient})
        other.step(sparse, {"w": sparse.sparse(rows[::-1], gradient[::-1], (11, 3))})
    np.testing.assert_allclose(dense.numpy("w"), paper(start, gradients), rtol=1e-12)
    np.testing.assert_allclose(sparse.numpy("w"), paper(start, gradients), rtol=1e-12)


@pytest.mark.parametrize("make", [case[0] for case in CASES], ids=NAMES)
def test_gradients_are_left_as_they_are_and_types_are_kept(make):
    model = Model.of("cpu", w=np.ones((4, 2), np.float32), e=np.ones((4, 2), np.float32))
    dense, values = np.full((4, 2), 3.0, np.float32), np.full((3, 2), 2.0, np.float32)
    optimizer = make(clip_norm=0.5)
    for _ in range(2):
        optimizer.step(model, {"w": dense, "e": model.sparse([0, 1, 1], values, (4, 2))})
    assert (dense == 3).all() and (values == 2).all()
    assert model.params["w"].dtype == model.params["e"].dtype == np.float32
    assert all(a.dtype == np.float32 for slots in optimizer.state.values() for a in slots.values())


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(("make", "paper"), CASES, ids=NAMES)
def test_dense_and_sparse_gradients_of_one_parameter(device, make, paper):
    random = np.random.default_rng(3)
    start = random.normal(size=(4, 2))
    model, optimizer = Model.of(device, w=start), make()
    touched: dict[int, list[Any]] = {row: [] for row in range(4)}
    for rows in (None, [1, 2], [2], None, [0, 2], None):
        values = random.normal(size=(4 if rows is None else len(rows), 2))
        up = model.device.to_device
        gradient = up(values) if rows is None else model.sparse(rows, values, (4, 2))
        optimizer.step(model, {"w": gradient})
        for row, value in zip(range(4) if rows is None else rows, values, strict=True):
            touched[row].append(value)
    for row, gradients in touched.items():
        np.testing.assert_allclose(model.numpy("w")[row], paper(start[row], gradients), rtol=1e-11)


def test_learning_rate_may_change_between_steps():
    model, optimizer = Model.of("cpu", w=np.zeros(1)), SGD(1.0)
    optimizer.step(model, {"w": np.ones(1)})
    optimizer.learning_rate = 0.5
    optimizer.step(model, {"w": np.ones(1)})
    assert model.numpy("w").tolist() == [-1.5] and optimizer.steps == 2


def test_a_gradient_that_does_not_fit_changes_nothing():
    model, optimizer = Model.of("cpu", a=np.ones(2), w=np.ones((2, 3))), SGD(1.0)
    for bad, words in [
        ({"v": np.ones(2)}, "no parameter 'v'"),
        ({"w": np.ones((3, 2))}, r"'w' is float64\[2, 3\], its gradient is float64\[3, 2\]"),
        ({"w": np.ones((2, 3), np.float32)}, r"its gradient is float32\[2, 3\]"),
        ({"w": model.sparse([0], np.ones((1, 3)), (9, 3))}, r"its gradient is float64\[9, 3\]"),
    ]:
        with pytest.raises(ArrowValueError, match=words):
            optimizer.step(model, {"a": np.ones(2)} | bad)
    assert model.numpy("a").tolist() == [1, 1] and (model.numpy("w") == 1).all() and optimizer.steps == 0


def test_an_optimizer_does_not_serve_a_model_of_other_shapes():
    optimizer = Adagrad(0.1)
    optimizer.step(Model.of("cpu", w=np.ones(2)), {"w": np.ones(2)})
    with pytest.raises(ArrowValueError, match=r"shape \[2\]; the model's has shape \[3\]"):
        optimizer.step(Model.of("cpu", w=np.ones(3)), {"w": np.ones(3)})


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: SGD(-0.1), "SGD: learning_rate is -0.1, and should be at least 0"),
        (lambda: SGD(float("nan")), "SGD: learning_rate is nan"),
        (lambda: SGD(0.1, momentum=1.0), "SGD: momentum is 1.0, and should be at least 0 and below 1"),
        (lambda: SGD(0.1, weight_decay=-1), "SGD: weight_decay is -1"),
        (lambda: Adagrad(0.1, epsilon=0), "Adagrad: epsilon is 0, and should be above 0"),
        (lambda: Adagrad(0.1, initial_accumulator=-1), "Adagrad: initial_accumulator is -1"),
        (lambda: Adam(-1), "Adam: learning_rate is -1, and should be at least 0"),
        (lambda: Adam(beta1=1.0), "Adam: beta1 is 1.0, and should be at least 0 and below 1"),
        (lambda: Adam(beta2=-1), "Adam: beta2 is -1"),
        (lambda: Adam(epsilon=0), "Adam: epsilon is 0, and should be above 0"),
        (lambda: AdamW(weight_decay=-1), "Adam: decoupled_decay is -1"),
        (lambda: RMSprop(rho=1), "RMSprop: rho is 1"),
        (lambda: RMSprop(epsilon=float("nan")), "RMSprop: epsilon is nan"),
        (lambda: Adadelta(rho=2), "Adadelta: rho is 2"),
        (lambda: Adadelta(weight_decay=-1), "Adadelta: weight_decay is -1"),
        (lambda: SGD(0.1, rates={"w": -1}), r"rates\['w'\] is -1, and should be at least 0"),
        (lambda: SGD(0.1, average=0), "average is 0, and should be above 0 and at most 1"),
        (lambda: SGD(0.1, clip_norm=0), "clip_norm is 0, and should be above 0"),
    ],
)
def test_hyperparameters_out_of_range_are_refused(make, words):
    with pytest.raises(ArrowValueError, match=words):
        make()


def test_a_rule_of_ones_own():
    class Sign:
        """signSGD, Bernstein et al. 2018."""

        learning_rate, weight_decay, slots = 0.5, 0.0, {}

        def update(self, xp, parameter, gradient, state, scratch, *, rate, step):
            xp.sign(gradient, out=scratch)
            xp.multiply(scratch, rate, out=scratch)
            xp.subtract(parameter, scratch, out=parameter)

    model = Model.of("cpu", w=np.zeros(3))
    Optimizer(Sign()).step(model, {"w": np.array([2.0, -7.0, 0.0])})
    assert model.numpy("w").tolist() == [-0.5, 0.5, 0.0]


def test_gradients_of_inputs_are_passed_over():
    model = Model.of("cpu", w=np.zeros(2))
    inputs = Ragged(np.ones((2, 3)), np.array([0, 1, 2]))
    SGD(1.0, clip_norm=1e9).step(model, {"w": np.ones(2), "x": inputs})
    assert model.numpy("w").tolist() == [-1.0, -1.0]


ON_EMBEDDINGS = {
    "SGD": (
        lambda **more: SGD(0.1, weight_decay=0.01, **more),
        lambda t, w: t.SGD(w, 0.1, weight_decay=0.01),
    ),
    "momentum": (lambda **more: SGD(0.1, momentum=0.9, **more), lambda t, w: t.SGD(w, 0.1, momentum=0.9)),
    "Adam": (lambda **more: Adam(0.01, **more), lambda t, w: t.Adam(w, 0.01)),
    "AdamW": (
        lambda **more: AdamW(0.01, weight_decay=0.1, **more),
        lambda t, w: t.AdamW(w, 0.01, weight_decay=0.1),
    ),
    "Adagrad": (lambda **more: Adagrad(0.05, **more), lambda t, w: t.Adagrad(w, 0.05)),
    "RMSprop": (lambda **more: RMSprop(0.01, rho=0.9, **more), lambda t, w: t.RMSprop(w, 0.01, alpha=0.9)),
    "Adadelta": (lambda **more: Adadelta(rho=0.9, **more), lambda t, w: t.Adadelta(w, rho=0.9)),
}


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", ON_EMBEDDINGS)
@pytest.mark.parametrize("clip", [None, 1.5])
def test_dense_steps_on_embeddings_are_pytorch_s(device, name, clip):
    torch = pytest.importorskip("torch")
    make, theirs = ON_EMBEDDINGS[name]
    random = np.random.default_rng(0)
    start = random.normal(size=(6, 3))
    model, optimizer = Model.of(device, table=start), make(dense=True, clip_norm=clip)
    layer = torch.nn.Embedding.from_pretrained(torch.tensor(start), freeze=False)
    other = theirs(torch.optim, layer.parameters())
    for rows in ([1, 1, 4], [2], [4, 0, 2], [], [5]):
        values = random.normal(size=(len(rows), 3))
        optimizer.step(model, {"table": model.sparse(rows, values, (6, 3))})
        other.zero_grad()
        (layer(torch.tensor(rows, dtype=torch.int64)) * torch.tensor(values)).sum().backward()
        if clip is not None:  # not clip_grad_norm_, which adds 1e-6 to the norm
            norm = layer.weight.grad.norm()
            layer.weight.grad *= min(1.0, clip / max(norm.item(), 1e-30))
        other.step()
        np.testing.assert_allclose(model.numpy("table"), layer.weight.detach().numpy(), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(("make", "paper"), CASES, ids=NAMES)
def test_dense_steps_are_the_papers_on_whole_gradients(device, make, paper):
    random = np.random.default_rng(0)
    start = random.normal(size=(5, 2))
    model, optimizer = Model.of(device, w=start), make()
    optimizer.dense = True
    whole = []
    for rows in ([1, 3, 1], [], [0], [4, 4, 4, 3], [2]):
        gradient = model.sparse(rows, random.normal(size=(len(rows), 2)), (5, 2))
        whole.append(model.device.to_numpy(gradient.to_dense(model.device.xp)))
        optimizer.step(model, {"w": gradient})
    assert optimizer.counts == {"w": 5}
    np.testing.assert_allclose(model.numpy("w"), paper(start, whole), rtol=1e-12)


@pytest.mark.parametrize("device", DEVICES)
def test_dense_steps_differ_from_lazy_ones_where_moments_fade(device):
    """A row that one step touches moves on in a dense optimizer, and stays in a lazy one."""
    models = []
    for dense in (False, True):
        model, optimizer = Model.of(device, w=np.zeros((2, 1))), Adam(0.1, dense=dense)
        for rows in ([0], [1], [1]):
            optimizer.step(model, {"w": model.sparse(rows, np.ones((1, 1)), (2, 1))})
        models.append(model.numpy("w")[0, 0])
    np.testing.assert_allclose(models[0], -0.1, rtol=1e-6)
    assert models[1] < -0.15


def test_a_dense_step_that_fails_half_way_leaves_no_trace_in_the_next():
    model, optimizer, right = (
        Model.of("cpu", w=np.zeros((3, 1))),
        Adam(0.1, dense=True),
        Adam(0.1, dense=True),
    )
    other = Model.of("cpu", w=np.zeros((3, 1)))
    optimizer.step(model, {"w": model.sparse([0], np.ones((1, 1)), (3, 1))})
    right.step(other, {"w": other.sparse([0], np.ones((1, 1)), (3, 1))})
    rule, optimizer.rule = optimizer.rule, None
    with pytest.raises(AttributeError):
        optimizer.step(model, {"w": model.sparse([1], np.ones((1, 1)), (3, 1))})
    optimizer.rule = rule
    optimizer.counts["w"] -= 1
    optimizer.step(model, {"w": model.sparse([2], np.ones((1, 1)), (3, 1))})
    right.step(other, {"w": other.sparse([2], np.ones((1, 1)), (3, 1))})
    np.testing.assert_array_equal(model.numpy("w"), other.numpy("w"))


def test_whether_steps_are_dense_tells_optimizers_apart():
    lazy, dense = Adam(0.1), Adam(0.1, dense=True)
    assert "dense" not in lazy.settings and dense.settings.endswith("dense=True)")
