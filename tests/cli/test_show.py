"""`arrows show`: the choice of block, format and destination; schedules."""

from __future__ import annotations

import pytest

from arrows import cli
from tests.cli.kit import outcome
from tests.drawing.geometry import parse_svg

MODEL = """
import arrows as ar
print("made")
small = ar.Vector(3) >> ar.FC(2)
bad = ar.Vector(3) >> ar.Vector(4)
open_one = ar.FC(2, name="<b>open</b>")
add = ar.Function(lambda total, x: total + x, name="add")
folded = ar.Map(ar.Scalar()) >> ar.Fold(add, ar.Zeros([]))
data = {"train": [[1, 2, 3], [4], [5, 6]]}
"""


def show(capsys, *arguments: str) -> tuple[int, str, str]:
    return outcome(capsys, "show", *arguments)


def test_text_is_the_default(path, capsys):
    status, out, err = show(capsys, f"{path}:small")
    assert (status, err) == (0, "made\n")
    assert out.startswith("Vector(3) >> FC(2): Input -> float32[2]\n  Vector(3): Input -> float32[3]\n")
    assert "<b>open</b>: float32[3] -> " in show(capsys, f"{path}:open_one", "--input", "float32[3]")[1]
    status, out, _ = show(capsys, f"{path}:bad")
    assert (status, out) == (1, "Vector(3) >> Vector(4)\n")


@pytest.mark.parametrize(
    ("name", "begin"),
    [
        ("a.svg", "<svg "),
        ("a.SVG", "<svg "),
        ("a.txt", "Vector(3) >> FC(2): "),
        ("a", "Vector(3) >> FC(2): "),
    ],
)
def test_the_ending_of_the_output_says_the_format(path, capsys, tmp_path, name, begin):
    status, out, _ = show(capsys, f"{path}:small", "--output", str(tmp_path / name))
    assert (status, out) == (0, "")
    text = (tmp_path / name).read_text(encoding="utf-8")
    assert text.startswith(begin)
    if name == "a.svg":
        texts = [text for text, _ in parse_svg(text).texts]
        assert texts == ["Input", "Vector(3)", "float32[3]", "FC(2)", "float32[2]"]


def test_an_ill_typed_block_is_drawn_without_types_and_told(path, capsys):
    status, out, err = show(capsys, f"{path}:bad", "--format", "svg")
    assert status == 1
    assert ">Vector(4)</text>" in out and 'class="type"' not in out
    assert "bad is ill-typed\nArrowTypeError: cannot compose" in err
    status, out, err = show(capsys, f"{path}:bad", "--schedule", "data.train")
    assert (status, out) == (1, "") and "bad is ill-typed\nArrowTypeError: " in err


def test_without_a_name_there_must_be_one_block(path, tmp_path, capsys):
    status, out, err = show(capsys, path)
    assert (status, out) == (2, "")
    assert "say which block of model.py to show, as " in err and "there are small, bad, open_one" in err
    (tmp_path / "one.py").write_text("import arrows as ar\nm = ar.Scalar()\n", encoding="utf-8")
    assert show(capsys, str(tmp_path / "one.py"))[0] == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["{path}:nothing"], "has no name nothing"),
        (["{folder}/nothing.py:small"], "no such file"),
        (["{path}:small", "--output", "{folder}/not/there.svg"], "no such folder"),
        (["{path}:small", "--output", "{folder}"], "this is a folder"),
        (["{path}:small", "--output", "{path}"], "is the file that is read"),
        (["{path}:small", "--output", "{folder}/q.png"], "no format has the ending .png; use .txt (text), "),
        (["{path}:folded", "--schedule", "data.dev"], "model.py has no name data.dev"),
        (["{path}:folded", "--schedule", "small"], "small must be a list of examples, not Pipe"),
        (["{path}:folded", "--schedule", "{folder}/none.jsonl"], "No such file"),
        (["{path}:folded", "--schedule", "{folder}/bad.jsonl"], "bad.jsonl:2:"),
    ],
)
def test_wrong_requests_end_with_2(path, capsys, tmp_path, arguments, words):
    (tmp_path / "bad.jsonl").write_text("[1]\n[2\n", encoding="utf-8")
    filled = [argument.format(path=path, folder=tmp_path) for argument in arguments]
    before = {entry: entry.read_bytes() for entry in tmp_path.iterdir() if entry.is_file()}
    status, out, err = show(capsys, *filled)
    assert (status, out) == (2, "") and words in err and "Traceback" not in err
    assert {entry: entry.read_bytes() for entry in tmp_path.iterdir() if entry.is_file()} == before


def test_the_schedule_of_a_batch(path, tmp_path, capsys):
    (tmp_path / "more.jsonl").write_text("[1, 2]\n\n[3]\n" * 50, encoding="utf-8")
    out = show(capsys, f"{path}:folded", "--schedule", "data.train")[1]
    assert out.startswith("strata: 3 examples, 3 steps, 6 rows\n")
    more = ("--schedule", str(tmp_path / "more.jsonl"), "--how", "none")
    assert show(capsys, f"{path}:folded", *more)[1].startswith("none: 64 examples, ")
    drawn = tmp_path / "schedule.svg"
    assert cli.main(["show", f"{path}:folded", "--schedule", "data.train", "--output", str(drawn)]) == 0
    assert "step 3: add, 1 row<" in drawn.read_text(encoding="utf-8")
