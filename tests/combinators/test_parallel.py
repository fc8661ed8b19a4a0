"""`f * g`: side by side on a pair."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import arrows as ar
from arrows.typesys import types as T

LENGTH = ar.InputTransform(len)
TENSOR = T.Tensor((2,))


def test_each_side_gets_its_item_of_the_pair() -> None:
    assert (LENGTH * ar.Identity()).eval(("tree", [2])) == (4, [2])
    assert (ar.Identity() * ar.Identity()).eval([1, 2]) == (1, 2)
    # ... and nests to the left
    assert (LENGTH * LENGTH * LENGTH).eval((("a", "bc"), "def")) == ((1, 2), 3)
    assert (LENGTH * (LENGTH * LENGTH)).eval(("a", ("bc", "def"))) == (1, (2, 3))


def test_types_of_tensors_pass_through() -> None:
    block = ar.FC(3) * ar.Map(ar.FC(4))
    typed = ar.infer(block, ([2], T.Sequence(TENSOR)))
    assert typed.output == T.as_type(([3], T.Sequence(T.Tensor((4,)))))
    pair = (ar.Vector(2) & ar.Vector(5)) >> ar.Identity() * ar.FC(3)
    assert ar.infer(pair).output == T.as_type(([2], [3]))


def test_a_side_may_ignore_its_item() -> None:
    assert [float(x) for x in (ar.Scalar() * ar.Constant(7.0)).eval((1, None))] == [1, 7]


def test_it_prints_as_it_is_written() -> None:
    f, g = ar.FC(2), ar.FC(3)
    texts = {
        "FC(2) * FC(3)": f * g,
        "(FC(2) * FC(3)) * FC(2)": f * g * f,
        "FC(2) * (FC(3) * FC(2))": f * (g * f),
        "(FC(2) >> FC(3)) * FC(2)": (f >> g) * f,
        "(FC(2) & FC(3)) * FC(2) >> Concat()": (f & g) * f >> ar.Concat(),
        "Identity() * Record({'a': FC(2)})": ar.Identity() * {"a": f},
        "FC(2) * FC(3) & FC(2)": f * g & f,
    }
    for text, block in texts.items():
        assert repr(block) == text
        assert repr(copy.deepcopy(block)) == repr(pickle.loads(pickle.dumps(block))) == text
    assert (f * g).label == "FC(2) * FC(3)"
    assert ((f >> g >> f >> g) * g).label == "(a chain of 4) * FC(3)"
    assert repr(np.zeros(2) * f) == "Constant(float64[2]) * FC(2)"  # type: ignore[operator]
    assert repr((f, g) * f) == "Record(GetItem(0) >> FC(2), GetItem(1) >> FC(3)) * FC(2)"


def test_what_is_no_pair_is_an_error_of_the_example() -> None:
    model = ar.compile(ar.Scalar() * ar.Scalar())
    for example, reason in [
        ([1], "expected 2 items to take apart, got 1"),
        (3, "expected something with the item 0, got 3"),
    ]:
        with pytest.raises(ar.InputError, match=reason):
            model([example])
