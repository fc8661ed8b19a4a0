"""The pages and the picture that are written from the code are what the code says now: `make pages`."""

from __future__ import annotations

import importlib
import inspect
import re
import runpy
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import arrows
from arrows.cli import main
from tests.engine.program.verify import verify_program
from tests.engine.program.written import written

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGES = ["README.md", "CONTRIBUTING.md", *sorted(f"docs/{path.name}" for path in DOCS.glob("*.md"))]


@pytest.mark.parametrize("page", ["primitives", "program"])
def test_a_page_is_up_to_date(page: str) -> None:
    written = runpy.run_path(str(DOCS / f"make_{page}.py"))["page"]()
    assert (DOCS / f"{page}.md").read_text(encoding="utf-8") == written, "run make pages"


def public_rooms(title: str = "arrows", room: ModuleType = arrows) -> dict[str, ModuleType]:
    """`import arrows as ar` and its rooms, by the names that users write."""
    inner = {f"{title}.{name}": getattr(room, name) for name in room.__all__}
    rooms = {name: value for name, value in inner.items() if isinstance(value, ModuleType)}
    return {title: room} | {
        k: v for name, value in rooms.items() for k, v in public_rooms(name, value).items()
    }


def test_the_reference_lists_every_public_name_once() -> None:
    directive = re.compile(r"^\.\. (?:auto|py:)\w+:: (arrows\.[\w.]+)", re.MULTILINE)
    listed = [
        name
        for page in DOCS.glob("reference/*.rst")
        for name in directive.findall(page.read_text(encoding="utf-8"))
    ]
    friends = {
        "arrows.sklearn": pytest.importorskip("arrows.sklearn", exc_type=ImportError),
        "arrows.torch": importlib.import_module("arrows.torch"),
    }
    names = [
        f"{title}.{name}"
        for title, room in (public_rooms() | friends).items()
        for name in room.__all__
        if not isinstance(getattr(room, name), ModuleType) and name != "__version__"
    ]
    missing, gone = sorted({*names} - {*listed}), sorted({*listed} - {*names})
    assert not missing, f"add a directive for {missing} to a file of docs/reference"
    assert not gone, f"remove the directive of {gone} from docs/reference"
    assert len(listed) == len(names)


def test_no_public_name_stands_in_two_rooms() -> None:
    homes: dict[int, list[str]] = {}
    for title, room in public_rooms().items():
        for name in room.__all__:
            value = getattr(room, name)
            if inspect.isclass(value) or inspect.isroutine(value):
                homes.setdefault(id(value), []).append(f"{title}.{name}")
    assert not [names for names in homes.values() if len(names) > 1]


def test_the_program_page_shows_a_program_that_is_read_back() -> None:
    text = (DOCS / "program.md").read_text(encoding="utf-8")
    program = text[text.index("```\nprogram cell") + 4 :].partition("\n```")[0]
    verify_program(written(program))


def test_the_picture_is_up_to_date(tmp_path: Path) -> None:
    drawn = tmp_path / "picture.svg"
    assert main(["show", f"{DOCS / 'picture.py'}:scores", "--output", str(drawn)]) == 0
    assert drawn.read_text(encoding="utf-8") == (DOCS / "picture.svg").read_text(encoding="utf-8"), (
        "run make pages"
    )


def test_the_readme_shows_the_block_of_the_picture() -> None:
    code = (DOCS / "picture.py").read_text(encoding="utf-8").partition("import annotations\n\n")[2]
    assert code in (DOCS.parent / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("page", ["docs/how-it-works.md", "CONTRIBUTING.md", "docs/benchmarks.md"])
def test_the_files_that_a_page_names_exist(page: str) -> None:
    text = (DOCS.parent / page).read_text(encoding="utf-8")
    files = [str(path) for path in DOCS.parent.rglob("*.py") if ".venv" not in path.parts]
    missing = [
        name for name in re.findall(r"`([\w/]+\.py)`", text) if not any(f.endswith(f"/{name}") for f in files)
    ]
    assert not missing


def test_recipes_are_twenty_or_more_and_short() -> None:
    sections = (DOCS / "recipes.md").read_text(encoding="utf-8").split("\n### ")[1:]
    lines = [len(s.partition("```python\n")[2].partition("```")[0].split("\n")) - 1 for s in sections]
    assert len(lines) >= 20 and min(lines) > 0 and max(lines) < 15


def test_the_names_that_fold_and_arrows_share_exist() -> None:
    rows = [line.split("|") for line in (DOCS / "from-fold.md").read_text(encoding="utf-8").splitlines()]
    same = " ".join(row[1] for row in rows if len(row) > 3 and row[2].strip().startswith("the same"))
    names = re.findall(r"`td\.(\w+)", same)
    assert len(names) > 20 and not [name for name in names if not hasattr(arrows, name)]


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page: str) -> None:
    path = DOCS.parent / page
    links = re.findall(r"\]\((?!https?:)([^)#\s]+)", path.read_text(encoding="utf-8"))
    assert not [link for link in links if not (path.parent / link).exists()]


@pytest.mark.parametrize("page", PAGES)
def test_the_names_that_a_page_uses_exist(page: str) -> None:
    text = (DOCS.parent / page).read_text(encoding="utf-8")
    for name in set(re.findall(r"\bar\.(\w+(?:\.\w+)*)", text)):
        value: Any = arrows
        for part in name.split("."):
            assert hasattr(value, part), f"ar.{name}"
            value = getattr(value, part)


def test_the_map_has_every_room() -> None:
    text = (DOCS / "how-it-works.md").read_text(encoding="utf-8")
    package = Path(arrows.__file__).parent
    rooms = [
        path.parent.name for path in [*package.glob("*/__init__.py"), *package.glob("engine/*/__init__.py")]
    ]
    assert not [room for room in rooms if f"{room}/" not in text]


def test_the_citation_names_this_version() -> None:
    assert f"\nversion: {arrows.__version__}\n" in (DOCS.parent / "CITATION.cff").read_text(encoding="utf-8")
