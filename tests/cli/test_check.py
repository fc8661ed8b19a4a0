"""`arrows check`: the blocks it finds, its report, and its exit status."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from arrows import cli
from arrows.cli.option_types import block_type
from arrows.typesys import types as T
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


if __name__ == "__main__":
    raise AssertionError("the file is not run as a script")
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "helper.py").write_text("SIZE = 3\n", encoding="utf-8")
    yield tmp_path
    for name in [name for name in sys.modules if name.startswith(("_arrows_reads_", "helper", "mine"))]:
        del sys.modules[name]


def write(folder: Path, text: str, name: str = "model.py") -> str:
    (folder / name).write_text(text, encoding="utf-8")
    return str(folder / name)


def check(capsys, *arguments: str) -> tuple[int, str, str]:
    return outcome(capsys, "check", *arguments)


def document(capsys, *arguments: str) -> tuple[int, dict]:
    status, out, _ = check(capsys, *arguments, "--json")
    return status, json.loads(out)


def blocks(found: dict) -> dict[str, dict]:
    return {block["name"]: block for block in found["blocks"]}


def test_a_file_is_reported_block_by_block(folder, capsys):
    status, out, err = check(capsys, write(folder, MODEL))
    assert (status, err) == (0, "")
    assert out == (
        "classify  model.py:5\n"
        "  note: its types depend on its use: float32[3] -> float32[5] in model\n"
        "\n"
        "scores  model.py:6\n"
        "  note: its types depend on its use, which this file does not show; "
        "assume an input with --input TYPE\n"
        "\n"
        "vector  model.py:7\n"
        "  GetItem('x') >> Vector(3): Input -> float32[3]\n"
        "    GetItem('x'): Input -> Input\n"
        "    Vector(3): Input -> float32[3]\n"
        "  0 parameters, 0 numbers, 0 bytes\n"
        "  0 operations (distinct traces) in 0 places, of 0 primitives\n"
        "\n"
        "model, also same  model.py:9\n"
        "  ((a chain of 2) & Void()) >> GetItem(0) >> classify: Input -> float32[5]\n"
        "    (GetItem('x') >> Vector(3)) & Void(): Input -> (float32[3], Void)\n"
        "      GetItem('x') >> Vector(3): Input -> float32[3]\n"
        "        GetItem('x'): Input -> Input\n"
        "        Vector(3): Input -> float32[3]\n"
        "      Void(): Input -> Void\n"
        "    GetItem(0): (float32[3], Void) -> float32[3]\n"
        "    classify: float32[3] -> float32[5]\n"
        "  2 parameters, 20 numbers, 80 bytes\n"
        "  1 operation (distinct traces) in 1 place, of 2 primitives\n"
        "\n"
        "4 blocks: 2 well-typed, 2 depend on their use\n"
    )


def test_what_the_file_prints_stays_out_of_the_report(folder, capfd):
    path = write(folder, "print('hello')\n" + MODEL)
    status = cli.main(["check", path, "--json"])
    out, err = capfd.readouterr()
    assert status == 0 and err == "hello\n"
    assert json.loads(out)["ok"]


def test_ill_typed_blocks_are_told_and_the_others_still_reported(folder, capsys):
    path = write(folder, "import arrows as ar\nbad = ar.Vector(3) >> ar.Vector(4)\ngood = ar.Scalar()\n")
    status, out, _ = check(capsys, path)
    assert status == 1
    assert "bad  model.py:2  ill-typed\n  ArrowTypeError: cannot compose Vector(3) >> Vector(4)\n" in out
    assert "good  model.py:3\n  Scalar('float32'): Input -> float32\n" in out
    assert out.endswith("2 blocks: 1 well-typed, 1 ill-typed: bad\n")


def test_a_forgotten_reader_is_an_error_and_not_a_note(folder, capsys):
    status, out, _ = check(capsys, write(folder, "import arrows as ar\nm = ar.GetItem('x') >> ar.FC(3)\n"))
    assert status == 1
    assert "cannot apply FC(3) to Input" in out and "  hint " in out
    assert "note: it may be well-typed with another input; try one with --input TYPE" in out


def test_an_open_part_that_was_asked_for_is_an_error(folder, capsys):
    path = write(folder, MODEL)
    assert check(capsys, f"{path}:classify")[0] == 1
    status, out, _ = check(capsys, f"{path}:classify", "--input", "float32[7]")
    assert status == 0
    assert "  classify: float32[7] -> float32[5]\n  2 parameters, 40 numbers, 160 bytes\n" in out


def test_a_part_with_an_error_of_its_own_is_an_error(folder, capsys):
    text = "import arrows as ar\npart = ar.GetItem(0) >> ar.Vector(2) >> ar.Vector(3)\n"
    text += "whole = part >> ar.FC(2)\n"
    status, found = document(capsys, write(folder, text))
    assert status == 1
    assert {name: block["status"] for name, block in blocks(found).items()} == {
        "part": "error",
        "whole": "error",
    }


@pytest.mark.parametrize("name", ["part", "fan"])
def test_parts_that_went_up_in_longer_chains_and_fans_are_parts(folder, capsys, name):
    text = (
        "import arrows as ar\n"
        "part = ar.GetItem(0) >> ar.FC(3)\n"
        "fan = ar.FC(2) & ar.FC(1)\n"
        "whole = (ar.Vector(2) & ar.Void()) >> part >> (fan & ar.FC(4))\n"
    )
    status, found = document(capsys, write(folder, text))
    assert status == 0
    assert blocks(found)[name]["status"] == "note"


def test_fields_of_dataclasses_are_found_and_names_may_have_dots(folder, capsys):
    text = "from arrows.models import sentiment\nblocks = sentiment({'good': 1}, size=4)\n"
    path = write(folder, text)
    _, found = document(capsys, path)
    assert set(blocks(found)) == {"blocks.learn", "blocks.judge"}
    status, found = document(capsys, f"{path}:blocks.judge")
    assert status == 0 and list(blocks(found)) == ["blocks.judge"]


def test_dicts_and_tuples_of_blocks_stand_for_blocks(folder, capsys):
    path = write(folder, "import arrows as ar\nrecord = {'a': ar.Scalar()}\nnumbers = {'a': 1}\n")
    status, found = document(capsys, f"{path}:record")
    assert status == 0 and found["blocks"][0]["output"] == "(a: float32,)"
    status, _, err = check(capsys, f"{path}:numbers")
    assert status == 2 and "numbers in model.py is not a block but of the type dict" in err


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("modl", "model.py has no name modl; did you mean model?"),
        ("zzz", "model.py has no name zzz; its blocks are classify, scores, vector, model"),
        ("model.x", "model.py:model has no name x"),
        ("make", "make in model.py is not a block but a function; arrows does not call it"),
        ("SIZE", "SIZE in model.py is not a block but of the type int"),
    ],
)
def test_a_name_that_is_no_block_ends_with_2_and_one_line(folder, capsys, name, words):
    status, out, err = check(capsys, f"{write(folder, MODEL)}:{name}")
    assert (status, out) == (2, "")
    assert words in err and err.count("\n") == 1


@pytest.mark.parametrize("argument", ["nothing.py", "nothing.py:model", "."])
def test_no_such_file(folder, capsys, argument, monkeypatch):
    monkeypatch.chdir(folder)
    status, out, err = check(capsys, argument)
    assert (status, out) == (2, "")
    assert err.startswith("arrows check: ") and err.count("\n") == 1


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("def f():\n    return nothing\nf()\n", "NameError: name 'nothing' is not defined"),
        ("model = = 3\n", "SyntaxError: invalid syntax"),
        ("import sys\nsys.exit('usage')\n", "it exits (usage)"),
        ("import not_there_at_all\n", "ModuleNotFoundError: No module named 'not_there_at_all'"),
    ],
)
def test_a_file_that_fails_is_told_with_the_users_own_lines(folder, capsys, text, words):
    path = write(folder, text)
    status, out, err = check(capsys, path)
    assert (status, out) == (2, "")
    assert err.startswith("arrows check: cannot import model.py: ") and words in err.splitlines()[0]
    assert f'  File "{path}", line ' in err
    assert "importlib" not in err and "modules.py" not in err
    status, found = document(capsys, path)
    assert status == 2 and not found["ok"] and words in found["error"]["message"]


def test_blocks_that_cannot_be_put_together_end_with_1_and_their_place(folder, capsys):
    path = write(folder, "import arrows as ar\n\nmodel = ar.Scalar() >> 3\n")
    status, out, _ = check(capsys, path)
    assert status == 1
    assert out.startswith("model.py: a block cannot be built\nArrowTypeError: cannot use 3 as the right side")
    assert f'File "{path}", line 3' in out
    status, found = document(capsys, path)
    assert status == 1 and not found["ok"] and found["blocks"] == []
    assert found["error"]["hint"] == "a constant is ar.Constant(3)"
    assert "line 3" in found["error"]["traceback"][0]


def test_a_file_without_blocks(folder, capsys):
    status, out, _ = check(capsys, write(folder, "x = 3\n"))
    assert status == 0 and "no blocks among its public names" in out


def test_errors_in_the_document_have_fields(folder, capsys):
    path = write(folder, "import arrows as ar\n\nbad = (\n    ar.Vector(3)\n    >> ar.Vector(4)\n)\n")
    status, found = document(capsys, path)
    assert (status, found["ok"], found["file"]) == (1, False, path)
    error = blocks(found)["bad"]["error"]
    assert error["type"] == "ArrowTypeError" and error["message"].startswith(error["attempt"])
    left, right = error["sides"]
    assert (left["name"], left["type"], left["file"], left["line"]) == (
        "Vector(3)",
        "Input -> float32[3]",
        path,
        4,
    )
    assert right["line"] == 5
    assert error["path"] == "step 2 of 2" and "a tensor on the left" in error["reason"] and error["hint"]


def test_the_document_of_a_well_typed_block(folder, capsys):
    path = write(folder, MODEL)
    _, found = document(capsys, f"{path}:model")
    block = blocks(found)["model"]
    assert (block["input"], block["output"], block["status"], block["error"]) == (
        "Input",
        "float32[5]",
        "ok",
        None,
    )
    assert block["parameters"] == [
        {"name": "classify/weight", "shape": [3, 5], "dtype": "float32"},
        {"name": "classify/bias", "shape": [5], "dtype": "float32"},
    ]
    assert (block["numbers"], block["bytes"], block["operations"], block["primitives"]) == (20, 80, 1, 2)
    assert block["tree"][-1] == {
        "depth": 1,
        "role": "",
        "block": "classify",
        "input": "float32[3]",
        "output": "float32[5]",
        "file": path,
        "line": 5,
    }


def test_one_layer_in_several_places_counts_once(folder, capsys):
    text = (
        "import arrows as ar\n"
        "layer = ar.FC(3)\n"
        "model = ar.Vector(3) >> layer >> layer & ar.Vector(3) >> layer >> ar.FC(3)\n"
    )
    _, found = document(capsys, f"{write(folder, text)}:model")
    block = blocks(found)["model"]
    assert (block["numbers"], block["operations"], block["places"], block["primitives"]) == (24, 2, 4, 4)


def test_two_layers_of_one_name_are_an_error(folder, capsys):
    text = "import arrows as ar\nm = ar.Vector(3) >> ar.FC(2, name='a') >> ar.FC(2, name='a')\n"
    status, out, _ = check(capsys, write(folder, text))
    assert status == 1 and "cannot name the parameters of two layers 'a'" in out


def test_parameters_are_counted_without_making_them(folder, capsys):
    text = "import arrows as ar\nm = ar.Scalar('int32') >> ar.Embedding(10**12, 10**6)\n"
    status, found = document(capsys, write(folder, text))
    assert status == 0 and blocks(found)["m"]["bytes"] == 4 * 10**18


def test_a_file_of_a_package_imports_its_neighbours(folder, capsys):
    package = folder / "mine" / "inner"
    package.mkdir(parents=True)
    (folder / "mine" / "__init__.py").write_text("", encoding="utf-8")
    (package / "__init__.py").write_text("", encoding="utf-8")
    (package / "sizes.py").write_text("SIZE = 4\n", encoding="utf-8")
    path = write(package, "import arrows as ar\nfrom .sizes import SIZE\nm = ar.Vector(SIZE)\n")
    status, found = document(capsys, path)
    assert status == 0 and blocks(found)["m"]["output"] == "float32[4]"


def test_a_file_may_have_any_name_and_define_dataclasses(folder, capsys):
    text = (
        "import dataclasses\nimport arrows as ar\n"
        "@dataclasses.dataclass\nclass P:\n    a: ar.Block\n"
        "p = P(ar.Scalar())\n"
    )
    status, found = document(capsys, write(folder, text, "json (2).py"))
    assert status == 0 and list(blocks(found)) == ["p.a"]
    assert sys.modules["json"] is json


def test_names_do_not_steer_the_terminal(folder, capsys):
    status, out, _ = check(capsys, write(folder, "import arrows as ar\nm = ar.Scalar(name='a\\x1b[31m')\n"))
    assert status == 0 and "\x1b" not in out and r"a\x1b[31m: Input -> float32" in out


def test_ten_thousand_blocks(folder, capsys):
    text = (
        "import arrows as ar\n"
        "chain = ar.Vector(2)\n"
        "deep = ar.Vector(2)\n"
        "for _ in range(5_000):\n"
        "    chain = chain >> ar.Function(lambda x: x + 1)\n"
        "    deep = ar.AllOf(deep, ar.Void()) >> ar.GetItem(0)\n"
    )
    path = write(folder, text)
    status, found = document(capsys, path)
    assert status == 0
    assert blocks(found)["chain"]["places"] == 5_000
    assert len(blocks(found)["deep"]["tree"]) > 10_000
    status, out, _ = check(capsys, path)
    assert status == 0 and out.count("\n") > 20_000


def test_types_as_options():
    assert block_type("(Input, float32)") == T.Tuple((T.Input(), T.Tensor(())))


def test_a_wrong_type_as_an_option(folder, capsys):
    with pytest.raises(SystemExit) as caught:
        cli.main(["check", write(folder, MODEL), "--input", "float33[3]"])
    assert caught.value.code == 2
    assert "cannot read 'float33[3]' as a type: character 1 is 'float33'" in capsys.readouterr().err


def test_the_models_of_the_package(capsys):
    done = subprocess.run(
        [sys.executable, "-W", "error", "-m", "arrows", "check", "tests/cli/models_to_check.py"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith("4 blocks: well-typed\n")
    assert "case True = a chain of 2: Input -> (float32[300], float32[300])" in done.stdout


@pytest.mark.parametrize("example", sorted((ROOT / "examples").glob("*.py")), ids=lambda p: p.stem)
def test_the_examples_are_well_typed_as_they_stand(example, capsys):
    assert cli.main(["check", str(example)]) == 0, capsys.readouterr().out
