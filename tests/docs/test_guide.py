"""The guide and the page on documents run as printed: their code in order, with what it shows."""

from __future__ import annotations

import doctest
import re
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
GUIDE = ROOT / "docs" / "guide.md"
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def run_session(content: str, line: int, names: dict[str, Any]) -> str:
    """Runs a `>>>` session that begins at a line of the guide; what differs from it, or nothing."""
    session = doctest.DocTestParser().get_doctest(content, names, GUIDE.name, str(GUIDE), line)
    session.globs = names  # not the copy: the blocks share one namespace
    report: list[str] = []
    doctest.DocTestRunner(optionflags=FLAGS).run(session, out=report.append, clear_globs=False)
    return "".join(report)


def run_page(text: str) -> list[str]:
    """Runs the blocks of a page in order; the languages of those that were run."""
    names: dict[str, Any] = {"__name__": GUIDE.stem}
    ran: list[str] = []
    for block in BLOCK.finditer(text):
        language, content = block.groups()
        line = text[: block.start()].count("\n") + 1
        if language == "python":
            exec(compile("\n" * line + content, str(GUIDE), "exec", dont_inherit=True), names)
        elif language == "pycon":
            failed = run_session(content, line, names)
            assert not failed, failed
        elif language != "sh":  # a command for a shell
            raise AssertionError(f"{GUIDE.name}:{line}: a block of {language or 'no language'} is not run")
        ran.append(language)
    return ran


@pytest.mark.parametrize("name", [GUIDE.name, "documents.md"])
def test_a_page_runs_in_order_and_shows_what_it_prints(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    ran = run_page(GUIDE.with_name(name).read_text(encoding="utf-8"))
    assert {"python", "pycon"} <= set(ran)


def test_an_output_that_differs_is_found() -> None:
    assert not run_session(">>> 1 + 1\n2\n", 1, {})
    assert "Expected:" in run_session(">>> 1 + 1\n3\n", 1, {})


def test_the_sessions_share_the_names_of_the_blocks() -> None:
    page = "```python\nx = 1\n```\n```pycon\n>>> y = x + 1\n```\n```python\nassert y == 2\n```\n"
    assert run_page(page) == ["python", "pycon", "python"]


def test_the_readme_leads_to_the_guide() -> None:
    assert "](docs/guide.md)" in (ROOT / "README.md").read_text(encoding="utf-8")
