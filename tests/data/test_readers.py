"""Readers: what they give, where it stood, and what is said of what is wrong."""

from __future__ import annotations

import copy
import csv
import gzip
import io
import json
import pickle
import random
import re
import tracemalloc
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import given, strategies as st

import arrows as ar
from arrows.data import FileExamples, read_conllu, read_csv, read_json_lines, read_trees, read_vectors
from arrows.typesys.errors import NotFiniteError

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_json_lines_of_any_values(tmp_path, suffix):
    compress = gzip.compress if suffix else bytes

    @given(st.lists(values), st.sampled_from(["\n", "\r\n", "\n\n"]), st.booleans())
    def check(examples: list[Any], end: str, ascii: bool) -> None:
        path = tmp_path / f"x.jsonl{suffix}"
        text = "".join(json.dumps(example, ensure_ascii=ascii) + end for example in examples)
        path.write_bytes(compress(text.encode("utf-8", "surrogatepass")))
        reader = read_json_lines(path)
        for _ in range(2):  # each time from the beginning
            assert list(reader) == examples and reader.skipped == []
            assert list(reader.places) == [
                f"{path}:{1 + i * end.count(chr(10))}" for i in range(len(examples))
            ]

    check()


def conllu_row(number: object, form: str = "tree", tag: str = "NOUN", *rest: str) -> str:
    return "\t".join([str(number), form, "_", tag, *rest, *"______"[len(rest) :]])


ONES: dict[str, tuple[Any, dict[str, Any], str, str, Callable[[int], str]]] = {
    # The reader, its arguments, a head, a wrong example, and examples.
    "x.jsonl": (read_json_lines, {}, "", "{\n", lambda n: f"[{n}]\n"),
    "x.csv": (read_csv, {"columns": {"n": int}}, "n,m\n", "x,1\n", lambda n: f"{n},1\n"),
    "x.txt": (read_trees, {}, "", "(9 w)\n", lambda n: f"({n % 5} w{n})\n"),
    "x.conllu": (read_conllu, {}, "", conllu_row(2) + "\n\n", lambda n: f"{conllu_row(1, f'w{n}')}\n\n"),
}


@pytest.mark.parametrize("name", ONES)
def test_what_is_wrong_is_left_out_and_listed(tmp_path, name):
    (read, options, head, wrong, example), path = ONES[name], tmp_path / name
    path.write_bytes(b"\xef\xbb\xbf" + f"{head}\n{example(1)}\n{wrong}{example(2)}".encode())
    lines = {"x.csv": [3, 5, 6], "x.conllu": [2, 5, 7]}.get(name, [2, 4, 5])
    with pytest.raises(ar.InputError, match=rf"^{re.escape(str(path))}:{lines[1]}:") as refusal:
        read(path, **options).to_list()
    with pytest.warns(
        UserWarning, match=r"left out 1 of 3 examples, which are listed in \.skipped"
    ) as warned:
        listed = read(path, errors="skip", **options).to_list()
    reader = read(path, errors="skip", **options)
    with pytest.warns(UserWarning, match="left out 1 of 3 examples") as streamed:
        assert list(reader) == listed and len(listed) == 2
    assert [each[0].filename for each in (warned, streamed)] == [__file__] * 2
    assert list(reader.places) == listed.places == [f"{path}:{lines[k]}" for k in (0, 2)]
    for skipped in (reader.skipped, listed.skipped):
        assert [str(error) for error in skipped] == [str(refusal.value)]
    with pytest.raises(ar.ArrowValueError, match="'stop' or 'skip'"):
        read(path, errors="ignore")
    path.write_bytes("\ufeff(1 a)\n".encode("utf-16-le"))
    with pytest.raises(ar.InputError, match=r":1:1: this byte is not UTF-8: 0xff; the file begins as UTF-16"):
        read(path).to_list()
    with pytest.raises(FileNotFoundError, match="nowhere"):
        read(tmp_path / "nowhere").to_list()


