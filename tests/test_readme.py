"""The README and the pages of the docs run as printed: their code in order, with what it prints and shows."""

from __future__ import annotations

import doctest
import re
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGES = [
    ROOT / "README.md",
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "docs/notebooks").glob("*.md")),
]
BLOCK = re.compile(r"^```(?:\{code-cell\} )?(\w*)\n(?::[^\n]*\n)*(.*?)^```$", re.MULTILINE | re.DOTALL)
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def run_session(content: str, page: str, line: int, names: dict[str, Any]) -> str:
    """Runs a `>>>` session that begins at a line of a page; what differs from it, or nothing."""
    session = doctest.DocTestParser().get_doctest(content, names, page, page, line)
    session.globs = names  # not the copy: the blocks share one namespace
    report: list[str] = []
    doctest.DocTestRunner(optionflags=FLAGS).run(session, out=report.append, clear_globs=False)
    return "".join(report)


def run_page(text: str, page: str, capsys: pytest.CaptureFixture[str]) -> set[str]:
    """Runs the blocks of a page in order; a `text` block is what the code since then has printed."""
    names: dict[str, Any] = {"__name__": Path(page).stem}
    blocks = list(BLOCK.finditer(text))
    for block in blocks:
        language, content = block.groups()
        line = text[: block.start(2)].count("\n")  # so that an error names the page's own line
        if "torch" in content and find_spec("torch") is None:
            continue
        if language == "python":
            capsys.readouterr()
            exec(compile("\n" * line + content, page, "exec", dont_inherit=True), names)
        elif language == "pycon":
            failed = run_session(content, page, line, names)
            assert not failed, failed
        elif language == "text":
            assert content == capsys.readouterr().out
    return {block[1] for block in blocks}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page_runs_in_order_and_shows_what_it_prints(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(ROOT / "docs")  # as a notebook sees the folder that it lies in
    languages = run_page(page.read_text(encoding="utf-8"), str(page), capsys)
    if page.name == "README.md":
        assert "python" in languages
    if not page.name.startswith(("gpu", "scaling", "from-")):  # whatever else shows Python runs it
        assert "py" not in languages


def test_the_blocks_share_names(capsys: pytest.CaptureFixture[str]) -> None:
    cell = "```{code-cell} python\n:tags: [remove-cell]\nx = 1\n```\n"
    page = f"{cell}```pycon\n>>> y = x + 1\n```\n```python\nassert y == 2\n```\n"
    assert run_page(page, "page", capsys) == {"python", "pycon"}
    with pytest.raises(AssertionError, match="Expected:"):
        run_page("```pycon\n>>> 1 + 1\n3\n```\n", "page", capsys)
    with pytest.raises(AssertionError):
        run_page("```python\nprint(1)\n```\n```text\n2\n```\n", "page", capsys)
