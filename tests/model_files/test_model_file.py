"""Models that are saved and built again: in another process, by a function, by a trusted name."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import arrows as ar
from arrows.model_file import read_model_file
from arrows.storage import read_arrays, write_arrays
from arrows.training import Adam, load, read_metadata, save, save_state
from arrows.training.saving import MODEL
from tests.model_files import builders_of_tests as builders

WORDS = ar.Vocabulary(["good", "bad", "film"])
BATCH = [["good", "film"], ["bad", "unheard"], ["film"]]
MINE = "tests.model_files"


@pytest.fixture
def saved(tmp_path: Path) -> tuple[ar.Model, Path]:
    model = ar.compile(builders.scorer(WORDS, ["up", "down"], size=3), seed=5)
    ar.save_model(model, tmp_path / "m", metadata={"by": "us"})
    return model, tmp_path / "m"


def rewritten(path: Path, **changes: Any) -> Path:
    """The file with other fields in what it says of its model, its checksums right."""
    arrays, texts = read_arrays(path)
    fields = json.loads(texts[MODEL]) | changes
    write_arrays(path, arrays, texts | {MODEL: json.dumps(fields)})
    return path


def test_a_model_comes_back_bit_for_bit(saved):
    model, path = saved
    for again in (
        ar.load_model(path, builder=builders.scorer),
        ar.load_model(path, trust=[MINE]),
        ar.load_model(path, trust=["tests"]),
        ar.load_model(str(path), trust=["elsewhere", f"{MINE}.builders_of_tests"]),
    ):
        np.testing.assert_array_equal(again(BATCH), model(BATCH))
        assert list(again.params) == list(model.params) and again.seed == 5


CHILD = """
import sys
import numpy as np
import arrows as ar
model = ar.load_model(sys.argv[1], trust=["house"])
np.save(sys.argv[2], model([["good", "film"], ["bad", "unheard"], ["film"]]))
"""


@pytest.mark.nightly
def test_another_process_predicts_the_same_bits(tmp_path):
    (tmp_path / "house").mkdir()
    (tmp_path / "house" / "__init__.py").write_text("", encoding="utf-8")
    source = Path(builders.__file__).read_text(encoding="utf-8")
    (tmp_path / "house" / "blocks.py").write_text(source, encoding="utf-8")
    make = (
        "import sys, numpy as np, arrows as ar\nfrom house.blocks import scorer\n"
        "words = ar.Vocabulary(['good', 'bad', 'film'])\n"
        "model = ar.compile(scorer(words, ['up', 'down'], size=60), seed=5)\n"
        "ar.save_model(model, sys.argv[1])\n"
        "np.save(sys.argv[2], model([['good', 'film'], ['bad', 'unheard'], ['film']]))\n"
    )
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])}
    for code, result, seed in ((make, "a.npy", "1"), (CHILD, "b.npy", "2")):
        subprocess.run(
            [sys.executable, "-W", "error", "-c", code, tmp_path / "m", tmp_path / result],
            check=True,
            env=environment | {"PYTHONHASHSEED": seed},
        )
    np.testing.assert_array_equal(np.load(tmp_path / "a.npy"), np.load(tmp_path / "b.npy"))


def test_what_a_file_says(saved):
    _, path = saved
    contents = read_model_file(path)
    assert contents.builder == "tests.model_files.builders_of_tests:scorer" and contents.part is None
    assert contents.arguments == {"tags": ["up", "down"], "size": 3, "dropout": 0.0}
    assert contents.vocabularies == {"words": WORDS} and contents.metadata == {"by": "us"}
    assert contents.parameters["words/weight"].shape == (4, 3)
    assert read_metadata(path) == {"by": "us"}
    other = ar.compile(builders.scorer(WORDS, ["up", "down"], size=3), seed=6)
    assert load(other, path) == {"by": "us"}  # it is a file of parameters as well


def test_a_loaded_model_can_be_saved_again(saved, tmp_path):
    model, path = saved
    again = ar.load_model(path, builder=builders.scorer)
    ar.save_model(again, tmp_path / "n")
    np.testing.assert_array_equal(ar.load_model(tmp_path / "n", trust=[MINE])(BATCH), model(BATCH))


def test_a_part_of_what_a_builder_returns(tmp_path):
    blocks = builders.pair(2)
    learn = ar.compile(blocks.learn)
    ar.save_model(ar.compile(blocks.judge, params=learn.params), tmp_path / "m")
    assert read_model_file(tmp_path / "m").part == "judge"
    again = ar.load_model(tmp_path / "m", builder=builders.pair)
    assert again([[1, 2, 3]]).shape == (1, 1)
    with pytest.raises(ar.ArrowValueError, match=r"pair should return a block, with the part 'later'"):
        ar.load_model(rewritten(tmp_path / "m", part="later"), builder=builders.pair)


@pytest.mark.parametrize("function", [builders.plain, lambda size: builders.plain(size)])
def test_functions_that_are_marked_where_they_are_called(function, tmp_path):
    model = ar.compile(builders.plain(2))
    with pytest.raises(
        ar.ArrowValueError, match="nothing says what builds this model's block; compile what a"
    ):
        ar.save_model(model, tmp_path / "m")
    marked = ar.compile(ar.builder(function)(np.int64(2)), params=dict(model.params))  # as the message says
    nowhere = pytest.warns(UserWarning, match="stands in the program that runs or within a function")
    with contextlib.nullcontext() if function is builders.plain else nowhere:
        ar.save_model(marked, tmp_path / "m")
    again = ar.load_model(tmp_path / "m", builder=builders.plain)
    np.testing.assert_array_equal(again([[1, 2, 3]]), model([[1, 2, 3]]))


TRAINS = """
import arrows as ar


