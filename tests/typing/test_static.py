"""What type checkers make of a user's model file, without a plugin."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
MISSED = 0  # marked mistakes that mypy may let pass
MISSED_BY_PYRIGHT = 1  # a method of a lambda's argument that there is not


def mypy(name: str, cache: Path) -> dict[int, str]:
    """Errors of one file by line."""
    pytest.importorskip("mypy")
    command = [
        sys.executable,
        "-m",
        "mypy",
        "--strict",
        "--no-error-summary",
        "--disable-error-code=unused-ignore",
    ]
    command += ["--config-file=", f"--cache-dir={cache}", "--follow-imports=silent", str(HERE / name)]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    found: dict[int, str] = {}
    for line in (run.stdout + run.stderr).splitlines():
        match = re.match(r"(.+?):(\d+): error: (.*)", line)
        if match and Path(match[1]).name == name:
            found.setdefault(int(match[2]), match[3])
        elif run.returncode not in (0, 1):
            pytest.fail(f"mypy failed: {run.stdout}{run.stderr}")
    return found


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("mypy")


@pytest.mark.nightly
def test_good_passes(cache: Path) -> None:
    assert mypy("good.py", cache) == {}


def test_bad_is_caught(cache: Path) -> None:
    found = mypy("bad.py", cache)
    lines = (HERE / "bad.py").read_text(encoding="utf-8").splitlines()
    marked = {i: line.split("  # E ")[1] for i, line in enumerate(lines, 1) if "  # E " in line}
    assert len(marked) >= 40
    missed = [f"{i}: {what}" for i, what in marked.items() if i not in found]
    assert len(missed) <= MISSED, missed
    assert {i: text for i, text in found.items() if i not in marked} == {}


@pytest.fixture(scope="module")
def pyright() -> dict[str, dict[int, str]]:
    """Errors of both files by line, from one run."""
    pytest.importorskip("pyright")
    command = [sys.executable, "-m", "pyright", "--outputjson", "--pythonpath", sys.executable]
    command += [str(HERE / name) for name in ("good.py", "bad.py")]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if not run.stdout.startswith("{"):
        pytest.skip(f"pyright cannot run here: {run.stderr[:200]}")
    found: dict[str, dict[int, str]] = {"good.py": {}, "bad.py": {}}
    for note in json.loads(run.stdout)["generalDiagnostics"]:
        if note["severity"] == "error":
            line = note["range"]["start"]["line"] + 1
            found[Path(note["file"]).name].setdefault(line, note["message"])
    return found


def test_good_passes_pyright(pyright: dict[str, dict[int, str]]) -> None:
    assert pyright["good.py"] == {}


def test_bad_is_caught_by_pyright(pyright: dict[str, dict[int, str]]) -> None:
    lines = (HERE / "bad.py").read_text(encoding="utf-8").splitlines()
    marked = {i: line.split("  # E ")[1] for i, line in enumerate(lines, 1) if "  # E " in line}
    missed = [f"{i}: {what}" for i, what in marked.items() if i not in pyright["bad.py"]]
    assert len(missed) <= MISSED_BY_PYRIGHT, missed
    assert {i: text for i, text in pyright["bad.py"].items() if i not in marked} == {}


def test_good_builds() -> None:
    code = "import runpy; runpy.run_path('tests/typing/good.py')"
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
