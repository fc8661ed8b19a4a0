"""`arrows fit`: a model from a raw file in one command, its report, and what it refuses."""

from __future__ import annotations

import csv
import gzip
import html.parser
import json
import random
import re
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, strategies as st
from safetensors.numpy import load_file

import arrows as ar
from arrows import cli
from arrows.cli.fit.examples import Example, folds_of
from arrows.cli.fit.leakage import revealing_fields
from arrows.cli.fit.report import class_tables, figure_table, miss_table
from arrows.cli.fit.task import Classes, Quantity, Result
from arrows.cli.fit.training import best_epoch
from tests.cli.kit import outcome


def threads(count, seed=0):
    """Posts with answers; whether a post is disputed depends on its answers alone, however deep they lie."""
    draw = random.Random(seed)

    def answers(depth):
        return [
            {
                "by": draw.choice("abc"),
                "mood": draw.choice(["good", "good", "bad"]),
                "answers": answers(depth - 1),
            }
            for _ in range(draw.choice([0, 1, 2]) if depth else 0)
        ]

    def bad(post):
        return sum((answer["mood"] == "bad") + bad(answer) for answer in post["answers"])

    posts = [{"id": n, "title": draw.choice(["so", "it goes"]), "answers": answers(3)} for n in range(count)]
    return [post | {"disputed": "yes" if bad(post) else "no", "bad": bad(post) + 0.5} for post in posts]


def written(path, documents):
    path.write_text("".join(json.dumps(document) + "\n" for document in documents), encoding="utf-8")
    return path


def fit(capsys, *arguments):
    status, out, err = outcome(capsys, "fit", *map(str, arguments))
    assert status == 0, err
    return out


def assert_same_run(left, right):
    """Two folders hold the same: all bytes, and of the model all numbers."""
    for name in ("report.html", "history.json", "block.py"):
        assert (left / name).read_bytes() == (right / name).read_bytes()
    models = [load_file(folder / "model.safetensors") for folder in (left, right)]
    assert models[0].keys() == models[1].keys()
    assert all(np.array_equal(models[0][name], models[1][name]) for name in models[0])


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    """A folder with a fitted classifier, and the file of its examples."""
    folder = tmp_path_factory.mktemp("fit")
    path = written(folder / "threads.jsonl", threads(500))
    options = ["--label", "disputed", "--ignore", "bad", "--width", "12", "--epochs", "12", "--dropout", "0"]
    assert cli.main(["fit", str(path), *options, "--learning-rate", "0.01"]) == 0
    return folder


def test_a_label_that_lies_deep_in_documents_is_learnt(fitted, capsys, tmp_path):
    folder = fitted / "threads.fit"
    names = {"model.safetensors", "block.py", "history.json", "report.html"}
    assert names <= {path.name for path in folder.iterdir()}
    history = json.loads((folder / "history.json").read_text())
    assert max(evaluation["figures"]["accuracy"] for evaluation in history["evaluations"]) > 0.85

    strange = [{"answers": [{"mood": "ugly", "new": 1}]}, {}, threads(1, seed=9)[0]]
    table = tmp_path / "new.csv"
    table.write_text("answers\n\n1\n")
    status, _, err = outcome(capsys, "predict", str(folder / "model.safetensors"), str(table))
    assert status == 2 and "was not fitted to a table" in err
    fresh = threads(100, seed=5)
    path = written(tmp_path / "new.jsonl", [*strange, *fresh])
    status, out, err = outcome(capsys, "predict", str(folder / "model.safetensors"), str(path))
    assert status == 0, err
    rows = [json.loads(line) for line in out.splitlines()]
    assert all(set(row) == {"yes", "no"} and abs(sum(row.values()) - 1) < 1e-5 for row in rows)
    right = [max(row, key=row.get) == post["disputed"] for row, post in zip(rows[3:], fresh, strict=True)]
    share = np.mean([post["disputed"] == "yes" for post in fresh])
    assert np.mean(right) > max(share, 1 - share) + 0.15

    names = {}
    exec(compile((folder / "block.py").read_text(), "block.py", "exec"), names)
    assert str(ar.infer(names["document"]).output) == "float32[52]", "--width, and the vectors of the fields"


