"""Raises an exception at any line of the package that a program runs, as Ctrl-C or a timeout does."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any, NamedTuple

from arrows.typesys.errors import is_inside


class Interrupt(BaseException):
    """What is raised: nothing in the package expects it."""


class Line(NamedTuple):
    """A line of the package, and how often a program runs it."""

    code: CodeType
    line: int
    visits: int

    def __str__(self) -> str:
        return f"{self.code.co_filename}:{self.line} in {self.code.co_qualname}"


def lines_of(program: Callable[[], object]) -> list[Line]:
    """The lines of the package that a program runs, in the order of their first visits."""
    visits: dict[tuple[CodeType, int], int] = {}

    def local(frame: FrameType, event: str, _: Any) -> Any:
        if event == "line":
            place = frame.f_code, frame.f_lineno
            visits[place] = visits.get(place, 0) + 1
        return local

    _trace(program, lambda frame, event, _: local if is_inside(frame.f_code.co_filename) else None)
    return [Line(code, line, count) for (code, line), count in visits.items()]


def interrupted(program: Callable[[], object], at: Line, visit: int) -> bool:
    """Runs a program that is interrupted at a visit of a line, counted from 1; whether it came to it."""
    left = visit

    def local(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal left
        if event == "line" and frame.f_lineno == at.line:
            left -= 1
            if left == 0:
                raise Interrupt(str(at))
        return local

    try:
        _trace(program, lambda frame, event, _: local if frame.f_code is at.code else None)
    except Interrupt:
        return True
    except Exception:
        if left > 0:
            raise
        return True  # what was interrupted may have said so in words of its own
    return left <= 0


def _trace(program: Callable[[], object], function: Any) -> None:
    before = sys.gettrace()  # a coverage run has one
    sys.settrace(function)
    try:
        program()
    finally:
        sys.settrace(before)
