"""Results with keys, slices of ragged values, initializers that fail, slices as keys of a record."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import arrows as ar


@pytest.mark.parametrize(
    ("initializer", "text"),
    [
        (lambda *_: 1 / 0, "its initializer raised ZeroDivisionError: division by zero"),
        (lambda generator, shape: 0, "its initializer raised TypeError"),
        (lambda *_: np.zeros(5), r"its initializer gave float64\[5\], where float32\[3, 2\] is wanted"),
        (lambda *_: None, r"its initializer gave object\[\]"),
        (lambda g, shape, dtype: np.full(shape, "a"), r"its initializer gave <U1\[3, 2\]"),
        (ar.initializers.given(np.ma.masked_equal(np.eye(3, 2), 1)), "3, 2. with masked elements"),
    ],
)
def test_an_initializer_that_fails_names_its_parameter(initializer: Any, text: str) -> None:
    with pytest.raises(ar.ArrowValueError, match=text):
        ar.compile(ar.Vector(3) >> ar.FC(2, initializer=initializer, name="scores"))
    with pytest.raises(ar.ArrowValueError) as caught:
        ar.compile(ar.Vector(3) >> ar.FC(2, initializer=initializer))
    first, second = str(caught.value).splitlines()[:2]
    assert first == "cannot make parameter 'FC_1/weight'"
    assert second.startswith("  FC(2") and "test_small_things.py:" in second