@pytest.mark.parametrize("how", [["--test", "0"], ["--folds", "2"]])
def test_the_report_says_which_field_matters(tmp_path, capsys, how):
    rows = [{"says": "ab"[n % 2], "not": n % 7, "in": {"half": n % 4}, "y": "pq"[n % 2]} for n in range(90)]
    options = ["--ignore", "in", "--epochs", "20", "--learning-rate", "0.02", "--width", "4", *how]
    out = fit(capsys, written(tmp_path / "rows.jsonl", rows), "--label", "y", *options)
    table = re.search(r"\nWhich fields matter: the loss, ([\d.]+), when .*:\n(.*\n)(.*\n)(.*)\n", out)
    first, second = (row.split() for row in table.groups()[2:])
    assert first[0] == "says" and float(first[1]) > 2 * float(table[1]) and first[2] == "█" * 40
    assert second[0] == "not" and float(second[1]) < 1.5 * float(table[1])
    page = (tmp_path / "rows.fit" / "report.html").read_text(encoding="utf-8")
    assert f"<td>{'█' * 40}</td>" in page


def test_the_report_is_whole_and_safe(tmp_path, capsys):
    nasty = "<script>alert(1)</script>\x1b[31m & \"'"
    posts = [
        {"text": f"{nasty} {n}" if n % 3 else "fine", "class": nasty if n % 3 and n % 5 else "b", "v": n % 7}
        for n in range(120)
    ]
    path = written(tmp_path / "posts.jsonl", posts)
    out = fit(capsys, path, "--label", "class", "--epochs", 2, "--width", 4)
    assert "\x1b" not in out and "baseline" in out and "The most wrong examples" in out
    assert re.search(r"posts.jsonl:\d+ ", out) and re.search(r"class +left out +the label", out)
    page = (tmp_path / "posts.fit" / "report.html").read_text(encoding="utf-8")
    assert "\x1b" not in page and "<script" not in page and "http" not in page and str(tmp_path) not in page
    assert "&lt;script&gt;" in page and "<svg" in page

    unclosed = []
    checker = html.parser.HTMLParser()
    checker.handle_starttag = lambda tag, attributes: unclosed.append(tag) if tag != "meta" else None
    checker.handle_endtag = lambda tag: unclosed.remove(tag)
    checker.feed(page)
    assert not unclosed

    fit(capsys, path, "--label", "class", "--epochs", 2, "--width", 4, "--output", tmp_path / "again")
    assert_same_run(tmp_path / "again", tmp_path / "posts.fit")


def test_a_table_of_semicolons_is_read_and_what_it_lacks_is_said(tmp_path, capsys):
    draw = random.Random(1)
    path = tmp_path / "table.csv.gz"
    with gzip.open(path, "wt", newline="") as file:
        table = csv.writer(file, delimiter=";")
        table.writerow(["colour", "x, 1", "code", "age", "comma", "always", "y"])
        for n in range(300):
            colour, x, code = draw.choice(["red", "blue"]), draw.random(), draw.choice(["007", "010", ""])
            age = ["NA", "null", ""][n % 3] if n % 10 == 0 else n
            y = 3 * x + (10 if colour == "red" else 0)
            table.writerow([colour, x, code, age, f"{n},5", "here", y])
    options = ["--epochs", 15, "--learning-rate", 0.02, "--dropout", 0, "--width", 8]
    out = fit(capsys, path, "--label", "y", *options)
    assert "'y' is a number" in out and "root mean squared error" in out
    assert "note: the column 'age' has 30 missing values, written '' and 'NA' and 'null'" in out
    assert re.search(r"age +number +\d+ numbers from .*; \d+ null", out) and re.search(r"x, 1 +number", out)
    assert "warning: the column 'comma' holds 300 numbers, and is read as text because of '0,5' in" in out
    assert re.search(r"code +category .*null", out)
    assert re.search(r"always +left out +always 'here'", out)
    assert "30 missing values" in (tmp_path / "table.fit" / "report.html").read_text(encoding="utf-8")
    figures = json.loads((tmp_path / "table.fit" / "history.json").read_text())["evaluations"]
    assert max(one["figures"]["R squared"] for one in figures) > 0.9
    row = written(tmp_path / "new.jsonl", [{"colour": "red", "x, 1": 0.5, "code": None}])
    model = tmp_path / "table.fit" / "model.safetensors"
    status, predicted, err = outcome(capsys, "predict", str(model), str(row))
    assert status == 0, err
    assert abs(json.loads(predicted)["y"] - 11.5) < 2