@pytest.mark.parametrize("name", ONES)
def test_what_comes_before_a_cut_is_given_and_the_cut_is_an_error(tmp_path, name):
    (read, options, head, _, example), draw = ONES[name], random.Random(name)
    path = tmp_path / f"{name}.gz"
    content = gzip.compress((head + "".join(example(n**40) for n in range(1500))).encode())
    path.write_bytes(content)
    whole = read(path, **options).to_list()
    assert len(whole) == 1500
    for place in [0, 5, *(draw.randrange(len(content)) for _ in range(3)), len(content) - 1]:
        path.write_bytes(content[:place])
        reader, part = read(path, errors="skip", **options), []
        with pytest.raises(ar.InputError, match=rf"^{re.escape(str(path))}:\d+: .*damaged or cut off"):
            part.extend(reader)
        assert part == whole[: len(part)] and list(reader.places) == whole.places[: len(part)]
    assert len(part) > 500
    path.write_bytes(b"1\n2\n")
    with pytest.raises(ar.InputError, match=":1: the compressed data are damaged"):
        read(path, **options).to_list()


def test_open_files_are_read_once():
    reader = read_trees(io.BytesIO(b"(2 a)\n(9 b)\n"), errors="skip")
    with pytest.warns(UserWarning, match="^input: left out 1 of 2"):
        assert reader.to_list() == [{"label": 2, "word": "a"}]
    with pytest.raises(ar.ArrowValueError, match="an open file is read once"):
        list(reader)
    with pytest.raises(ar.ArrowTypeError, match=r"read_trees: the file is open as text; .*'rb'"):
        read_trees(io.StringIO("(2 a)"))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (b'{"text": "a", "stars": }', r":2:24: this is no JSON: Expecting value"),
        (b'{"\xff": 1}', r":2:3: this byte is not UTF-8: 0xff"),
        (b"[" * 100_000, r":2: this JSON value is nested too deeply"),
        (b"9" * 5000, r":2: Exceeds the limit"),
        (b'{"x": [{"\\u0061": 1, "a": 1}]}', r":2: the field 'a' is there twice"),
        (b'{"x": [NaN]}', r":2: JSON has no NaN; null stands for a missing number"),
        (b"-Infinity", r":2: JSON has no -Infinity"),
    ],
)
def test_lines_that_are_wrong(tmp_path, line, words):
    path = tmp_path / "x.jsonl"
    path.write_bytes(b"\n".join([b'{"text": "fine", "stars": 5}', line]))
    with pytest.raises(ar.InputError, match=words):
        read_json_lines(path).to_list()


@given(st.lists(st.tuples(st.text(), st.text()), max_size=4), st.sampled_from(",;\t"))
def test_tables_that_csv_wrote(tmp_path_factory, rows, separator):
    # The writer of Python leaves a lone carriage return outside of quotes, and csv has no null characters.
    clean = [tuple(field.replace("\r", "").replace("\0", "") for field in row) for row in rows]
    clean = [tuple(f.encode("utf-8", "replace").decode() for f in row) for row in clean]
    text = io.StringIO()
    csv.writer(text, delimiter=separator, quoting=csv.QUOTE_ALL).writerows([("a", "b"), *clean])
    path = tmp_path_factory.mktemp("csv") / "x.csv"
    path.write_bytes(text.getvalue().encode())
    assert [(row["a"], row["b"]) for row in read_csv(path, separator=separator)] == clean


def blank_or_int(text: str) -> int | None:
    return int(text) if text else None


