"""Blocks that read single values: what they give, and what they refuse."""

from __future__ import annotations

import numpy as np
import pytest

import arrows as ar
from arrows import documents
from arrows.documents import blocks


def test_numbers_are_standardised_without_losing_digits():
    seconds = 1.7e9  # float32 cannot tell seconds apart here
    left, right = (documents.number(seconds, 10.0).eval(seconds + n) for n in (0, 1))
    assert np.allclose(right - left, [0.1, 0])
    assert documents.number(0.0, 1.0).eval(1e300).tolist() == [30, 1]
    assert np.allclose(documents.number(0.0, 1.0, log=True).eval(-np.expm1(2.0)), [-2, 1])
    assert np.allclose(documents.vector([1, 10], [1, 5]).eval([0, 20]), [-1, 2])


def test_dates_know_the_day_the_season_and_the_hour():
    read = documents.date(0.0, 1.0)
    assert blocks.days("2024-05-01T02:00:00+02:00") == blocks.days("2024-05-01")
    assert blocks.days("1969-12-31") == -1
    monday, next_monday, tuesday = (read.eval(f"2024-04-{day:02}") for day in (1, 8, 2))
    assert np.allclose(monday[3:5], next_monday[3:5], atol=1e-4)
    assert not np.allclose(monday[3:5], tuesday[3:5], atol=0.1)
    assert np.allclose(read.eval("2024-04-01T12:00Z")[5:], [0, -1], atol=1e-4)


def test_hashes_are_those_of_other_processes_and_versions():
    words = blocks.HashedNGrams(10**6, "words")
    assert words("A good Film") == [355907, 610194, 543202, 166354, 678250]
    assert len(words("a " * 5000)) == 1000 + 999
    assert len(blocks.HashedNGrams(100, "characters")("\ud800xyz")) == 4 + 3 + 2 + 1
    assert words("") == []


@pytest.mark.parametrize(
    ("block", "value", "message"),
    [
        (documents.number(0, 1), "3", "expected a number"),
        (documents.vector([0, 0], [1, 1]), [1], "2"),
        (documents.boolean(), 1, "expected true or false, got number"),
        (documents.date(0, 1), "May", "expected a date such as 2024-05-31, got 'May'"),
        (documents.date(0, 1), "2024-02-30", "got '2024-02-30'"),
        (documents.date(0, 1), 20240501, "expected a text, got number"),
        (documents.text("words", 10, 2, name="x"), 3, "expected a text, got number"),
        (ar.InputTransform(blocks.entries), [], "expected an object, got array"),
        (ar.InputTransform(documents.category_name), [], "expected a text or a number, got array"),
        (ar.InputTransform(blocks.json_type), {1}, "expected a JSON value, got an object of type set"),
    ],
)
def test_other_values_are_refused(block, value, message):
    with pytest.raises(ar.InputError, match=message):
        (block if block.kind != "InputTransform" else block >> ar.Input(str)).eval(value)


def test_arguments_are_checked():
    assert documents.number(10, 2).eval(13)[0] == 1.5  # whole numbers, as people write them
    with pytest.raises(ar.ArrowValueError, match="deviation above 0"):
        documents.number(0.0, 0.0)
    with pytest.raises(ar.ArrowValueError, match="1 means, and 2 deviations"):
        documents.vector([1], [1, 2])
    with pytest.raises(ar.ArrowValueError, match="in buckets from 1"):
        documents.text("words", 0, 2, name="x")
