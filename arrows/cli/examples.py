"""Reads the examples for a command: a list in the user's file, or a file of JSON."""

from __future__ import annotations

import json
from pathlib import Path
from types import ModuleType
from typing import Any

from arrows.cli.user_modules import attribute
from arrows.typesys import ArrowValueError


def examples_from(source: str, module: ModuleType, path: Path) -> list[Any]:
    """The examples that `source` names.

    Args:
        source: a file that ends in `.json` (a list) or `.jsonl` (one example per line), or the name of a list
            in the user's file; the name may have dots.
        module: the user's file, imported.
        path: its path, for messages.

    Raises:
        ArrowValueError: there is no such list.
        FileNotFoundError: there is no such file.

    >>> import types
    >>> module = types.ModuleType("model")
    >>> module.trees = [1, 2]
    >>> examples_from("trees", module, Path("model.py"))
    [1, 2]
    """
    if source.endswith((".json", ".jsonl")):
        if not Path(source).is_file():
            raise FileNotFoundError(f"no such file: {source}")
        data = Path(source).read_bytes()
        examples = _lines(data, source) if source.endswith(".jsonl") else _value(data, source, 1)
    else:
        examples = attribute(module, source, path)
    if not isinstance(examples, (list, tuple)):
        raise ArrowValueError(f"{source} must be a list of examples, not {type(examples).__name__}")
    return list(examples)


def _lines(data: bytes, source: str) -> list[Any]:
    """The values of JSON Lines; only a line feed ends a line, and blank lines are skipped."""
    return [
        _value(line, f"{source}:{number}", number)
        for number, line in enumerate(data.split(b"\n"), start=1)
        if line.strip()
    ]


def _value(data: bytes, where: str, line: int) -> Any:
    """The value of a JSON text in UTF-8; a byte-order mark at its beginning is skipped."""
    try:
        return json.loads(data.decode("utf-8-sig" if line == 1 else "utf-8"))
    except RecursionError as error:
        raise ArrowValueError(f"{where} is nested deeper than Python reads JSON") from error
    except ValueError as error:
        raise ArrowValueError(f"{where} is not JSON: {error}") from error
