"""docs/ops.md agrees with the docstrings and with the table of primitives."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest

from arrows import ops
from arrows.ops import Primitive

SCRIPT = Path(__file__).parents[2] / "docs" / "make_ops.py"


@pytest.fixture(scope="module")
def script() -> Any:
    return runpy.run_path(str(SCRIPT))


def test_the_page_is_up_to_date(script: Any) -> None:
    written = SCRIPT.with_name("ops.md").read_text(encoding="utf-8")
    assert written == script["page"](), "run python docs/make_ops.py"
    assert script["main"](["--check"]) == 0


def test_every_operation_and_primitive_stands_there(script: Any) -> None:
    text = script["page"]()
    for name in script["ours"]():
        assert f"| `{name}` | `(" in text
    for name in ("add", "where", "gelu", "swish", "gather", "dropout", "segment_softmax", "matmul", "norm"):
        assert f"### `{name}" in text


def test_primitives_of_others_do_not_change_it(script: Any) -> None:
    before = script["page"]()
    ops.register(Primitive("docs_thing", lambda x: x, lambda xp: xp.tanh, elementwise=True))
    try:
        assert script["page"]() == before
    finally:
        ops.unregister("docs_thing")
