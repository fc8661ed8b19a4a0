"""The language model with tied embeddings learns beside the others."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest

EXAMPLE = Path(__file__).resolve().parent.parent.parent / "examples" / "tied_language_model.py"


@pytest.fixture(scope="module")
def names() -> dict[str, Any]:
    return runpy.run_path(str(EXAMPLE))


def test_it_trains_all_three_models(names: dict[str, Any], tmp_path: Path, capsys: Any) -> None:
    rows = ["\t".join([str(n), word, "_", "X", *"______"]) for n, word in enumerate([*"ababc"], 1)]
    for part in ("train", "dev", "test"):
        (tmp_path / f"xx-{part}.conllu").write_text("\n".join([*rows, "", *rows, "", ""]))
    names["main"](["--data", str(tmp_path), "--size", "4", "--epochs", "2", "--seeds", "2"])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "5 words, 2 sentences to learn from"
    assert [line.partition(":")[0] for line in lines[1:]] == ["tied", "untied", "untied, as many parameters"]
