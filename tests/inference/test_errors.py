"""Every error as the person reads it.

`errors/NAME.txt` holds a program, a line of dashes, and the text it must give.

`ARROWS_WRITE_ERRORS=1 pytest tests/inference/test_errors.py` writes the texts anew; read them before you
commit them.
"""

from __future__ import annotations

import contextvars
import os
from pathlib import Path

import pytest

import arrows.combinators
import arrows.layers
from arrows import ops
from arrows.typesys import ArrowTypeError, ArrowValueError, types
from tests.combinators import kit

CASES = sorted((Path(__file__).parent / "errors").glob("*.txt"))


class _Names:
    """What `import arrows as ar` gives, as far as these programs need it."""

    ops = ops
    types = types

    def __getattr__(self, name: str) -> object:
        home = arrows.combinators if hasattr(arrows.combinators, name) else arrows.layers
        return getattr(home, name)


def text_of(program: str) -> str:
    scope = {"ar": _Names(), "FC": kit.FC, "Embedding": kit.Embedding, "Cell": kit.Cell}
    try:
        # in a context of its own: a program may leave the scope of a Composition open
        contextvars.copy_context().run(exec, compile(program, "model.py", "exec"), scope)
        arrows.inference.infer(scope["block"])
    except (ArrowTypeError, ArrowValueError) as error:
        kind = "ArrowTypeError" if isinstance(error, ArrowTypeError) else "ArrowValueError"
        return f"{kind}: {error}\n"
    pytest.fail("the program is well-typed")


@pytest.mark.parametrize("case", CASES, ids=lambda p: p.stem)
def test_error(case: Path) -> None:
    program, expected = case.read_text(encoding="utf-8").split("----\n")
    text = text_of(program)
    if os.environ.get("ARROWS_WRITE_ERRORS"):
        case.write_text(f"{program}----\n{text}", encoding="utf-8")
        return
    assert text == expected


def test_there_are_enough() -> None:
    assert len(CASES) >= 60