def test_a_model_of_a_table_predicts_tables(tmp_path, capsys):
    """Columns are read as when the model was fitted, whatever they look like in the new table."""

    def table(name, rows, header=("code", "x", "ok", "id", "y")):
        path = tmp_path / name
        path.write_text("".join(",".join(map(str, row)) + "\n" for row in [header, *rows]))
        return path

    codes = ["007", "12", "x"]
    rows = [(codes[n % 3], n / 4, "true" if n % 2 else "", n + 1000, n % 3) for n in range(90)]
    path = table("data.csv", rows)
    other = table("other.csv", [("12", 3, "false", 5, 1), ("13", "", "", "", 0)])
    fit(
        capsys, path, "--label", "y", "--validation", other, "--ignore", "id", "--epochs", 30, "--width", 8,
        "--learning-rate", 0.02, "--dropout", 0,
    )  # fmt: skip
    model = str(tmp_path / "data.fit" / "model.safetensors")
    new = table("new.tsv", [["12\t3\ttrue"], ["14\t\t"]], header=["code\tx\tok"])
    status, out, err = outcome(capsys, "predict", model, str(new))
    assert status == 0, err
    predicted = [json.loads(line) for line in out.splitlines()]
    assert len(predicted) == 2 and max(predicted[0], key=predicted[0].get) == "1"

    wrong = table(
        "wrong.csv",
        [("12", "many", ""), ("12", 3, ""), ("12", 3, "perhaps"), ("12", 3)],
        header=("code", "x", "ok"),
    )
    status, _, err = outcome(capsys, "predict", model, str(wrong))
    assert status == 2 and "wrong.csv:2: the column 'x': expected a number, not 'many'" in err
    status, out, err = outcome(capsys, "predict", model, str(wrong), "--errors", "skip")
    assert status == 0 and len(out.splitlines()) == 1
    assert "the column 'ok': expected true or false, not 'perhaps'" in err and "4 examples: 3 skipped" in err
    fewer = table("fewer.csv", [("12", 3)], header=("code", "x"))
    status, _, err = outcome(capsys, "predict", model, str(fewer))
    assert status == 2 and "fewer.csv:1: no column has the name 'ok'; there are 'code', 'x'" in err


@pytest.mark.parametrize(
    ("labels", "options", "words"),
    [
        ([n % 4 for n in range(60)], [], "one of 4 classes (0, 1, 2, 3)"),
        ([n % 4 for n in range(60)], ["--task", "number"], "a number"),
        ([*range(60)], [], "a number"),
        ([n % 3 > 1 for n in range(60)], [], "one of 2 classes (false, true)"),
        ([[1, "one"][n % 2] for n in range(60)], ["--task", "classes"], "one of 2 classes (1, one)"),
    ],
)
def test_the_label_says_what_the_task_is(tmp_path, capsys, labels, options, words):
    path = written(tmp_path / "data.jsonl", [{"x": n, "deep": {"y": y}} for n, y in enumerate(labels)])
    out = fit(capsys, path, "--label", "deep.y", *options, "--epochs", 1, "--width", 2)
    assert f"'deep.y' is {words}" in out
    assert re.search(r"deep +left out", out), "the label is no input"


def test_equal_labels_to_validate_by_and_small_numbers(tmp_path, capsys):
    path = written(tmp_path / "data.jsonl", [{"y": n % 7 * 1e-7, "x": n} for n in range(30)])
    other = written(tmp_path / "one.jsonl", [{"y": 2e-7, "x": 77}])
    out = fit(capsys, path, "--label", "y", "--validation", other, "--test", 0, "--epochs", 2, "--width", 2)
    assert "warning: on the validation examples the model is not better than the best guess" in out
    assert re.search(r"epoch 2: loss .*root mean squared error [0-9.]+e-07", out)
    assert (tmp_path / "data.fit" / "model.safetensors").exists()


def test_figures_that_are_no_numbers_keep_no_model(tmp_path, capsys, monkeypatch):
    figures = Quantity.figures
    monkeypatch.setattr(
        Quantity, "figures", lambda *arguments: figures(*arguments) | {"R squared": float("nan")}
    )
    path = written(tmp_path / "data.jsonl", [{"y": n / 2, "x": n} for n in range(60)])
    status, _, err = outcome(capsys, "fit", str(path), "--label", "y", "--epochs", "1", "--width", "2")
    assert status == 1 and "R squared was no number in any evaluation; no model has been kept" in err
    assert not (tmp_path / "data.fit" / "model.safetensors").exists()


