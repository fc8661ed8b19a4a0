"""Whoever adds an op, a block, a layer, ... is told what is missing, and in which file: `make check-op`."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import arrows as ar
from arrows import combinators, layers, metrics, ops, training
from arrows.combinators import CORE_FORMS
from arrows.engine.lowering.lower import EMITTERS
from arrows.engine.planning import SCHEDULES
from arrows.engine.program.pipeline import OPTIONAL
from arrows.engine.reference.interpreter import MEANINGS
from arrows.inference.rules import RULES
from tests.engine.program.passes.test_passes import CASES as PASSES
from tests.engine.scheduling.test_merge import EXAMPLES, tree
from tests.layers.test_layers import CASES as LAYERS
from tests.ops.table import CASES as OPS
from tests.test_layout import file_of
from tests.test_metrics import METRICS
from tests.training.optimizers.papers import CASES as OPTIMIZERS

PACKAGE = Path(ar.__file__).parent

# Public in the file that defines them, and for the package alone.
INNER_OPS = {
    *("kept", "lookup", "reduce", "reduced", "sum_to"),
    *("bind", "dropout_by_key", "parameter", "spread_key"),
}
INNER_BLOCKS = re.compile("Attend|SameType|Cases|(Memory)?Cell|Parallel|Reduction.*|WithDefault")
NOT_FOR_USERS = {form.__name__ for form in CORE_FORMS} | {
    *("AndFan", "InferredZeros", "Loss", "Spelling", "WithDefault"),
    *("Declared", "DeclaredLayer", "Written"),
}


def told(lines: Iterable[str]) -> None:
    """Fails with these lines, if there are any."""
    if found := sorted(lines):
        pytest.fail("\n".join(found), pytrace=False)


def defined(room: ModuleType) -> dict[str, Any]:
    """The public classes and functions that the files of a room define."""
    found: dict[str, Any] = {}
    for path in sorted(Path(str(room.__file__)).parent.rglob("*.py")):
        if path.stem != "__init__":
            parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
            module = importlib.import_module(".".join(parts))
            found |= {
                name: thing
                for name, thing in vars(module).items()
                if getattr(thing, "__module__", "") == module.__name__ and not name.startswith("_")
            }
    return found


def exported(room: ModuleType) -> Iterable[str]:
    """What to do for the blocks of a room that a user cannot reach."""
    door = f"{'/'.join(room.__name__.split('.'))}/__init__.py"
    for name, thing in defined(room).items():
        # A derived block is a function.
        block = issubclass(thing, ar.Block) if inspect.isclass(thing) else inspect.isfunction(thing)
        if block and name[0].isupper() and not INNER_BLOCKS.fullmatch(name):
            if name not in {*vars(room), *NOT_FOR_USERS}:
                yield f"import {name} in {door}"
            if name not in {*ar.__all__, *NOT_FOR_USERS}:
                yield f"import {name} in arrows/__init__.py"


def test_op() -> None:
    functions, there = defined(ops), set(ops.primitives())
    made = {name for name in functions if inspect.isfunction(functions[name])}
    tensors = {name for name in made if functions[name].__annotations__.get("return") == "TensorLike"}
    hidden = (there & made | tensors) - {*ops.__all__, *INNER_OPS}
    told(
        [f"import {name} of {file_of(functions[name])} in arrows/ops/__init__.py" for name in hidden]
        + [
            f"add a row for {name!r} to tests/ops/table.py (if element-wise, of one operand: to _UNARY), "
            "and where its derivative jumps, as that of a maximum does, to _KINKS of tests/compare.py"
            for name in there - {name for name, _, _ in OPS}
        ]
    )


def test_block() -> None:
    told(exported(combinators))


def test_layer() -> None:
    told(exported(layers))
    in_table = {type(layer).__name__ for layer, _ in LAYERS.values()} | {"Conv1d"}  # it has a file of its own
    told(
        f"add rows for {name} to CASES of tests/layers/test_layers.py: the layer and its arguments"
        for name in set(layers.__all__) - in_table - {"initializers", "Loss"}
    )


def test_form() -> None:
    tables = {
        "RULES of arrows/inference/rules.py: its typing": RULES,
        "MEANINGS of arrows/engine/reference/interpreter.py: its meaning": MEANINGS,
        "EMITTERS of arrows/engine/lowering/lower.py: the code that reads it": EMITTERS,
    }
    told(
        f"add a row for {form.__name__} to {table}"
        for table, rows in tables.items()
        for form in set(CORE_FORMS) - set(rows)
    )
    assert all(set(rows) <= set(CORE_FORMS) for rows in tables.values())


def test_pass() -> None:
    folder = PACKAGE / "engine" / "program" / "passes"
    lists = "arrows/engine/program/pipeline.py"
    for path in folder.glob("[!_]*.py"):
        module = importlib.import_module(f"arrows.engine.program.passes.{path.stem}")
        takes = {
            name
            for name, thing in vars(module).items()
            if getattr(thing, "__module__", "") == module.__name__ and inspect.isfunction(thing)
            if name[0] != "_" and thing.__annotations__ == {"program": "Program", "return": "Program"}
        }
        known = {*OPTIONAL, "prune", "with_views"}
        told(f"add {name} to FORWARD, BACKWARD or LAST in {lists}" for name in takes - known)
    tests = PACKAGE.parent / "tests" / "engine" / "program" / "passes"
    tested = {case.run.__name__ for case in PASSES} | {path.stem[5:] for path in tests.glob("test_*.py")}
    told(
        f"add a row for {name} to CASES of tests/engine/program/passes/test_passes.py"
        for name in set(OPTIONAL) - tested
    )


def test_schedule() -> None:
    told(
        f"say what {schedule!r} does under `schedule:` in the docstring of {name} in {file_of(thing)}"
        for name, thing in (("compile", ar.compile), ("OnTheFly", ar.OnTheFly))
        for schedule in SCHEDULES
        if f'"{schedule}"' not in str(thing.__doc__)
    )
    page = (PACKAGE.parent / "docs" / "batching.md").read_text(encoding="utf-8")
    told(
        f"add a row for {name!r} to the table of docs/batching.md"
        for name in SCHEDULES
        if f'| `"{name}"' not in page
    )
    lines = {
        name: str(ar.compile(tree, schedule=name).timeline(EXAMPLES)).partition(":")[2] for name in SCHEDULES
    }
    told(
        f"{name!r} runs as 'depth' does: give its rule in Plan of arrows/engine/planning/plan.py, or in "
        "merge of arrows/engine/scheduling/merge.py"
        for name in SCHEDULES
        if name != "depth" and lines[name] == lines["depth"]
    )
    # So that a new schedule is tested wherever the others are.
    every = re.compile(r"[\[(]\s*" + r",\s*".join(f'"{name}"' for name in SCHEDULES[:4]))
    told(
        f"write SCHEDULES of arrows.engine.planning for the list in {path.relative_to(PACKAGE.parent)}"
        for path in (PACKAGE.parent / "tests").rglob("*.py")
        if every.search(path.read_text(encoding="utf-8"))
    )


def test_metric() -> None:
    told(
        f"add {name} to METRICS in tests/test_metrics.py, and hold it to its definition there"
        for name in set(metrics.__all__) - {"StreamingMetric"} - METRICS.keys()
    )
    tests = (
        (PACKAGE.parent / "tests" / "test_metrics.py").read_text(encoding="utf-8").split("METRICS[name]")[1]
    )
    told(
        f"hold {name} to its definition in a test of tests/test_metrics.py"
        for name in set(metrics.__all__) - {"StreamingMetric"}
        if f"{name}(" not in tests
    )


def test_optimizer() -> None:
    rules = {
        name: thing
        for name, thing in defined(importlib.import_module("arrows.training.optimizers")).items()
        if inspect.isclass(thing) and issubclass(thing, training.Optimizer) and name != "Optimizer"
    }
    tested = {type(make()).__name__ for make, _ in OPTIMIZERS}
    told(f"import {name} in arrows/training/__init__.py" for name in rules.keys() - set(training.__all__))
    told(
        f"add the paper's update of {name} and a row of CASES to tests/training/optimizers/papers.py"
        for name in rules.keys() - tested
    )
