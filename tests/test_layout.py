"""The package keeps its shape: imports go one way, public names are explained."""

from __future__ import annotations

import ast
import importlib
import inspect
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import arrows

PACKAGE = Path(arrows.__file__).parent
FILES = sorted(path.relative_to(PACKAGE.parent) for path in PACKAGE.rglob("*.py"))

# What a room may lean on, beside itself. `FRONT_DOOR` is `import arrows`, which loads every room up to the
# engine.
FRONT_DOOR = ""
BLOCKS = {"typesys", "ops", "combinators"}
ENGINE = BLOCKS | {"inference", "engine"}
LEANS_ON: dict[str, set[str]] = {
    "version": set(),
    "typesys": set(),
    "machine": {"typesys"},
    "ops": {"typesys"},
    "files": {"typesys"},
    "safetensors_file": {"files", "typesys", "ops"},
    "column_file": {"files", "safetensors_file", "typesys", "ops"},
    "combinators": {"typesys", "ops"},
    "inference": BLOCKS,
    "layers": BLOCKS,
    "drawing": BLOCKS | {"inference"},
    "engine": BLOCKS | {"inference", "version", "files", "column_file"},
    "data": ENGINE | {"files"},
    "onthefly": ENGINE,
    "metrics": ENGINE,
    "training": ENGINE | {"files", "safetensors_file"},
    "documents": ENGINE | {"layers", "data", FRONT_DOOR},
    "model_files": ENGINE | {"version", "files", "safetensors_file", "data", "training"},
    "models": ENGINE | {"layers", "data", "documents", "metrics", "training", FRONT_DOOR},
    "cli": ENGINE
    | {"version", "files", "safetensors_file", "machine"}
    | {"layers", "drawing", "data", "documents", "metrics", "training", "model_files", "models", FRONT_DOOR},
    "testing": ENGINE,
    "__main__": {"cli"},
}
# `Block.eval` asks the engine, and a notebook is shown a drawing: inside methods, as the rooms stand above.
UPWARD = {("combinators", "engine"), ("combinators", "drawing"), ("onthefly", "drawing")}
# The rooms of the engine, and what stands loose in it, from the lowest floor up.
FLOORS = [
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
    "compile",
    "prepared",
    "results",
]
OPTIONAL = {
    "backports",
    "compression",
    "cupy",
    "numba",
    "llvmlite",
    "matplotlib",
    "mpi4py",
    "tensorboardX",
    "wandb",
    "cloudpickle",
    "multiprocessing",
    "fcntl",
}
# Users reach what these rooms offer through the front door, where the examples are.
INNER = {"typesys", "combinators", "inference", "engine"}
ROOMS = [name for name in LEANS_ON if (PACKAGE / name).is_dir()]


@dataclass(frozen=True)
class Import:
    """A module that a file imports: its dotted name, whether at the top, whether for type checkers alone."""

    module: str
    at_top: bool
    for_types: bool

    @property
    def room(self) -> str:
        """The room of the package that it belongs to; empty for the package itself."""
        return [*self.module.split("."), ""][1]


def imports(tree: ast.Module) -> Iterator[Import]:
    """All modules that a file imports, those inside functions and under TYPE_CHECKING included."""
    for_types = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        for inner in node.body
    }
    top = {id(node) for node in tree.body}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            module = node.module or ""
            modules = [f"arrows.{alias.name}" for alias in node.names] if module == "arrows" else [module]
        else:
            continue
        yield from (Import(name, id(node) in top, id(node) in for_types) for name in modules)


def parsed(path: Path) -> ast.Module:
    return ast.parse((PACKAGE.parent / path).read_text(encoding="utf-8"))


def own_room(path: Path) -> str:
    return path.parts[1].removesuffix(".py")


@pytest.mark.parametrize("path", FILES, ids=str)
def test_imports_go_one_way(path):
    own = own_room(path)
    if own == "__init__":  # the front door may open every room
        return
    assert own in LEANS_ON, f"{own} is no room: say in LEANS_ON what it may lean on"
    for item in imports(parsed(path)):
        if item.module.split(".")[0] != "arrows" or item.room == own:
            continue
        if not item.at_top and (own, item.room) in UPWARD:
            continue
        other = item.room if item.room in LEANS_ON else FRONT_DOOR
        assert other in LEANS_ON[own], f"{path} imports {item.module}: {own} does not lean on it"


def test_the_rooms_have_no_circle():
    below: dict[str, set[str]] = {}
    for name, others in LEANS_ON.items():
        below[name] = set().union(*({other} | below[other] for other in others - {FRONT_DOOR}))
        assert name not in below[name]
    assert not any("testing" in others for others in LEANS_ON.values()), "tests alone import `testing`"


@pytest.mark.parametrize("path", [path for path in FILES if path.parts[1] == "engine"], ids=str)
def test_imports_in_the_engine_go_one_way(path):
    own = path.parts[2].removesuffix(".py")
    if own == "__init__":
        return
    for item in imports(parsed(path)):
        if item.module.startswith("arrows.engine."):
            other = item.module.split(".")[2]
            assert FLOORS.index(other) <= FLOORS.index(own), f"{path} imports {item.module} above it"


@pytest.mark.parametrize("path", FILES, ids=str)
def test_names_come_from_the_door(path):
    for node in ast.walk(parsed(path)):
        if not isinstance(node, ast.ImportFrom) or not (node.module or "").startswith("arrows."):
            continue
        parts = node.module.split(".")
        in_the_engine = (
            parts[1] == "engine" and (PACKAGE.parent.joinpath(*parts[:3]) / "__init__.py").is_file()
        )
        door = ".".join(parts[: 3 if in_the_engine else 2])
        inside = ".".join(path.parts).startswith(f"{door}.")
        if node.module == door or inside:
            continue
        offers = getattr(importlib.import_module(door), "__all__", ())
        at_the_door = {alias.name for alias in node.names} & set(offers)
        assert not at_the_door, f"{path}: import {at_the_door} from {door}"


@pytest.mark.parametrize("path", FILES, ids=str)
def test_imports_stand_at_the_top(path):
    own = own_room(path)
    for item in imports(parsed(path)):
        optional = item.module.split(".")[0] in OPTIONAL or item.module == "concurrent.futures"
        excused = item.for_types or optional or (own, item.room) in UPWARD
        assert item.at_top or excused, f"{path} imports {item.module} in a function"


def test_the_rules_see_imports_of_every_kind():
    source = (
        "import arrows.ops\nfrom arrows import x\ndef f():\n    from arrows.engine.model import y\n"
        "import re\nif TYPE_CHECKING:\n    from arrows import z"
    )
    assert sorted((i.module, i.room, i.at_top, i.for_types) for i in imports(ast.parse(source))) == [
        ("arrows.engine.model", "engine", False, False),
        ("arrows.ops", "ops", True, False),
        ("arrows.x", "x", True, False),
        ("arrows.z", "z", False, True),
        ("re", "", True, False),
    ]


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


LATER = {"cli", "data", "documents", "drawing", "metrics", "model_files", "models", "testing", "training"}


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
        if name.partition(".")[0] not in ALLOWED and not name.startswith("_sysconfigdata"):
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
