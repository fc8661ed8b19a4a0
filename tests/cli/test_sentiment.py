"""`arrows train sentiment` and `arrows predict sentiment` on few trees: figures, files, resuming, errors."""

from __future__ import annotations

import io
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import arrows as ar
from arrows import cli
from arrows.cli import train_sentiment
from arrows.cli.model_files import restore_sentiment
from arrows.cli.predict import sentiment as predict_sentiment
from arrows.cli.predict.sentiment import draw, has_colours
from arrows.cli.train_sentiment import read, set_vectors
from arrows.data import format_tree, generate, parse_labelled_tree, parse_tree
from arrows.model_files import read_model_file
from arrows.models import Examination, sentiment

ROOT = Path(__file__).resolve().parents[2]
SMALL = ["--state-size", "6", "--embedding-size", "6", "--epochs", "2", "--batch-size", "8"]


@pytest.fixture
def folder(tmp_path):
    """A treebank of generated trees."""
    place = tmp_path / "trees"
    place.mkdir()
    for seed, (name, count) in enumerate({"train": 40, "dev": 15, "test": 15}.items()):
        lines = "".join(format_tree(tree) + "\n" for tree in generate(count, seed=seed, words=(1, 6)))
        (place / f"{name}.txt").write_text(lines, encoding="utf-8")
    return place


def train(folder, *more):
    return cli.main(["train", "sentiment", "--data", str(folder), *SMALL, *map(str, more)])


def arrays(path):
    return {name: array.copy() for name, array in restore_sentiment(path).params.items()}


def test_training_prints_figures_and_keeps_the_best_model(folder, tmp_path, capsys):
    path = tmp_path / "m"
    assert train(folder, "--save", path, "--epochs", "4") == 0
    out, err = capsys.readouterr()
    lines = out.splitlines()
    assert lines[0].startswith("40 trees to learn from, 15 dev, 15 test; ")
    epochs = [
        re.fullmatch(
            r"epoch (\d): loss ([\d.]+), fine ([\d.]+), binary ([\d.]+), nodes fine ([\d.]+), "
            r"nodes binary ([\d.]+), [\d,]+ trees/s(, best so far)?",
            line,
        )
        for line in lines[1:5]
    ]
    fine = [float(epoch[3]) for epoch in epochs]
    best = fine.index(max(fine))
    assert epochs[best][7] and not any(epoch[7] for epoch in epochs[best + 1 :])
    assert lines[5] == f"test, with the model of epoch {best + 1} ({path}):"
    test = Examination(restore_sentiment(path), read(folder).test)()
    assert (
        lines[6].split()
        == f"at the roots fine-grained {test['fine']:.4f}, binary {test['binary']:.4f}".split()
    )
    assert "epoch 4/4" in err
    assert sorted(os.listdir(tmp_path)) == ["m", "m.state", "m.state.1", "trees"]
    dev = Examination(restore_sentiment(path), read(folder).dev)()
    assert f"{dev['fine']:.3f}" == epochs[best][3]


def test_a_seed_fixes_the_numbers(folder, tmp_path, capsys):
    for name, seed in (("a", 3), ("b", 3), ("c", 4)):
        assert train(folder, "--seed", seed, "--save", tmp_path / name) == 0
    a, b, c = (arrays(tmp_path / name) for name in "abc")
    assert all(np.array_equal(a[name], b[name]) for name in a)
    assert not np.array_equal(a["cell/weight"], c["cell/weight"])


def test_a_run_that_was_cut_off_goes_on_to_the_same_numbers(folder, tmp_path, capsys):
    assert train(folder, "--epochs", "4", "--save", tmp_path / "whole") == 0
    whole = capsys.readouterr().out
    assert train(folder, "--epochs", "2", "--save", tmp_path / "parts", "--resume") == 0
    capsys.readouterr()
    assert train(folder, "--epochs", "4", "--save", tmp_path / "parts", "--resume") == 0
    rest = capsys.readouterr().out

    def figures(text):
        return [re.sub(r", [\d,]+ trees/s|\(.*\)", "", line) for line in text.splitlines()]

    assert figures(rest)[1:] == figures(whole)[3:]
    one, other = arrays(tmp_path / "whole"), arrays(tmp_path / "parts")
    assert all(np.array_equal(one[name], other[name]) for name in one)


