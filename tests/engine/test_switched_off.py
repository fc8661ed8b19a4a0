"""Every optimisation can be left out without a change of results: each is switched off alone, and all
together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from arrows.engine.lowering import Compositions
from arrows.engine.planning import Plan
from arrows.engine.program.pipeline import OPTIONAL, without_passes
from arrows.engine.reading import hashes
from arrows.engine.running import batch_plan
from arrows.ops import sums
from tests.engine.test_batching import SETTINGS, compare
from tests.marks import needs_compiler
from tests.profile import sampled

Patch = pytest.MonkeyPatch


def no_sharing(patch: Patch) -> None:
    patch.setattr(Plan, "shares", property(lambda self: False))


def no_composition(patch: Patch) -> None:
    patch.setattr(Compositions, "steps", lambda self, parts: iter(parts))


PASSES = (*OPTIONAL, "reuse")
KERNEL_PASSES = [each for each in PASSES if each != "deduplicate"]
OPTIMISATIONS: dict[str, Callable[[Patch], None]] = {"sharing": no_sharing, "composition": no_composition}


@pytest.mark.parametrize("name", sampled(PASSES, 4))
def test_without_one_pass(name: str, record_property: Any) -> None:
    with without_passes(name):
        compare(record_property, f"without {name}", (4, 100), SETTINGS)


@needs_compiler
@pytest.mark.parametrize("name", sampled(KERNEL_PASSES, 3))
def test_kernels_without_one_pass(name: str, record_property: Any) -> None:
    with without_passes(name):
        compare(record_property, f"kernels without {name}", (3, 30), [("fake-kernels", "strata")])


@needs_compiler
def test_kernels_without_all_passes(record_property: Any) -> None:
    with without_passes(*PASSES):
        compare(record_property, "kernels without all", (6, 60), [("fake-kernels", "strata")])


@pytest.mark.parametrize("name", OPTIMISATIONS)
def test_without_one_optimisation(name: str, monkeypatch: Patch, record_property: Any) -> None:
    OPTIMISATIONS[name](monkeypatch)
    compare(record_property, f"without {name}", (4, 100), SETTINGS)


def test_with_what_only_large_matrices_get(monkeypatch: Patch, record_property: Any) -> None:
    """Products in blocks of columns or row by row."""
    monkeypatch.setattr(sums, "_LARGE", 0)
    compare(record_property, "with products in blocks", (6, 100), SETTINGS)


def test_with_what_only_wide_rows_get(monkeypatch: Patch, record_property: Any) -> None:
    """What runs early is computed for distinct rows alone, in small sets too, even if all are distinct."""
    monkeypatch.setattr(hashes, "_FEWEST_A_LEVEL", 0)
    monkeypatch.setattr(batch_plan, "_WORTH", 0)
    compare(record_property, "early for distinct rows", (6, 100), SETTINGS)


def test_without_any(monkeypatch: Patch, record_property: Any) -> None:
    for switch_off in OPTIMISATIONS.values():
        switch_off(monkeypatch)
    with without_passes(*PASSES):
        compare(record_property, "without any", (10, 200), SETTINGS)
