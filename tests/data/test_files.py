"""Files of examples: what is read, where it stood, and what is said of lines that are wrong."""

from __future__ import annotations

import ast
import contextlib
import copy
import csv
import gzip
import io
import json
import pickle
import random
import re
import sys
import tracemalloc
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import arrows as ar
from arrows.data import (
    FileExamples,
    iterate_conllu,
    iterate_csv,
    iterate_json_lines,
    iterate_python,
    iterate_smiles,
    iterate_trees,
    parse_python,
    parse_smiles,
    read_conllu,
    read_csv,
    read_json_lines,
    read_python,
    read_smiles,
    read_trees,
    read_vectors,
)
from arrows.typesys.errors import NotFiniteError

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


def compressors() -> dict[str, Any]:
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        zstd = pytest.importorskip("backports.zstd")
    return {"": bytes, ".gz": gzip.compress, ".zst": zstd.compress}


@pytest.mark.parametrize("suffix", ["", ".gz", ".zst"])
def test_json_lines_of_any_values(tmp_path, suffix):
    compress = compressors()[suffix]

    @given(st.lists(values), st.sampled_from(["\n", "\r\n", "\n\n"]), st.booleans())
    def check(examples: list[Any], end: str, ascii: bool) -> None:
        path = tmp_path / f"x.jsonl{suffix}"
        text = "".join(json.dumps(example, ensure_ascii=ascii) + end for example in examples)
        path.write_bytes(compress(text.encode("utf-8", "surrogatepass")))
        read = read_json_lines(path)
        assert read == examples and read.skipped == [] and list(iterate_json_lines(path)) == examples
        assert read.places == [f"{path}:{1 + i * end.count(chr(10))}" for i in range(len(examples))]

    check()


@pytest.mark.parametrize("suffix", [".gz", ".zst"])
@pytest.mark.parametrize("cut", [10, -5])
def test_compressed_files_that_are_cut_off(tmp_path, suffix, cut):
    path = tmp_path / f"x.jsonl{suffix}"
    path.write_bytes(compressors()[suffix](b"".join(b"%d\n" % (n * n) for n in range(5000)))[:cut])
    with pytest.raises(ar.InputError, match="damaged or cut off") as refusal:
        read_json_lines(path)
    assert str(refusal.value).startswith(f"{path}:")


def row(number: int) -> bytes:
    return b"\t".join([b"%d" % number, b"word", b"_", b"NOUN", *[b"_"] * 6])


