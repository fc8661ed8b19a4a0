"""`--device` of `arrows train` and `arrows predict`: a device of `ar.compile`, or a line that says why."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import arrows as ar
from arrows import cli
from arrows.engine.device import cuda, devices
from tests.cli.kit import outcome
from tests.cli.test_sentiment import folder as trees  # noqa: F401  a fixture
from tests.cli.test_tagger import folder as sentences  # noqa: F401  a fixture

COMMANDS = [
    ["train", "sentiment", "--data", "nowhere"],
    ["train", "tagger", "--data", "nowhere"],
    ["predict", "sentiment", "nowhere"],
    ["predict", "tagger", "nowhere"],
    ["predict", "nowhere", "nowhere.jsonl"],
]


def refused(capsys: Any, *arguments: str) -> str:
    with pytest.raises(SystemExit) as ended:
        cli.main(list(arguments))
    assert ended.value.code == 2
    out, err = capsys.readouterr()
    assert not out
    return str(err.splitlines()[-1])


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: " ".join(command[:2]))
def test_a_machine_without_cuda_says_so_before_anything_is_read(
    command: list[str], capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing() -> int:
        raise ImportError(cuda.NO_CUPY)

    def without() -> int:
        raise RuntimeError('device="cuda": CuPy is installed but finds no GPU')

    for count, text in ((missing, "needs CuPy, which is not installed"), (without, "finds no GPU")):
        monkeypatch.setattr(cuda, "count_gpus", count)
        devices.shared_device.cache_clear()
        line = refused(capsys, *command, "--device", "cuda")
        assert 'argument --device: device="cuda"' in line and text in line
        assert line.endswith("--device cpu needs no GPU")


@pytest.mark.parametrize("name", ["gpu", "cuda:", "cuda:-1", "CPU", ""])
@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: " ".join(command[:2]))
def test_other_names(command: list[str], name: str, capsys: Any) -> None:
    line = refused(capsys, *command, "--device", name)
    assert "argument --device: expected cpu, cuda, cuda:1 or auto, got" in line


@pytest.mark.parametrize("kind", ["sentiment", "tagger"])
def test_a_model_is_trained_and_applied_on_another_device(
    kind: str,
    trees: Path,  # noqa: F811
    sentences: Path,  # noqa: F811
    tmp_path: Path,
    capsys: Any,
) -> None:
    """The strict fake stands for a GPU: it refuses whatever mixes its arrays with those of the host."""
    data = trees if kind == "sentiment" else sentences
    sizes = ["--state-size", "5", "--embedding-size", "4", "--epochs", "2", "--batch-size", "4"]
    lines = {}
    for device in ("cpu", "fake", "auto"):
        path = tmp_path / f"{device}.safetensors"
        status, out, err = outcome(
            capsys, "train", kind, "--data", str(data), *sizes, "--save", str(path), "--device", device
        )
        assert status == 0, err
        lines[device] = [line.split(",")[0] for line in out.splitlines() if line.startswith("epoch")]
    assert len(lines["cpu"]) == 2 and lines["cpu"] == lines["fake"] == lines["auto"]
    text = tmp_path / "text"
    text.write_text("(so good)\n" if kind == "sentiment" else "Trees grow .\n")
    results = [
        outcome(capsys, "predict", kind, str(path), str(text), "--device", device)
        for device in ("cpu", "fake")
    ]
    assert results[0] == results[1] and results[0][0] == 0 and results[0][1]


def test_any_model_is_applied_on_another_device(tmp_path: Path, capsys: Any) -> None:

    source = tmp_path / "mine.py"
    source.write_text(
        "import arrows as ar\n\n\n@ar.builder\ndef twice(size):\n    return ar.Vector(size) >> ar.FC(2)\n"
    )
    scope: dict[str, Any] = {"__name__": "mine"}
    exec(source.read_text(), scope)
    path = tmp_path / "mine.safetensors"
    ar.save_model(ar.compile(scope["twice"](size=2)), path)
    (tmp_path / "lines.jsonl").write_text("[1, 2]\n[3, 4]\n")
    command = ["predict", str(path), str(tmp_path / "lines.jsonl"), "--builder", f"{source}:twice"]
    results = [outcome(capsys, *command, "--device", device) for device in ("cpu", "fake")]
    assert results[0] == results[1] and len([json.loads(line) for line in results[0][1].splitlines()]) == 2
