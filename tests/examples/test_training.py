"""The examples that train on treebanks: figures, files that commands read, resuming, errors."""

from __future__ import annotations

import os
import re
import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import arrows as ar
from arrows.data import format_tree, generate, read_conllu, read_trees
from arrows.models import Examination, tagger_vocabularies

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
SMALL = ["--state-size", "6", "--embedding-size", "5", "--epochs", "3", "--batch-size", "8"]
WORDS = {"DET": "the a this", "NOUN": "tree trees town", "VERB": "grows stands", "ADV": "slowly often"}
FORMS = ["DET NOUN VERB", "NOUN VERB ADV", "DET NOUN VERB ADV", "ADV NOUN VERB"]


def sentences(count: int, seed: int) -> str:
    """Sentences in CoNLL-U form."""
    generator, lines = np.random.default_rng(seed), []
    for _ in range(count):
        for number, tag in enumerate(FORMS[generator.integers(len(FORMS))].split(), start=1):
            form = generator.choice(WORDS[tag].split())
            lines.append("\t".join([str(number), form, "_", tag, *"______"]))
        lines.append("")
    return "\n".join([*lines, ""])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A small treebank of each kind."""
    place = tmp_path / "data"
    place.mkdir()
    for seed, (name, count) in enumerate({"train": 40, "dev": 15, "test": 15}.items()):
        lines = "".join(format_tree(tree) + "\n" for tree in generate(count, seed=seed, num_words=(1, 6)))
        (place / f"{name}.txt").write_text(lines, encoding="utf-8")
        (place / f"xx-ud-{name}.conllu").write_text(sentences(count, seed), encoding="utf-8")
    return place


@pytest.fixture(params=["sentiment", "tagger"])
def example(request: Any) -> str:
    return str(request.param)


@pytest.fixture
def train(folder: Path) -> Callable[..., None]:
    """Runs an example on the small treebank."""

    def run(example: str, *more: object) -> None:
        program = runpy.run_path(str(EXAMPLES / f"{example}.py"))
        program["main"](program["parsed"](["--data", str(folder), *SMALL, *map(str, more)]))

    return run


def arrays(path: Path) -> dict[str, Any]:
    return {name: np.array(array) for name, array in ar.load_model(path).params.items()}


def same(one: Path, other: Path) -> bool:
    left, right = arrays(one), arrays(other)
    return left.keys() == right.keys() and all(np.array_equal(left[name], right[name]) for name in left)


def figures(path: Path, folder: Path, example: str, part: str) -> list[str]:
    """What the example prints of a part, measured again."""
    model = ar.load_model(path)
    if example == "sentiment":
        found = Examination(model, read_trees(folder / f"{part}.txt").to_list())()
        return [f"{found[name]:.4f}" for name in ("fine", "binary", "nodes fine", "nodes binary")]
    words, _ = tagger_vocabularies(read_conllu(folder / "xx-ud-train.conllu"))
    examination = runpy.run_path(str(EXAMPLES / "tagger.py"))["examination"]
    found = examination(model, read_conllu(folder / f"xx-ud-{part}.conllu").to_list(), words)()
    return [f"{found[name]:.4f}" for name in ("accuracy", "rare words")]


def test_training_prints_figures_and_keeps_the_best_model(example, folder, train, tmp_path, capsys):
    path = tmp_path / "m"
    train(example, "--save", path, "--epochs", 4)
    out, err = capsys.readouterr()
    lines = out.splitlines()
    assert re.match(r"[\d,]+ (trees|words in 40 sentences) to learn from, \d+ dev, \d+ test; ", lines[0])
    pattern = (
        r"epoch (\d): loss ([\d.]+), (?:dev accuracy|fine) ([\d.]+), .* (?:examples|tokens)/s(, best so far)?"
    )
    epochs = [re.fullmatch(pattern, line) for line in lines[1:5]]
    shown = [float(epoch[3]) for epoch in epochs]
    best = shown.index(max(shown))
    assert epochs[best][4] and not any(epoch[4] for epoch in epochs[best + 1 :]) and "epoch 4/4" in err
    assert lines[5] == f"test, with the model of epoch {best + 1} ({path}):"
    assert re.findall(r"\d\.\d+|nan", "".join(lines[6:])) == figures(path, folder, example, "test")
    assert float(figures(path, folder, example, "dev")[0]) == pytest.approx(shown[best], abs=6e-4)
    assert {"m", "m.state", "data"} <= set(os.listdir(tmp_path))


def test_a_seed_fixes_the_numbers_and_a_run_goes_on(example, train, tmp_path):
    for name, seed in (("a", 3), ("b", 3), ("c", 4)):
        train(example, "--seed", seed, "--save", tmp_path / name)
    train(example, "--seed", 3, "--save", tmp_path / "cut [2]", "--epochs", 1)
    train(example, "--seed", 3, "--save", tmp_path / "cut [2]", "--resume")
    assert same(tmp_path / "a", tmp_path / "b") and same(tmp_path / "a", tmp_path / "cut [2]")
    assert not same(tmp_path / "a", tmp_path / "c")
    for more in (["--dropout", 0], ["--seed", 1], ["--state-size", 7]):
        with pytest.raises(ar.ArrowValueError):
            train(example, "--seed", 3, "--save", tmp_path / "cut [2]", "--resume", *more)
    assert same(tmp_path / "a", tmp_path / "cut [2]")


def test_no_model_and_no_run_is_replaced_unasked(example, train, tmp_path):
    train(example, "--save", tmp_path / "m", "--epochs", 1)
    before = (tmp_path / "m").read_bytes()
    with pytest.raises(ar.ArrowValueError, match="m exists: --overwrite replaces it"):
        train(example, "--save", tmp_path / "m")
    (tmp_path / "m").rename(tmp_path / "n")
    with pytest.raises(ar.ArrowValueError, match=r"is the state\s+of a\s+run"):
        train(example, "--save", tmp_path / "m")
    for state in tmp_path.glob("m.state*"):
        state.unlink()
    (tmp_path / "n.state-of-the-art").write_text("no state of a run")
    with pytest.raises(ar.ArrowValueError, match="n exists"):  # there is nothing to go on with
        train(example, "--save", tmp_path / "n", "--resume")
    assert (tmp_path / "n").read_bytes() == before
    train(example, "--save", tmp_path / "n", "--overwrite", "--seed", 1)
    assert (tmp_path / "n").read_bytes() != before


def test_vectors_are_where_training_begins(folder, train, tmp_path, capsys):
    (folder / "test.txt").write_text("(2 (2 a\\/b) (2 unseen))\n", encoding="utf-8")
    vectors = tmp_path / "v.txt"
    vectors.write_text("film 1 2 3\na/b 4 5 6\nneither 7 8 9\n", encoding="utf-8")
    train("sentiment", "--vectors", vectors, "--learning-rate", 0, "--save", tmp_path / "m")
    assert "2 with vectors" in capsys.readouterr().out
    table = arrays(tmp_path / "m")["embed/weight"]
    known = [row for row in table.tolist() if abs(row[0]) > 0.05]
    assert table.shape[1] == 3 and sorted(known) == [[1, 2, 3], [4, 5, 6]]
    others = table[abs(table[:, 0]) <= 0.05]
    assert 0 < abs(others).max() <= 0.05
    vectors.write_text("zzz 1 2\n", encoding="utf-8")
    with pytest.raises(ar.InputError, match=r"none of the .* words of the trees"):
        train("sentiment", "--vectors", vectors, "--save", tmp_path / "n")


@pytest.mark.parametrize(
    ("example", "file", "content", "line"),
    [
        ("sentiment", "train.txt", b"(3 (2 a) (7 b))\n", "train.txt:1:11: expected a label from 0 to 4"),
        ("sentiment", "test.txt", b"\n\n", "test.txt: there are no trees in this file"),
        ("sentiment", "dev.txt", None, "dev.txt"),
        ("tagger", "xx-ud-dev.conllu", b"1\ttree\n", "expected 10 columns with tabs"),
        ("tagger", "xx-ud-test.conllu", b"", "there are no sentences in this file"),
        ("tagger", "xx-ud-test.conllu", None, "expected one file *test.conllu, found none"),
        ("tagger", "yy-ud-dev.conllu", b"", "found xx-ud-dev.conllu, yy-ud-dev.conllu"),
    ],
)
def test_wrong_data_is_told_and_nothing_is_written(example, file, content, line, folder, train, tmp_path):
    (folder / file).unlink(missing_ok=True)
    if content is not None:
        (folder / file).write_bytes(content)
    with pytest.raises((ar.InputError, OSError), match=re.escape(line)):
        train(example, "--save", tmp_path / "m")
    assert os.listdir(tmp_path) == ["data"]


@pytest.mark.nightly
def test_a_device_is_named(example, train, tmp_path, capsys):
    train(example, "--save", tmp_path / "m", "--device", "fake")
    assert "test, with the model of epoch " in capsys.readouterr().out