@ar.builder
def stars(size: int) -> ar.Block:
    return ar.Vector(2) >> ar.FC(size, name="stars")


if __name__ == "__main__":
    ar.save_model(ar.compile(stars(3)), "m.safetensors")
"""


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("file", "how", "name"),
    [
        ("trains.py", ["trains.py"], "__main__:stars"),
        ("shop/__main__.py", ["-m", "shop"], "shop.__main__:stars"),
    ],
)
def test_a_builder_of_the_program_that_runs_is_told_at_once_and_nothing_is_lost(tmp_path, file, how, name):
    (tmp_path / file).parent.mkdir(exist_ok=True)
    (tmp_path / file).write_text(TRAINS, encoding="utf-8")
    ran = subprocess.run([sys.executable, *how], cwd=tmp_path, capture_output=True, text=True, check=True)
    said = " ".join(ran.stderr.split())
    assert f"the builder {name}, which stands in the program that runs" in said, said
    assert "load_model(path, builder=function)" in said, said
    path = tmp_path / "m.safetensors"
    with pytest.raises(ar.ArrowValueError, match=r"stood in the program that saved it; give the function"):
        ar.load_model(path, trust=["__main__", "shop"])
    assert read_model_file(path).arguments == {"size": 3}


@pytest.mark.nightly
def test_a_module_that_runs_by_its_name_is_loaded_by_it(tmp_path, monkeypatch):
    (tmp_path / "trains_by_name.py").write_text(TRAINS, encoding="utf-8")
    ran = subprocess.run(
        [sys.executable, "-m", "trains_by_name"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert "UserWarning" not in ran.stderr, ran.stderr
    monkeypatch.syspath_prepend(tmp_path)
    assert ar.load_model(tmp_path / "m.safetensors", trust=["trains_by_name"]).params


def test_settings_come_back(tmp_path):
    model = ar.compile(builders.pair(2).learn, float_type="float64", schedule="depth", max_nodes=99, seed=3)
    model.train_step([[1, 2, 3]], Adam(0.1))
    ar.save_model(model, tmp_path / "m")
    again = ar.load_model(tmp_path / "m", builder=builders.pair, memory_limit="1GB")
    assert again.params["layer/weight"].dtype == "float64" and again.memory_limit == 10**9
    assert (again.schedule, again.max_nodes, again.seed, again.step) == ("depth", 99, 3, 1)
    value, grads = model.value_and_grad([[1, 2, 3]])
    value_again, grads_again = again.value_and_grad([[1, 2, 3]])
    assert value == value_again and (grads["layer/weight"] == grads_again["layer/weight"]).all()


def test_random_numbers_of_predictions_come_back(tmp_path):
    model = ar.compile(builders.draws(), seed=4)
    model.step = 17
    ar.save_model(model, tmp_path / "m")
    again = ar.load_model(tmp_path / "m", builder=builders.draws)
    np.testing.assert_array_equal(again([[1, 2], [3, 4]]), model([[1, 2], [3, 4]]))


def test_a_model_on_another_device(saved, tmp_path):
    model, path = saved
    fake = ar.load_model(path, builder=builders.scorer, device="fake")
    assert fake.device.name == "fake"
    np.testing.assert_allclose(ar.to_numpy(fake(BATCH)), model(BATCH), rtol=1e-6)
    ar.save_model(fake, tmp_path / "n")
    np.testing.assert_array_equal(ar.load_model(tmp_path / "n", trust=["tests"])(BATCH), model(BATCH))


def test_models_of_this_package_need_no_trust(tmp_path):
    model = ar.compile(ar.models.sentiment(ar.Vocabulary(["good"]), size=3).judge)
    ar.save_model(model, tmp_path / "m")
    np.testing.assert_array_equal(
        ar.load_model(tmp_path / "m")([{"word": "good"}]), model([{"word": "good"}])
    )


# ------------------------------------------------------------------------------------- whom to trust


STRANGERS = {"os:system": "tests", "arrows.storage:replacing": "tests", "arrows.models_evil:build": "tests"}
STRANGERS |= {
    "tests_evil:build": "tests",
    "tests.model_files_evil:build": MINE,
    "subprocess:run": "subproces",
}


@pytest.mark.parametrize(("name", "trust"), STRANGERS.items())
def test_names_of_strangers_are_not_imported(name, trust, saved):
    before = set(sys.modules)
    with pytest.raises(ar.ArrowValueError, match="nothing is imported by a name from a file"):
        ar.load_model(rewritten(saved[1], builder=name), trust=[trust])
    assert set(sys.modules) == before


NO_NAMES = ["", ":build", "tests:", ".tests:scorer", "__main__:<lambda>", "tests/model_files:scorer"]


@pytest.mark.parametrize("name", [*NO_NAMES, "tests.\0:scorer", "tests:scorer\n", "\x1b[2J:scorer"])
def test_names_that_are_no_names(name, saved):
    with pytest.raises(ar.ArrowValueError, match=r": its builder is '") as caught:
        ar.load_model(rewritten(saved[1], builder=name), trust=["tests", "__main__"])
    assert str(caught.value).isprintable()


@pytest.mark.parametrize(
    "name", ["system.system", "system", "Any", "no_builder", "scorer.__globals__", "Pair"]
)
def test_a_trusted_package_is_not_trusted_with_what_it_imports(name, saved):
    path = rewritten(saved[1], builder=f"tests.model_files.builders_of_tests:{name}")
    with pytest.raises(ar.ArrowValueError, match=f"has no function {name} marked by @ar.builder; give"):
        ar.load_model(path, trust=["tests"])


def test_a_trusted_module_that_cannot_be_imported(saved):
    path = rewritten(saved[1], builder="tests.nowhere.to_be_found:scorer")
    with pytest.raises(ar.ArrowValueError, match="whose module cannot be imported: ModuleNotFoundError"):
        ar.load_model(path, trust=["tests"])


def test_a_command_is_no_builder(saved, tmp_path, monkeypatch):
    package = tmp_path / "package_of_a_test"
    package.mkdir()
    (package / "__init__.py").write_text("", encoding="utf-8")
    (package / "__main__.py").write_text("raise SystemExit(7)", encoding="utf-8")
    (package / "script.py").write_text("raise SystemExit(7)", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    reasons = {
        "__main__": "which stood in the program that saved it",
        "script": "cannot be imported: SystemExit: 7",
    }
    for name, reason in reasons.items():
        path = rewritten(saved[1], builder=f"package_of_a_test.{name}:build")
        with pytest.raises(ar.ArrowValueError, match=reason):
            ar.load_model(path, trust=["package_of_a_test"])


def test_trust_is_a_list_of_packages(saved):
    with pytest.raises(ar.ArrowTypeError, match=r"trust is a list of names of packages, such as \['tests'\]"):
        ar.load_model(saved[1], trust="tests")
    for other in ([3], [""], ["tests."], ["*"]):
        with pytest.raises(ar.ArrowValueError, match="nothing is imported by a name from a file"):
            ar.load_model(saved[1], trust=other)  # type: ignore[arg-type]


# ---------------------------------------------------------------------------------- what does not fit


def test_a_builder_whose_parameters_have_changed(saved):
    def wider(words: ar.Vocabulary, tags: list[str], size: int, dropout: float) -> Any:
        return builders.scorer(words, [*tags, "more"], size + 1) >> ar.FC(2, name="last")

    with pytest.raises(ar.ArrowValueError, match="does not fit the model:") as caught:
        ar.load_model(saved[1], builder=wider)
    text = str(caught.value)
    assert "'words/weight': float32[4, 3] in the file, float32[4, 4] in the model" in text
    assert "'last/bias': not in the file, float32[2] in the model" in text


def test_a_builder_that_computes_something_else(saved):
    def other(words: ar.Vocabulary, tags: list[str], size: int, dropout: float) -> Any:
        word = words.block() >> ar.Embedding(len(words), size, name="words")
        return ar.Map(word) >> ar.Mean() >> ar.Dropout(0.0) >> ar.FC(len(tags), ar.ops.relu, name="tags")

    with pytest.raises(ar.ArrowValueError, match="whose block has changed since") as caught:
        ar.load_model(saved[1], builder=other)
    then, now = str(caught.value).splitlines()[1:3]
    assert (
        then.startswith("  then  0 tags: float32[3] -> float32[2] #")
        and then[8:40] == now[8:40]
        and then != now
    )


def test_a_file_of_another_version_warns_instead(saved):
    model, path = saved
    rewritten(path, version="0.0.1", outline="0 a: b -> c")
    with pytest.warns(UserWarning, match=r"arrows 0\.0\.1 has written it, and computed its block otherwise"):
        again = ar.load_model(path, builder=builders.scorer)
    np.testing.assert_array_equal(again(BATCH), model(BATCH))


def test_a_function_on_objects_that_has_changed_warns(tmp_path):
    ar.save_model(ar.compile(builders.reader(2)), tmp_path / "m")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert ar.load_model(tmp_path / "m", builder=builders.reader)([3]).tolist() == [6.0]
    with pytest.warns(UserWarning, match=r"other data, .*: lambda \(builders_of_tests.*may differ"):
        ar.load_model(tmp_path / "m", builder=lambda factor: builders.reader(factor + 1))


def test_arguments_that_the_builder_does_not_take(saved):
    _, path = saved
    with pytest.raises(ar.ArrowValueError, match=r"plain refuses the arguments in the file: TypeError"):
        ar.load_model(path, builder=builders.plain)
    rewritten(path, arguments={"tags": 3, "size": 3})
    with pytest.raises(ar.ArrowValueError, match="scorer refuses the arguments in the file: TypeError"):
        ar.load_model(path, builder=builders.scorer)
    rewritten(path, arguments={"tags": ["a"], "size": -3})
    with pytest.raises(ar.ArrowValueError, match="scorer refuses the arguments in the file: ArrowValueError"):
        ar.load_model(path, builder=builders.scorer)


def test_a_builder_that_gives_no_block(saved):
    with pytest.raises(ar.ArrowValueError, match=r"should return a block; it returns 3"):
        ar.load_model(saved[1], builder=lambda **arguments: 3)
    with pytest.raises(
        ar.ArrowValueError, match=r"the builder refuses the arguments .*: 'int' object is not callable"
    ):
        ar.load_model(saved[1], builder=3)  # type: ignore[arg-type]


# ------------------------------------------------------------------------------ what cannot be saved


def test_what_is_no_compiled_model(tmp_path):
    for other in (builders.plain(2), ar.OnTheFly()):
        with pytest.raises(
            ar.ArrowTypeError, match=r"must be what ar\.compile returns, not .*training\.save"
        ):
            ar.save_model(other, tmp_path / "m")  # type: ignore[arg-type]
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("size", [{3}, 2.5j, b"4", float("nan"), {1: 2}, ar.Scalar(), [len]])
def test_arguments_that_a_file_cannot_keep(size, tmp_path):
    @ar.builder
    def build(size: object, *, cell: object = ar.FC) -> Any:
        return builders.plain(2)

    with pytest.raises(ar.ArrowValueError, match=r"build: the argument size.* is .*, and a file keeps plain"):
        ar.save_model(ar.compile(build(size)), tmp_path / "m")
    with pytest.raises(
        ar.ArrowValueError, match="build: the argument cell is the class TreeLSTM, and a file keeps"
    ):
        ar.save_model(ar.compile(build(3, cell=ar.TreeLSTM)), tmp_path / "m")
    assert not list(tmp_path.iterdir())
    with pytest.warns(UserWarning, match="within a function"):
        ar.save_model(ar.compile(build(3)), tmp_path / "m")  # the builder has the default again
    assert read_model_file(tmp_path / "m").arguments == {"size": 3}


def test_an_argument_may_change_after_the_block_is_built(tmp_path):
    tags = ["up", "down"]
    model = ar.compile(builders.scorer(WORDS, tags))
    tags.append("more")
    ar.save_model(model, tmp_path / "m")
    assert ar.load_model(tmp_path / "m", trust=["tests"])(BATCH).shape == (3, 2)


def test_marked_functions_take_arguments_by_name():
    with pytest.raises(ar.ArrowTypeError, match="has the argument 'sizes' without a name"):

        @ar.builder
        def chain(*sizes: int) -> Any:
            return builders.plain(sizes[0])

    with pytest.raises(ar.ArrowTypeError, match="marks a function, not the class Pair"):
        ar.builder(builders.Pair)


# -------------------------------------------------------------------------------------- damaged files


def test_fields_of_strangers_give_one_error_that_fits_on_a_screen(saved):
    """Whatever a file says, with its checksum right: it is loaded, or refused by its path."""
    _, path = saved
    whole, fields = path.read_bytes(), json.loads(read_arrays(path)[1][MODEL])
    strange = [None, [], {}, -1, [[1]], {"a": "b"}, "\x1b[2J" * 10**4, ["\u202e"] * 10**4]
    changes = [{name: value} for name in fields for value in strange]
    for table in ("settings", "reading", "arguments"):
        changes += [{table: fields[table] | {name: value}} for name in fields[table] for value in strange]
        for name in fields[table]:
            changes.append({table: {key: value for key, value in fields[table].items() if key != name}})
    changes += [{"vocabularies": {"words": fields["vocabularies"]["words"] | {"unknown": [strange[-2]]}}}]
    for change in changes:
        path.write_bytes(whole)
        rewritten(path, **change)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                ar.load_model(path, trust=["tests"])
            except ar.ArrowValueError as error:
                assert str(path) in str(error) and len(str(error)) < 4000, change  # noqa: PT017
                assert str(error).replace("\n", "").isprintable(), change  # noqa: PT017
                continue
        assert {*change} <= {"part", "settings", "reading", "arguments", "step", "version"}, change


def test_other_files_are_refused_with_what_reads_them(tmp_path):
    model, optimizer = ar.compile(builders.pair(2).learn), Adam(0.1)
    save(model, tmp_path / "parameters")
    with pytest.raises(ar.ArrowValueError, match=r"holds parameters and no model: arrows\.training\.load"):
        ar.load_model(tmp_path / "parameters", builder=builders.pair)
    model.train_step([[1, 2, 3]], optimizer)
    save_state(tmp_path / "run", model, optimizer)
    with pytest.raises(ar.ArrowValueError, match="holds the state of a run and no model: load_state"):
        ar.load_model(tmp_path / "run", builder=builders.pair)
    (tmp_path / "text").write_text("hello", encoding="utf-8")
    with pytest.raises(ar.ArrowValueError, match="is no safetensors file to read"):
        ar.load_model(tmp_path / "text")
    ar.save_model(model, tmp_path / "m")
    rewritten(tmp_path / "m", format=2, version="9.0")
    with pytest.raises(ar.ArrowValueError, match=r"arrows 9\.0 or another program has written it"):
        ar.load_model(tmp_path / "m", trust=["tests"])
