"""Results with keys, slices of ragged values, initializers that fail, slices as keys of a record."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import arrows as ar


def test_items_with_keys_are_attributes() -> None:
    result = ar.compile(ar.Record({"word": ar.Scalar(), "count": ar.Scalar(), 3: ar.Scalar()}))(
        [{"word": 1, "count": 2, 3: 4}]
    )
    assert result.word.tolist() == [1]
    assert callable(result.count)  # the method of every tuple stays
    assert "word" in dir(result) and "3" not in dir(result)
    with pytest.raises(AttributeError, match="no 'words' among word, count, 3"):
        _ = result.words
    for again in (copy.copy(result), copy.deepcopy(result), pickle.loads(pickle.dumps(result))):
        assert again.word.tolist() == [1]


def failing(generator: Any, shape: Any, dtype: Any) -> Any:
    raise ZeroDivisionError("no")


@pytest.mark.parametrize(
    ("initializer", "text"),
    [
        (failing, "the initializer of 'scores/weight' raised ZeroDivisionError: no"),
        (lambda generator, shape: 0, "the initializer of 'scores/weight' raised TypeError"),
        (
            lambda *_: np.zeros(5),
            r"the initializer of 'scores/weight' gave an array of shape \[5\], not \[3, 2\]",
        ),
        (lambda *_: None, "the initializer of 'scores/weight' gave no numbers"),
        (lambda g, shape, dtype: np.full(shape, "a"), "the initializer of 'scores/weight' gave no numbers"),
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
