"""What `import arrows` loads, and that public names are explained. `make lint` holds the order of rooms."""

from __future__ import annotations

import importlib
import inspect
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import arrows

PACKAGE = Path(arrows.__file__).parent
FILES = sorted(path.relative_to(PACKAGE.parent) for path in PACKAGE.rglob("*.py"))
ROOMS = sorted(path.parent.name for path in PACKAGE.glob("*/__init__.py"))
# Users reach what these rooms offer through the front door, where the examples are.
INNER = {"typesys", "combinators", "inference", "engine"}


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


NOW = {"arrays", "combinators", "layers", "machine", "ops", "typesys", "version"}


def test_import_leaves_extras_and_rooms_for_later():
    program = """
import sys, arrows
names = [*sys.modules]
print(*{n.split('.')[0] for n in names})
print(*{n.split('.')[1] for n in names if n.startswith('arrows.')})
print(arrows.training.Adam.__name__, arrows.compile.__name__, "models" in dir(arrows))
"""
    loaded, rooms, asked = (line.split() for line in python(program).splitlines())
    assert "numpy" in loaded
    assert not {"cupy", "numba", "torch", "sklearn", "pandas", "cloudpickle", "hypothesis"} & set(loaded)
    assert set(rooms) == NOW
    assert asked == ["Adam", "compile", "True"]


# Doors to other packages, which import them.
FRIENDS = {"arrows.sklearn", "arrows.torch"}
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
    with pytest.raises(AssertionError, match="not a core dependency: hypothesis"):
        python(ONLY_CORE + "import hypothesis")
    names = sorted({*module_names()} - FRIENDS)
    python(ONLY_CORE + f"import importlib\nfor name in {names}: importlib.import_module(name)")


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


def file_of(thing: Any) -> str:
    return str(Path(str(sys.modules[thing.__module__].__file__)).relative_to(PACKAGE.parent))


@pytest.mark.parametrize("name", ["arrows", *(f"arrows.{room}" for room in ROOMS)])
def test_public_names_have_docstrings(name):
    items = offered(importlib.import_module(name)).items()
    silent = [f"{item} in {file_of(value)}" for item, value in items if not value.__doc__]
    assert not silent, f"add a docstring to {', '.join(silent)}"


@pytest.mark.parametrize(
    "name",
    ["arrows", *(f"arrows.{room}" for room in ROOMS if room not in INNER)],
)
def test_names_that_users_import_have_an_example(name):
    items = offered(importlib.import_module(name)).items()
    silent = [f"{item} in {file_of(value)}" for item, value in items if ">>>" not in (value.__doc__ or "")]
    assert not silent, f"add an example (>>>) to the docstring of {', '.join(silent)}"


def test_the_package_is_typed():
    assert (PACKAGE / "py.typed").is_file()