@pytest.mark.skipif(os.name != "posix", reason="signals")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_run_that_is_killed_goes_on_to_the_same_numbers(folder, tmp_path, number):
    command = [sys.executable, "-m", "arrows", "train", "sentiment", "--data", str(folder), *SMALL, "--save"]
    process = subprocess.Popen(  # so many epochs that it cannot be done before the signal comes
        [*command, str(tmp_path / "cut"), "--epochs", "1000000"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    seen = ""
    for line in process.stdout:
        seen += line
        if line.startswith("epoch 3:"):
            process.send_signal(number)
            break
    out, err = process.communicate(timeout=600)
    assert process.returncode == (130 if number == signal.SIGINT else -signal.SIGKILL)
    if number == signal.SIGINT:
        assert err.splitlines()[-1].endswith("arrows train sentiment: interrupted; continue with --resume")
    epochs = str((seen + out).count("epoch ") + 4)
    for name in ("whole", "cut"):
        more = [str(tmp_path / name), "--epochs", epochs, "--resume"]
        done = subprocess.run([*command, *more], cwd=ROOT, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    one, other = arrays(tmp_path / "whole"), arrays(tmp_path / "cut")
    assert all(np.array_equal(one[name], other[name]) for name in one)


def test_another_run_is_not_resumed(folder, tmp_path, capsys):
    assert train(folder, "--save", tmp_path / "m") == 0
    before = (tmp_path / "m").read_bytes()
    for more in (["--state-size", "7"], ["--dropout", "0"], ["--seed", "1"], ["--optimizer", "sgd"]):
        capsys.readouterr()
        assert train(folder, "--save", tmp_path / "m", "--resume", *more) == 2
        assert "arrows train sentiment: " in capsys.readouterr().err
    assert (tmp_path / "m").read_bytes() == before


@pytest.mark.parametrize("optimizer", ["sgd", "adam", "adamw", "rmsprop", "adadelta"])
def test_every_optimizer_trains(optimizer, folder, tmp_path, capsys):
    assert train(folder, "--optimizer", optimizer, "--learning-rate", "0.01", "--save", tmp_path / "m") == 0


def test_embeddings_have_a_learning_rate_of_their_own(folder, tmp_path, capsys):
    assert train(folder, "--embedding-learning-rate", "0", "--save", tmp_path / "m") == 0
    data = read(folder)
    first = ar.compile(sentiment(data.numbers, size=6).learn, loss="loss", seed=0).params
    trained = arrays(tmp_path / "m")
    np.testing.assert_array_equal(trained["embed/weight"], first["embed/weight"])
    assert not np.array_equal(trained["cell/weight"], first["cell/weight"])


def test_vectors_are_where_training_begins(folder, tmp_path, capsys):
    (folder / "test.txt").write_text("(2 (2 a\\/b) (2 unseen))\n", encoding="utf-8")
    vectors = tmp_path / "v.txt"
    vectors.write_text("film 1 2 3\na/b 4 5 6\nneither 7 8 9\n", encoding="utf-8")
    options = ["--vectors", vectors, "--embedding-learning-rate", "0", "--save", tmp_path / "m"]
    options += ["--embedding-size", "3"]
    assert train(folder, *options) == 0
    assert "2 with vectors" in capsys.readouterr().out
    trained, data = arrays(tmp_path / "m")["embed/weight"], read(folder, vectors)
    assert trained.shape == (len(data.numbers) + 1, 3)
    assert trained[data.numbers["film"]].tolist() == [1, 2, 3]
    assert trained[data.numbers["a\\/b"]].tolist() == [4, 5, 6]
    assert {"unseen", "neither"}.isdisjoint(data.numbers)
    others = np.delete(trained, [data.numbers["film"], data.numbers["a\\/b"]], axis=0)
    assert 0 < abs(others).max() <= 0.05
    assert train(folder, *options, "--overwrite", "--embedding-size", "4") == 2
    assert "--embedding-size is 4, and the vectors" in capsys.readouterr().err


def test_the_values_of_words_without_vectors_depend_on_the_seed(folder, tmp_path):
    (tmp_path / "v.txt").write_text("film 1 2 3\n", encoding="utf-8")
    data = read(folder, tmp_path / "v.txt")
    tables = []
    for seed in (0, 0, 1):
        model = ar.compile(sentiment(data.numbers, size=2, embedding=3).judge)
        set_vectors(model, data, seed)
        tables.append(model.params["embed/weight"])
    assert np.array_equal(tables[0], tables[1]) and not np.array_equal(tables[0], tables[2])


@pytest.mark.parametrize(
    ("file", "content", "line"),
    [
        ("train.txt", b"(2 a)\n(3 (2 a) (7 b))\n", "train.txt:2:11: expected a label from 0 to 4, got '7'"),
        ("dev.txt", b"(2 )\n", "dev.txt:1:4: the node opened at 1:1 should hold"),
        ("test.txt", b"(2 a\xff)\n", "test.txt:1:5: this byte is not UTF-8: 0xff"),
        ("test.txt", b"\n\n", "test.txt: there are no trees in this file"),
        ("dev.txt", None, "dev.txt'"),
        ("v.txt", b"film 1 2\nthe 1\n", "v.txt:2:6: expected a word and 2 numbers"),
        ("v.txt", b"zzz 1 2\n", "of the"),
    ],
)  # fmt: skip
def test_wrong_data_is_one_line_and_writes_nothing(file, content, line, folder, tmp_path, capsys):
    if content is None:
        (folder / file).unlink()
    else:
        (folder / file).write_bytes(content)
    vectors = ["--vectors", folder / file] if file == "v.txt" else []
    assert train(folder, "--save", tmp_path / "m", *vectors) == 2
    out, err = capsys.readouterr()
    assert err.startswith("arrows train sentiment: ") and err.count("\n") == 1 and line in err
    assert not out and os.listdir(tmp_path) == ["trees"]


@pytest.mark.parametrize(
    "wrong",
    [
        ["--dropout", "1"],
        ["--learning-rate", "-1"],
        ["--l2", "nan"],
        ["--epochs", "0"],
        ["--state-size", "x"],
        ["--optimizer", "magic"],
    ],
)
def test_wrong_options_exit_with_2(wrong, folder, capsys):
    with pytest.raises(SystemExit) as caught:
        train(folder, *wrong)
    assert caught.value.code == 2
    assert wrong[0] in capsys.readouterr().err


def test_a_place_that_cannot_be_saved_to_is_known_at_once(folder, tmp_path, capsys):
    assert train(folder, "--save", tmp_path / "nowhere" / "m") == 2
    assert train(folder, "--save", tmp_path) == 2
    out, err = capsys.readouterr()
    assert "no such folder" in err and "this is a folder" in err and not out


@pytest.fixture
def model(folder, tmp_path, capsys):
    assert train(folder, "--save", tmp_path / "m") == 0
    capsys.readouterr()
    return tmp_path / "m"


def predict(*arguments):
    return cli.main(["predict", "sentiment", *map(str, arguments)])


def test_trees_of_a_file_are_classified(model, folder, capsys):
    assert predict(model, folder / "test.txt") == 0
    out, err = capsys.readouterr()
    rows = [line.split("\t") for line in out.splitlines()]
    trees = read(folder).test
    scores = restore_sentiment(model)(trees)
    assert [int(row[0]) for row in rows] == scores.argmax(axis=1).tolist()
    assert all(0.2 <= float(row[2]) <= 1 for row in rows)
    figures = Examination(restore_sentiment(model), trees)()
    assert err == f"15 trees: fine-grained {figures['fine']:.3f}, binary {figures['binary']:.3f}\n"


def test_trees_of_standard_input_need_no_labels(model, capsys, monkeypatch):
    content = "((not a\u00a0b) film)\n(2 (2 so) (2 good))\n".encode()
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(content)))
    assert predict(model) == 0
    out, err = capsys.readouterr()
    assert [line.split("\t")[3] for line in out.splitlines()] == ["not a\u00a0b film", "so good"]
    assert not err
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(b"(3 films)\n")))
    assert predict(model, "-", "--bare") == 0
    assert capsys.readouterr().out.endswith("\t3 films\n")


