"""Predictions of streams: order, memory, numbers in errors, and random numbers."""

from __future__ import annotations

import gc
import itertools
import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import arrows as ar
from arrows.data import FileExamples

SUM = ar.Map(ar.Scalar()) >> ar.Sum()


def lists(count: int) -> list[list[int]]:
    return [list(range(n % 5)) for n in range(count)]


@pytest.mark.parametrize("batch_size", [1, 2, 7, 100])
@pytest.mark.parametrize("kind", ["list", "generator", "prepared", "batch"])
def test_results_are_those_of_the_examples_in_order(kind, batch_size):
    model, examples = ar.compile(SUM), lists(23)
    prepared = model.prepare(examples)
    stream: Any = {
        "list": examples,
        "generator": (x for x in examples),
        "prepared": prepared,
        "batch": prepared[::-1],
    }[kind]
    expected = [float(sum(x)) for x in examples]
    assert list(model.predict_stream(stream, batch_size=batch_size)) == (
        expected[::-1] if kind == "batch" else expected
    )


def test_an_endless_stream_is_read_a_batch_ahead():
    read = 0

    def endless() -> Iterator[list[int]]:
        nonlocal read
        for n in itertools.count():
            read += 1
            yield [n]

    rows = ar.compile(SUM).predict_stream(endless(), batch_size=8)
    assert read == 0
    for n in range(40):
        assert next(rows) == n
        assert read == 8 * (n // 8 + 1)


def test_memory_holds_one_batch():
    class Example(list[int]):
        pass

    alive: list[weakref.ref[Example]] = []
    most = 0

    def stream() -> Iterator[Example]:
        nonlocal most
        for n in range(200):
            example = Example([n])
            alive.append(weakref.ref(example))
            gc.collect(0)
            most = max(most, sum(each() is not None for each in alive))
            yield example

    assert len(list(ar.compile(SUM).predict_stream(stream(), batch_size=10))) == 200
    assert most <= 21, most  # the batch that is read, and the one before it until that is done


def test_an_error_has_its_number_in_the_stream_and_comes_after_what_was_before_it():
    examples: list[Any] = lists(30)
    examples[17] = [1, "two"]
    for size in (1, 4, 16, 100):
        rows = ar.compile(SUM).predict_stream(iter(examples), batch_size=size)
        assert [next(rows) for _ in range(17)] == [float(sum(x)) for x in examples[:17]]
        with pytest.raises(ar.InputError, match=r"^example 17: "):
            next(rows)


def test_errors_may_be_results():
    examples: list[Any] = lists(30)
    examples[3] = examples[11] = None
    examples[12] = "text"
    model = ar.compile(SUM)
    rows = list(model.predict_stream(iter(examples), batch_size=8, errors="return"))
    assert len(rows) == 30
    for number, (example, row) in enumerate(zip(examples, rows, strict=True)):
        if number in (3, 11, 12):
            assert isinstance(row, ar.InputError) and str(row).startswith(f"example {number}: ")
        else:
            assert row == float(sum(example))


def test_examples_of_a_file_are_named_by_their_lines():
    examples = FileExamples([[1], ["x"], [2]], places=[f"numbers.jsonl:{n}" for n in (1, 3, 4)], skipped=[])
    rows = list(ar.compile(SUM).predict_stream(examples, batch_size=2, errors="return"))
    assert rows[0] == 1.0 and rows[2] == 2.0 and str(rows[1]).startswith("numbers.jsonl:3: example 1: ")


def test_random_numbers_count_over_the_stream():
    model = ar.compile(ar.Vector(2) >> ar.Function(lambda x: x + ar.ops.normal_like(x)), seed=3)
    examples = [[0, 0]] * 9
    whole = model(examples)
    assert len(np.unique(whole)) == 18
    for stream in (examples, iter(examples), model.prepare(examples)):
        rows = list(model.predict_stream(stream, batch_size=4))
        np.testing.assert_array_equal(np.stack(rows), whole)


def test_rows_fit_a_frame():
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")

    def both(xs: Any) -> Any:
        return {"sum": SUM(xs), "n": ar.Length()(xs)}

    frame = pandas.DataFrame(ar.compile(ar.arrow(both)).predict_stream(lists(4)))
    assert list(frame.columns) == ["sum", "n"] and frame["sum"].tolist() == [0.0, 0.0, 1.0, 3.0]


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"batch_size": 0}, "batch_size is 0"),
        ({"batch_size": 2.5}, "a whole number, not 2.5"),
        ({"batch_size": True}, "a whole number, not True"),
        ({"errors": "skip"}, "should be 'stop' or 'return'"),
    ],
)
def test_wrong_arguments_are_refused_at_once(arguments, error):
    with pytest.raises((ar.ArrowTypeError, ar.ArrowValueError), match=error):
        ar.compile(SUM).predict_stream([[1]], **arguments)


@pytest.mark.parametrize("examples", [3, "text", {"a": 1}, None, np.float32(1)])
def test_what_is_no_stream_is_refused_at_once(examples):
    with pytest.raises(ar.ArrowTypeError, match="cannot predict"):
        ar.compile(SUM).predict_stream(examples)
