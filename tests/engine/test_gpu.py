"""Whole models on devices with kernels, held to the CPU: training, dropout, batches of all sizes, no waiting.

What fails on a GPU alone (a copy that is overtaken, more items than threads, a second GPU) is tested there.
`fake-kernels` runs the same lines on every machine.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import arrows as ar
from arrows.data import generate
from arrows.engine.device import Device
from arrows.models import sentiment, tagger, tagger_vocabularies
from arrows.testing.fake import FakeKernelsDevice
from arrows.training import Adam
from benchmarks.datasets import numbered_sentences
from benchmarks.networks import bilstm_tagger
from tests.marks import CUDA, KERNELS, needs_compiler
from tests.profile import at_night

HERE = KERNELS
BACKWARDS = pytest.param(FakeKernelsDevice(backwards=True), marks=needs_compiler, id="backwards")
devices = pytest.mark.parametrize("device", [HERE, at_night(BACKWARDS), CUDA])


def trees() -> tuple[Any, Sequence[Any]]:
    examples = generate(30, num_words=(1, 9))
    block = sentiment(
        ar.Vocabulary.of(ar.data.words(examples)), size=5, embedding=4, dropout=0.3, word_dropout=0.2
    )
    return block.learn, examples


def characters() -> tuple[Any, Sequence[Any]]:
    words, tags = ["the", "tree", "grows", "grass", "of", "hay"], ["DET", "NOUN", "VERB"]
    rng = np.random.default_rng(0)
    examples = [
        [{"word": words[k], "tag": tags[k % 3]} for k in rng.integers(0, len(words), length)]
        for length in (1, 5, 3, 0, 7, 2)
    ]
    known = [[word for word in line if word["word"] != "hay"] for line in examples]
    return tagger(
        *tagger_vocabularies(known), size=4, embedding=3, character_size=2, character_embedding=3
    ).learn, examples


def sentences() -> tuple[Any, Sequence[Any]]:
    words, labels = numbered_sentences(np.random.default_rng(0), 6, 5, 12, 4)
    return bilstm_tagger(12, 5, 4, 2, 4), list(zip(words.tolist(), labels.tolist(), strict=True))


MODELS = {"trees": trees, "characters": characters, "sentences": sentences}


def close(found: Any, wanted: Any) -> None:
    np.testing.assert_allclose(ar.to_numpy(found), ar.to_numpy(wanted), rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("device", [HERE, BACKWARDS, CUDA])
@pytest.mark.parametrize("make", MODELS.values(), ids=MODELS.keys())
@pytest.mark.parametrize("schedule", ["strata", at_night("depth")])
def test_training_is_that_of_the_cpu(
    device: str | Device, make: Callable[[], tuple[Any, Sequence[Any]]], schedule: str
) -> None:
    block, examples = make()
    there, here = (
        ar.compile(block, loss="loss", float_type="float64", device=name, schedule=schedule, seed=1)
        for name in (device, "cpu")
    )
    optimizers = Adam(0.05), Adam(0.05)
    for batch in (examples[:4], examples[4:5], [], examples, examples[:4]):
        losses = [
            model.train_step(batch, optimizer)
            for model, optimizer in zip((there, here), optimizers, strict=True)
        ]
        close(*losses)
    for name, value in there.params.items():
        close(value, here.params[name])


@devices
@pytest.mark.parametrize("make", MODELS.values(), ids=MODELS.keys())
def test_the_same_batches_give_the_same_bits(
    device: str | Device, make: Callable[[], tuple[Any, Sequence[Any]]]
) -> None:
    block, examples = make()
    runs = []
    for _ in range(2):
        model, optimizer = ar.compile(block, loss="loss", device=device, seed=1), Adam(0.05)
        losses = [model.train_step(batch, optimizer) for batch in (examples, examples[:3], examples)]
        runs.append([ar.to_numpy(value).tobytes() for value in (*losses, *model.params.values())])
    assert runs[0] == runs[1]


@devices
def test_nothing_is_overtaken_where_nobody_waits(device: str | Device) -> None:
    """The host prepares the next batches while the device computes; their copies must not mix."""
    block, examples = trees()
    runs = []
    for waits in (False, True):
        model, optimizer = ar.compile(block, loss="loss", device=device, seed=1), Adam(0.05)
        losses = []
        for number in range(40):
            losses.append(model.train_step(examples[number % 25 : number % 25 + 1 + number % 5], optimizer))
            if waits:
                model.device.synchronize()
        runs.append([ar.to_numpy(loss).tobytes() for loss in losses])
    assert runs[0] == runs[1]


@pytest.mark.nightly
@devices
def test_more_items_than_threads(device: str | Device) -> None:
    rows = np.random.default_rng(0).normal(size=(6000, 2000)).astype("float32")
    block = ar.Vector(2000) >> ar.Function(lambda v: ar.ops.tanh(v) * 2 + v)
    found = ar.to_numpy(ar.compile(block, device=device)(list(rows)))
    np.testing.assert_allclose(found, np.tanh(rows) * 2 + rows, rtol=1e-5, atol=1e-6)


@pytest.mark.gpu
def test_a_second_gpu() -> None:
    import cupy

    if cupy.cuda.runtime.getDeviceCount() < 2:
        pytest.skip("one GPU here")
    block, examples = trees()
    models = [ar.compile(block, loss="loss", device=name, seed=1) for name in ("cuda", "cuda:1")]
    optimizers = [Adam(0.05) for _ in models]
    for _ in range(3):
        close(*(model.train_step(examples, each) for model, each in zip(models, optimizers, strict=True)))


@pytest.mark.gpu
def test_a_stream_of_the_callers() -> None:
    import cupy

    block, examples = trees()
    losses = []
    for stream in (cupy.cuda.Stream.null, cupy.cuda.Stream(non_blocking=True)):
        model, optimizer = ar.compile(block, loss="loss", device="cuda", seed=1), Adam(0.05)
        with stream:
            losses.append([ar.to_numpy(model.train_step(examples, optimizer)) for _ in range(3)])
    assert losses[0] == losses[1]
