"""The walk that says what is wrong with an example."""

from __future__ import annotations

from typing import Any

import pytest

import arrows as ar
from arrows.engine.reference import Explainer
from arrows.inference import Typed
from arrows.typesys.errors import InputError
from tests.compare import random_parameters


def check(typed: Typed, example: object, number: int = 0, max_nodes: int = 10**6) -> None:
    Explainer(typed, random_parameters(), max_nodes, None)(example, number)


def test_what_fits_passes_and_what_does_not_is_named() -> None:
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
        check(typed, {**good, "rows": [[1, 2], "no"]}, 2)
    with pytest.raises(InputError, match="example 0: rows: there is no item 1 in a list of 1"):
        check(typed, {**good, "rows": [[1, 2]], "other": [[3, 4]]})


def test_endless_recursion_ends() -> None:
    more = ar.InputTransform(lambda x: [x])
    deeper = ar.fix(lambda me: ar.OneOf(lambda x: x == "end").case(True, ar.Scalar()).case(False, more >> me))
    with pytest.raises(InputError, match="endless"):
        check(ar.infer(deeper), 0, 0, 1000)
