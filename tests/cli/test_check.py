"""`arrows check`: the blocks it finds, its report, and its exit status."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from arrows import cli
from tests.cli.kit import outcome

ROOT = Path(__file__).resolve().parents[2]
MODEL = """
import arrows as ar
from helper import SIZE

classify = ar.FC(5, name="classify")
scores = ar.GetItem(0) >> classify
vector = ar.GetItem("x") >> ar.Vector(SIZE)
model = vector & ar.Void()
model = model >> scores
same = model
_private = ar.GetItem("x") >> ar.FC(3)


def make():
    raise AssertionError("nothing is called")


class Thing:
    pass


thing = Thing()

if __name__ == "__main__":
    raise AssertionError("the file is not run as a script")
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "helper.py").write_text("SIZE = 3\n", encoding="utf-8")
    yield tmp_path
    for name in [name for name in sys.modules if name.startswith(("_arrows_reads_", "helper"))]:
        del sys.modules[name]


def write(folder: Path, text: str, name: str = "model.py") -> str:
    (folder / name).write_text(text, encoding="utf-8")
    return str(folder / name)


def check(capsys, *arguments: str) -> tuple[int, str, str]:
    return outcome(capsys, "check", *arguments)


def blocks(capsys, *arguments: str) -> tuple[int, dict[str, str]]:
    """The exit status, and the report on each block by its name."""
    status, out, _ = check(capsys, *arguments)
    return status, {report.split("  ")[0]: report for report in out.split("\n\n")[:-1]}


def test_a_file_is_reported_block_by_block(folder, capsys):
    status, out, err = check(capsys, write(folder, "print('hello')" + MODEL))
    assert (status, err) == (0, "hello\n")
    assert out == (
        "classify  model.py:5\n"
        "  note: its types depend on its use; assume an input with --input TYPE\n"
        "\n"
        "scores  model.py:6\n"
        "  note: its types depend on its use; assume an input with --input TYPE\n"
        "\n"
        "vector  model.py:7\n"
        "  GetItem('x') >> Vector(3): Input -> float32[3]\n"
        "    GetItem('x'): Input -> Input\n"
        "    Vector(3): Input -> float32[3]\n"
        "  0 parameters, 0 numbers, 0 bytes\n"
        "\n"
        "model  model.py:9\n"
        "  ((a chain of 2) & Void()) >> GetItem(0) >> classify: Input -> float32[5]\n"
        "    (GetItem('x') >> Vector(3)) & Void(): Input -> (float32[3], Void)\n"
        "      GetItem('x') >> Vector(3): Input -> float32[3]\n"
        "        GetItem('x'): Input -> Input\n"
        "        Vector(3): Input -> float32[3]\n"
        "      Void(): Input -> Void\n"
        "    GetItem(0): (float32[3], Void) -> float32[3]\n"
        "    classify: float32[3] -> float32[5]\n"
        "  2 parameters, 20 numbers, 80 bytes\n"
        "\n"
        "4 blocks: 2 well-typed, 2 depend on their use\n"
    )


def test_ill_typed_blocks_are_told_and_the_others_still_reported(folder, capsys):
    path = write(folder, "import arrows as ar\nbad = ar.Vector(3) >> ar.Vector(4)\ngood = ar.Scalar()\n")
    status, out, _ = check(capsys, path)
    assert status == 1
    assert "bad  model.py:2  ill-typed\n  ArrowTypeError: cannot compose Vector(3) >> Vector(4)\n" in out
    assert "good  model.py:3\n  Scalar('float32'): Input -> float32\n" in out
    assert out.endswith("2 blocks: 1 well-typed, 1 ill-typed: bad\n")


# A part may depend on its use; a block that no other has as a part lacks a reader.
USES = {
    "m = ar.GetItem('x') >> ar.FC(3)": {"m": "error"},
    "m = ar.FC(3)": {"m": "note"},
    "part = ar.GetItem(0) >> ar.Vector(2) >> ar.Vector(3)\nwhole = part >> ar.FC(2)": {
        "part": "error",
        "whole": "error",
    },
    "part = ar.GetItem(0) >> ar.FC(3)\nfan = ar.FC(2) & ar.FC(1)\n"
    "whole = (ar.Vector(2) & ar.Void()) >> part >> (fan & ar.FC(4))": {
        "part": "note",
        "fan": "note",
        "whole": "ok",
    },
    "get = ar.GetItem(0)\nlayer = ar.FC(3)\nbad = get >> layer\ngood = get >> ar.Vector(2) >> layer": {
        "get": "ok",
        "layer": "note",
        "bad": "error",
        "good": "ok",
    },
    "m = ar.Vector(3) >> ar.FC(2, name='a') >> ar.FC(2, name='a')": {"m": "error"},  # two layers, one name
}


@pytest.mark.parametrize("text", USES)
def test_what_is_an_error_and_what_a_note(folder, capsys, text):
    status, found = blocks(capsys, write(folder, f"import arrows as ar\n{text}\n"))
    kinds = {"  note: its types": "note", "ill-typed": "error", " parameter": "ok"}
    told = {name: next(kinds[w] for w in kinds if w in report) for name, report in found.items()}
    assert told == USES[text]
    assert status == int("error" in USES[text].values())


