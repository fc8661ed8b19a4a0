"""What is like an array and means more than its numbers: it is read right, or refused; never read as less."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import arrows as ar

MASKED = np.ma.array([1.0, 2.0, 3.0], mask=[False, True, False])


class Arraylike:
    """Something with an array of its own, such as a tensor of another library."""

    def __init__(self, array: Any) -> None:
        self.array = array

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return self.array


def read_by_both(block: Any, example: Any) -> list[Any]:
    """What the engine and the reference make of it."""
    return [ar.compile(block)([example])[0].tolist(), np.asarray(block.eval(example)).tolist()]


def refused(block: Any, example: Any) -> list[str]:
    texts = []
    for run in (lambda: ar.compile(block)([example]), lambda: block.eval(example)):
        with pytest.raises(ar.InputError) as told:
            run()
        texts.append(str(told.value))
    return texts


@pytest.mark.parametrize(
    ("block", "example"),
    [
        (ar.Vector(3), MASKED),
        (ar.Tensor([2, 3]), np.ma.stack([MASKED, MASKED])),
        (ar.Tensor([2, 3]), [MASKED, [1, 2, 3]]),
        (ar.Scalar(), np.ma.masked),
        (ar.Map(ar.Scalar()) >> ar.Sum(), MASKED),
        (ar.GetItem("x") >> ar.Vector(3), {"x": MASKED}),
    ],
)
def test_masked_elements_are_refused(block: Any, example: Any) -> None:
    for text in refused(block, example):
        assert "masked" in text and "x.filled(0)" in text


def test_what_is_not_masked_is_read() -> None:
    open_mask = np.ma.array([1.0, 2.0, 3.0], mask=False)
    assert read_by_both(ar.Vector(3), open_mask) == [[1, 2, 3]] * 2
    assert read_by_both(ar.Vector(3), np.ma.array([1, 2, 3])) == [[1, 2, 3]] * 2
    assert read_by_both(ar.Vector(2), MASKED.compressed()) == [[1, 3]] * 2
    assert read_by_both(ar.Map(ar.Scalar()) >> ar.Sum(), open_mask) == [6] * 2


def test_masked_constants_are_refused() -> None:
    for value in (MASKED, [MASKED, MASKED]):
        with pytest.raises(ar.ArrowTypeError, match=r"masked element has no value(.|\n)*filled"):
            ar.Constant(value)
    with pytest.raises(ar.ArrowTypeError, match="the default must be a number"):
        ar.Max(default=MASKED)
    assert ar.Constant(np.ma.array([1.0, 2.0])).eval().tolist() == [1, 2]


@pytest.mark.parametrize(
    ("block", "example"),
    [
        (ar.Scalar("int64"), np.timedelta64(5, "s")),
        (ar.Scalar("int64"), np.datetime64("2020-01-01")),
        (ar.Vector(2, "int64"), np.array(["2020-01-01", "2021-01-01"], "datetime64[D]")),
        (ar.Vector(2), np.array([(1, 2.0)], [("a", int), ("b", float)])[0]),
        (ar.Vector(3), np.array([[1, 2, 3]]).view(np.matrix)),
        (ar.Vector(2), np.array(["1", "2"])),
        (ar.Vector(2, "int32"), np.array([1.0, np.nan])),
        (ar.Scalar(), Fraction(10**400)),
        (ar.Vector(2), Arraylike(np.array(["a", "b"]))),
        (ar.Vector(2, "int32"), Arraylike(np.array([1.5, 2.0]))),
    ],
)
def test_what_would_lose_its_meaning_is_refused(block: Any, example: Any) -> None:
    for text in refused(block, example):
        assert "expected" in text or "too large" in text or "does not fit" in text


@pytest.mark.skipif(
    np.finfo(np.longdouble).max <= np.finfo(float).max, reason="long doubles are doubles here"
)
def test_a_long_double_beyond_doubles_is_not_infinite() -> None:
    large = np.longdouble("1e4000")
    assert all("too large" in text for text in refused(ar.Scalar("float64"), large))
    assert all("too large" in text for text in refused(ar.Vector(1), np.array([large])))
    assert read_by_both(ar.Scalar(), np.longdouble("inf")) == [float("inf")] * 2


@pytest.mark.parametrize(
    ("block", "example", "wanted"),
    [
        (ar.Tensor([1, 3]), np.array([[1, 2, 3]]).view(np.matrix), [[1, 2, 3]]),
        (ar.Vector(2), Arraylike(np.array([1, 2])), [1, 2]),
        (ar.Vector(2), np.array([True, False]), [1, 0]),
        (ar.Vector(2), np.array([1, Fraction(1, 2)], object), [1, 0.5]),
        (ar.Vector(2), memoryview(np.array([1.0, 2.0])), [1, 2]),
        (ar.Vector(2), np.array([1.0, 2.0])[::-1], [2, 1]),
        (ar.Vector(2), np.array([1, 2], ">f8"), [1, 2]),
    ],
)
def test_what_means_its_numbers_is_read(block: Any, example: Any, wanted: Any) -> None:
    assert read_by_both(block, example) == [wanted] * 2