def test_a_field_that_says_the_label_is_named(tmp_path, capsys):
    posts = [post | {"flag": post["disputed"] == "yes"} for post in threads(60)]
    path = written(tmp_path / "data.jsonl", posts)
    out = fit(capsys, path, "--label", "disputed", "--epochs", 1, "--width", 2)
    assert "warning: the field 'flag' says what the label is" in out and "--ignore flag" in out
    page = (tmp_path / "data.fit" / "report.html").read_text(encoding="utf-8")
    assert "warning: the field" in page
    options = ["--label", "disputed", "--epochs", 1, "--width", 2, "--overwrite", "--ignore", "flag"]
    assert "'flag' says" not in fit(capsys, path, *options)


LEAKS = {
    "a flag": lambda y, draw: "xyz"["pqr".index(y)],
    "a text deep in objects": lambda y, draw: {
        "deep.er": {"n": draw.random(), "group": f"{y}{draw.choice('ab')}"}
    },
    "the label among others": lambda y, draw: draw.sample(["a", "b", "c", y], 4),
    "one-hot among noise": lambda y, draw: [
        draw.random(),
        *[int(y == z) for z in "pqr"],
        draw.choice([0, 1]),
    ],
    "a length": lambda y, draw: [draw.random() for _ in range(1 + "pqr".index(y))],
    "whether it is there": lambda y, draw: None if y == "p" else [draw.random()] * "pqr".index(y),
}
HARMLESS = {
    "an id": lambda y, draw: f"id-{draw.random()}",
    "noise": lambda y, draw: [draw.random() for _ in range(3)],
    "names": lambda y, draw: [draw.choice("abc") for _ in range(draw.randint(0, 4))],
    "labels": lambda y, draw: [draw.choice("pqr") for _ in range(2)],
    "objects": lambda y, draw: [{"y": draw.choice("pqr")} for _ in range(draw.randint(0, 2))],
}


@pytest.mark.parametrize("number", [False, True], ids=["classes", "number"])
@pytest.mark.parametrize("leak", [*LEAKS])
def test_leaks_inside_arrays_are_named(leak, number):
    draw = random.Random(1)
    labels = [draw.choice("pqr") for _ in range(150)]
    documents = [{"x": draw.random(), "y": y, "c": LEAKS[leak](y, draw)} for y in labels]
    if number:  # the same labels as numbers; their names in the documents say them still
        documents = [document | {"y": float(ord(document["y"]))} for document in documents]
    found = revealing_fields([Example.of(document, ["y"], "") for document in documents], "y")
    names = not number or "among others" not in leak
    assert bool(found) == names and all(path.startswith("c") for path in found), found


@pytest.mark.parametrize("shape", [*HARMLESS])
def test_arrays_that_do_not_say_the_label_are_not_named(shape):
    for seed in range(10):
        draw = random.Random(seed)
        labels = [draw.choice("pqr") for _ in range(150)]
        examples = [
            Example.of({"x": draw.random(), "y": y, "c": HARMLESS[shape](y, draw)}, ["y"], "") for y in labels
        ]
        assert revealing_fields(examples, "y") == []


def test_a_number_in_an_array_that_is_the_label_in_other_units_is_named():
    documents = [{"y": n * n * 0.5, "c": [n % 7, 3.0 * n * n - 1], "d": [n] * 2} for n in range(60)]
    assert revealing_fields([Example.of(document, ["y"], "") for document in documents], "y") == ["c"]


@pytest.mark.parametrize("power", [-300, -160, 0, 160, 300])
def test_fields_of_any_magnitude_that_say_the_label_are_seen(power):
    big, near = 10**400, 1e16
    documents = [
        {
            "y": n * n * 1.5,
            "z": n * n * 10.0**power,
            "x": n * 10.0**power,
            "big": big + n,
            "near": near + n % 3,
        }
        for n in range(50)
    ]
    assert revealing_fields([Example.of(document, ["y"], "") for document in documents], "y") == ["z"]
    nested = [{"a": {"y": n % 2, "b": n % 2}} for n in range(50)]
    assert revealing_fields([Example.of(document, ["a", "y"], "") for document in nested], "a.y") == ["a.b"]
    places = [{"y": n % 3 == 0, "at": None if n % 3 else f"line {n}"} for n in range(50)]
    assert revealing_fields([Example.of(document, ["y"], "") for document in places], "y") == ["at"]
    assert revealing_fields([], "y") == []