def test_show_draws_every_node_without_colour_outside_of_terminals(model, folder, tmp_path, capsys):
    (tmp_path / "t").write_text("(2 (2 (2 not) (2 \x1b[31mred)) (2 film))\n", encoding="utf-8")
    assert predict(model, tmp_path / "t", "--show") == 0
    lines = capsys.readouterr().out.splitlines()
    assert [len(line) - len(line.lstrip()) for line in lines[:5]] == [0, 2, 4, 4, 2]
    assert lines[3].endswith("  \\x1b[31mred") and lines[4].endswith("  film") and lines[5] == ""
    assert "\x1b" not in "".join(lines)


def test_colours():
    terminal = SimpleNamespace(isatty=lambda: True)
    assert has_colours(terminal, {"TERM": "xterm"}) and has_colours(terminal, {"NO_COLOR": ""})
    assert not has_colours(terminal, {"NO_COLOR": "1"}) and not has_colours(terminal, {"TERM": "dumb"})
    assert not has_colours(io.StringIO(), {})
    scores = np.eye(5)[[4, 0, 2]] * 9
    lines = list(draw(parse_labelled_tree("(2 (2 a) (2 b))"), scores, colours=True))
    assert [re.findall(r"\x1b\[([\d;]*)m", line) for line in lines] == [
        ["2", "0"],
        ["1;32", "0"],
        ["1;31", "0"],
    ]


