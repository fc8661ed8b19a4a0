"""Programs that use the same things again, and models that are used again: after any script of calls, a model
says what the reference says."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arrows.engine import codegen, compiling, program_writer
from arrows.engine.fuse import fuse
from tests.engine.test_fuse import interpreted
from tests.profile import NIGHTLY, counted, draws
from tests.reuse.check import Models, scripts
from tests.reuse.program import objects, programs

PARTS = 4
"""How many tests share the work, so that processes can."""

LENGTHS = (12, 36) if NIGHTLY else (1, 12)
"""Of the scripts."""

Patch = pytest.MonkeyPatch


@pytest.fixture
def chains_as_python(monkeypatch: Patch) -> None:
    """With `jit=True`, chains are fused in float64 and run as Python: to compile them would take hours."""
    monkeypatch.setattr(codegen, "fuse", partial(fuse, dtype="float64"))
    monkeypatch.setattr(program_writer, "compiled", lambda source, dtype: interpreted(source))
    monkeypatch.setattr(compiling, "available", lambda: True)


def compare(record: Any, name: str, sizes: tuple[int, int], at_least: int, **options: Any) -> None:
    """Draws so many programs (in `make test`, nightly), each with examples and a script, which runs."""
    with counted(record, at_least) as count:

        @draws(*sizes, name)
        @given(data=st.data())
        def pairs(data: st.DataObject) -> None:
            program = data.draw(programs(), "program")
            examples = data.draw(st.lists(objects(), min_size=1, max_size=5), "examples")
            device = data.draw(st.sampled_from(options.get("devices", ("cpu", "cpu", "fake"))), "device")
            script = data.draw(scripts(len(examples), device, *LENGTHS), "script")
            models = Models(program, examples, device)
            for action in script:
                count.examples += models.do(action)
                count.pairs += 1
            models.at_the_end()

        pairs()


@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.usefixtures("chains_as_python")
def test_whatever_is_used_again_batched_is_one_by_one(part: int, record_property: Any) -> None:
    compare(record_property, f"part {part}", (70, 2000), 25_000 if NIGHTLY else 200)
