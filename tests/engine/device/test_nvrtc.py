"""NVRTC compiles every kernel that a set of models gives, for the GPUs of two generations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

import pytest

import arrows as ar
from arrows.engine.cuda import WRITE_RANGES, segment_sum_kernel
from arrows.engine.device import PRELUDE, Kernel, KernelSource
from arrows.testing.fake import FakeKernelsDevice
from arrows.training import Adam
from arrows.training.optimizers.kernel_steps import ADD_SQUARES, CLIP, merge_source
from benchmarks.networks import attention_tagger
from tests.engine.cuda.test_kernels import of_layers, of_primitives
from tests.engine.device import nvrtc
from tests.layers.test_tied import language_model
from tests.marks import needs_compiler
from tests.networks import networks
from tests.training.optimizers.test_kernels import OPTIMIZERS, mixed, trained

pytestmark = [
    pytest.mark.skipif(not nvrtc.is_there(), reason="NVRTC is not installed: make test-cuda"),
    needs_compiler,
]
ARCHITECTURES = ("sm_80", "sm_90")


def with_loss(block: Any) -> Any:
    """The block itself if it has a metric; else with one, of what it returns: a vector, or a sequence."""
    if "Metric" in repr(block):
        return block
    loss = ar.Function(lambda v: (v * v).sum()) >> ar.Metric("loss")
    return block >> (ar.Map(loss) if "Sequence" in str(ar.infer(block).output) else loss)


@cache
def sources() -> dict[str, KernelSource]:
    """The kernels of a call and of a step of training of each model, by name."""
    found: dict[str, KernelSource] = {}
    compile_here = FakeKernelsDevice.compile

    def collect(self: FakeKernelsDevice, sources: Sequence[KernelSource]) -> Mapping[str, Kernel]:
        found.update({source.name: source for source in sources})
        return compile_here(self, sources)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(FakeKernelsDevice, "compile", collect)
        for options in (
            {"float_type": "float32"},
            {"float_type": "float64"},
        ):
            for block, examples in (*networks().values(), *more_networks()):
                model = ar.compile(with_loss(block), loss="loss", device="fake-kernels", **options)
                model(examples[:2])
                model.train_step(examples[:3], Adam(0.1, clip_norm=1.0))
            model, examples = of_primitives(options["float_type"], "fake-kernels")
            model(examples)
        model, examples = of_layers("fake-kernels")
        model.value_and_grad(examples)
        for make in OPTIMIZERS:
            for more in ({"clip_norm": 1.0}, {"dense": True, "average": 0.9}):
                trained(mixed("fake-kernels"), make(**more))
    # The indices of the fake device are as wide as NumPy's, those of a GPU are not.
    merge = merge_source("float", "int", "long long", 6)
    return found | {merge.name: merge}


def more_networks() -> Iterator[tuple[Any, Any]]:
    """Attention in each way, and a table whose gradient is dense in one operation and sparse in another."""
    sentences = [([1, 2, 4], [0, 1, 2]), ([3], [1]), ([0, 1, 2, 3, 4], [2, 2, 1, 0, 1])]
    yield attention_tagger(5, 4, 2, 3), sentences
    words = ar.GetItem(0) >> ar.Map(ar.Scalar("int32") >> ar.Embedding(5, 4))
    yield words >> ar.Attention(ar.FC([], name="score")), sentences
    yield ar.GetItem(0) >> language_model(ar.Embedding(5, 3)), sentences
    square = ar.Map(ar.Vector(3) >> ar.LayerNorm() >> ar.Dropout(0.5)) >> ar.Mean()
    yield square, [[[1, 2, 3], [4, 6, 5]], [[3, 1, 2]]]


def test_all_families_are_compiled() -> None:
    """Of kernels that no instruction of a program makes, one of each function that writes them."""
    programs = (segment_sum_kernel(4, "float32", adds=False), WRITE_RANGES)
    for source in (*programs, ADD_SQUARES, CLIP):
        assert source.name in sources(), source.text


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_kernels_of_models(architecture: str) -> None:
    assert len(sources()) > 100
    assert all(8 * source.words <= 4096 for source in sources().values())  # what a launch takes everywhere
    text = PRELUDE + "".join(source.text for source in sources().values())
    code = nvrtc.compile_kernels(text, architecture)
    assert code[:4] == b"\x7fELF"
    for name in sources():
        assert name.encode() in code


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_a_wrong_kernel_is_refused(architecture: str) -> None:
    with pytest.raises(RuntimeError, match=r"NVRTC refuses the text.*nonsense"):
        nvrtc.compile_kernels("__global__ void f() { nonsense(); }", architecture)
