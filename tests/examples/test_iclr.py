"""The models of Looks et al. (ICLR 2017), in no more lines than the paper takes."""

from __future__ import annotations

import random
import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import arrows as ar
from arrows.typesys import types as T
from tests.compare import close

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
COUNT = runpy.run_path(str(ROOT / "docs" / "lines_of_code.py"))
LISTINGS = {example: fold for _, example, fold, _ in COUNT["TABLE"]}


def names(example: str) -> dict[str, Any]:
    return runpy.run_path(str(EXAMPLES / f"{example}.py"))


@pytest.mark.parametrize(("example", "most"), LISTINGS.items())
def test_no_more_lines_than_the_paper(example: str, most: int) -> None:
    lines = COUNT["listing"](example)
    assert len(lines) <= most, f"{len(lines)} lines:\n" + "\n".join(lines)
    assert max(map(len, lines)) <= 110
    assert not any(";" in line.split("  # ")[0] for line in lines)


def test_the_results_have_the_table_as_it_is() -> None:
    assert COUNT["table"]() in (ROOT / "docs" / "results.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("example", ["feed_forward_attention", "weave"])
def test_training_helps(example: str, capsys: pytest.CaptureFixture[str]) -> None:
    before, after = names(example)["main"](examples=120, epochs=3)
    assert after < before / 2
    assert f"{before:.3f}" in capsys.readouterr().out


def test_attention_is_what_is_spelled_out() -> None:
    found, generator = names("feed_forward_attention"), random.Random(2)
    examples = [found["addition"](generator, n, n) for n in (12, 40)]
    one = ar.compile(found["network"], loss="loss", float_type="float64", seed=1)
    other = ar.compile(found["by_hand"], loss="loss", float_type="float64", params=one.params)
    assert close(one.value_and_grad(examples)[0], other.value_and_grad(examples)[0], 1e-12)


def test_weave_does_not_see_in_which_order_the_atoms_are_listed() -> None:
    found = names("weave")
    molecule = found["generated"](random.Random(4), 7)
    order = [3, 0, 6, 2, 5, 1, 4]
    turned = {
        "atoms": [molecule["atoms"][a] for a in order],
        "pairs": [[molecule["pairs"][a][b] for b in order] for a in order],
        "bonds": molecule["bonds"],
    }
    one, other = ar.compile(found["model"], float_type="float64")([molecule, turned])
    assert np.allclose(one, other, atol=1e-12)


def test_weave_gives_a_sequence_of_sequences() -> None:
    module = names("weave")["weave"](4, 2)
    atoms = T.Sequence(T.Tensor((3,)))
    pairs = T.Sequence(T.Sequence(T.Tensor((5,))))
    found = ar.infer(module, T.Tuple((atoms, pairs))).output
    assert str(found) == "(Sequence(float32[4]), Sequence(Sequence(float32[2])))"
