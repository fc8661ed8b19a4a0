"""How often a training step launches, sends and waits, on a device with kernels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import arrows as ar
from arrows.engine.program.pipeline import without_passes
from arrows.models import sentiment
from arrows.testing.fake import Counts, FakeKernelsDevice
from arrows.training import Adagrad, Adam
from tests.marks import needs_compiler

pytestmark = needs_compiler

WORDS = ar.Vocabulary(list("abcdefg"))


def chain(depth: int) -> Any:
    """A tree whose left halves are so deep."""
    tree: Any = {"label": 1, "word": "a"}
    for _ in range(depth):
        tree = {"label": 2, "left": tree, "right": {"label": 3, "word": "b"}}
    return tree


def random_tree(rng: np.random.Generator, leaves: int) -> Any:
    """A tree of so many words, each split as likely as the others."""
    label = int(rng.integers(0, 5))
    if leaves == 1:
        return {"label": label, "word": str(rng.choice(WORDS.words[1:]))}
    left = int(rng.integers(1, leaves))
    return {"label": label, "left": random_tree(rng, left), "right": random_tree(rng, leaves - left)}


def counted(model: Any, batch: Any, optimizer: Any = None) -> Counts:
    """What a training step does, after the first."""
    optimizer = Adagrad(0.05) if optimizer is None else optimizer
    model.train_step(batch, optimizer)
    before = model.device.counts
    model.train_step(batch, optimizer)
    return model.device.counts - before


def tree_model(size: int = 6) -> Any:
    block = sentiment(WORDS, size=size, embedding=4).learn
    return ar.compile(block, loss="loss", device="fake-kernels", seed=0)


@pytest.mark.parametrize(
    ("left_out", "launches"),
    [
        ((), 5),
        (("join",), 6),
        (("fuse",), 34),
    ],
    ids=["all passes", "without join", "without fuse"],
)
def test_launches_of_a_cell_step(left_out: tuple[str, ...], launches: int) -> None:
    with without_passes(*left_out):
        model = tree_model()
        shallow, deep = counted(model, [chain(3)]), counted(model, [chain(13)])
    assert deep.launches - shallow.launches == 10 * launches


def test_a_cell_that_joins_rows_of_several_layers_is_six_launches() -> None:
    """Of two that feed each other: forwards a kernel joins what it reads, backwards one parts gradients."""
    below, above = ar.LSTMCell(5), ar.LSTMCell(6)

    @ar.arrow
    def step(x: Any, state: Any) -> Any:
        low = below(ar.Concat()(x, state[1][0]), state[0])
        high = above(low[0], state[1])
        return high[0], (low, high)

    cells = ar.Scan(step, ar.Zeros((below.state, above.state))) >> ar.GetItem(0) >> ar.Sum()
    block = ar.Map(ar.Vector(4) >> ar.FC(4)) >> cells >> ar.Function(lambda h: (h * h).sum())
    model = ar.compile(block, device="fake-kernels", seed=0)
    short, long = (counted(model, [[[1, 2, 3, 4]] * length]) for length in (3, 13))
    assert long.launches - short.launches == 10 * (2 * 6 + 2)  # and the Concat


@pytest.mark.parametrize(
    ("size", "rule", "clip_norm"), [(6, Adagrad, None), (6, Adagrad, 1.0), (6, Adam, None), (150, Adam, 1.0)]
)
def test_a_step_of_64_trees(size: int, rule: Any, clip_norm: float | None) -> None:
    rng = np.random.default_rng(0)
    model = tree_model(size)
    # The deepest tree of the treebank has 29 steps; of 64 trees (20 epochs) the median is 20, and nine in ten
    # have 17 to 25.
    batch = model.prepare([chain(29), *(random_tree(rng, int(rng.integers(2, 40))) for _ in range(63))])
    counts = counted(model, batch[np.arange(64)], rule(0.01, clip_norm=clip_norm))
    assert counts.launches <= 170
    assert (counts.uploads, counts.downloads, counts.synchronizations) == (1, 0, 0)


@pytest.mark.parametrize("count", [2, 20, 300])
def test_a_record_of_many_fields(count: int) -> None:
    """They are read in a few launches, and so is what they are given; none takes more than 4 kB of words."""
    fields = {f"n{n}": ar.Scalar(name=f"n{n}") for n in range(count)}
    block = ar.Record(fields) >> ar.Function(lambda *xs: ar.ops.stack(xs)) >> ar.FC(3)
    block = block >> ar.Function(lambda x: (x * x).sum())
    device, rng = FakeKernelsDevice(), np.random.default_rng(0)
    examples = [{name: float(rng.normal()) for name in fields} for _ in range(4)]
    there, here = (ar.compile(block, device=where, seed=0) for where in (device, "cpu"))
    (value, found), (same, wanted) = (m.value_and_grad(examples, inputs=["n0"]) for m in (there, here))
    np.testing.assert_allclose(ar.to_numpy(value), same, rtol=1e-5)
    pairs = [(found["FC_1/weight"], wanted["FC_1/weight"]), (found["n0"].values, wanted["n0"].values)]
    for one, other in pairs:
        np.testing.assert_allclose(ar.to_numpy(one), ar.to_numpy(other), rtol=1e-4, atol=1e-6)
    assert all(8 * kernel.source.words <= 4096 for kernel in device.compile([]).values())
    before = device.counts
    there.value_and_grad(examples)
    assert (device.counts - before).launches <= 12 + count // 50
