"""Files and texts of strangers: every command says briefly what is wrong, and escapes what it quotes."""

from __future__ import annotations

import json
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arrows import cli
from arrows.cli import train_sentiment
from arrows.cli.option_types import count, decay, positive, rate, share
from arrows.cli.show import examples_from
from arrows.data import parse_trees, read_conllu, read_trees, read_vectors
from arrows.data.brackets import parse_labelled_tree, parse_tree
from arrows.typesys.errors import ArrowTypeError, ArrowValueError, InputError
from arrows.typesys.parse import parse_type
from tests.cli.kit import outcome
from tests.profile import draws

MODEL = """
import arrows as ar
add = ar.Function(lambda total, x: total + x, name="add")
model = ar.Map(ar.Scalar()) >> ar.Fold(add, ar.Zeros([]))
field = ar.Map(ar.GetItem("x") >> ar.Scalar()) >> ar.Sum()
ill = ar.Scalar() >> ar.Function(lambda x: x * x) >> ar.GetItem(0)
words = ar.Scalar() >> ar.InputTransform(len)
"""
BOM = b"\xef\xbb\xbf"
ROW = "\t".join(["1", "Trees", "tree", "NOUN", *"______"]) + "\n\n"
HUGE = 10_000_000


def short(text: str) -> str:
    """A message that a person can read and a terminal can show."""
    assert len(text) < 1500, f"{len(text)} characters"
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\u202e]", text), ascii(text)
    return text


# ---------------------------------------------------------------------------------- byte-order marks


def test_a_byte_order_mark_is_no_part_of_the_first_line(tmp_path: Path) -> None:
    def file(content: str, name: str = "f") -> Path:
        (tmp_path / name).write_bytes(BOM + content.encode())
        return tmp_path / name

    assert read_conllu(file(ROW)) == [[{"word": "Trees", "tag": "NOUN"}]]
    assert read_conllu(file("# newdoc\n" + ROW)) == [[{"word": "Trees", "tag": "NOUN"}]]
    assert read_trees(file("(3 good)\n")) == [{"label": 3, "word": "good"}]
    assert parse_trees(BOM + b"(so good)", labelled=None)[0]["left"] == {"word": "so"}
    assert list(read_vectors(file("good 1 2\nbad 3 4\n"), ["good", "bad"])) == ["good", "bad"]
    assert parse_tree("\ufeff(so good)") == parse_tree("(so good)")
    assert parse_labelled_tree("\ufeff(3 good)") == {"label": 3, "word": "good"}
    module: Any = SimpleNamespace()
    assert examples_from(str(file("[[1], [2]]", "f.json")), module, tmp_path) == [[1], [2]]
    assert examples_from(str(file("[1]\n[2]\n", "f.jsonl")), module, tmp_path) == [[1], [2]]
    model = file(MODEL, "model.py")
    assert cli.main(["check", f"{model}:model"]) == 0


