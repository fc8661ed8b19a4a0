"""Prepared sets in a file: the same numbers, bounded memory, and refusal of what does not fit."""

from __future__ import annotations

import gc
import pickle
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, strategies as st

import arrows as ar
from arrows.engine.planning import SCHEDULES
from arrows.engine.reading import example_reader, hashes
from arrows.engine.scheduling import batch_input, merge
from arrows.storage import ColumnWriter
from arrows.training import SGD, Checkpoint, train
from tests.compare import dense, meets_kink
from tests.engine.scheduling.specification import verify
from tests.generate import Case, cases
from tests.profile import draws


@pytest.fixture(autouse=True, scope="module")
def _small() -> Any:
    """Small sets are shared as well here, in chunks of three."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(hashes, "_FEWEST_A_LEVEL", 0)
        patch.setattr(example_reader, "CHUNK", 3)
        yield


def same(one: Any, other: Any, tolerance: float = 0.0) -> None:
    if isinstance(one, dict):
        assert one.keys() == other.keys()
        for key in one:
            same(one[key], other[key], tolerance)
    elif isinstance(one, (list, tuple)):
        assert len(one) == len(other)
        for a, b in zip(one, other, strict=True):
            same(a, b, tolerance)
    elif isinstance(one, ar.Ragged):
        same([one.values, one.offsets], [other.values, other.offsets], tolerance)
    elif isinstance(one, ar.ops.RowSparse):
        same(dense(one), dense(other), tolerance)  # the order of the rows says nothing
    elif hasattr(one, "dtype"):
        a, b = np.asarray(one), np.asarray(other)
        assert a.dtype == b.dtype and a.shape == b.shape
        within = tolerance * (1 + np.abs(b).max(initial=0)) if b.dtype.kind == "f" else 0
        assert np.allclose(a, b, rtol=0, atol=within, equal_nan=True)
    else:
        assert one == other or (one != one and other != other)


@draws(5, 200)
@given(case=cases(max_examples=9), schedule=st.sampled_from(SCHEDULES), data=st.data())
def test_numbers_are_those_of_a_set_in_memory(
    case: Case, schedule: str, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("cache") / "set"
    loss = case.loss or None
    model = ar.compile(case.block, schedule=schedule, loss=loss, seed=3, float_type="float64")
    memory = model.prepare(case.examples)
    try:
        mapped = model.prepare(iter(case.examples), cache=path, data="drawn")
    except ar.ArrowTypeError as error:
        assume("are Python objects" not in str(error))  # a tap of any
        assume("no later model could tell" not in str(error))  # a function that holds a class, say
        raise
    assert len(mapped) == len(memory) and mapped.nodes.tolist() == memory.nodes.tolist()
    count = len(memory)
    indices = data.draw(st.lists(st.integers(0, max(count - 1, 0)), max_size=2 * count))
    for chosen in (indices, list(range(count))):
        for share in (True, False):
            one, other = (merge(model.plan, part[chosen].wired, share=share) for part in (memory, mapped))
            assert one.steps == other.steps and one.spans == other.spans
            assert [rows.count for rows in one.operations] == [rows.count for rows in other.operations]
            verify(model.plan, other)
        draws = [(model.seed, 0, number) for number in chosen]
        examples = [case.examples[number] for number in chosen]
        assume(not meets_kink(model.typed, examples, model.params.of, "float64", draws=draws))
        same(model(memory[chosen]), model(mapped[chosen]), 1e-9)
        if case.loss != "":
            results = []
            for prepared in (memory, mapped):
                model.step = 0  # on which draws depend
                results.append(model.value_and_grad(prepared[chosen], inputs=case.inputs))
            same(results[0], results[1], 1e-9)


def tree_model(**arguments: Any) -> ar.Model:
    cell = ar.TreeLSTM(4, children=2, name="cell")
    leaf = (
        ar.GetItem("word") >> ar.Scalar("int32") >> ar.Embedding(20, 4, name="embed")
        & ar.Zeros((cell.state,) * 2)
    ) >> cell

    @ar.fix(output_type=cell.state)
    def tree(me: Any) -> Any:
        pair = (ar.Zeros([4]) & (ar.GetItem("left") >> me & ar.GetItem("right") >> me)) >> cell
        return ar.OneOf(lambda t: "word" in t).case(True, leaf).case(False, pair)

    block = (
        tree >> ar.GetItem(0) >> ar.FC(1, name="fc") >> ar.Dropout(0.5) >> ar.Function(lambda y: y[0] * y[0])
    )
    return ar.compile(block, seed=1, **arguments)


def trees(count: int, seed: int = 0) -> Iterator[dict[str, Any]]:
    random = np.random.default_rng(seed)
    for _ in range(count):
        parts: list[dict[str, Any]] = [
            {"word": int(n)} for n in random.integers(0, 20, random.integers(1, 9))
        ]
        while len(parts) > 1:
            place = int(random.integers(0, len(parts) - 1))
            parts[place : place + 2] = [{"left": parts[place], "right": parts[place + 1]}]
        yield parts[0]


def test_a_run_goes_on_from_a_mapped_set(tmp_path: Path) -> None:
    def run(epochs: int, resume: bool, name: str) -> dict[str, Any]:
        model = tree_model()
        prepared = model.prepare(trees(20), cache=tmp_path / "set", data="trees")
        state = tmp_path / name
        train(
            model,
            prepared,
            SGD(0.1),
            epochs=epochs,
            batch_size=6,
            progress=False,
            checkpoint=Checkpoint(state, resume=resume),
        )
        return {name: ar.to_numpy(value) for name, value in model.params.items()}

    whole = run(4, False, "whole")
    run(2, False, "parts")
    same(run(4, True, "parts"), whole)


def test_the_second_call_reads_nothing(tmp_path: Path) -> None:
    seen: list[Any] = []
    block = ar.InputTransform(lambda x: seen.append(x) or x) >> ar.Scalar()  # type: ignore[func-returns-value]
    model = ar.compile(block, fingerprint="as it is")
    model.prepare([1, 2], cache=tmp_path / "set")
    assert seen == [1, 2]
    prepared = model.prepare([1, 2], cache=tmp_path / "set")
    assert seen == [1, 2] and model(prepared).tolist() == [1.0, 2.0]

    def never() -> Iterator[int]:
        raise AssertionError
        yield 1

    model.prepare([1, 2], cache=tmp_path / "named", data="two numbers")
    assert len(model.prepare(never(), cache=tmp_path / "named", data="two numbers")) == 2


def test_another_model_that_reads_alike_takes_the_file(tmp_path: Path) -> None:
    examples = list(trees(5))
    first = tree_model().prepare(examples, cache=tmp_path / "set")
    model = tree_model()
    same(model(model.prepare(examples, cache=tmp_path / "set")), model(first))


def content(path: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in ([path] if path.is_file() else path.iterdir())}


def refused(path: Path, examples: Any = None, model: ar.Model | None = None, **arguments: Any) -> str:
    before = content(path)
    with pytest.raises(ar.ArrowValueError) as caught:
        (model or tree_model()).prepare(
            list(trees(5)) if examples is None else examples, cache=path, **arguments
        )
    assert content(path) == before
    assert str(path) in str(caught.value) and "remove it" in str(caught.value)
    return str(caught.value)


def test_what_does_not_fit_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "set"
    tree_model().prepare(list(trees(5)), cache=path)
    assert "its block reads examples otherwise" in refused(path, model=tree_model(schedule="depth"))
    assert "it was made of examples of the content" in refused(path, list(trees(6)))
    assert "examples of the content" in refused(path, list(trees(5, seed=1)))
    assert "examples named 'trees'" in refused(path, trees(5), data="trees")
    named = tmp_path / "named"
    tree_model().prepare(trees(5), cache=named, data="May")
    assert "it was made of examples named 'May'" in refused(named, trees(5), data="June")
    assert "it was made of examples named 'May'" in refused(named)
    assert "it has 5 examples, and there are 4 now" in refused(named, list(trees(4)), data="May")


def test_a_vocabulary_that_grows_counts_as_it_was_in_the_end(tmp_path: Path) -> None:
    """A model whose vocabulary is empty again would give the numbers of the file's words to others."""

    def model(table: dict[str, int]) -> ar.Model:
        return ar.compile(ar.InputTransform(lambda word: table.setdefault(word, len(table))) >> ar.Scalar())

    path, table = tmp_path / "set", dict[str, int]()
    first = model(table)
    assert first(first.prepare(["a", "b"], cache=path)).tolist() == [0.0, 1.0]
    assert len(first.prepare(["a", "b"], cache=path)) == 2
    loaded = model(dict(table))
    loaded.prepare(["a", "b"], cache=path)
    assert loaded(["c"]).tolist() == [2.0]
    assert "if it only remembers results" in " ".join(refused(path, ["a", "b"], model({})).split())


