"""The walk that only complains."""

from __future__ import annotations

from typing import Any

import pytest

import arrows as ar
from arrows.engine.explain import check, explain
from arrows.typesys.errors import InputError


def test_what_fits_passes() -> None:
    @ar.arrow
    def block(x: Any) -> Any:
        rows = ar.Map(ar.Vector(2))(x["rows"])
        pairs = ar.Function(lambda a, b: (a * 2.0, b + 1.0))(rows, ar.Map(ar.Vector(2))(x["other"]))
        ar.Metric("m")(ar.Scalar()(x["n"]), x["label"])
        first = ar.Map(ar.Function(lambda a: a + 1.0))(pairs[0])
        return first, ar.Zeros(([2], [3]))(x), ar.GetItem(1)(first)

    typed = ar.infer(block)
    good = {"rows": [[1, 2], [3, 4]], "other": [[1, 2], [3, 4]], "n": 1, "label": None}
    check(typed, good)
    with pytest.raises(InputError, match=r"example 2: rows > \[1\]: expected float32\[2\], got 'no'"):
        check(typed, {**good, "rows": [[1, 2], "no"]}, number=2)
    with pytest.raises(InputError, match="there is no item 1 in a list of 1"):
        check(typed, {**good, "rows": [[1, 2]]})


def test_an_error_is_explained() -> None:
    typed = ar.infer(ar.GetItem("a") >> ar.Scalar())
    with pytest.raises(InputError, match="example 5: a: expected a number, got None"):
        explain(typed, {"a": None}, TypeError("inner"), number=5)


def test_an_error_that_does_not_come_back_is_reported_as_it_was() -> None:
    original = RuntimeError("once")
    with pytest.raises(InputError, match="example 5: RuntimeError: once; it did not happen again") as caught:
        explain(ar.infer(ar.Scalar()), 1, original, number=5)
    assert caught.value.__cause__ is original