def test_deep_trees_are_drawn_in_lines_of_bounded_length():
    depth = 3000
    tree = parse_tree("(a " * depth + "b" + ")" * depth)
    lines = list(draw(tree, np.zeros((2 * depth + 1, 5))))
    assert len(lines) == 2 * depth + 1 and max(map(len, lines)) < 200
    assert lines[-1].lstrip().startswith(f"[{depth}] ")


@pytest.mark.parametrize(
    ("content", "line"),
    [
        (b"(2 a)\n(9 b)\n", "t:2:2: expected a label from 0 to 4, got '9'"),
        (b"(good film\n", "t:1:11: the text ends, but the bracket opened at 1:1 is not closed"),
        (b"caf\xe9\n", "t:1:4: this byte is not UTF-8: 0xe9"),
    ],
)
def test_trees_that_are_none_are_one_line(content, line, model, tmp_path, capsys):
    (tmp_path / "t").write_bytes(content)
    assert predict(model, tmp_path / "t") == 2
    out, err = capsys.readouterr()
    assert not out and err.startswith("arrows predict sentiment: ") and err.endswith(f"{line}\n")


def test_a_file_that_is_no_model(tmp_path, model, capsys):
    (tmp_path / "t").write_text("(2 a)\n", encoding="utf-8")
    ar_state = model.with_name("m.state")
    for wrong in (tmp_path / "t", ar_state, tmp_path / "nowhere"):
        assert predict(wrong, tmp_path / "t") == 2
        assert capsys.readouterr().err.count("\n") == 1
    assert read_model_file(model).builder == "arrows.models.sentiment:sentiment"