def test_a_run_goes_on_to_the_same_model(tmp_path, capsys):
    path = written(tmp_path / "data.jsonl", threads(80))
    options = ["--label", "disputed", "--ignore", "bad", "--width", 3, "--patience", 50]
    fit(capsys, path, *options, "--epochs", 4, "--output", tmp_path / "whole")
    fit(capsys, path, *options, "--epochs", 2, "--output", tmp_path / "parts")
    fit(capsys, path, *options, "--epochs", 4, "--output", tmp_path / "parts", "--resume")
    assert_same_run(tmp_path / "parts", tmp_path / "whole")
    wider = ["fit", str(path), *map(str, options), "--width", "4", "--output", str(tmp_path / "parts")]
    status, _, err = outcome(capsys, *wider, "--resume")
    assert status == 2 and "does not fit" in err


def lines(label, count=50):
    """Lines of documents with a label of each number."""
    return "".join(json.dumps({"y": label(n), "x": n, "nothing": None}) + "\n" for n in range(count))


TWO = lines(lambda n: n % 2)
MISTAKES = [
    (json.dumps(dict.fromkeys(map("{:040}".format, range(9)))), "", "data.jsonl:1: the label 'y' .* '0+8'$"),
    ('{"y": 1}\n{"y": null}\n', "", "data.jsonl:2: the label 'y' is null; .* --skip"),
    (
        '{"y": [1]}\n',
        "",
        "data.jsonl:1: the label 'y' is array; it should be a text, a number or a truth value",
    ),
    ('[{"y": 1}]\n', "", "got array; each line is a document of its own"),
    ('[\n {"y": 1},\n {"y": 2}\n]\n', "", "data.jsonl:1:.*of one array, `jq -c"),
    ("", "", "data.jsonl: there are no examples"),
    (lines(lambda n: n % 2, 5), "", "of 5 examples, [0-5] are to learn from"),
    ('{"x": 1, "y": "a"}\n{"x": 1, "y": "b"}\n' * 50, "", "only 1 differ in more than"),
    (lines(lambda n: "a"), "", "the same in all 50 examples: 'a'"),
    (lines(lambda n: [1, "a"][n % 2]), "", "a number in .*data.jsonl:.* and a text in .*data.jsonl:"),
    (lines(lambda n: str(n % 3)), "--task number", "--task number, and the label 'y' is a text"),
    (lines(str), "", "50 different values in 50 examples, too many"),
    (TWO, "--ignore x", "nothing can be read in"),
    (TWO + '{"y": 1, "x": 1e400}\n', "", "data.jsonl:51: a number is too large for float64"),
    ('{"y": 1}\n', "--test 0.95", "leave nothing to learn from"),
]


@pytest.mark.parametrize(("text", "options", "message"), MISTAKES, ids=[each[2] for each in MISTAKES])
def test_mistakes_are_named_with_their_line_and_write_nothing(tmp_path, capsys, text, options, message):
    path = tmp_path / "data.jsonl"
    path.write_text(text)
    status, _, err = outcome(capsys, "fit", str(path), "--label", "y", *options.split())
    assert status == 2 and re.search(message, err), err
    assert not (tmp_path / "data.fit").exists()


def test_lines_with_errors_can_be_left_out(tmp_path, capsys):
    path = written(tmp_path / "data.jsonl", threads(60))
    with path.open("a") as file:
        file.write('{"disputed": null}\n{"a": 1}\n{"disputed"\n')
    out = fit(capsys, path, "--label", "disputed", "--skip-errors", "--epochs", 1, "--width", 2)
    assert f"left out lines that cannot be read: 1; the first: {path}:63:12: this is no JSON" in out
    assert f"left out lines without a label: 2; the first: {path}:61: the label" in out
    assert "60 examples" in out


def test_documents_unlike_those_to_learn_from_are_named_by_their_line(tmp_path, capsys):
    path = written(tmp_path / "data.jsonl", [{"y": n % 2, "x": n} for n in range(60)])
    other = written(tmp_path / "other.jsonl", [{"y": 0, "x": 5}, {"y": 1, "x": "five"}, {"y": 1, "x": 7}])
    for part in ("test", "validation"):
        options = [str(path), "--label", "y", f"--{part}", str(other), "--epochs", "1", "--width", "2"]
        status, _, err = outcome(capsys, "fit", *options)
        assert status == 2 and re.search(r"other.jsonl:2: .*x.* expected a number, got 'five'", err), err
        assert not (tmp_path / "data.fit").exists(), "the file is read before anything is written"
    out = fit(capsys, *options, "--skip-errors")
    assert "unlike those to learn from: 1; the first: " in out and "2 to validate by" in out


