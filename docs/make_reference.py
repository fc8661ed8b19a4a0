"""Write docs/reference.md: every public name with the first sentence of its docstring.

python docs/make_reference.py
"""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

PAGE = Path(__file__).with_name("reference.md")

HEAD = """\
# Reference

<!-- Written by docs/make_reference.py from the docstrings; change those. -->

Every public name with what it is in a sentence; `help(ar.Map)` has the arguments, the errors and an example.
Names that are not on this page may change in any version.
"""

# Chapters of `import arrows as ar`: a heading, and the rooms that define the names.
CHAPTERS = {
    "Blocks": {"combinators"},
    "Layers and losses": {"layers"},
    "Types and models": {"inference", "engine", "ops"},
    "Data": {"data", "documents"},
    "Saved models": {"model_file"},
    "On the fly": {"onthefly"},
    "Errors": {"typesys"},
    "The machine": {"machine"},
}

# Modules with names of their own; all come with `import arrows as ar`.
MODULES = {
    "ar.ops": "arrows.ops",
    "ar.ops.extend": "arrows.ops.extend",
    "ar.types": "arrows.typesys.types",
    "ar.initializers": "arrows.layers.initializers",
    "ar.training": "arrows.training",
    "ar.training.schedules": "arrows.training.schedules",
    "ar.metrics": "arrows.metrics",
    "ar.data": "arrows.data",
    "ar.documents": "arrows.documents",
    "ar.model_file": "arrows.model_file",
    "ar.models": "arrows.models",
    "ar.drawing": "arrows.drawing",
    "ar.testing": "arrows.testing",
}

# Names without a docstring of their own.
PLAIN = {
    "arrows.typesys.types.DTYPES": "The names of the element types.",
    "arrows.training.Rate": "A learning rate: a number or a schedule.",
    "arrows.training.Schedule": "The type of a schedule: from the number of steps taken to a learning rate.",
    "arrows.data.CLASSES": "The names of the five classes of sentiment.",
    "arrows.data.TAGS": "The universal parts of speech.",
    "arrows.data.Tree": "The type of a sentiment tree, a nested dict.",
    "arrows.data.Sentence": "The type of a tagged sentence, a list of words.",
    "arrows.data.Word": "The type of a tagged word, a dict.",
    "arrows.data.Vector": "The type of a word vector.",
    "arrows.drawing.CHARACTERS": "The sizes of a drawing in characters.",
    "arrows.drawing.PIXELS": "The sizes of a drawing in pixels.",
    "arrows.testing.HOST": "Where `check_primitive` runs kernels if not told otherwise: NumPy.",
}


def page() -> str:
    """The text of docs/reference.md.

    Raises:
        LookupError: a public name stands in no chapter, or has neither a docstring nor a line in PLAIN; a
            module has no names.
    """
    arrows = importlib.import_module("arrows")
    names = set(arrows.__all__)
    parts = [HEAD]
    for heading, rooms in CHAPTERS.items():
        here = {name for name in names if room(getattr(arrows, name)) in rooms}
        parts.append(f"## {heading}\n\n" + "".join(line("ar", arrows, name) for name in sorted(here)))
        names -= here
    names -= {title.partition(".")[2] for title in MODULES} | {"__version__"}
    if names:
        raise LookupError(f"names without a chapter: {sorted(names)}")
    for title, module_name in MODULES.items():
        module = importlib.import_module(module_name)
        lines = [f"## `{title}`\n", sentence(module) + "\n"]
        if title == "ar.ops":
            lines.append("All operations and primitives: [ops.md](ops.md).\n")
        else:
            listed = sorted(public(module), key=str.lower)
            if not listed:
                raise LookupError(f"{module_name} has no public name; give it an __all__")
            lines.append("".join(line(title, module, name) for name in listed))
        parts.append("\n".join(lines))
    return "\n".join(parts)


def room(value: object) -> str:
    """The room of the package that defines a name; empty for modules."""
    return "" if isinstance(value, ModuleType) else [*getattr(value, "__module__", "").split("."), ""][1]


def public(module: ModuleType) -> Iterator[str]:
    """The names that a module offers: its `__all__`, else what it defines itself."""
    if hasattr(module, "__all__"):
        yield from (name for name in module.__all__ if not isinstance(getattr(module, name), ModuleType))
    else:
        own = {name: value for name, value in vars(module).items() if inspect.isroutine(value)}
        yield from (n for n, value in own.items() if n[0] != "_" and value.__module__ == module.__name__)


def line(title: str, module: ModuleType, name: str) -> str:
    """One name as an item of a list."""
    value = getattr(module, name)
    text = PLAIN.get(f"{module.__name__}.{name}")
    if text is None and not (inspect.isclass(value) or inspect.isroutine(value)):
        text = f"`{value!r}`."
    return f"* `{title}.{name}`: {text or sentence(value)}\n"


def sentence(value: object) -> str:
    """The first sentence of a docstring.

    Raises:
        LookupError: there is none.
    """
    paragraph = " ".join((inspect.getdoc(value) or "").partition("\n\n")[0].split())
    if not paragraph:
        raise LookupError(f"{value!r} has no docstring: write one, or a line in PLAIN")
    return re.split(r"(?<=[.!?])\s+(?=[A-Z`])", paragraph)[0]


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print(f"{PAGE} written")
