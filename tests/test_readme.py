"""The examples of the README and of the docs run as they are printed."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```(python|text)\n(.*?)^```", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_python_blocks_of_a_page_run_in_order_and_print_the_text_that_follows(
    page, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    text = page.read_text(encoding="utf-8")
    names: dict[str, Any] = {"__name__": page.stem}
    for block in BLOCK.finditer(text):
        language, content = block.groups()
        if language == "python":
            line = text[: block.start()].count("\n") + 1
            code = "\n" * line + content  # so that an error names the page's own line
            capsys.readouterr()
            exec(compile(code, str(page), "exec"), names)
        else:
            assert content == capsys.readouterr().out


def test_the_readme_has_examples():
    assert BLOCK.search((ROOT / "README.md").read_text(encoding="utf-8"))