documents = st.lists(
    st.tuples(st.integers(0, 30), st.sampled_from(["p", "p", "p", "q"])), min_size=6, max_size=60
)


@given(documents, st.integers(2, 5), st.integers(0, 3), st.randoms())
def test_folds_are_a_partition_whatever_the_order(rows, count, seed, rng):
    examples = [Example.of({"n": n, "y": y}, ["y"], f"x:{place}") for place, (n, y) in enumerate(rows)]
    different = len({example.digest for example in examples})
    if different < count:
        with pytest.raises(ar.InputError, match=f"--folds {count}: there are {different} different"):
            folds_of(examples, count, seed)
        return
    folds = folds_of(examples, count, seed)
    assert len(folds) == count and all(folds)
    assert sorted(example.place for fold in folds for example in fold) == sorted(e.place for e in examples)
    digests = [{example.digest for example in fold} for fold in folds]
    assert sum(map(len, digests)) == different  # equal documents are in one fold
    sizes = [*map(len, digests)]
    assert max(sizes) - min(sizes) <= 1
    if different == len(examples):
        for name in "pq":  # each class is spread evenly
            each = [sum(example.label == name for example in fold) for fold in folds]
            assert max(each) - min(each) <= 1
        mixed = folds_of(rng.sample(examples, len(examples)), count, seed)
        assert [{e.place for e in fold} for fold in mixed] == [{e.place for e in fold} for fold in folds]


@pytest.mark.nightly
def test_folds_measure_by_all_examples_and_the_model_learns_from_all(tmp_path, capsys):
    path = written(tmp_path / "data.jsonl", threads(160))
    options = ["--label", "disputed", "--ignore", "bad", "--width", 6, "--epochs", 4, "--dropout", 0]
    options += ["--learning-rate", 0.005, "--folds", 4]
    out = fit(capsys, path, *options)
    assert (
        "160 to learn from, in folds, 0 to test by" in out
        and len(re.findall(r"^fold \d: 120 exa", out, re.MULTILINE)) == 4
    )
    found = re.search(r"cross-validation accuracy +([0-9.]+) ± ([0-9.]+) +([0-9.]+)", out)
    accuracy, spread, baseline = map(float, found.groups())
    assert accuracy > baseline + 0.1 and 0 < spread < 0.5

    folder = tmp_path / "data.fit"
    history = json.loads((folder / "history.json").read_text())
    chosen = len(history["epochs"])
    assert len(history["folds"]) == 4 and f"best after {chosen} epochs, on average" in out
    curves = [[e["figures"]["log-likelihood"] for e in fold["evaluations"]] for fold in history["folds"]]
    assert chosen == best_epoch(curves)
    at = [
        fold["evaluations"][min(chosen, len(fold["evaluations"])) - 1]["figures"] for fold in history["folds"]
    ]
    values = [figures["accuracy"] for figures in at]
    assert (
        abs(np.mean(values) - accuracy) < 1e-3 and abs(np.std(values, ddof=1) - spread) < 0.05 * spread + 1e-3
    )

    # The figures of the table of classes are those of all examples, each once.
    table = re.findall(r"^  (?:no|yes) +[0-9.]+ +[0-9.]+ +[0-9.]+ +(\d+)$", out, re.MULTILINE)
    assert sum(map(int, table)) == 160
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert " ± " in page and "160 train" in page
    fit(capsys, path, *options, "--output", tmp_path / "again")
    assert_same_run(tmp_path / "again", folder)


@pytest.mark.parametrize("option", ["--validation 0.2", "--resume"])
def test_folds_refuse_what_they_decide(tmp_path, capsys, option):
    path = written(tmp_path / "data.jsonl", threads(60))
    command = ["fit", str(path), "--label", "disputed", "--folds", "3", *option.split()]
    status, _, err = outcome(capsys, *command)
    assert status == 2 and f"--folds and {option.split()[0]} do not go together" in err
    assert not (tmp_path / "data.fit").exists()