CUTS: dict[str, tuple[Any, Callable[[int], bytes]]] = {
    "x.jsonl": (read_json_lines, lambda n: b"[%d" % n**9 + b"]" * (n != 9) + b"\n"),
    "x.csv": (read_csv, lambda n: b"%d" % n**9 + b",x" * (n != 9) + b"\n"),
    "x.txt": (read_trees, lambda n: b"(%d w%d)\n" % (n % 10 // 2, n**9) if n != 9 else b"(9 w)\n"),
    "x.conllu": (read_conllu, lambda n: b"# %d\n" % n**9 + row(1 + (n == 9)) + b"\n\n"),
}


@pytest.mark.parametrize("suffix", [".gz", ".zst"])
@pytest.mark.parametrize("name", CUTS)
def test_what_comes_before_a_cut_is_read_and_the_cut_is_listed(tmp_path, name, suffix):
    """Wherever a file is cut, the first examples are there, and nothing else is lost in silence."""
    (read, example), path, draw = CUTS[name], tmp_path / f"{name}{suffix}", random.Random(f"{name}{suffix}")
    content = compressors()[suffix](b"".join(map(example, range(10_000))))
    path.write_bytes(content)
    with pytest.warns(UserWarning, match="left out 1 of"):
        whole = read(path, errors="skip")
    parts: list[Any] = []
    for place in [0, 5, *(draw.randrange(len(content)) for _ in range(5)), len(content) - 1]:
        path.write_bytes(content[:place])
        before = len(parts)
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            with contextlib.suppress(ar.InputError):
                parts.append(read(path, errors="skip"))
        if len(parts) == before:  # nothing comes before the cut
            with pytest.raises(ar.InputError, match=rf"^{re.escape(str(path))}:1: .*damaged or cut off"):
                read(path, errors="skip")
            assert not warned
            continue
        part = parts[-1]
        assert part == whole[: len(part)] and part.places == whole.places[: len(part)]
        last = str(part.skipped[-1])
        assert len(part.skipped) == 2 and last.endswith("; nothing behind it was read")
        assert int(last.removeprefix(f"{path}:").partition(":")[0]) > int(part.places[-1].rpartition(":")[2])
        (warning,) = warned
        assert "and all that comes after the last of these" in str(warning.message)
        assert str(warning.message).endswith(last) and warning.filename == __file__
    assert max(map(len, parts)) > 1000


@pytest.mark.parametrize("read", [read_json_lines, read_csv, read_trees, read_conllu])
@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_files_in_utf_16_are_called_so(tmp_path, read, encoding):
    path = tmp_path / "x"
    path.write_bytes("\ufeff(1 a)\n".encode(encoding))
    with pytest.raises(
        ar.InputError, match=r"x:1:1: this byte is not UTF-8: 0xf[ef]; the file begins as UTF-16"
    ):
        read(path)


def test_a_file_that_is_not_compressed(tmp_path):
    for suffix in (".gz", ".zst"):
        compressors()
        path = tmp_path / f"x.jsonl{suffix}"
        path.write_bytes(b"1\n2\n")
        with pytest.raises(ar.InputError, match=":1: the compressed data are damaged"):
            read_json_lines(path)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (b'{"text": "a", "stars": }', r":2:24: this is no JSON: Expecting value"),
        (b'{"text": "a"}', r":2:1: the field 'stars' is missing; there are 'text'"),
        (
            b'{"text": "a", "stars": "5"}',
            r":2:24: the field 'stars' should be of type int or null, not str: '5'",
        ),
        (b'{"text": "a", "stars": true}', r"'stars' should be of type int or null, not bool: True"),
        (b'{"text": null, "stars": 1}', r"'text' should be of type str, not null"),
        (
            b' { "stars" :1,"a":[{"stars": "}"}], "text" : 5,"x":1}',
            r":2:46: the field 'text' should be of type str",
        ),
        (b"[1]", r":2:1: expected an object with fields, got list"),
        (b'{"\xff": 1}', r":2:3: this byte is not UTF-8: 0xff"),
        (b"[" * 100_000, r":2:1: this JSON value is nested too deeply"),
        (b"9" * 5000, r":2:1: Exceeds the limit"),
        (b'{"text": "a", "stars": 1, "text": "b"}', r":2:1: the field 'text' is there twice in one object"),
        (b'{"text": "a", "stars": 1, "x": [{"\\u0061": 1, "a": 1}]}', r":2:1: the field 'a' is there twice"),
    ],
)
def test_lines_that_are_wrong(tmp_path, line, words):
    path = tmp_path / "x.jsonl"
    good = b'{"text": "fine", "stars": 5}'
    path.write_bytes(b"\n".join([good, line, good]))
    fields = {"text": str, "stars": (int, type(None))}
    with pytest.raises(ar.InputError, match=words) as refusal:
        read_json_lines(path, fields=fields)
    with pytest.warns(UserWarning, match=r"left out 1 of 3 examples, which are listed in \.skipped"):
        read = read_json_lines(path, fields=fields, errors="skip")
    assert read == [json.loads(good)] * 2 and read.places == [f"{path}:1", f"{path}:3"]
    assert [str(error) for error in read.skipped] == [str(refusal.value)]