def test_the_commands_have_help():
    for module in (train_sentiment, predict_sentiment):
        assert module.DESCRIPTION
    with pytest.raises(SystemExit) as caught:
        cli.main(["train", "sentiment", "--help"])
    assert caught.value.code == 0


def test_evaluations_within_an_epoch_and_a_log(folder, tmp_path, capsys):
    log, more = tmp_path / "log.jsonl", ["--batch-size", 10, "--epochs", 9, "--patience", 3]
    assert train(folder, "--save", tmp_path / "m", "--log", log, "--evaluate-every", 2, *more) == 0
    out = capsys.readouterr().out
    assert "\n  step 2: fine 0." in out and ", best so far\n" in out
    assert re.search(r"test, with the model of epoch \d, step \d+ ", out)
    steps = [json.loads(line)["step"] for line in log.read_text(encoding="utf-8").splitlines()]
    assert steps == sorted(steps) and steps[-1] < 36  # four steps an epoch: it stopped early


@pytest.mark.parametrize("count", [1, 3])
def test_so_many_states_are_kept(folder, tmp_path, count):
    assert train(folder, "--save", tmp_path / "m", "--epochs", 2, "--keep-last", count) == 0
    kept = {"m", "m.state", *(f"m.state.{number}" for number in range(1, count))}
    assert {path.name for path in tmp_path.iterdir()} - {folder.name} == kept


def test_a_learning_rate_to_begin_with(folder, tmp_path, capsys):
    assert train(folder, "--save", tmp_path / "m", "--find-rate") == 0
    assert re.search(
        r"a learning rate to begin with: [\d.e-]+, where the loss falls fastest in \d+ steps",
        capsys.readouterr().out,
    )
    assert not (tmp_path / "m").exists()


def test_steps_on_several_batches_are_those_on_one_large_batch(folder, tmp_path):
    assert train(folder, "--save", tmp_path / "whole") == 0
    assert (
        train(folder, "--save", tmp_path / "parts", "--batch-size", 4, "--accumulate", 2, "--plateau", 9) == 0
    )
    parts = arrays(tmp_path / "parts")
    for name, values in arrays(tmp_path / "whole").items():
        np.testing.assert_allclose(parts[name], values, rtol=1e-3, atol=1e-4, err_msg=name)


def test_numbers_for_tensorboard(folder, tmp_path):
    pytest.importorskip("tensorboardX")
    assert train(folder, "--save", tmp_path / "m", "--tensorboard", tmp_path / "runs") == 0
    (events,) = (tmp_path / "runs").iterdir()
    assert b"evaluation/fine" in events.read_bytes()


def test_numbers_for_weights_and_biases(folder, tmp_path, monkeypatch):
    logged: list[tuple[int, dict[str, float]]] = []

    class Run:
        def __enter__(self):
            return self

        def __exit__(self, *error):
            logged.append((-1, {}))

        def log(self, data, step=None):
            logged.append((step, data))

    def init(project, config):
        assert project == "trees" and config["batch_size"] == 8 and "work" not in config
        return Run()

    monkeypatch.setitem(sys.modules, "wandb", SimpleNamespace(init=init))
    assert train(folder, "--save", tmp_path / "m", "--wandb", "trees") == 0
    assert any("evaluation/fine" in data for _, data in logged) and logged[-1] == (-1, {})


@pytest.mark.parametrize(
    ("option", "module", "extra"),
    [
        ("--plot", "matplotlib.figure", "plot"),
        ("--tensorboard", "tensorboardX", "tensorboard"),
        ("--wandb", "wandb", "wandb"),
    ],
)
def test_a_missing_package_is_named(folder, tmp_path, monkeypatch, capsys, option, module, extra):
    monkeypatch.setitem(sys.modules, module, None)
    assert train(folder, "--save", tmp_path / "m", option, tmp_path / "x.png") == 2
    err = capsys.readouterr().err
    assert err.startswith("arrows train sentiment: ") and err.endswith(f"pip install 'arrows[{extra}]'\n"), (
        err
    )