def test_few_examples_to_validate_are_said_and_choose_by_the_loss(tmp_path, capsys):
    few = written(tmp_path / "few.jsonl", threads(90))
    arguments = ["--label", "disputed", "--ignore", "bad", "--epochs", 1, "--width", 2]
    out = fit(capsys, few, *arguments)
    counts = re.search(r"(\d+) to validate by, (\d+) to test by", out).groups()
    for count, use in zip(counts, ("validate", "test"), strict=True):
        assert (
            f"warning: only {count} examples to {use} by, and a figure of so few is off by much; --folds 5"
            in out
        )
    assert "the best epoch is that of the best log-likelihood" in out
    page = (tmp_path / "few.fit" / "report.html").read_text(encoding="utf-8")
    assert "--folds 5" in page and "log-likelihood" in page
    many = written(tmp_path / "many.jsonl", threads(220, seed=1))
    out = fit(capsys, few, *arguments, "--validation", many, "--test", many, "--overwrite")
    assert "warning: only" not in out and "the best epoch is that of the best accuracy" in out


@given(st.lists(st.sampled_from("pqr"), min_size=1, max_size=20), st.randoms())
def test_the_log_likelihood_is_its_definition(labels, rng):
    task = Classes(("p", "q", "r"), (0.5, 0.25, 0.25))
    examples = [Example.of({"n": n, "y": y}, ["y"], "") for n, y in enumerate(labels)]
    scores = np.array([[rng.uniform(-80, 80) for _ in range(3)] for _ in labels], np.float32)
    powers = np.exp(scores.astype(np.longdouble))
    shares = powers / powers.sum(axis=1, keepdims=True)
    expected = np.mean([np.log(shares[n, "pqr".index(y)]) for n, y in enumerate(labels)])
    assert np.isclose(task.figures(scores, examples)["log-likelihood"], float(expected), rtol=1e-5)
    guess = np.mean([np.log(task.shares["pqr".index(y)]) for y in labels])
    assert np.isclose(task.figures(task.guess(len(labels)), examples)["log-likelihood"], guess)


@given(st.integers(2, 25), st.integers(1, 60), st.integers(0, 2**32 - 1))
def test_tables_of_classes_are_their_definitions(classes, count, seed):
    draw = np.random.default_rng(seed)
    names = tuple(f"c{n:02}" for n in range(classes))
    task = Classes(names, (1 / classes,) * classes)
    labels, scores = draw.integers(classes, size=count), draw.normal(size=(count, classes))
    examples = [Example.of({"n": n, "y": names[y]}, ["y"], f"f:{n:03}") for n, y in enumerate(labels)]
    measured = replace(Result.of(task, examples, scores), spread={"accuracy": 0.25})
    predicted = scores.argmax(axis=1)
    table = figure_table({"test": measured})
    accuracy = f"{np.mean(predicted == labels):.4g} ± 0.25"
    assert table.rows[1] == ("test accuracy", accuracy, f"{measured.baseline['accuracy']:.4g}")

    by_class, *others = class_tables(task, "test", measured)
    for name, precision, recall, _, size in by_class.rows[1:]:
        here = labels == names.index(name)
        hits, taken = np.sum(here & (predicted == names.index(name))), np.sum(predicted == names.index(name))
        assert int(size) == here.sum()
        assert precision == (f"{hits / taken:.3f}" if taken else "-")
        assert recall == (f"{hits / here.sum():.3f}" if here.any() else "-")
    pairs = Counter((names[y], names[z]) for y, z in zip(labels, predicted, strict=True))
    (name, *row) = others[0].rows[1]
    assert [*map(int, row)] == [pairs[name, other] for other in names]
    if len(others) > 1:
        worst = max((count for (left, right), count in pairs.items() if left != right), default=0)
        assert not worst or int(others[1].rows[1][2]) == worst

    misses = miss_table(task, "test", measured).rows[1:]
    assert len(misses) == min(20, np.sum(predicted != labels))
    shares = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    rights = []
    for place, label, wrong, share, text in misses:
        n = int(place.removeprefix("f:"))
        assert (label, wrong, text) == (names[labels[n]], names[predicted[n]], f'{{"n": {n}}}')
        assert share == f"{shares[n, predicted[n]]:.3g}"
        rights.append(shares[n, labels[n]])
    assert rights == sorted(rights)


def test_options_are_checked(capsys):
    with pytest.raises(SystemExit):
        cli.main(["fit", "x.jsonl", "--label", "y", "--kind", "category"])
    assert "expected PATH=KIND" in capsys.readouterr().err