def test_columns_and_their_types(tmp_path):
    path = tmp_path / "x.csv"
    path.write_bytes(b'\xef\xbb\xbfname,n,x,yes,note\r\n"a\nb",1,2.5,True,\r\n\r\nc,,1e3,0,z\r\n')
    read = read_csv(path, columns={"x": float, "name": str, "n": blank_or_int, "yes": bool}).to_list()
    assert read == [
        {"x": 2.5, "name": "a\nb", "n": 1, "yes": True},
        {"x": 1000.0, "name": "c", "n": None, "yes": False},
    ]
    assert read.places == [f"{path}:2", f"{path}:5"]
    tags = ar.Vocabulary(["a\nb"], unknown=None)
    columns = {"name": tags.__getitem__, "n": blank_or_int}
    with pytest.raises(ar.InputError, match=r"x.csv:5: the column 'name': 'c'"):
        read_csv(path, columns=columns).to_list()
    with pytest.warns(UserWarning, match="left out 1 of 2"):
        assert list(read_csv(path, columns=columns, errors="skip")) == [{"name": 0, "n": 1}]


@pytest.mark.parametrize(
    ("row", "words"),
    [
        (b"a", r":3: expected 2 fields, as in the first line, got 1"),
        (b"a,1,2", r":3: expected 2 fields, as in the first line, got 3"),
        (b"a,b", r":3: the column 'n' should be of type int, not 'b'"),
        (b"a,", r":3: the column 'n' should be of type int, not ''"),
        (b'"a\n",b', r":3: the column 'n' should be of type int, not 'b'"),
        (b"a,1_0", r":3: the column 'n' should be of type int, not '1_0'"),
        (b"\xff,1", r":3:1: this byte is not UTF-8"),
        (b'"a,1', r":4: unexpected end of data; the row begins in line 3"),
        (b'"a"b,1', r":3: ',' expected after '\"'"),
        (b"a" * 140_000 + b",1", r":3: field larger than field limit .*csv.field_size_limit"),
    ],
)
def test_rows_that_are_wrong(tmp_path, row, words):
    path = tmp_path / "x.csv"
    path.write_bytes(b"\n".join([b"name,n", b"x,1", row, b"y,2"]))
    with pytest.raises(ar.InputError, match=words):
        read_csv(path, columns={"name": str, "n": int}).to_list()
    reader = read_csv(path, columns={"n": int, "name": str}, errors="skip")
    if any(reason in words for reason in ("begins in line", "expected after", "limit")):
        with pytest.raises(ar.InputError, match=words):  # nobody knows where the next row begins
            list(reader)
    else:
        with pytest.warns(UserWarning, match="left out 1 of 3 examples, w"):
            assert [row["n"] for row in reader] == [1, 2]
        assert re.search(words, str(reader.skipped[0])) and len(reader.skipped) == 1


def test_tables_without_their_columns(tmp_path):
    path = tmp_path / "x.csv"
    for text, words in [
        ("a,a\n", ":1: two columns have the name 'a'"),
        ("b\n", "'c'; there are 'b'"),
        ("", "are none"),
        ('a,"b\n1,2\n', ":2: unexpected end of data; the row begins in line 1"),
    ]:
        path.write_text(text)
        with pytest.raises(ar.InputError, match=words):
            read_csv(path, columns={"c": str}, errors="skip").to_list()


@pytest.mark.parametrize("wrong", [["n"], {"n": "int"}, {"n": (int, str)}, {"n": dict}])
def test_arguments_of_another_kind(wrong):
    with pytest.raises(ar.ArrowTypeError, match="read_csv: "):
        read_csv("x", columns=wrong)


READERS = (read_json_lines, read_csv, read_trees, read_conllu, read_vectors)


@pytest.mark.parametrize("read", READERS)
def test_paths_that_are_none(read):
    more = (["word"],) if read is read_vectors else ()
    for path, error in ((None, ar.ArrowTypeError), (3, ar.ArrowTypeError), ("", ar.ArrowValueError)):
        with pytest.raises(error, match=f"^{read.__name__}: "):
            read(path, *more)


bounds = st.none() | st.integers(-9, 9)


