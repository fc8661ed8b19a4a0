"""Errors as the person reads them: one of each kind of refusal.

`errors/FAMILY.txt` holds the cases of a family. A case is its name after `====`, a program, a line of
dashes, and the text that the program must give.

`ARROWS_WRITE_ERRORS=1 pytest tests/inference/test_errors.py` writes the texts anew; read them before you
commit them.
"""

from __future__ import annotations

import contextvars
import os
from pathlib import Path
from typing import Any

import pytest

import arrows as ar
from arrows.typesys import ArrowTypeError, ArrowValueError
from tests.combinators.kit import Embedding

FAMILIES = sorted((Path(__file__).parent / "errors").glob("*.txt"))


def cases_of(family: Path) -> list[tuple[str, str, str]]:
    """The name, the program and the text of each case."""
    cases = []
    for case in family.read_text(encoding="utf-8").removeprefix("==== ").split("\n==== "):
        name, _, body = case.partition("\n")
        program, _, text = body.partition("----\n")
        cases.append((name, program, text.rstrip("\n") + "\n"))
    return cases


CASES = [pytest.param(*case, id=f"{f.stem}-{case[0]}") for f in FAMILIES for case in cases_of(f)]


def text_of(program: str) -> str:
    scope: dict[str, Any] = {"ar": ar, "Embedding": Embedding}
    try:
        # in a context of its own: a program may leave the scope of a Composition open
        contextvars.copy_context().run(exec, compile(program, "model.py", "exec"), scope)
        ar.infer(scope["block"])
    except (ArrowTypeError, ArrowValueError) as error:
        kind = "ArrowTypeError" if isinstance(error, ArrowTypeError) else "ArrowValueError"
        return f"{kind}: {error}\n"
    pytest.fail("the program is well-typed")


@pytest.mark.skipif("ARROWS_WRITE_ERRORS" in os.environ, reason="the texts are written")
@pytest.mark.parametrize(("name", "program", "expected"), CASES)
def test_error(name: str, program: str, expected: str) -> None:
    assert text_of(program) == expected, name


@pytest.mark.skipif("ARROWS_WRITE_ERRORS" not in os.environ, reason="the texts are read")
def test_write_errors() -> None:
    for family in FAMILIES:
        written = [f"==== {name}\n{program}----\n{text_of(program)}" for name, program, _ in cases_of(family)]
        family.write_text("\n".join(written), encoding="utf-8")


def test_there_are_enough() -> None:
    assert len(CASES) >= 100
