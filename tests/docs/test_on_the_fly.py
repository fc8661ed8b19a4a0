"""The page on batching on the fly runs as it is printed, and prints what it shows."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

PAGE = Path(__file__).resolve().parent.parent.parent / "docs" / "on-the-fly.md"
BLOCK = re.compile(r"^```python\n(.*?)^```$(?:\n```text\n(.*?)^```$)?", re.MULTILINE | re.DOTALL)


def test_the_page_runs_in_order_and_prints_what_it_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"__name__": PAGE.stem}
    text = PAGE.read_text(encoding="utf-8")
    for block in BLOCK.finditer(text):
        code, shown = block.groups()
        line = text[: block.start()].count("\n") + 1
        exec(compile("\n" * line + code, str(PAGE), "exec", dont_inherit=True), names)
        printed = capsys.readouterr().out
        if shown is not None:
            assert without_lines(printed) == without_lines(shown), f"{PAGE.name}:{line}"
    assert "profile" in names  # of the last block


def without_lines(text: str) -> list[str]:
    """The lines of a text, without numbers of lines of the page, which change with every edit."""
    return [line.rstrip() for line in re.sub(r"(on-the-fly\.md):\d+", r"\1", text).splitlines()]