def test_damaged_and_foreign_files_are_refused(tmp_path: Path) -> None:
    path, other = tmp_path / "set", tmp_path / "other"
    tree_model().prepare(list(trees(5)), cache=path)
    for part in path.iterdir():
        whole = part.read_bytes()
        for damaged in (whole[:-1], whole[:-1] + bytes([whole[-1] ^ 16]), b""):
            part.write_bytes(damaged)
            assert "damaged" in refused(path)
        part.write_bytes(whole)
    other.write_bytes(b"hello, this is no set at all")
    assert "damaged, or something else" in refused(other)
    other.unlink()
    ar.training.save(tree_model(), other)
    assert "something else has written it" in refused(other)
    with ColumnWriter(tmp_path / "columns") as writer:
        writer.finish({})
    assert "something else has written it" in refused(tmp_path / "columns")


def test_a_file_of_another_version_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "set"
    with monkeypatch.context() as patch:
        patch.setattr(batch_input, "_WRITER", "prepare of arrows 0.0.9")
        tree_model().prepare(list(trees(5)), cache=path)
    assert (
        f"prepare of arrows 0.0.9 has written it, and this is prepare of arrows {ar.__version__}"
        in refused(path)
    )


def test_an_interrupted_write_leaves_nothing(tmp_path: Path) -> None:
    def stops() -> Iterator[Any]:
        yield from trees(10)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        tree_model().prepare(stops(), cache=tmp_path / "set", data="trees")
    with pytest.raises(ar.InputError, match="example 10: "):
        tree_model().prepare([*trees(10), {"left": 1}], cache=tmp_path / "set")
    assert list(tmp_path.iterdir()) == []