def test_a_float_may_be_whole(tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_text('{"x": 1}\n{"x": 1.5}')
    assert read_json_lines(path, fields={"x": float}) == [{"x": 1}, {"x": 1.5}]


@given(st.lists(st.tuples(st.text(), st.text()), max_size=4), st.sampled_from(",;\t"))
def test_tables_that_csv_wrote(tmp_path_factory, rows, separator):
    # The writer of Python leaves a lone carriage return outside of quotes, and csv has no null characters.
    clean = [tuple(field.replace("\r", "").replace("\0", "") for field in row) for row in rows]
    clean = [tuple(f.encode("utf-8", "replace").decode() for f in row) for row in clean]
    text = io.StringIO()
    csv.writer(text, delimiter=separator, quoting=csv.QUOTE_ALL).writerows([("a", "b"), *clean])
    path = tmp_path_factory.mktemp("csv") / "x.csv"
    path.write_bytes(text.getvalue().encode())
    read = read_csv(path, separator=separator)
    assert [(row["a"], row["b"]) for row in read] == clean
    assert list(iterate_csv(path, separator=separator)) == read


def test_columns_and_their_types(tmp_path):
    path = tmp_path / "x.csv"
    path.write_bytes(b'\xef\xbb\xbfname,n,x,yes,note\r\n"a\nb",1,2.5,True,\r\n\r\nc,,1e3,0,z\r\n')
    columns = {"x": float, "name": str, "n": (int, type(None)), "yes": bool}
    read = read_csv(path, columns=columns)
    assert read == [
        {"x": 2.5, "name": "a\nb", "n": 1, "yes": True},
        {"x": 1000.0, "name": "c", "n": None, "yes": False},
    ]
    assert read.places == [f"{path}:2", f"{path}:5"]


@pytest.mark.parametrize(
    ("row", "words"),
    [
        (b"a", r":3:1: expected 2 fields, as in the first line, got 1"),
        (b"a,1,2", r":3:5: expected 2 fields, as in the first line, got 3"),
        (b"a,b", r":3:3: the column 'n' should be of type int, not 'b'"),
        (b"a,", r":3:3: the column 'n' should be of type int, not ''"),
        (b'"a, ""b"" ",b', r":3:13: the column 'n' should be of type int, not 'b'"),
        (b'"a\n",b', r":4:3: the column 'n' should be of type int, not 'b'"),
        (b'a 5" pipe,1_0', r":3:11: the column 'n' should be of type int, not '1_0'"),
        (b"\xff,1", r":3:1: this byte is not UTF-8"),
        (b'"a,1', r":4:1: unexpected end of data; the row begins in line 3"),
        (b'"a"b,1', r":3:1: ',' expected after '\"'"),
        (b"a" * 140_000 + b",1", r":3:1: field larger than field limit .*csv.field_size_limit"),
    ],
)
def test_rows_that_are_wrong(tmp_path, row, words):
    path = tmp_path / "x.csv"
    path.write_bytes(b"\n".join([b"name,n", b"x,1", row, b"y,2"]))
    with pytest.raises(ar.InputError, match=words):
        read_csv(path, columns={"name": str, "n": int})
    ends = any(reason in words for reason in ("begins in line", "expected after", "limit"))
    with pytest.warns(
        UserWarning, match="and all that comes after" if ends else "left out 1 of 3 examples, w"
    ):
        read = read_csv(path, columns={"n": int, "name": str}, errors="skip")
    assert [row["n"] for row in read] == ([1] if ends else [1, 2])
    assert re.search(words, str(read.skipped[0])) and len(read.skipped) == 1


def test_tables_without_their_columns(tmp_path):
    path = tmp_path / "x.csv"
    for text, words in [
        ("a,a\n", ":1:3: two columns have the name 'a'"),
        ("b\n", "'c'; there are 'b'"),
        ("", "are none"),
    ]:
        path.write_text(text)
        with pytest.raises(ar.InputError, match=words):
            read_csv(path, columns={"c": str})
    with pytest.raises(ar.ArrowTypeError, match="str, int, float or bool"):
        read_csv(path, columns={"c": (int, str)})
    path.write_bytes(b'a,"b\n1,2\n')
    with pytest.raises(ar.InputError, match=":2:1: unexpected end of data; the row begins in line 1"):
        read_csv(path, errors="skip")
    for separator in ("::", "", '"', "\r", "\n", "\0", 3):
        with pytest.raises(ar.ArrowValueError, match="one character"):
            read_csv(path, separator=separator)
    for read in (read_csv, read_json_lines):
        with pytest.raises(ar.ArrowValueError, match="'stop' or 'skip'"):
            read(path, errors="ignore")


def every(tree: dict[str, Any]) -> Iterator[dict[str, Any]]:
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += node["children"]


def nodes(tree: dict[str, Any]) -> list[str]:
    return [node["kind"] for node in every(tree)]


def test_syntax_trees_of_this_package():
    files = sorted(Path(ar.__file__).parent.joinpath("data").glob("*.py"))
    trees = read_python(files[0].parent)
    assert trees.places == [str(file) for file in files]
    for file, tree in zip(files, trees, strict=True):
        expected = [type(node).__name__ for node in ast.walk(ast.parse(file.read_bytes()))]
        kept = [kind for kind in expected if kind not in ("Load", "Store", "Del")]
        assert sorted(nodes(tree)) == sorted(kept)


def test_texts_of_syntax_trees():
    tree = parse_python("import numpy as np\nglobal a, b\nx.y = f'{z}'\ndef g(k=3.5): return None")
    texts: list[tuple[str, Any]] = []
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        texts += [(node["kind"], node["text"])] if node["text"] else []
        waiting += reversed(node["children"])
    assert texts[:6] == [
        ("alias", "numpy np"), ("Global", "a b"), ("Attribute", "y"), ("Name", "x"), ("Name", "z"),
        ("FunctionDef", "g"),
    ]  # fmt: skip
    assert ("arg", "k") in texts and ("Constant", "3.5") in texts and ("Constant", "None") in texts


@pytest.mark.parametrize(
    ("source", "words"),
    [("x =", r"^mine\.py:1:4: invalid syntax"), (b"\xff", r"^mine\.py:1"), ("\0", r"^mine\.py:1")],
)
def test_what_is_no_python(source, words):
    with pytest.raises(ar.InputError, match=words):
        parse_python(source, name="mine.py")


def test_deep_python_is_read_or_refused():
    chain = parse_python("+".join(["x"] * 2000))
    assert len(nodes(chain)) > 4000
    with pytest.raises(ar.InputError, match="deep"):
        parse_python("(" * 150 + ")" * 150 + "-" * 200_000 + "1")


@pytest.mark.parametrize("base", [hex, oct, bin])
@pytest.mark.parametrize("digits", [4299, 4300, 4301, 50_000])
def test_numbers_of_any_length_have_a_text(base, digits):
    number = base(10**digits)
    tree = parse_python(f"x = -{number}")
    texts = [node["text"] for node in every(tree) if node["kind"] == "Constant"]
    assert len(texts) == 1 and texts[0] in (hex(10**digits), "1" + "0" * digits)


def test_folders_with_files_that_are_no_python(tmp_path):
    (tmp_path / "good.py").write_text("pass")
    (tmp_path / "folder.py").mkdir()
    (tmp_path / "bad.py").write_text("pass pass")
    with pytest.warns(UserWarning, match="left out 1 of 2"):
        trees = read_python(tmp_path, errors="skip")
    assert isinstance(trees, FileExamples) and trees.places == [str(tmp_path / "good.py")]
    with pytest.raises(FileNotFoundError, match="no file"):
        read_python(tmp_path, pattern="*.txt")


def test_molecules():
    pytest.importorskip("rdkit")
    benzoate = parse_smiles("[O-]C(=O)c1ccccc1")
    assert len(benzoate["atoms"]) == 9 and len(benzoate["bonds"]) == 9
    assert benzoate["atoms"][0] == {
        "element": "O", "charge": -1, "hydrogens": 0, "aromatic": False, "ring": False, "neighbours": [1],
    }  # fmt: skip
    assert {bond["order"] for bond in benzoate["bonds"] if bond["ring"]} == {1.5}
    for smiles, words in [("C1CC", "no SMILES"), ("C(C)(C)(C)(C)C", "valence"), ("", "no atoms")]:
        with pytest.raises(ar.InputError, match=f"^m.csv:3: .*{words}"):
            parse_smiles(smiles, source="m.csv:3")


def test_files_and_columns_of_molecules(tmp_path):
    pytest.importorskip("rdkit")
    path = tmp_path / "drugs.smi"
    path.write_bytes(b"CCO ethanol\r\n\n \tC1CC\tbroken\nc1ccccc1\nO  two words \n\xff\n")
    with pytest.raises(ar.InputError, match=r"drugs.smi:3:3: 'C1CC' is no molecule: it is no SMILES"):
        read_smiles(path)
    with pytest.warns(UserWarning, match="left out 2 of 5 examples"):
        molecules = read_smiles(path, errors="skip")
    assert [m["name"] for m in molecules] == ["ethanol", "", "two words"]
    assert [len(m["atoms"]) for m in molecules] == [3, 6, 1]
    assert molecules.places == [f"{path}:{n}" for n in (1, 4, 5)]
    assert str(molecules.skipped[1]) == f"{path}:6:1: this byte is not UTF-8: 0xff"
    table = tmp_path / "x.csv"
    table.write_text("name,smiles\nethanol,CCO\nbroken,C1CC\n")
    columns = {"smiles": parse_smiles}
    with pytest.raises(ar.InputError, match=r"x.csv:3:8: the column 'smiles': 'C1CC' is no molecule"):
        read_csv(table, columns=columns)
    with pytest.warns(UserWarning, match="left out 1 of 2"):
        rows = read_csv(table, columns=columns, errors="skip")
    assert rows == [{"smiles": parse_smiles("CCO")}]


def test_functions_read_columns(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("tag,n\nnoun,\nverb,2\nadverb,3\n")
    tags = ar.Vocabulary(["noun", "verb"], unknown=None)
    columns = {"tag": tags.__getitem__, "n": (lambda text: int(text) / 2, type(None))}
    with pytest.raises(ar.InputError, match=r"x.csv:4:1: the column 'tag': 'adverb'"):
        read_csv(path, columns=columns)
    with pytest.warns(UserWarning, match="left out 1 of 3"):
        assert read_csv(path, columns=columns, errors="skip") == [{"tag": 0, "n": None}, {"tag": 1, "n": 1.0}]


@pytest.mark.parametrize(
    "read",
    [
        lambda path: read_csv(path, columns=["n"]),
        lambda path: read_csv(path, columns={"n": "int"}),
        lambda path: read_json_lines(path, fields=["n"]),
        lambda path: read_json_lines(path, fields={"n": "int"}),
        lambda path: read_json_lines(path, fields={"n": (int, None)}),
        lambda path: parse_python(path),
    ],
)
def test_arguments_of_another_kind(tmp_path, read):
    path = tmp_path / "x"
    path.write_text("n\n1\n")
    with pytest.raises(ar.ArrowTypeError):
        read(path)


READERS = (
    *(read_json_lines, iterate_json_lines, read_csv, iterate_csv, read_trees, iterate_trees, read_vectors),
    *(read_conllu, iterate_conllu, read_python, iterate_python, read_smiles, iterate_smiles),
    *(ar.Vocabulary.load, ar.Vocabulary(["a"]).save),
)


@pytest.mark.parametrize("read", READERS)
def test_paths_that_are_none(read):
    more = (["word"],) if read is read_vectors else ()
    for path, error in ((None, ar.ArrowTypeError), (3, ar.ArrowTypeError), ("", ar.ArrowValueError)):
        with pytest.raises(error, match=f"^(Vocabulary\\.)?{read.__name__}: "):
            read(path, *more)
    with pytest.raises(ar.ArrowValueError, match=r"names no file: 'a\\x00b'"):
        read("a\0b", *more)


@pytest.mark.parametrize("pattern", ["", "/etc/*.py"])
def test_patterns_that_are_none(tmp_path, pattern):
    with pytest.raises(ar.ArrowValueError, match="read_python: the pattern"):
        read_python(tmp_path, pattern=pattern)


STREAMS: list[tuple[Any, Any, dict[str, Any], str, list[int]]] = [
    (read_json_lines, iterate_json_lines, {}, "[1]\n\n{\n[3]\n", [1, 4]),
    (read_csv, iterate_csv, {"columns": {"n": int}}, "n\n1\n\nx\n3\n", [2, 5]),
    (read_trees, iterate_trees, {}, "(2 a)\n\n(9 b)\n(3 (2 a) (2 b))\n", [1, 4]),
    (
        read_conllu,
        iterate_conllu,
        {"trees": True},
        "".join(f"1\t{w}\t_\t{t}\t_\t_\t0\troot\t_\t_\n\n" for w, t in [("a", "X"), ("b", "?"), ("c", "X")]),
        [1, 5],
    ),
    (read_smiles, iterate_smiles, {}, "CCO\n\nC1CC\nO\n", [1, 4]),
]


@pytest.mark.parametrize(
    ("read", "iterate", "how", "text", "lines"), STREAMS, ids=[read.__name__ for read, *_ in STREAMS]
)
def test_streams_give_what_lists_give(tmp_path, read, iterate, how, text, lines):
    if read is read_smiles:
        pytest.importorskip("rdkit")
    path = tmp_path / "x"
    path.write_text(text)
    with pytest.warns(UserWarning, match="left out 1 of 3 examples") as warned:
        listed = read(path, errors="skip", **how)
    stream = iterate(path, errors="skip", **how)
    with pytest.warns(UserWarning, match="left out 1 of 3 examples"):
        assert list(stream) == listed and len(listed) == 2
    assert warned[0].filename == __file__
    assert list(stream.places) == stream.places[:] == listed.places == [f"{path}:{n}" for n in lines]
    assert [str(error) for error in stream.skipped] == [str(error) for error in listed.skipped]


def test_python_is_read_file_by_file(tmp_path):
    for name, text in (("a", "pass"), ("b", "pass pass"), ("c", "x = 1")):
        (tmp_path / f"{name}.py").write_text(text)
    stream = iterate_python(tmp_path, errors="skip")
    with pytest.warns(UserWarning, match="left out 1 of 3 examples"):
        assert [tree["children"][0]["kind"] for tree in stream] == ["Pass", "Assign"]
    assert list(stream.places) == [str(tmp_path / "a.py"), str(tmp_path / "c.py")]
    (error,) = stream.skipped
    assert str(error).startswith(f"{tmp_path / 'b.py'}:1:6: ")


@pytest.mark.parametrize("cache", [False, True])
def test_errors_of_a_stream_name_file_and_line(tmp_path, cache):
    path = tmp_path / "numbers.jsonl"
    path.write_text('[1]\n\n[2]\n[3, "x"]\n')
    model = ar.compile(ar.Map(ar.Scalar()) >> ar.Sum() >> ar.Function(lambda x: x * x))
    keep = {"cache": tmp_path / "set", "data": "numbers"} if cache else {}
    with ThreadPoolExecutor(1) as executor:
        for run in (
            lambda examples: model.prepare(examples, **keep),
            lambda examples: model.prepare(examples, executor=executor, **keep),
            lambda examples: model(examples),
            lambda examples: ar.training.train(model, examples, ar.training.SGD(0.1), progress=False),
            lambda examples: model.predict(examples),
        ):
            with pytest.raises(ar.InputError, match=rf"^{re.escape(str(path))}:4: example 2: \[1\]: "):
                run(iterate_json_lines(path))
    assert not (tmp_path / "set").exists()


def test_trees_that_are_wrong_are_left_out_and_listed(tmp_path):
    path = tmp_path / "trees.txt"
    path.write_bytes(b"\xef\xbb\xbf(2 film)\n\n(9 bad)\n(3 (2 a)\n(1 \xff)\n(4 good)\n")
    with pytest.raises(ar.InputError, match=r"trees.txt:3:2: expected a label from 0 to 4, got '9'"):
        read_trees(path)
    with pytest.warns(UserWarning, match=r"left out 3 of 5 examples.*trees.txt:3:2") as warned:
        trees = read_trees(path, errors="skip")
    assert warned[0].filename == __file__
    assert trees == [{"label": 2, "word": "film"}, {"label": 4, "word": "good"}]
    assert trees.places == [f"{path}:1", f"{path}:6"]
    assert [str(error).split(": ")[0] for error in trees.skipped] == [
        f"{path}:{p}" for p in ("3:2", "4:9", "5:4")
    ]
    (tmp_path / "trees.gz").write_bytes(gzip.compress(b"(2 film)"))
    assert read_trees(tmp_path / "trees.gz") == [{"label": 2, "word": "film"}]
    with pytest.raises(ar.ArrowValueError, match="'stop' or 'skip'"):
        read_trees(path, errors="ignore")


def test_sentences_that_are_wrong_are_left_out_and_listed(tmp_path):
    def row(number, word, tag="NOUN"):
        return "\t".join([str(number), word, "_", tag, *"______"])

    blocks = [
        [row(1, "one")],
        ["# a comment alone"],
        ["# text", row(1, "two"), row(3, "three")],
        [row(1, "four", "THING"), row(2, "five")],
        [row(1, "six"), row(2, "seven")],
    ]
    path = tmp_path / "words.conllu"
    path.write_text("\n\n".join("\n".join(block) for block in blocks) + "\n")
    with pytest.raises(ar.InputError, match=r"words.conllu:3:1: the sentence that begins here has no words"):
        read_conllu(path)
    with pytest.warns(UserWarning, match="left out 3 of 5 examples"):
        sentences = read_conllu(path, errors="skip")
    assert [[word["word"] for word in sentence] for sentence in sentences] == [["one"], ["six", "seven"]]
    assert sentences.places == [f"{path}:1", f"{path}:12"]
    assert [str(error).split(": ")[0] for error in sentences.skipped] == [
        f"{path}:{p}" for p in ("3:1", "7:1", "9:10")
    ]


def test_places_follow_their_examples():
    places = [f"x:{n}" for n in range(1, 7)]
    examples = FileExamples([[n] for n in range(6)], places=places, skipped=[])
    assert examples.places == places and examples[1::2].places == ["x:2", "x:4", "x:6"]
    random.Random(1).shuffle(examples)
    assert examples.places == [f"x:{example[0] + 1}" for example in examples]
    part = examples[:4]
    assert isinstance(part, FileExamples) and part.places == [f"x:{example[0] + 1}" for example in part]
    part.append([0])
    assert part.places[-1] == "" and len(part.places) == 5
    same = FileExamples([1, 1, 2], places=["x:1", "x:2", "x:3"], skipped=[])
    assert same.places == ["x:1", "x:2", "x:3"]
    same.reverse()
    assert same.places == ["x:3", "x:2", ""]
    for again in (pickle.loads(pickle.dumps(examples)), copy.deepcopy(examples), copy.copy(examples)):
        assert again == examples and again.places == examples.places


bounds = st.none() | st.integers(-9, 9)


@given(
    st.lists(st.integers(0, 2) | st.lists(st.integers(0, 9), max_size=2), max_size=7),
    st.sampled_from(["as read", "shuffled", "reversed", "shorter", "longer"]),
    st.lists(
        st.tuples(bounds, bounds, st.none() | st.sampled_from([-2, -1, 1, 2, 3])), min_size=1, max_size=3
    ),
    st.randoms(),
)
def test_slices_are_slices_of_examples_and_of_their_places(values, change, keys, rng):
    examples = FileExamples(values, places=[f"x:{n}" for n in range(len(values))], skipped=[])
    where = {id(value): f"x:{n}" for n, value in enumerate(values) if isinstance(value, list)}
    if change == "shuffled":
        rng.shuffle(examples)
    elif change == "reversed":
        examples.reverse()
    elif change == "shorter":
        del examples[:1]
    elif change == "longer":
        examples.insert(1, [77])
    plain, places = list(examples), examples.places
    for bounds in keys:
        key = slice(*bounds)
        examples, plain, places = examples[key], plain[key], places[key]
        assert isinstance(examples, FileExamples) and examples == plain and examples.places == places
        assert all(here is there for here, there in zip(examples, plain, strict=True))
    for example, place in zip(examples, places, strict=True):
        if isinstance(example, list):
            assert place == where.get(id(example), "")


@pytest.mark.parametrize("shuffled", [False, True])
def test_a_slice_takes_what_its_own_examples_take(shuffled):
    examples = FileExamples(
        [[n] for n in range(10_000)], places=[f"x:{n}" for n in range(10_000)], skipped=[]
    )
    if shuffled:
        random.Random(0).shuffle(examples)
        assert examples[:1].places == [f"x:{examples[0][0]}"]  # looks all examples up, once
    tracemalloc.start()
    try:
        part = examples[5000:5010]
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert part.places == [f"x:{example[0]}" for example in examples[5000:5010]]
    assert peak < 5_000  # a list of all 10,000 places takes 80,000 bytes


@pytest.mark.parametrize("change", [None, list.reverse])
def test_an_error_in_a_slice_names_file_and_line(tmp_path, change):
    path = tmp_path / "numbers.jsonl"
    path.write_text("".join(f"[{n}]\n" if n != 7 else '["x"]\n' for n in range(10)))
    examples = read_json_lines(path)
    if change is not None:
        change(examples)
    model = ar.compile(ar.Map(ar.Scalar()) >> ar.Sum())
    part = examples[1:9][::2] if change is None else examples[1:9][1::2]
    with pytest.raises(ar.InputError, match=rf"^{re.escape(str(path))}:8: example"):
        model.prepare(part)


@pytest.mark.parametrize("cache", [False, True])
def test_errors_of_a_model_name_file_and_line(tmp_path, cache):
    path = tmp_path / "numbers.jsonl"
    path.write_text('[1]\n\n[2]\n[3, "x"]\n')
    examples = read_json_lines(path)
    model = ar.compile(ar.Map(ar.Scalar()) >> ar.Sum() >> ar.Function(lambda x: x * x))
    wanted = rf"^{re.escape(str(path))}:4: example 2: \[1\]: "
    keep = {"cache": tmp_path / "set"} if cache else {}
    with pytest.raises(ar.InputError, match=wanted) as caught:
        model.prepare(examples, **keep)
    assert caught.value.details.example == 2 and caught.value.details.path == "[1]"
    with ThreadPoolExecutor(1) as executor, pytest.raises(ar.InputError, match=wanted):
        model.prepare(examples, executor=executor, **keep)
    for run in (
        lambda: model(examples),
        lambda: model.value_and_grad(examples),
        lambda: ar.training.train(model, examples, ar.training.SGD(0.1), progress=False),
        lambda: model.predict(examples),
    ):
        with pytest.raises(ar.InputError, match=wanted):
            run()
    examples.reverse()
    with pytest.raises(ar.InputError, match=rf"^{re.escape(str(path))}:4: example 0: \[1\]: "):
        model.prepare(examples)


def test_errors_while_values_are_computed_name_file_and_line(tmp_path):
    path = tmp_path / "numbers.jsonl"
    path.write_text("[0, 1]\n[2, 2]\n")
    table, one = ar.Embedding(3, 2, name="table"), ar.FC([], name="one", initializer=ar.initializers.zeros)
    # An index that depends on a parameter is known only when the model runs.
    total = ar.Map(ar.Scalar()) >> ar.Sum() >> ar.Function(lambda x: ar.ops.cast(x + one(x[None]), "int32"))
    model = ar.compile(total >> table >> ar.Function(lambda v: ar.ops.sum(v)))
    prepared = model.prepare(read_json_lines(path))
    wanted = rf"^{re.escape(str(path))}:2: example 1: .*index 4 is out of range"
    for examples in (prepared, prepared[[1]], read_json_lines(path)):
        with pytest.raises(ar.InputError, match=wanted):
            model(examples)


def test_a_loss_that_is_not_finite_names_file_and_line(tmp_path):
    path = tmp_path / "numbers.jsonl"
    path.write_text("[1]\n\n[1e400]\n")
    model = ar.compile(ar.Vector(1) >> ar.FC(1, name="fc") >> ar.Function(lambda y: y[0] * y[0]))
    before = model.params["fc/weight"].copy()
    with pytest.raises(NotFiniteError, match=rf"of example 1 \({re.escape(str(path))}:3\) is not finite"):
        ar.training.train(model, read_json_lines(path), ar.training.SGD(0.1), progress=False)
    assert (model.params["fc/weight"] == before).all() and model.step == 0


def test_streams_leave_out_and_list_what_is_wrong(tmp_path):
    lines, table = tmp_path / "x.jsonl", tmp_path / "x.csv"
    lines.write_text("1\n{\n3\n")
    table.write_text("n\n1\nmany\n3\n")
    model = ar.compile(ar.Scalar())
    for path, make in (
        (lines, iterate_json_lines),
        (table, lambda path, **rest: map_stream(iterate_csv(path, columns={"n": int}, **rest))),
    ):
        with pytest.raises(ar.InputError, match=rf"{path.name}:[23]"):
            list(make(path))
        stream = make(path, errors="skip")
        with pytest.warns(UserWarning, match="left out 1 of 3 examples") as warned:
            prepared = model.prepare(stream, cache=f"{path}.set", data=path.name)
        assert len(warned) == 1 and model(prepared).tolist() == [1.0, 3.0]
        assert len(stream.skipped) == 1 and list(stream) == []
    with pytest.raises(ar.ArrowValueError, match="'stop' or 'skip'"):
        iterate_json_lines(lines, errors="never")


class map_stream:
    """The numbers of rows."""

    def __init__(self, rows):
        self.rows = rows
        self.skipped = rows.skipped

    def __iter__(self):
        return (row["n"] for row in self.rows)