def test_columns_are_counted_behind_a_byte_order_mark(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(BOM + b"2\tx")
    with pytest.raises(InputError, match=r"f:1:4: expected 10 columns"):
        read_conllu(tmp_path / "f")
    with pytest.raises(InputError, match="t:1:3: this byte is not UTF-8: 0xff"):
        parse_trees(BOM + b"(a\xff)", source="t")
    with pytest.raises(InputError, match="tree:1:2: expected a label from 0 to 4, got 'a'"):
        parse_labelled_tree("\ufeff(a)")


def test_in_the_middle_of_a_file_it_is_a_character(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"a 1\n" + BOM + b"b 2\n")
    assert list(read_vectors(tmp_path / "f", ["a", "b", "\ufeffb"])) == ["a", "\ufeffb"]


# ------------------------------------------------------------------------------------------- numbers

NO_NUMBERS = [
    "1_0",
    "１",
    "١",
    "1\xa0",
    "inf",
    "-inf",
    "nan",
    "infinity",
    "0x10",
    "1e",
    "1,5",
    "--1",
    "",
    "\t1",
]


@pytest.mark.parametrize("text", [x for x in NO_NUMBERS if x])
def test_what_python_alone_reads_as_a_number_is_none_in_vectors(text: str, tmp_path: Path) -> None:
    (tmp_path / "v").write_text(f"good 1 {text}\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"v:1:8: expected a number, got "):
        read_vectors(tmp_path / "v", ["good"])


@pytest.mark.parametrize("text", ["1_0", "１", "١", "inf", "0x1", "1e0", "+1", "²"])
def test_what_python_alone_reads_as_a_number_is_none(text: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="expected a label from 0 to 4, got"):
        parse_labelled_tree(f"({text} good)")
    (tmp_path / "c").write_text(ROW.replace("1", text, 1), encoding="utf-8")
    with pytest.raises(InputError, match="expected the number 1 of the next word"):
        read_conllu(tmp_path / "c")
    with pytest.raises(ArrowTypeError, match="cannot read"):
        parse_type(f"float32[{text}]")


@pytest.mark.parametrize("text", [*NO_NUMBERS, " 1", "1 ", "9" * 5000 + "x"])
def test_what_is_no_number_as_an_option(text: str) -> None:
    for option in (count, positive, rate, share, decay):
        with pytest.raises(Exception, match="expected a ") as caught:
            option(text)
        assert type(caught.value).__name__ == "ArgumentTypeError"
        short(str(caught.value))


@pytest.mark.parametrize("text", ["9" * 19, "9" * 5000])
def test_whole_numbers_have_a_length_that_can_be(text: str) -> None:
    for option in (count, positive):
        with pytest.raises(Exception, match="expected a whole number"):
            option(text)


@draws(100, 2000)
@given(st.floats(allow_nan=False, allow_infinity=False, width=32, min_value=0))
def test_all_spellings_of_numbers_are_read(number: float) -> None:
    for text in (repr(number), f"{number:e}", f"{number:.3E}", f"{number:.40f}", f"+{number!r}"):
        assert rate(text) == float(text)


# ----------------------------------------------------------------------------------------- long texts


def test_a_token_of_ten_million_characters_is_not_printed_whole(tmp_path: Path) -> None:
    token = "x" * HUGE
    for text in (f"({token} a)", f"(9{token} a)", f"(2 a) {token}", f"(2 a {token})", token):
        with pytest.raises(InputError) as caught:
            parse_labelled_tree(text)
        assert "(10,000,00" in short(str(caught.value))
    rows = ["1\ta\ta\t{}\t_\t_\t_\t_\t_\t_\n", "{}\ta\ta\tX\t_\t_\t_\t_\t_\t_\n"]
    for row in rows:
        (tmp_path / "c").write_text(row.format(token), encoding="utf-8")
        with pytest.raises(InputError) as caught:
            read_conllu(tmp_path / "c")
        assert "(10,000,000 characters)" in short(str(caught.value))
    (tmp_path / "v").write_text(f"good 1 {token}\n", encoding="utf-8")
    with pytest.raises(InputError) as caught:
        read_vectors(tmp_path / "v", ["good"])
    assert "(10,000,000 characters)" in short(str(caught.value))


@pytest.mark.parametrize(
    "example",
    [
        {"x": "y" * 100_000},
        {"y" * 100_000: 1, "\x1b[31m\ud800": 2},
        "y" * 100_000,
        ["y" * 100_000],
        {"x": 10**5000},
        {"x": {"\x1b": "\u202e" * 99_999}},
    ],
)
@pytest.mark.parametrize("name", ["field", "model", "words"])
def test_values_of_examples_are_quoted_in_short(
    name: str, example: Any, path: str, tmp_path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "examples.json"
    file.write_text("[[]]", encoding="utf-8")
    monkeypatch.setattr("arrows.cli.show.examples_from", lambda *_: [[example]])
    status, out, err = outcome(capsys, "show", f"{path}:{name}", "--schedule", str(file))
    assert status == (1 if name == "words" else 2) and not out
    assert short(err).startswith("arrows show: ")


def test_what_a_users_function_says_is_printed_in_short(path: str, tmp_path: Path, capsys: Any) -> None:
    more = "table = {}\nlookup = ar.InputTransform(table.__getitem__) >> ar.Scalar()\n"
    more += "xs = ['\\x1b[31m' + 'y' * 10**6]\n"
    Path(path).write_text(MODEL + more, encoding="utf-8")
    status, _, err = outcome(capsys, "show", f"{path}:lookup", "--schedule", "xs")
    assert status == 2 and "KeyError" in short(err)


# ------------------------------------------------------------------------------------------------ JSON


def test_json_lines_end_with_line_feeds_alone(tmp_path: Path) -> None:
    values = ["a\u2028b", "\u2029\x85", "c"]
    text = "".join(json.dumps(value, ensure_ascii=False) + "\n" for value in values)
    module: Any = SimpleNamespace()
    for ends in ("\n", "\r\n"):
        (tmp_path / "f.jsonl").write_bytes(text.replace("\n", ends).encode() + b" \n\n")
        assert examples_from(str(tmp_path / "f.jsonl"), module, tmp_path) == values


BAD = {
    "not utf-8.json": (b'["\xff"]', "is not JSON"),
    "not utf-8.jsonl": (b'["a"]\n["\xff"]\n', "utf-8.jsonl:2 is not JSON"),
    "deep.json": (b"[" * 100_000 + b"]" * 100_000, "deeper"),
    "deep.jsonl": (b"[1]\n\n" + b"[" * 100_000, "deep.jsonl:3 is nested deeper"),
    "deep objects.json": (b'{"a":' * 100_000, "deeper"),
    "empty.json": (b"", "is not JSON"),
    "two.json": (b"[] []", "is not JSON"),
    "digits.json": (b"[" + b"9" * 5000 + b"]", "is not JSON"),
    "object.json": (b"{}", "must be a list of examples, not dict"),
    "broken.jsonl": (b"[1]\n[2\n", "broken.jsonl:2 is not JSON"),
    "null.jsonl": (b"null\n", "expected a sequence"),
}


@pytest.mark.parametrize("name", BAD)
def test_examples_that_cannot_be_read_are_told_in_one_line(
    name: str, path: str, tmp_path: Path, capsys: Any
) -> None:
    content, words = BAD[name]
    (tmp_path / name).write_bytes(content)
    status, out, err = outcome(capsys, "show", f"{path}:model", "--schedule", str(tmp_path / name))
    assert (status, out) == (2, "") and words in short(err)
    if name != "null.jsonl":  # an example is told with its block and place
        assert err.count("\n") == 1


def test_an_ill_typed_block_has_no_schedule(path: str, tmp_path: Path, capsys: Any) -> None:
    (tmp_path / "f.json").write_text("[1]", encoding="utf-8")
    status, out, err = outcome(capsys, "show", f"{path}:ill", "--schedule", str(tmp_path / "f.json"))
    assert (status, out) == (1, "") and err.count("\n") == 1
    assert err.startswith("arrows show: ill has no schedule: cannot ")
    status, out, err = outcome(capsys, "show", f"{path}:words", "--schedule", str(tmp_path / "f.json"))
    assert (status, out) == (1, "") and err.count("\n") == 1


PIECES = [b"[", b"]", b"{", b'"', b"1", b",", b"\n", b"\xe2\x80\xa8", BOM, b"\xff", b"\x00", b":"]


@draws(60, 2000)
@given(pieces=st.lists(st.sampled_from(PIECES), max_size=30))
def test_any_bytes_are_examples_or_an_error(pieces: list[bytes], tmp_path_factory: Any) -> None:
    folder = tmp_path_factory.getbasetemp()
    module: Any = SimpleNamespace()
    for ending in ("json", "jsonl"):
        (folder / f"any.{ending}").write_bytes(b"".join(pieces))
        try:
            assert isinstance(examples_from(str(folder / f"any.{ending}"), module, folder), list)
        except ArrowValueError as error:
            short(str(error))


# -------------------------------------------------------------------------------- what else is printed


@pytest.mark.parametrize("name", ["a\x1b[31m.py", "b\udcff.py", "c\nd.py", "e\u202ef.py"])
@pytest.mark.parametrize("command", ["check", "show"])
def test_names_of_files_are_spelt_out(name: str, command: str, tmp_path: Path, capsys: Any) -> None:
    try:
        (tmp_path / name).write_text(
            "import arrows as ar\nm = ar.Scalar() >> ar.GetItem(0)\n", encoding="utf-8"
        )
    except (OSError, UnicodeError):
        pytest.skip("this system has no such names of files")
    for argument in (tmp_path / name, tmp_path / f"no {name}", tmp_path / f"{name}:none"):
        status, out, err = outcome(capsys, command, str(argument))
        assert status in (1, 2)
        short(out), short(err)
    status, out, _ = outcome(capsys, "check", "--json", str(tmp_path / name))
    assert status == 1 and json.loads(out)["file"] == str(tmp_path / name)


@pytest.mark.parametrize("argument", ["\x1b[31m", "\udcff", "x" * 100_000, "a\0b", ""])
def test_odd_arguments_are_spelt_out(argument: str, tmp_path: Path, capsys: Any) -> None:
    for command in (
        ["check", argument],
        ["show", f"{argument}:x"],
        ["predict", "sentiment", argument],
        ["train", "tagger", "--data", argument],
        ["train", "sentiment", "--data", str(tmp_path), "--vectors", argument],
        ["demo", f"({argument}"],
        ["demo", "--save", f"{tmp_path}/nowhere/m{argument}"],
        ["check", "--input", argument, "f.py"],
        ["check", "f.py", f"--odd={argument}"],
        [argument],
    ):
        try:
            status, out, err = outcome(capsys, *command)
        except SystemExit as ended:
            status, (out, err) = ended.code, capsys.readouterr()
        assert status == 2 and not out, command
        short(err.partition("error: ")[2] or err)


@pytest.mark.parametrize(
    "content",
    [
        b"\xff = 1\n",
        b"x = '\0'\n",
        b"x = 1_\n",
        b"(" * 1000,
        b"# coding: nothing\n",
        b"raise ValueError('\x1b')",
    ],
)
def test_a_users_file_that_cannot_be_read_is_told(content: bytes, tmp_path: Path, capsys: Any) -> None:
    (tmp_path / "model.py").write_bytes(content)
    for command in ("check", "show"):
        status, out, err = outcome(capsys, command, str(tmp_path / "model.py"))
        assert (status, out) == (2, "")
        assert "cannot import model.py" in short(err) and "arrows/" not in err


def test_types_of_any_depth_are_read_or_refused(path: str, capsys: Any) -> None:
    for text in ("(" * 50_000, "Sequence(" * 50_000, "[" * 50_000, "(" * 5000 + "Input" + ",)" * 5000):
        try:
            status, _, err = outcome(capsys, "check", "--input", text, f"{path}:model")
        except SystemExit as ended:
            status, err = ended.code, capsys.readouterr().err
        assert status == (0 if "Input" in text else 2)
        short(err)


def test_words_of_files_reach_the_terminal_spelt_out(
    tmp_path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("arrows.cli.predict.sentiment.restore_sentiment", lambda path, device: None)
    scores = np.zeros((1, 5))

    def judged(model: Any, trees: list[Any]) -> Any:
        yield trees, scores, [scores]

    monkeypatch.setattr("arrows.cli.predict.sentiment.judged", judged)
    (tmp_path / "t").write_text("a\x1b[31m\u202eb\n", encoding="utf-8")
    for more in ([], ["--show"]):
        status, out, _ = outcome(capsys, "predict", "sentiment", "m", str(tmp_path / "t"), *more)
        assert status == 0 and r"a\x1b[31m\u202eb" in out
        short(out)


def test_vectors_for_no_word_are_told(tmp_path: Path) -> None:
    for part in train_sentiment.FILES:
        (tmp_path / part).write_text("(3 good)\n", encoding="utf-8")
    (tmp_path / "v").write_bytes(BOM + b"good 1 2\n")
    assert list(train_sentiment.read(tmp_path, tmp_path / "v").vectors) == ["good"]
