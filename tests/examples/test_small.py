"""The small examples: each learns from a little data, and a run that is cut goes on to the same figure."""

from __future__ import annotations

import random
import runpy
import struct
from collections.abc import Callable
from pathlib import Path

import pytest

from arrows.data import format_tree, generate

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def treebank(folder: Path) -> None:
    """Sentences "x ADJ NOUN VERB NOUN", in which parts of speech decide the relations."""
    rows = [("tall", "ADJ", 2, "amod"), ("trees", "NOUN", 3, "nsubj"), ("see", "VERB", 0, "root")]
    rows.append(("towns", "NOUN", 3, "obj"))
    lines = [f"{n}\t{w}\t_\t{t}\t_\t_\t{h}\t{r}\t_\t_\n" for n, (w, t, h, r) in enumerate(rows, 1)]
    for part in ("train", "dev", "test"):
        (folder / f"xx-{part}.conllu").write_text(("".join(lines) + "\n") * 32, encoding="utf-8")


def reviews(folder: Path) -> None:
    for seed, part in enumerate(("train", "dev", "test")):
        trees = generate(300, seed=seed, num_words=(2, 6))
        (folder / f"{part}.txt").write_text("\n".join(map(format_tree, trees)), encoding="utf-8")


def catalogues(folder: Path) -> None:
    """Messages of five made-up words; a translation has other letters."""
    generator, letters = random.Random(0), "abcdefgh"
    words = ["".join(generator.choices(letters, k=4)) for _ in range(40)]
    originals = [" ".join(generator.choices(words, k=5)) for _ in range(200)]
    for language, others in {"de": "ijklmnop", "es": "qrstuvwx"}.items():
        translations = [text.translate(str.maketrans(letters, others)) for text in originals]
        texts = [text.encode() for text in originals + translations]
        starts = [
            28 + 8 * len(texts) + sum(len(text) + 1 for text in texts[:row]) for row in range(len(texts))
        ]
        table = b"".join(struct.pack("<2I", len(text), at) for text, at in zip(texts, starts, strict=True))
        place = folder / language / "LC_MESSAGES" / "words.mo"
        place.parent.mkdir(parents=True)
        head = struct.pack("<7I", 0x950412DE, 0, 200, 28, 28 + 8 * 200, 0, 0)
        place.write_bytes(head + table + b"".join(text + b"\0" for text in texts))


def sources(folder: Path) -> None:
    for number in range(40):
        get, put = (
            f"def get_{number}(x):\n    return x.a{number}\n",
            f"def put_it(x, y):\n    x.b{number} = y\n",
        )
        (folder / f"m{number}.py").write_text(get + put, encoding="utf-8")


@pytest.mark.parametrize(
    ("example", "write", "least"),
    [
        ("calculator", None, 0.55),
        ("dependency_treelstm", treebank, 0.95),
        ("function_names", sources, 0.95),
        ("language_id", catalogues, 0.9),
        ("siamese", catalogues, 0.8),
        ("text_classifier", reviews, 0.65),
        ("treelstm", reviews, 0.4),
    ],
)
def test_it_learns_and_goes_on(
    example: str,
    write: Callable[[Path], None] | None,
    least: float,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    data = ["--examples", "600"]
    if write is not None:
        write(tmp_path)
        data = ["--data", str(tmp_path)]
    main = runpy.run_path(str(EXAMPLES / f"{example}.py"))["main"]
    figure = main([*data, "--epochs", "8"])
    assert figure > least
    assert f"test: {figure:.3f} of " in capsys.readouterr().out
    for epochs in ("3", "8"):
        state = ["--resume", str(tmp_path / "state")]
        again = main([*data, "--epochs", epochs, *state])
    assert again == figure


def test_functions_are_looked_for_in_a_folder_without_any(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main = runpy.run_path(str(EXAMPLES / "function_names.py"))["main"]
    with pytest.raises(SystemExit):
        main(["--data", str(tmp_path)])
    assert f"too few functions to learn from and test by: 0 in {tmp_path}" in capsys.readouterr().err
