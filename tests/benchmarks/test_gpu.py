"""The benchmarks on a GPU, rehearsed on a device that is none; and the section that is written of them."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import arrows as ar
from arrows.engine.device.host_compiler import host_compiler
from benchmarks import command, gpu, gpu_page
from benchmarks.baselines.manual import Manual
from benchmarks.datasets import VOCABULARY, random_tree
from benchmarks.networks import random_trees

ROOT = Path(__file__).resolve().parents[2]
TORCH = ["torch", "torch-compile"] * bool(importlib.util.find_spec("torch"))
DEVICE = "fake-kernels" if host_compiler() else "fake"
needs_torch = pytest.mark.skipif(not TORCH, reason="PyTorch is not installed")


def test_a_rehearsal_writes_its_results_and_the_section(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gpu, "COMPILED", {"torch": False})  # compiling takes a minute
    torch, results = TORCH[:1], tmp_path / "gpu.jsonl"
    options = command.parser().parse_args(["gpu", "--device", DEVICE, "--json", str(results)])
    assert command.measure(options) == 0
    machine, *lines = map(json.loads, results.read_text(encoding="utf-8").splitlines())
    assert machine["machine"]["device"] == DEVICE and machine["machine"]["cores"] >= 1
    trees = ["arrows", "arrows-equal", *torch]
    assert [(line["config"]["model"], line["config"]["mode"], line["system"]) for line in lines] == [
        *(("treelstm", mode, system) for mode in ("train", "inference") for system in ("arrows", *torch)),
        *(("iclr", "inference", system) for _ in range(2) for system in trees),
        *(("bilstm", "train", system) for system in ("arrows", *torch)),
    ]
    capsys.readouterr()
    gpu_page.main(str(results))
    text = capsys.readouterr().out
    assert text.startswith(f'## On a GPU\n\n`make gpu` (device="{DEVICE}"')
    assert text.count("\n| iclr | inference | 8 |") == 2
    page = tmp_path / "page.md"
    page.write_text("# Results\n\n## On a GPU\n\nNot measured.\n", encoding="utf-8")
    gpu_page.main(str(results), str(page))
    assert page.read_text(encoding="utf-8") == f"# Results\n\n{text}"


def test_a_run_ends_when_the_device_has_finished(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu, "COMPILED", {"torch": False})
    device = ar.engine.device.get_device("fake")
    before = device.counts.synchronizations
    list(gpu.run(device="fake"))
    assert device.counts.synchronizations > before


def test_the_page_of_results_has_the_section() -> None:
    page = (ROOT / "docs" / "results.md").read_text(encoding="utf-8")
    assert gpu_page.replaced(page, "").count(gpu_page.TITLE) == page.count(gpu_page.TITLE) - 1 == 0
    with pytest.raises(ValueError, match="has no section '## On a GPU'"):
        gpu_page.replaced("# Results\n", "")


def test_a_gpu_that_is_not_there_is_named() -> None:
    if importlib.util.find_spec("cupy"):
        pytest.skip("CuPy is installed")
    with pytest.raises(ImportError, match='device="cuda" needs CuPy'):
        next(gpu.run())


def test_systems_that_differ_are_not_compared() -> None:
    class Tensor:
        def __init__(self, value: Any) -> None:
            self.value = np.array(value)

        def detach(self) -> Tensor:
            return self

        cpu, numpy = detach, lambda self: self.value

    gpu._agree("torch", Tensor([1.0, 2.0]), np.array([1.0, 2.0001]))
    for scale in (1.0, 1e-3):
        for wrong in ([1.0, 2.001], [1.0, np.nan]):
            with pytest.raises(AssertionError, match="torch and arrows differ by"):
                gpu._agree("torch", Tensor(scale * np.array(wrong)), scale * np.array([1.0, 2.0]))


@needs_torch
@pytest.mark.parametrize("leaves", [1, 2, 17])
def test_trees_of_one_shape_in_pytorch(leaves: int) -> None:
    from benchmarks.baselines.manual_torch import TorchManual

    random = np.random.default_rng(leaves)
    parameters, shape = ar.compile(random_trees(5, VOCABULARY)).params, random_tree(random, leaves)
    words = random.integers(0, VOCABULARY, (4, leaves))
    expected = Manual(parameters, shape).by_level(words)
    np.testing.assert_allclose(TorchManual(parameters, shape).by_level(words), expected, atol=1e-6)
