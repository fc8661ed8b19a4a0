"""Counts the lines of code of each part of the project and fails where one is above its budget.

Blank lines, comments, docstrings and imports do not count. The budgets stand in `[tool.sizes]` of
`pyproject.toml`: they bound the sum of a part, not a file, which is as long as its idea.
"""

from __future__ import annotations

import ast
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent


def code_lines(path: Path) -> int:
    """The lines of a file that are code."""
    text = path.read_text(encoding="utf-8")
    skipped: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            documented = ast.get_docstring(node, clean=False) is not None
            passed_over = node.body[0] if documented else None
        else:
            passed_over = node if isinstance(node, ast.Import | ast.ImportFrom) else None
        if passed_over is not None:
            skipped.update(range(passed_over.lineno, (passed_over.end_lineno or passed_over.lineno) + 1))
    lines = enumerate(text.splitlines(), 1)
    return sum(
        n not in skipped and bool(line.strip()) and not line.lstrip().startswith("#") for n, line in lines
    )


def main() -> int:
    """Prints a line for each part; the exit status is 1 where one is too large."""
    parts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["sizes"]
    counted: set[Path] = set()
    over = []
    for name, part in parts.items():
        # A folder that a line above has counted belongs to that line.
        files = {path for folder in part["folders"] for path in (ROOT / folder).rglob("*.py")} - counted
        counted |= files
        size = sum(map(code_lines, files))
        print(f"{name:<12}{size:>7,} lines of code in {len(files):>3} files, budget {part['budget']:>7,}")
        if size > part["budget"]:
            over.append(name)
    if over:
        print(f"above budget: {', '.join(over)}. Delete what no user would miss, or say why it must grow.")
    return bool(over)


if __name__ == "__main__":
    sys.exit(main())
