"""Reads Python source as syntax trees, for models of programs."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from arrows.data.file_examples import FileExamples, FileStream, collected
from arrows.files import require_path
from arrows.typesys import ArrowTypeError, ArrowValueError, InputError

SyntaxTree = dict[str, Any]
"""A node of a syntax tree: a dict with "kind", "text", "line" and "children"."""


def parse_python(source: str | bytes, *, name: str = "source") -> SyntaxTree:
    """Reads Python source as a tree of plain dicts, such as a block goes over.

    A node has a "kind", the name of its class in `ast` (`"Call"`); a "text", the names that it holds, or its
    constant as Python writes it, or None; the "line" where it begins, from 1, or None; and its "children" in
    the order of the source.  Nodes that only say how a name is used (`Load`, `Store`, `Del`) are left out.

    Args:
        source: the text, or its bytes, in UTF-8 or as a comment at its head says.
        name: the name of the source in errors, a file's name for example.

    Raises:
        ArrowTypeError: neither text nor bytes.
        InputError: this is no Python of the version that runs; it names source, line and column.

    >>> tree = parse_python("x = f(1)")["children"][0]
    >>> tree["kind"], [child["text"] for child in tree["children"]], tree["children"][1]["children"][1]
    ('Assign', ['x', None], {'kind': 'Constant', 'text': '1', 'line': 1, 'children': []})
    """
    if not isinstance(source, (str, bytes)):
        raise ArrowTypeError(f"parse_python: expected the text of a program, got {type(source).__name__}")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of escapes and comparisons in someone else's source
            module = ast.parse(source, filename=name)
    except SyntaxError as error:
        column = f":{error.offset}" if error.offset is not None and error.offset > 0 else ":1"
        raise InputError(f"{name}:{error.lineno or 1}{column}: {error.msg}") from error
    except (RecursionError, MemoryError) as error:
        raise InputError(f"{name}:1:1: the source is nested too deeply") from error
    except ValueError as error:
        raise InputError(f"{name}:1:1: {error}") from error
    root = _node(module)
    waiting: list[tuple[ast.AST, SyntaxTree]] = [(module, root)]
    while waiting:  # no recursion: a chain of a thousand operators is a tree of that depth
        node, tree = waiting.pop()
        for child in ast.iter_child_nodes(node):
            if not isinstance(child, ast.expr_context):
                part = _node(child)
                tree["children"].append(part)
                waiting.append((child, part))
    return root


def read_python(
    folder_or_file: str | Path, *, pattern: str = "**/*.py", errors: str = "stop"
) -> FileExamples[SyntaxTree]:
    """Reads a file of Python, or all files of a folder, as syntax trees.

    Args:
        folder_or_file: where to look.
        pattern: of the files in a folder, which are read in the order of their names.
        errors: "stop" at the first file that is no Python; or "skip": leave it out, and list it in the
            result's `skipped`.

    Returns:
        A list of trees as `parse_python` gives them; it also knows the `places`, their files.

    Raises:
        ArrowValueError: a pattern that is none, such as one that begins at the root.
        InputError: see `parse_python`.
        OSError: a file cannot be read, or there is none.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "one.py").write_text("pass")
    ...     read_python(folder)[0]["children"][0]["kind"]
    'Pass'
    """
    path = require_path("read_python: folder_or_file", folder_or_file)
    return collected(path, _files(path, pattern), errors)


def iterate_python(
    folder_or_file: str | Path, *, pattern: str = "**/*.py", errors: str = "stop"
) -> FileStream[SyntaxTree]:
    """As `read_python`, but one tree after the other, for more files than memory holds.

    With `errors="skip"`, the result's `skipped` lists what has been left out so far.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "one.py").write_text("pass")
    ...     [tree["kind"] for tree in iterate_python(folder)]
    ['Module']
    """
    path = require_path("iterate_python: folder_or_file", folder_or_file)
    return FileStream(path, _files(path, pattern), errors)


def _files(path: Path, pattern: str) -> Iterator[tuple[Path, Callable[[], SyntaxTree]]]:
    """For each file, in the order of their names, a function that reads it."""
    try:
        files = sorted(file for file in path.glob(pattern) if not file.is_dir()) if path.is_dir() else [path]
    except (NotImplementedError, ValueError) as error:
        raise ArrowValueError(f"read_python: the pattern {pattern!r} is none: {error}") from error
    if not files:
        raise FileNotFoundError(f"no file {pattern} in {path}")
    for file in files:
        yield file, partial(_read, file)


def _read(file: Path) -> SyntaxTree:
    return parse_python(file.read_bytes(), name=str(file))


def _node(node: ast.AST) -> SyntaxTree:
    return {
        "kind": type(node).__name__,
        "text": _text(node),
        "line": getattr(node, "lineno", None),
        "children": [],
    }


def _text(node: ast.AST) -> str | None:
    """The texts that a node holds itself: of ``import numpy as np``, "numpy np"."""
    if isinstance(node, ast.Constant):
        try:
            return repr(node.value)
        except ValueError:  # 0x... of more digits than Python writes as a decimal number
            return hex(node.value) if isinstance(node.value, int) else None
    texts: list[str] = []
    for _, value in ast.iter_fields(node):
        texts += [item for item in (value if isinstance(value, list) else [value]) if isinstance(item, str)]
    return " ".join(texts) if texts else None