@given(
    st.lists(st.lists(st.integers(0, 9), max_size=2), max_size=7),
    st.sampled_from(["as read", "shuffled", "reversed", "shorter", "longer", "copied", "pickled"]),
    st.lists(
        st.tuples(bounds, bounds, st.none() | st.sampled_from([-2, -1, 1, 2, 3])), min_size=1, max_size=3
    ),
    st.randoms(),
)
def test_places_follow_their_examples_into_slices(rows, change, keys, rng):
    examples = FileExamples(rows, places=[f"x:{n}" for n in range(len(rows))])
    where = {id(row): f"x:{n}" for n, row in enumerate(rows)}
    match change:
        case "shuffled":
            rng.shuffle(examples)
        case "reversed":
            examples.reverse()
        case "shorter":
            del examples[:1]
        case "longer":
            examples.insert(1, [77])
    places = [where.get(id(row), "") for row in examples]
    if change in ("copied", "pickled"):
        examples = copy.deepcopy(examples) if change == "copied" else pickle.loads(pickle.dumps(examples))
    plain = list(examples)
    assert examples.places == places and copy.copy(examples).places == places
    for bounds in keys:
        key = slice(*bounds)
        examples, plain, places = examples[key], plain[key], places[key]
        assert isinstance(examples, FileExamples) and examples == plain and examples.places == places


def test_a_slice_takes_what_its_own_examples_take():
    rows = [[n] for n in range(10_000)]
    examples = FileExamples(rows, places=[f"x:{n}" for n in range(10_000)])
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


@given(st.lists(st.sampled_from([None, True, 1, ""]), max_size=9))
def test_places_of_values_that_are_one_object_on_many_lines(values):
    text = "".join(json.dumps(value) + "\n" for value in values)
    reader = read_json_lines(io.BytesIO(text.encode()))
    assert reader.to_list().places == list(reader.places) == [f"input:{n + 1}" for n in range(len(values))]


@pytest.mark.parametrize("cache", [False, True])
@pytest.mark.parametrize("listed", [False, True])
def test_errors_of_a_model_name_file_and_line(tmp_path, cache, listed):
    path = tmp_path / "numbers.jsonl"
    path.write_text('[1]\n\n[2]\n[3, "x"]\n')
    model = ar.compile(ar.Map(ar.Scalar()) >> ar.Sum() >> ar.Function(lambda x: x * x))
    examples: Any = read_json_lines(path).to_list() if listed else read_json_lines(path)
    keep = {"cache": tmp_path / "set", "data": "numbers"} if cache else {}
    with ThreadPoolExecutor(1) as executor:
        for run in (
            lambda: model.prepare(examples, **keep),
            lambda: model.prepare(examples, executor=executor, **keep),
            lambda: model(examples),
            lambda: model.value_and_grad(examples),
            lambda: ar.training.train(model, examples, ar.training.SGD(0.1), progress=False),
            lambda: model.predict(examples),
        ):
            with pytest.raises(
                ar.InputError, match=rf"^{re.escape(str(path))}:4: example 2: \[1\]: "
            ) as caught:
                run()
            assert caught.value.details.example == 2 and caught.value.details.path == "[1]"
    assert not (tmp_path / "set").exists()
    if listed:
        examples.reverse()
        for part, number in ((examples, 0), (examples[::2], 0), (examples[::-1][1:], 1)):
            with pytest.raises(ar.InputError, match=rf"^{re.escape(str(path))}:4: example {number}: \[1\]: "):
                model.prepare(part)


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


def test_a_set_of_what_a_reader_has_not_left_out(tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_text("1\n{\n3\n")
    model, reader = ar.compile(ar.Scalar()), read_json_lines(path, errors="skip")
    with pytest.warns(UserWarning, match="left out 1 of 3 examples") as warned:
        prepared = model.prepare(reader, cache=tmp_path / "set", data="x")
    assert len(warned) == 1 and model(prepared).tolist() == [1.0, 3.0] and len(reader.skipped) == 1
