"""Examples that a command is given: the name of a list in a user's file, or a file of JSON."""

from __future__ import annotations

import json
from pathlib import Path
from types import ModuleType
from typing import Any

from arrows.commands.modules import attribute
from arrows.typesys.errors import ArrowValueError


def examples_from(source: str, module: ModuleType, path: Path) -> list[Any]:
    """The examples that `source` names.

    Args:
        source: a file that ends in `.json` (a list) or `.jsonl` (one example a line), or the name of a list
            in the user's file; a name may have dots.
        module: the user's file, imported.
        path: where it lies, for messages.

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
        file = Path(source)
        if not file.is_file():
            raise FileNotFoundError(f"no such file: {source}")
        text = file.read_text(encoding="utf-8")
        try:
            found = (
                [json.loads(line) for line in text.splitlines() if line.strip()]
                if source.endswith(".jsonl")
                else json.loads(text)
            )
        except ValueError as error:
            raise ArrowValueError(f"{source} is no JSON: {error}") from error
    else:
        found = attribute(module, source, path)
    if not isinstance(found, (list, tuple)):
        raise ArrowValueError(f"{source} must be a list of examples, not {type(found).__name__}")
    return list(found)
