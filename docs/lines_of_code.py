"""Counts lines of code as Looks et al. do (ICLR 2017, appendix C), and prints their table 3 with our column.

    python docs/lines_of_code.py

One file holds the model and nothing else. Imports, blank lines, comments and texts that only describe do not
count. Here the file is what stands in an example between the lines that mark the model.
"""

from __future__ import annotations

import io
import tokenize
from pathlib import Path

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
# What is compared, the example that has it, and the paper's lines: in Fold, and in the original program.
# These are quoted from memory, and nobody has held them beside the paper yet.
TABLE = [
    ("Feed-forward attention", "feed_forward_attention", 26, 71),
    ("Tree-LSTM", "treelstm", 119, 219),
    ("Graph convolutions", "weave", 32, 44),
]


def listing(example: str) -> list[str]:
    """The lines of an example's model that count."""
    text = (EXAMPLES / f"{example}.py").read_text(encoding="utf-8")
    _, model, _ = text.split("# " + "-" * 90)
    model = model.removeprefix(" the model\n")
    quoted: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(model).readline):
        if token.type == tokenize.STRING and token.line.strip().startswith(('"""', "'''")):
            quoted.update(range(token.start[0], token.end[0] + 1))
    return [
        line
        for number, line in enumerate(model.splitlines(), 1)
        if line.strip() and not line.lstrip().startswith(("#", "import ", "from ")) and number not in quoted
    ]


def table() -> str:
    """The table, in Markdown."""
    rows = ["| model | `arrows` | Fold | original |", "|---|---|---|---|"]
    for model, example, fold, original in TABLE:
        rows.append(f"| {model} (`examples/{example}.py`) | {len(listing(example))} | {fold} | {original} |")
    return "\n".join(rows)


if __name__ == "__main__":
    print(table())