def test_a_block_that_was_asked_for_needs_its_input(folder, capsys):
    path = write(folder, MODEL)
    status, out, _ = check(capsys, f"{path}:classify")
    assert status == 1 and "try one with --input TYPE" in out
    status, out, _ = check(capsys, f"{path}:classify", "--input", "float32[7]")
    assert status == 0
    assert "  classify: float32[7] -> float32[5]\n  2 parameters, 40 numbers, 160 bytes\n" in out


def test_blocks_are_found_in_containers_by_names_that_can_be_asked_for(folder, capsys):
    text = (
        "import dataclasses\nfrom typing import NamedTuple\nimport arrows as ar\n"
        "word = ar.Scalar()\nmodel = ar.compile(ar.Vector(3) >> ar.FC(2))\n"
        "@dataclasses.dataclass\nclass P:\n    a: ar.Block\n"
        "class N(NamedTuple):\n    left: ar.Block\n    right: ar.Block\n"
        "p, n = P(ar.Vector(1)), N(ar.Vector(2), word)\n"
        "both = {'word': word, 'a.b': ar.Vector(4), 8: 3}\nlayers = [ar.Vector(5), 3]\n"
    )
    path = write(folder, text, "json (2).py")
    status, found = blocks(capsys, path)
    expected = {"both.a.b", "layers.0", "model", "n.left", "p.a", "word"}
    assert status == 0 and {*found} == expected
    for name in ["both.a.b", "layers.0", "model", "n.left", "p.a", "word", "n.right", "both.word"]:
        assert list(blocks(capsys, f"{path}:{name}")[1]) == [name]
    assert sys.modules["json"] is json


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("modl", "model.py has no name modl; did you mean model?"),
        ("zzz", "model.py has no name zzz; its blocks are classify, scores, vector, model"),
        ("model.x", "model.py has no name model.x"),
        ("make", "make in model.py is not a block but a function; arrows does not call it: give its result"),
        ("Thing", "arrows does not call it: give its result a name"),
        ("thing", "thing in model.py is not a block but of the type Thing; its blocks are classify"),
    ],
)
def test_a_name_that_is_no_block_ends_with_2_and_one_line(folder, capsys, name, words):
    status, out, err = check(capsys, f"{write(folder, MODEL)}:{name}")
    assert (status, out) == (2, "") and words in err and err.count("\n") == 1


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b"def f():\n    return nothing\nf()\n", "NameError: name 'nothing' is not defined"),
        (b"model = = 3\n", "SyntaxError: invalid syntax"),
        (b"import sys\nsys.exit('usage')\n", "it exits (usage)"),
        (b"import not_there_at_all\n", "ModuleNotFoundError: No module named 'not_there_at_all'"),
        (b"\xff = 1\n", "SyntaxError"),
        (b"raise ValueError('\x1b')\n", "ValueError"),
    ],
)
def test_a_file_that_fails_is_told_with_the_users_own_lines(folder, capsys, text, words):
    path = folder / "model.py"
    path.write_bytes(text)
    status, out, err = check(capsys, str(path))
    assert (status, out) == (2, "") and "\x1b" not in err
    assert err.startswith("arrows check: cannot import model.py: ") and words in err.splitlines()[0]
    assert f'File "{path}"' in err and "importlib" not in err and "user_file.py" not in err


def test_blocks_that_cannot_be_put_together_end_with_1_and_their_place(folder, capsys):
    path = write(folder, "import arrows as ar\n\nmodel = ar.Scalar() >> 3\n")
    status, out, _ = check(capsys, path)
    assert status == 1
    assert out.startswith("model.py: a block cannot be built\nArrowTypeError: cannot use 3 as the right side")
    assert f'File "{path}", line 3' in out


def test_a_file_without_blocks(folder, capsys):
    status, out, _ = check(capsys, write(folder, "x = 3\n"))
    assert status == 0 and "no blocks among its public names" in out
    assert check(capsys, str(folder / "none.py"))[0] == check(capsys, str(folder))[0] == 2


def test_counts_are_of_distinct_parameters_and_make_none(folder, capsys):
    text = (
        "import arrows as ar\n"
        "layer = ar.FC(3)\n"
        "model = ar.Vector(3) >> layer >> layer & ar.Vector(3) >> layer >> ar.FC(3)\n"
        "large = ar.Scalar('int32') >> ar.Embedding(10**12, 10**6)\n"
    )
    _, found = blocks(capsys, write(folder, text))
    assert found["model"].endswith("  4 parameters, 24 numbers, 96 bytes")
    assert found["large"].endswith(" 4,000,000,000.0 GB")


def test_a_wrong_type_as_an_option(folder, capsys):
    for text, words in {"float33[3]": "float33[3] is not a type", "(" * 5000: "cannot read"}.items():
        with pytest.raises(SystemExit) as caught:
            cli.main(["check", write(folder, MODEL), "--input", text])
        assert caught.value.code == 2 and words in capsys.readouterr().err


@pytest.mark.parametrize("example", sorted((ROOT / "examples").glob("*.py")), ids=lambda p: p.stem)
def test_the_examples_are_well_typed_as_they_stand(example, capsys):
    if "import torch" in example.read_text(encoding="utf-8"):
        pytest.importorskip("torch", reason="PyTorch is not installed")
    assert cli.main(["check", str(example)]) == 0, capsys.readouterr().out
