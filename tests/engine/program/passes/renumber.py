"""Compares programs but for the numbers of their values."""

from __future__ import annotations

import re

from arrows.engine.program.program import Program


def renumbered(program: Program) -> str:
    """The text of a program with its values numbered in the order in which they are named."""
    numbers: dict[str, str] = {}
    return re.sub(r"%\d+", lambda name: numbers.setdefault(name[0], f"%{len(numbers)}"), str(program))
