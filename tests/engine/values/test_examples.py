"""The rule of the leaves, one value and many at a time, and that the two never differ."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from arrows.engine.values import LeafError, convert, convert_many
from arrows.testing.fake import FakeArray
from arrows.typesys.types import Tensor, as_type

TAKEN: list[tuple[Any, str, list[Any], Any]] = [
    (np.uint8(200), "int16", [], 200),
    (np.array(7), "int8", [], 7),
    (2**64 - 1, "uint64", [], 2**64 - 1),
    (-128, "int8", [], -128),
    (3, "float32", [], 3.0),
    (0.1, "float32", [], np.float32(0.1)),
    (np.float16(0.5), "float64", [], 0.5),
    (Fraction(1, 4), "float32", [], 0.25),
    (2**70, "float64", [], 2.0**70),
    (float("inf"), "float16", [], np.inf),
    (True, "bool", [], True),
    ([1, 2], "int32", [2], [1, 2]),
    ((1, True), "float32", [2], [1, 1]),
    ([[1, 2.5], (3, False)], "float64", [2, 2], [[1, 2.5], [3, 0]]),
    ([np.arange(2), [5, 6]], "int64", [2, 2], [[0, 1], [5, 6]]),
    (np.arange(3), "float32", [3], [0, 1, 2]),
    (np.arange(3.0), "float16", [3], [0, 1, 2]),
    (np.array([1, 2], object), "int32", [2], [1, 2]),
    (np.ones((1, 2), bool), "bool", [1, 2], [[True, True]]),
    ([2**70, 0.5], "float64", [2], [2.0**70, 0.5]),
    ([], "float32", [0], []),
    ([[], []], "int32", [2, 0], [[], []]),
    ([], "float32", [0, 3], np.empty((0, 3))),
]


@pytest.mark.parametrize(("value", "dtype", "shape", "expected"), TAKEN, ids=str)
def test_taken(value: Any, dtype: str, shape: list[int], expected: Any) -> None:
    tensor = Tensor(tuple(shape), dtype)
    for result in (
        convert(value, tensor),
        convert_many([value], tensor)[0],
        convert_many([value, value], tensor)[1],
    ):
        result = np.asarray(result)
        assert (result.shape, result.dtype) == (tensor.shape, dtype)
        np.testing.assert_array_equal(result, np.asarray(expected, dtype))


REFUSED: list[tuple[Any, Any, str]] = [
    (None, "int32", "expected int, got None"),
    ("3", "float32", "expected a number, got '3'"),
    (2.0, "int32", "expected int, got 2.0"),
    (np.float32(2), "int32", "expected int, got 2.0"),
    (np.array([1.0, 2]), [2, "int32"], "expected int at [0], got 1.0"),
    (1j, "float64", "expected a number, got 1j"),
    (np.array(1j), "float64", "expected a number, got 1j"),
    (Decimal("0.5"), "float64", "expected a number, got a value of type Decimal"),
    (np.datetime64("2020-01-01"), "float64", "expected a number, got datetime.date(2020, 1, 1)"),
    (1, "bool", "expected bool, got 1"),
    (128, "int8", "128 does not fit int8 (-128 to 127)"),
    (-1, "uint8", "-1 does not fit uint8 (0 to 255)"),
    (2**64, "uint64", "18446744073709551616 does not fit uint64 (0 to 18446744073709551615)"),
    (np.array([1, 300]), [2, "uint8"], "300 at [1] does not fit uint8 (0 to 255)"),
    (1e300, "float32", "1e+300 is too large for float32"),
    (70000, "float16", "70000 is too large for float16"),
    (10**400, "float64", f"1{'0' * 36}... is too large for float64"),
    ([], "int32", "expected int, got a list of 0"),
    ([3], "int32", "expected int, got a list of 1"),
    ({}, "int32", "expected int, got a dict of 0"),
    (object(), "int32", "expected int, got a value of type object"),
    (3, [3], "expected float32[3], got 3"),
    ("abc", [3], "expected float32[3], got 'abc'"),
    ([1, 2], [3], "expected float32[3], got a list of 2"),
    (np.zeros((1, 3)), [3], "expected float32[3], got an array float64[1, 3]"),
    ([[1], [2, 3]], [2, 1], "expected float32[1] at [1], got a list of 2"),
    ([[1], 2], [2, 1], "expected float32[1] at [1], got 2"),
    ([1, [2]], [2], "expected a number at [1], got a list of 1"),
    ({0: 1, 1: 2}, [2], "expected float32[2], got a dict of 2"),
    (iter([1, 2]), [2], "expected float32[2], got a value of type list_iterator"),
    (FakeArray(np.ones(2)), [2], "expected float32[2], got a value of type FakeArray"),
]


@pytest.mark.parametrize(("value", "tensor", "message"), REFUSED, ids=[f"{n}" for n in range(len(REFUSED))])
def test_refused(value: Any, tensor: Any, message: str) -> None:
    tensor = as_type(tensor)
    good = np.zeros(tensor.shape, tensor.dtype)
    with pytest.raises(LeafError) as caught:
        convert(value, tensor)
    assert str(caught.value) == message
    with pytest.raises(LeafError) as caught:
        convert_many([good, good, value, None], tensor)
    assert str(caught.value) == message


def test_a_list_inside_itself_is_no_leaf() -> None:
    loop: list[Any] = []
    loop.append(loop)
    with pytest.raises(LeafError, match=r"expected a number at \[0\], got a list of 1"):
        convert(loop, Tensor((1,)))


def test_an_integer_too_long_to_print() -> None:
    with pytest.raises(LeafError, match="an integer of 16610 bits is too large for float32"):
        convert(10**5000, Tensor((), "float32"))
    with pytest.raises(LeafError, match="an integer of 16610 bits does not fit int32"):
        convert(10**5000, Tensor((), "int32"))


numbers = st.one_of(
    st.integers(-(2**66), 2**66),
    st.floats(width=64),
    st.floats(width=32),
    st.booleans(),
    st.fractions(),
    st.floats(width=32).map(np.float32),
    st.integers(-128, 127).map(np.int8),
    st.none(),
    st.text(max_size=2),
)


@given(
    values=st.lists(numbers, max_size=5),
    dtype=st.sampled_from(["int8", "uint64", "bool", "float16", "float32"]),
)
def test_bulk_is_convert(values: list[Any], dtype: str) -> None:
    """What stands beside a value must not change it, as NumPy's common type of a list does."""
    tensor = Tensor((), dtype)

    def alone() -> Any:
        results: list[Any] = []
        for value in values:
            try:
                results.append(convert(value, tensor))
            except LeafError as error:
                return str(error)
        return np.array(results, dtype)

    def together() -> Any:
        try:
            return convert_many(values, tensor)
        except LeafError as error:
            return str(error)

    expected, result = alone(), together()
    if isinstance(expected, str):
        assert result == expected
    else:
        np.testing.assert_array_equal(result, expected)
        assert result.dtype == expected.dtype