def test_caches_that_are_no_names_of_files(tmp_path: Path) -> None:
    model = ar.compile(ar.Scalar())
    for path, error in ((3, ar.ArrowTypeError), ("", ar.ArrowValueError)):
        with pytest.raises(error, match="prepare: cache"):
            model.prepare([1], cache=path)  # type: ignore[arg-type]
    with pytest.raises(FileNotFoundError, match="no such folder"):
        model.prepare([1], cache=tmp_path / "none" / "set")


def test_examples_that_cannot_be_told_want_a_name(tmp_path: Path) -> None:
    model = ar.compile(ar.Scalar())
    with pytest.raises(ar.ArrowTypeError, match=r"(?s)look at their content.*data='reviews"):
        model.prepare(iter([1, 2]), cache=tmp_path / "set")
    reads = ar.compile(ar.InputTransform(lambda x: 1.0) >> ar.Scalar())
    with open(__file__, encoding="utf-8") as file:
        with pytest.raises(ar.ArrowTypeError, match=r"(?s)one holds.*TextIO.*data="):
            reads.prepare([file], cache=tmp_path / "set")
    held = tmp_path.joinpath("held").open("w")
    locked = ar.compile(ar.InputTransform(lambda x: held.name) >> ar.Scalar())
    with pytest.raises(ar.ArrowTypeError, match=r"(?s)no later model could tell.*fingerprint="):
        locked.prepare([1], cache=tmp_path / "set")
    held.close()
    assert not (tmp_path / "set").exists()
    with pytest.raises(ar.ArrowValueError, match="these are prepared already"):
        model.prepare(model.prepare([1]), cache=tmp_path / "set")


def test_no_examples_and_parts_of_a_set(tmp_path: Path) -> None:
    model = tree_model()
    empty = model.prepare([], cache=tmp_path / "empty")
    assert len(empty) == 0 and len(model(empty)) == 0
    examples = list(trees(9))
    mapped = model.prepare(examples, cache=tmp_path / "set")
    part = model.prepare(mapped[[3, 1]])
    same(model(part), model(model.prepare(examples)[[3, 1]]), 1e-5)
    assert repr(mapped) == repr(model.prepare(examples))
    same(model(pickle.loads(pickle.dumps(mapped))[[3, 1]]), model(part), 1e-5)


@pytest.mark.parametrize("tapped", [True, False])
def test_python_objects_stay_in_memory(tapped: bool, tmp_path: Path) -> None:
    of = ar.Identity() >> ar.Tap("of") if tapped else ar.Identity()
    pair = ar.Record({"x": ar.Scalar(), "of": of})
    model = ar.compile(pair >> (ar.GetItem(0) if tapped else ar.Metric("loss")))
    with pytest.raises(ar.ArrowTypeError, match="are Python objects"):
        model.prepare([{"x": 1.0, "of": "a"}], cache=tmp_path / "set", data="one")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.nightly
def test_memory_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A set of 25 MB is written and trained from within 5 MB."""
    monkeypatch.setattr(example_reader, "CHUNK", 16)
    model = ar.compile(
        ar.Map(ar.Vector(1024)) >> ar.Sum() >> ar.FC(1, name="fc") >> ar.Function(lambda y: y[0] * y[0])
    )

    def examples() -> Iterator[Any]:
        for number in range(1000):
            yield np.full((6, 1024), number % 7, np.float32)

    train(model, [next(examples())] * 8, SGD(1e-6), batch_size=8, progress=False)
    gc.collect()
    tracemalloc.start()
    try:
        prepared = model.prepare(examples(), cache=tmp_path / "set", data="sevens")
        _, writing = tracemalloc.get_traced_memory()
        assert sum(file.stat().st_size for file in (tmp_path / "set").iterdir()) > 24e6
        tracemalloc.reset_peak()
        order = np.random.default_rng(0).permutation(len(prepared))[:400]
        for first in range(0, 400, 8):
            model.train_step(prepared[order[first : first + 8]], SGD(1e-9))
        _, training = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert writing < 5e6 and training < 5e6, (writing, training)
