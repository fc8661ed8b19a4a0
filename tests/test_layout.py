"""The house keeps its shape: imports go one way, files are short, public names are explained."""

from __future__ import annotations

import ast
import importlib
import inspect
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import arrows

PACKAGE = Path(arrows.__file__).parent
FILES = sorted(path.relative_to(PACKAGE.parent) for path in PACKAGE.rglob("*.py"))

# A room may lean on rooms of a lower floor, and on itself.
FLOORS = {
    "version": 0,
    "typesys": 0,
    "files": 0,
    "machine": 1,
    "ops": 1,
    "data": 1,
    "combinators": 2,
    "inference": 3,
    "layers": 3,
    "drawing": 4,
    "engine": 4,
    "training": 5,
    "models": 6,
    "cli": 7,
    "testing": 7,
    "__main__": 8,
}
# The imports upward, inside methods: `Block.eval` asks the engine, and a notebook is shown a drawing.
EXCEPTIONS = {("combinators", "engine"), ("combinators", "drawing")}
# The rooms of the engine, and what stands loose in it; from the lowest floor up.
ENGINE = [
    "device",
    "values",
    "reference",
    "lowering",
    "planning",
    "reading",
    "scheduling",
    "program",
    "running",
    "model",
    "timeline",
    "not_finite",
    "compile",
    "prepared",
    "results",
]
LINES = 450
# What these rooms make for users is reached through the front door.
INNER = {"typesys", "combinators", "inference", "engine"}
ROOMS = [name for name in FLOORS if (PACKAGE / name).is_dir()]


def room(name: str) -> str:
    """The room of a dotted module name; the package itself is no room."""
    parts = name.split(".")
    return parts[1] if len(parts) > 1 else ""


def imports(tree: ast.Module) -> Iterator[tuple[str, bool]]:
    """The modules of the package that a file imports, and whether at its top."""
    top = {id(node) for node in tree.body}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            module = node.module or ""
            names = [f"arrows.{alias.name}" for alias in node.names] if module == "arrows" else [module]
        else:
            continue
        yield from ((name, id(node) in top) for name in names if name.split(".")[0] == "arrows")


@pytest.mark.parametrize("path", FILES, ids=str)
def test_imports_go_one_way(path):
    own = path.parts[1].removesuffix(".py")
    if own == "__init__":  # the front door may open every room
        return
    assert own in FLOORS, f"{own} stands on no floor: add it to FLOORS, as low as it can"
    for name, at_top in imports(ast.parse((PACKAGE.parent / path).read_text(encoding="utf-8"))):
        other = room(name)
        if other == own or (not at_top and (own, other) in EXCEPTIONS):
            continue
        # `import arrows` and `from arrows import X` enter by the front door, which needs the engine below.
        floor = FLOORS.get(other, FLOORS["engine"])
        assert floor < FLOORS[own], f"{path} imports {name}, which is not below it"


@pytest.mark.parametrize("path", [path for path in FILES if path.parts[1] == "engine"], ids=str)
def test_imports_in_the_engine_go_one_way(path):
    own = path.parts[2].removesuffix(".py")
    if own == "__init__":
        return
    for name, _ in imports(ast.parse((PACKAGE.parent / path).read_text(encoding="utf-8"))):
        if name.startswith("arrows.engine."):
            other = name.split(".")[2]
            assert ENGINE.index(other) <= ENGINE.index(own), f"{path} imports {name}, which is above it"


def test_the_rule_sees_imports_of_every_kind():
    source = (
        "import arrows.ops\nfrom arrows import x\ndef f():\n    from arrows.engine.model import y\nimport re"
    )
    assert list(imports(ast.parse(source))) == [
        ("arrows.ops", True),
        ("arrows.x", True),
        ("arrows.engine.model", False),
    ]


@pytest.mark.parametrize("path", FILES, ids=str)
def test_files_can_be_read_in_one_sitting(path):
    count = len((PACKAGE.parent / path).read_text(encoding="utf-8").splitlines())
    assert count <= LINES, f"{path} has {count} lines: is it still one idea?"


def python(code: str) -> str:
    """Runs code in a new interpreter, warnings as errors, and returns what it prints."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        cwd=PACKAGE.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_import_does_not_touch_cupy_or_other_extras():
    loaded = python("import sys, arrows; print(*{name.split('.')[0] for name in sys.modules})").split()
    assert "numpy" in loaded
    assert not {"cupy", "numba", "torch", "cloudpickle", "hypothesis", "pytest", "matplotlib"} & set(loaded)


LATER = {"cli", "data", "drawing", "models", "testing", "training"}


def test_import_leaves_rooms_for_later():
    rooms = python("import sys, arrows; print(*{n.split('.')[1] for n in sys.modules if n[:7] == 'arrows.'})")
    assert "engine" in rooms.split() and not LATER & set(rooms.split())


def test_rooms_come_when_they_are_asked_for():
    assert python("import arrows as ar; print(ar.training.Adam.__name__, 'models' in dir(ar))") == "Adam True"
    with pytest.raises(AttributeError, match="module 'arrows' has no attribute 'Linnear'"):
        arrows.Linnear


ONLY_CORE = """
import sys
CORE = {"arrows", "numpy", "tqdm", "safetensors", "threadpoolctl"}
ALLOWED = set(sys.stdlib_module_names) | CORE | {"numpy_distutils"}

class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] not in ALLOWED:
            raise ModuleNotFoundError(f"not a core dependency: {name}", name=name)

sys.meta_path.insert(0, Refuse())
"""


def test_core_dependencies_suffice():
    python(ONLY_CORE + f"import importlib\nfor name in {module_names()}: importlib.import_module(name)")


def test_the_refusal_of_other_dependencies_works():
    with pytest.raises(AssertionError, match="not a core dependency: hypothesis"):
        python(ONLY_CORE + "import hypothesis")


def module_names() -> list[str]:
    names = [".".join(path.with_suffix("").parts).removesuffix(".__init__") for path in FILES]
    return [name for name in names if not name.endswith("__main__")]


def offered(module: ModuleType) -> dict[str, Any]:
    """The classes and functions that a module offers: its `__all__`, else all without underscore."""
    names = getattr(module, "__all__", None) or [name for name in vars(module) if not name.startswith("_")]
    values = {name: getattr(module, name) for name in names}
    return {
        name: value
        for name, value in values.items()
        if (inspect.isclass(value) or inspect.isroutine(value)) and value.__module__.startswith("arrows")
    }


@pytest.mark.parametrize("name", ["arrows", *(f"arrows.{room}" for room in ROOMS)])
def test_public_names_have_docstrings(name):
    silent = [item for item, value in offered(importlib.import_module(name)).items() if not value.__doc__]
    assert not silent, f"{name}: no docstring for {silent}"


@pytest.mark.parametrize(
    "name",
    ["arrows", *(f"arrows.{room}" for room in ROOMS if room not in INNER)],
)
def test_names_that_users_import_have_an_example(name):
    items = offered(importlib.import_module(name))
    silent = [item for item, value in items.items() if ">>>" not in (value.__doc__ or "")]
    assert not silent, f"{name}: no example for {silent}"


def test_the_front_door_offers_something():
    assert {"Block", "FC", "compile", "infer", "fix", "arrow"} <= set(offered(arrows))


def test_rooms_say_what_they_offer():
    for name in ROOMS:
        assert importlib.import_module(f"arrows.{name}").__all__, name


def test_the_package_is_typed():
    assert (PACKAGE / "py.typed").is_file()
