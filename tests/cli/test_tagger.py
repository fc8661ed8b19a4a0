"""`arrows train tagger` on few sentences: figures, files, resuming, errors."""

from __future__ import annotations

import os
import re
from pathlib import Path

import numpy as np
import pytest

import arrows as ar
from arrows import cli
from arrows.cli.model_files import restore_tagger
from arrows.data import read_conllu
from arrows.models import Lexicon, TagExamination, lexicon_tagger, sentiment
from arrows.typesys import ArrowValueError

SMALL = ["--state-size", "6", "--embedding-size", "5", "--epochs", "3", "--batch-size", "4"]
WORDS = {
    "DET": "the a this",
    "NOUN": "tree trees town house",
    "VERB": "grows stands fell",
    "ADV": "slowly often",
}
FORMS = ["DET NOUN VERB", "NOUN VERB ADV", "DET NOUN VERB ADV", "ADV NOUN VERB"]


def text(count: int, seed: int) -> str:
    """Sentences in CoNLL-U form."""
    generator = np.random.default_rng(seed)
    pieces = []
    for _ in range(count):
        for number, tag in enumerate(FORMS[generator.integers(len(FORMS))].split(), start=1):
            forms = WORDS[tag].split()
            pieces.append(
                "\t".join([str(number), forms[generator.integers(len(forms))], "_", tag, *"______"])
            )
        pieces.append("")
    return "\n".join([*pieces, ""])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A small treebank."""
    place = tmp_path / "ud"
    place.mkdir()
    for seed, (name, count) in enumerate({"train": 24, "dev": 8, "test": 8}.items()):
        (place / f"xx-ud-{name}.conllu").write_text(text(count, seed), encoding="utf-8")
    return place


def run(folder: Path, *more: object) -> int:
    return cli.main(["train", "tagger", "--data", str(folder), *SMALL, *map(str, more)])


def test_training_prints_figures_and_keeps_the_best_model(folder, tmp_path, capsys):
    path = tmp_path / "m"
    assert run(folder, "--save", path, "--epochs", "4") == 0
    out, err = capsys.readouterr()
    lines = out.splitlines()
    assert re.match(
        r"\d+ words in 24 sentences to learn from, \d+ dev, \d+ test; \d+ words with vectors", lines[0]
    )
    pattern = (
        r"epoch (\d): loss ([\d.]+), dev accuracy ([\d.]+), rare words ([\d.]+), "
        r"[\d,]+ tokens/s(, best so far)?"
    )
    epochs = [re.fullmatch(pattern, line) for line in lines[1:5]]
    figures = [epoch[3] for epoch in epochs]
    best = figures.index(max(figures))
    assert epochs[best][5] and not any(epoch[5] for epoch in epochs[best + 1 :])
    assert lines[5] == f"test, with the model of epoch {best + 1} ({path}):"
    assert float(epochs[-1][2]) < float(epochs[0][2])
    model, lexicon = restore_tagger(path)
    accuracy = {}
    for part in ("dev", "test"):
        sentences = read_conllu(folder / f"xx-ud-{part}.conllu")
        accuracy[part] = TagExamination.of(model, sentences, lexicon)()["accuracy"]
    assert f"{accuracy['dev']:.4f}" == figures[best]
    assert lines[6].startswith(f"  accuracy {accuracy['test']:.4f}; ")
    assert "epoch 4/4" in err
    assert sorted(os.listdir(tmp_path)) == ["m", "m.state", "m.state.1", "ud"]


def test_a_seed_fixes_the_numbers_and_a_run_goes_on(folder, tmp_path, capsys):
    for name, seed in (("a", 3), ("b", 3), ("c", 4)):
        assert run(folder, "--seed", seed, "--save", tmp_path / name) == 0
    assert run(folder, "--seed", 3, "--save", tmp_path / "cut", "--epochs", 1) == 0
    assert run(folder, "--seed", 3, "--save", tmp_path / "cut", "--resume") == 0
    a, b, c, cut = (restore_tagger(tmp_path / name)[0].params for name in ("a", "b", "c", "cut"))
    assert all(np.array_equal(a[name], b[name]) and np.array_equal(a[name], cut[name]) for name in a)
    assert not np.array_equal(a["classify/weight"], c["classify/weight"])


def spoil(folder: Path, part: str, content: bytes) -> Path:
    path = folder / f"xx-ud-{part}.conllu"
    path.write_bytes(content)
    return path


@pytest.mark.parametrize(
    ("part", "content", "reason"),
    [
        ("train", b"1\ttree\t_\tNOUNS\t_\t_\t_\t_\t_\t_\n", ":1:10: expected a universal part of speech"),
        ("dev", b"# a sentence\n\n", ":1:1: the sentence that begins here has no words"),
        ("test", b"1\tt\xff", ":1:4: this byte is not UTF-8: 0xff"),
        ("test", b"1\ttree\n", ":1:7: expected 10 columns with tabs between them, got 2"),
        ("test", b"", ": there are no sentences in this file"),
    ],
)
def test_bad_data_is_one_line_and_status_2(folder, tmp_path, capsys, part, content, reason):
    path = spoil(folder, part, content)
    assert run(folder, "--save", tmp_path / "m") == 2
    out, err = capsys.readouterr()
    assert err.startswith(f"arrows train tagger: {path}{reason}")
    assert (err.count("\n"), out) == (1, "")
    assert os.listdir(tmp_path) == ["ud"]


def test_files_that_are_missing_or_too_many(folder, tmp_path, capsys):
    (folder / "yy-ud-dev.conllu").write_text("")
    assert run(folder, "--save", tmp_path / "m") == 2
    found = "expected one file *dev.conllu, found xx-ud-dev.conllu, yy-ud-dev.conllu"
    assert capsys.readouterr().err == f"arrows train tagger: {folder}: {found}\n"
    for path in folder.iterdir():
        path.unlink()
    assert run(folder, "--save", tmp_path / "m") == 2
    assert "expected one file *train.conllu, found none" in capsys.readouterr().err
    assert run(folder / "nowhere", "--save", tmp_path / "m") == 2
    assert "No such file or directory" in capsys.readouterr().err
    assert run(folder, "--save", tmp_path / "no" / "m") == 2
    assert "no such folder" in capsys.readouterr().err


def test_a_file_that_holds_something_else(tmp_path):
    ar.save_model(ar.compile(sentiment({"a": 1}, size=2).judge), tmp_path / "m")
    with pytest.raises(ArrowValueError, match=r"holds no tagger: 'arrows\.models\.sentiment:"):
        restore_tagger(tmp_path / "m")
    blocks = lexicon_tagger({"a": 1}, {"é": 1}, size=2)
    ar.save_model(ar.compile(blocks.learn, loss="loss"), tmp_path / "m")
    with pytest.raises(ArrowValueError, match="holds no tagger"):
        restore_tagger(tmp_path / "m")
    ar.save_model(ar.compile(blocks.judge), tmp_path / "m")
    assert restore_tagger(tmp_path / "m")[1] == Lexicon({"a": 1}, {"é": 1})


@pytest.fixture
def trained(folder: Path, tmp_path: Path) -> Path:
    assert run(folder, "--save", tmp_path / "m") == 0
    return tmp_path / "m"


def test_predict_tags_a_treebank_and_says_how_well(folder, trained, capsys):
    path = folder / "xx-ud-test.conllu"
    capsys.readouterr()
    assert cli.main(["predict", "tagger", str(trained), str(path)]) == 0
    out, err = capsys.readouterr()
    model, lexicon = restore_tagger(trained)
    sentences = read_conllu(path)
    found = [[line.split("\t") for line in part.splitlines()] for part in out.split("\n\n")[:-1]]
    assert [[word for _, _, word in part] for part in found] == [[w["word"] for w in s] for s in sentences]
    assert all(0 < float(share) <= 1 for part in found for _, share, _ in part)
    tags = [tag for part in found for tag, _, _ in part]
    accuracy = np.mean(
        [tag == word["tag"] for tag, word in zip(tags, [w for s in sentences for w in s], strict=True)]
    )
    assert accuracy == pytest.approx(TagExamination.of(model, sentences, lexicon)()["accuracy"])
    assert err == f"{len(tags)} words: accuracy {accuracy:.4f}\n"


def test_predict_tags_plain_sentences(trained, tmp_path, capsys, monkeypatch):
    from io import BytesIO, TextIOWrapper

    lines = "\ufeffthe tree grows\r\n\n  a tree \n"
    (tmp_path / "plain.txt").write_bytes(lines.encode())
    untagged = "\n".join("\t".join([str(n), w, *"_" * 8]) for n, w in enumerate(["the", "tree", "grows"], 1))
    capsys.readouterr()
    assert cli.main(["predict", "tagger", str(trained), str(tmp_path / "plain.txt")]) == 0
    out, err = capsys.readouterr()
    words = [line.split("\t")[-1] for line in out.splitlines()]
    assert (words, err) == (["the", "tree", "grows", "", "a", "tree", ""], "")
    for more, text in (([], lines), (["--conllu"], untagged)):
        monkeypatch.setattr("sys.stdin", TextIOWrapper(BytesIO(text.encode())))
        assert cli.main(["predict", "tagger", str(trained), *more]) == 0
        again, err = capsys.readouterr()
        assert (again, err) == (out if not more else "".join(out.partition("\n\n")[:2]), "")


def test_predict_names_what_it_cannot_read(folder, trained, tmp_path, capsys):
    bad = tmp_path / "bad.conllu"
    bad.write_bytes(b"1\ttree\n")
    (tmp_path / "bytes").write_bytes(b"a\n\xff")
    capsys.readouterr()
    for path, words in (
        (bad, f"{bad}:1:7: expected 10 columns with tabs between them, got 2"),
        (tmp_path / "bytes", f"{tmp_path / 'bytes'}:2:1: this byte is not UTF-8: 0xff"),
        (tmp_path / "nothing", "No such file or directory"),
    ):
        assert cli.main(["predict", "tagger", str(trained), str(path)]) == 2
        out, err = capsys.readouterr()
        assert out == "" and err.startswith("arrows predict tagger: ") and words in err
