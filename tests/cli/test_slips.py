"""The messages of `arrows check` and `arrows show` for wrong names and options."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.cli.kit import outcome

MODEL = """
import arrows as ar
from typing import NamedTuple

word = ar.GetItem("word") >> ar.Scalar()

both = {"word": word, "more": {"bad": ar.Vector(3)}}
pair = (word, ar.Vector(2))
model = ar.compile(ar.Vector(3) >> ar.FC(2))
layers = [ar.Vector(4), 3, ar.Vector(5)]


class Parts(NamedTuple):
    left: ar.Block
    right: ar.Block


parts = Parts(ar.Vector(6), word)
odd = {"a.b": ar.Vector(7), 8: ar.Vector(8), "n": 3}
numbers = {"a": 1}
_private = [ar.Vector(9) >> ar.Vector(1)]


def make():
    return word


class Thing:
    def __call__(self):
        return word


thing = Thing()
"""


@pytest.mark.parametrize(("name", "line"), [("both", 7), ("pair", 8), ("both.more", 7)])
def test_a_dict_or_tuple_of_blocks_stands_in_the_users_file(path, capsys, name, line):
    status, out, _ = outcome(capsys, "check", f"{path}:{name}")
    assert status == 0 and out.startswith(f"{name}  model.py:{line}\n")
    status, out, _ = outcome(capsys, "check", f"{path}:{name}", "--json")
    assert "modules.py" not in out
    (block,) = json.loads(out)["blocks"]
    assert (block["file"], block["line"]) == (path, line)


def test_what_is_wrong_with_a_dict_of_blocks_is_told_there(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "imported_by_user.py").write_text(MODEL, encoding="utf-8")
    text = "import arrows as ar\nfrom imported_by_user import both\n"
    text += "bad = {'a': {'b': ar.Vector(2) >> ar.Vector(3)}}\n"
    (tmp_path / "user.py").write_text(text, encoding="utf-8")
    status, out, _ = outcome(capsys, "check", f"{tmp_path / 'user.py'}:bad")
    assert status == 1 and "bad  user.py:3  ill-typed" in out and "modules.py" not in out
    assert outcome(capsys, "check", f"{tmp_path / 'user.py'}:both")[1].startswith("both  user.py:2\n")
    del sys.modules["imported_by_user"]


def test_a_compiled_model_stands_for_its_block(path, capsys):
    status, out, _ = outcome(capsys, "check", f"{path}:model")
    assert status == 0 and "Vector(3) >> FC(2): Input -> float32[2]" in out
    assert out.startswith("model  model.py:9\n")
    status, out, _ = outcome(capsys, "show", f"{path}:model", "--format", "mermaid")
    assert status == 0 and out.startswith("flowchart TD")


def test_blocks_in_dicts_lists_and_tuples_are_checked_by_names_that_can_be_asked_for(path, capsys):
    status, out, _ = outcome(capsys, "check", path, "--json")
    found = {block["name"]: block["also"] for block in json.loads(out)["blocks"]}
    assert status == 0
    assert found == {
        "word": ["both.word", "pair.0", "parts.right"],
        "pair.1": [],
        "model": [],
        "layers.0": [],
        "layers.2": [],
        "parts.left": [],
        "odd.a.b": [],
        "odd.8": [],
    }
    for name in [*found, *found["word"]]:
        status, out, _ = outcome(capsys, "check", f"{path}:{name}", "--json")
        assert status == 0 and json.loads(out)["blocks"][0]["name"] == name


def test_a_mistake_in_a_list_is_found(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(sys, "path", list(sys.path))
    text = "import arrows as ar\nblocks = {'good': ar.Scalar(), 'bad': ar.Vector(2) >> ar.Vector(3)}\n"
    (tmp_path / "user.py").write_text(text, encoding="utf-8")
    status, out, _ = outcome(capsys, "check", str(tmp_path / "user.py"))
    assert status == 1 and out.endswith("2 blocks: 1 well-typed, 1 ill-typed: blocks.bad\n")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        (
            "make",
            "make in model.py is not a block but a function; arrows does not call it: give its result",
        ),
        ("Thing", "arrows does not call it: give its result a name"),
        ("thing", "thing in model.py is not a block but of the type Thing; its blocks are word"),
        ("layers", "layers in model.py is not a block but of the type list; did you mean layers."),
        ("layers.1", "layers.1 in model.py is not a block but of the type int"),
        ("layers.7", "model.py:layers has no name 7"),
        ("numbers", "numbers in model.py is not a block but of the type dict"),
    ],
)
def test_names_that_stand_for_no_block(path, capsys, name, words):
    status, out, err = outcome(capsys, "check", f"{path}:{name}")
    assert (status, out) == (2, "") and words in err and err.count("\n") == 1


@pytest.mark.parametrize("name", ["q.png", "x.xyz", "q.PDF"])
def test_endings_that_say_no_format_are_refused(path, capsys, tmp_path, name):
    status, out, err = outcome(capsys, "show", f"{path}:word", "--output", str(tmp_path / name))
    assert (status, out) == (2, "")
    assert f"--output {tmp_path / name}: no format has the ending {name[1:]}; use .txt (text), " in err
    assert not (tmp_path / name).exists()
    chosen = ("--output", str(tmp_path / name), "--format", "svg")
    assert outcome(capsys, "show", f"{path}:word", *chosen)[0] == 0


@pytest.mark.parametrize(
    "options", [("--how", "depth"), ("--batch", "3"), ("--batch", "64", "--how", "strata")]
)
def test_options_of_a_schedule_need_one(path, capsys, options):
    status, out, err = outcome(capsys, "show", f"{path}:word", *options)
    assert (status, out) == (2, "")
    assert err == f"arrows show: {options[0]} has an effect only on a schedule: add --schedule EXAMPLES\n"


def test_a_schedule_takes_no_type_of_the_input(path, capsys):
    options = ("--schedule", "layers", "--input", "float32[3]")
    status, out, err = outcome(capsys, "show", f"{path}:word", *options)
    assert (status, out) == (2, "") and "--input has no effect on a schedule" in err


@pytest.mark.parametrize("command", ["check", "show"])
def test_nobody_who_reads_is_no_error(tmp_path, command):
    (tmp_path / "m.py").write_text("import arrows as ar\nm = ar.Vector(3)\n", encoding="utf-8")
    with subprocess.Popen(
        [sys.executable, "-W", "error", "-m", "arrows", command, str(tmp_path / "m.py")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None and process.stderr is not None
        process.stdout.close()
        err = process.stderr.read()
    assert (process.returncode, err) == (141, "")
