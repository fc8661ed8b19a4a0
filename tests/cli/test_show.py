"""`arrows show`: the choice of block, format and destination."""

from __future__ import annotations

import io
import sys
import xml.etree.ElementTree as ET
from html.parser import HTMLParser

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
"""


def show(capsys, *arguments: str) -> tuple[int, str, str]:
    return outcome(capsys, "show", *arguments)


def test_text_is_the_default(path, capsys):
    status, out, err = show(capsys, f"{path}:small")
    assert (status, err) == (0, "made\n")
    assert out == (
        "        ●\n"
        "      Input\n"
        "        │\n"
        "        ▼\n"
        "  ┌───────────┐\n"
        "  │ Vector(3) │\n"
        "  └───────────┘\n"
        "   float32[3]\n"
        "        │\n"
        "        ▼\n"
        "    ┌───────┐\n"
        "    │ FC(2) │\n"
        "    └───────┘\n"
        "   float32[2]\n"
        "        │\n"
        "        ▼\n"
        "        ●\n"
    )


def test_text_for_terminals_without_such_characters(path, monkeypatch):
    page = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", page)
    assert cli.main(["show", f"{path}:small"]) == 0
    page.flush()
    out = page.buffer.getvalue().decode("ascii")
    assert "  +-----------+\n  | Vector(3) |\n" in out and out.rstrip().endswith("o")


def test_mermaid(path, capsys):
    _, out, _ = show(capsys, f"{path}:small", "--format", "mermaid")
    assert out.startswith("flowchart TD\n") and '-->|"float32#91;3#93;"|' in out


def test_svg(path, capsys):
    _, out, _ = show(capsys, f"{path}:small", "--format", "svg")
    texts = [text for text, _ in parse_svg(out).texts]
    assert texts == ["Vector(3)", "FC(2)", "Input", "float32[3]", "float32[2]"]


@pytest.mark.parametrize(
    ("name", "begin"),
    [
        ("a.svg", "<svg "),
        ("a.html", "<!DOCTYPE html>"),
        ("a.mmd", "flowchart TD"),
        ("a.txt", "  "),
        ("a", "  "),
    ],
)
def test_the_ending_of_the_output_says_the_format(path, capsys, tmp_path, name, begin):
    status, out, _ = show(capsys, f"{path}:small", "--output", str(tmp_path / name))
    assert (status, out) == (0, "")
    assert (tmp_path / name).read_text(encoding="utf-8").startswith(begin)


def test_the_page_holds_drawing_and_tree_and_nothing_from_outside(path, capsys):
    status, out, _ = show(capsys, f"{path}:open_one", "--format", "html", "--input", "float32[3]")
    assert status == 0
    assert "<b>" not in out and "&lt;b&gt;open&lt;/b&gt;: float32[3] -&gt; float32[2]" in out
    assert "http" not in out.replace("http://www.w3.org/2000/svg", "") and "<script" not in out
    ET.fromstring(out[out.index("<svg") : out.index("</svg>") + 6])
    HTMLParser().feed(out)


def test_an_ill_typed_block_is_drawn_without_types_and_told(path, capsys):
    status, out, err = show(capsys, f"{path}:bad", "--format", "html")
    assert status == 1
    assert ">Vector(4)</text>" in out and 'class="type"' not in out
    assert "cannot compose Vector(3) &gt;&gt; Vector(4)" in out
    assert "bad is ill-typed, and drawn without types\nArrowTypeError: cannot compose" in err


def test_without_a_name_the_choice_is_told(path, capsys):
    status, out, err = show(capsys, path)
    assert (status, out) == (2, "")
    assert "say which block of model.py to show, as " in err and "there are small, bad, open_one" in err


def test_the_only_block_needs_no_name(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "one.py").write_text("import arrows as ar\nm = ar.Scalar()\n", encoding="utf-8")
    assert show(capsys, str(tmp_path / "one.py"))[0] == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["{path}:nothing"], "has no name nothing"),
        (["{path}:small", "--output", "{folder}/not/there.svg"], "no such folder"),
        (["{path}:small", "--output", "{folder}"], "this is a folder"),
        (["{folder}/nothing.py:small"], "no such file"),
    ],
)
def test_wrong_requests_end_with_2(path, capsys, tmp_path, arguments, words):
    filled = [argument.format(path=path, folder=tmp_path) for argument in arguments]
    status, out, err = show(capsys, *filled)
    assert (status, out) == (2, "")
    assert words in err and "Traceback" not in err


def test_formats_that_do_not_exist(path, capsys):
    with pytest.raises(SystemExit) as caught:
        cli.main(["show", path, "--format", "png"])
    assert caught.value.code == 2


SCHEDULED = """
import arrows as ar
add = ar.Function(lambda total, x: total + x, name="add")
model = ar.Map(ar.Scalar()) >> ar.Fold(add, ar.Zeros([]))
data = {"train": [[1, 2, 3], [4], [5, 6]]}
"""


def test_the_schedule_of_a_batch(tmp_path, capsys):
    file = tmp_path / "model.py"
    file.write_text(SCHEDULED, encoding="utf-8")
    more = tmp_path / "more.jsonl"
    more.write_text("[1, 2]\n\n[3]\n", encoding="utf-8")
    assert cli.main(["show", f"{file}:model", "--schedule", "data.train"]) == 0
    assert capsys.readouterr().out.startswith("strata: 3 examples, 3 steps, 6 rows\n")
    assert cli.main(["show", f"{file}:model", "--schedule", str(more), "--how", "none", "--batch", "1"]) == 0
    assert capsys.readouterr().out.startswith("none: 1 example, 2 steps, 2 rows\n")
    for ending in ("svg", "html"):
        out = tmp_path / f"schedule.{ending}"
        assert cli.main(["show", f"{file}:model", "--schedule", "data.train", "--output", str(out)]) == 0
        assert "step 3: add, 1 row<" in out.read_text(encoding="utf-8")


def test_schedules_that_cannot_be_drawn(tmp_path, capsys):
    file = tmp_path / "model.py"
    file.write_text(SCHEDULED, encoding="utf-8")
    (tmp_path / "bad.json").write_text("[1", encoding="utf-8")
    for source, text in (
        ("data.dev", "model.py:data has no name dev"),
        ("model", "model must be a list of examples, not Pipe"),
        (str(tmp_path / "bad.json"), "is not JSON"),
        (str(tmp_path / "none.json"), "no such file"),
    ):
        assert cli.main(["show", f"{file}:model", "--schedule", source]) == 2
        assert text in capsys.readouterr().err
    assert cli.main(["show", f"{file}:model", "--schedule", "data.train", "--format", "mermaid"]) == 2
    assert "not as mermaid" in capsys.readouterr().err


PROGRAMS = """
import arrows as ar
answer = ar.Vector(2) >> ar.FC(3, name="answer")
learn = answer >> ar.Function(lambda x: (x * x).sum())
named = answer >> ar.AllOf(ar.Function(lambda x: (x * x).sum()) >> ar.Metric("loss"), ar.Identity())
points = [[1, 2], [3, 4]]
bad = ar.Vector(3) >> ar.Vector(4)
"""


@pytest.fixture
def programs(tmp_path):
    file = tmp_path / "programs.py"
    file.write_text(PROGRAMS)
    return file


def test_programs_of_a_block(programs, capsys):
    status, out, err = show(capsys, f"{programs}:answer", "--program")
    assert (status, err) == (0, "")
    assert out.startswith("program answer\noperand 0: float32[2] row of slab 0, early\n")
    assert "step_back" not in out and "# rows" not in out


def test_programs_of_training_where_there_is_a_loss(programs, capsys):
    for name in ("learn", "named"):
        assert "gradient of answer/weight[0:2, 0:3] += " in show(capsys, f"{programs}:{name}", "--program")[1]


def test_programs_with_the_rows_of_a_batch(programs, tmp_path, capsys):
    out = show(capsys, f"{programs}:answer", "--program", "--batch", "points")[1]
    assert out.startswith("# rows: 2, steps: 1\nprogram answer\n")
    written = tmp_path / "program.txt"
    assert show(capsys, f"{programs}:answer", "--program", "--output", str(written))[:2] == (0, "")
    assert written.read_text().startswith("program answer\n")


def test_programs_that_cannot_be_shown(programs, capsys):
    status, out, err = show(capsys, f"{programs}:bad", "--program")
    assert (status, out) == (1, "") and err.startswith("arrows show: bad has no program: ")
    for options in (["--schedule", "points"], ["--format", "svg"], ["--how", "depth"], ["--input", "int32"]):
        status, out, err = show(capsys, f"{programs}:answer", "--program", *options)
        assert (status, out) == (2, "") and f"{options[0]} has no effect on programs" in err
    assert show(capsys, f"{programs}:answer", "--program", "--batch", "nothing")[0] == 2
    status, out, err = show(capsys, f"{programs}:answer", "--schedule", "points", "--batch", "many")
    assert (status, out) == (2, "") and "argument --batch: " in err
