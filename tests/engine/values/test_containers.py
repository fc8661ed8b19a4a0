"""What a `Map` goes over, and layers on the rows of a sequence."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import arrows as ar
from arrows import ops


def test_an_iterator_without_end_is_an_input_error():
    model = ar.compile(ar.Map(ar.Scalar()) >> ar.Sum(), max_nodes=1000)
    assert model([iter([1, 2]), range(3), {4: None}, np.arange(3)]).tolist() == [3.0, 3.0, 4.0, 3.0]
    with pytest.raises(ar.InputError, match="example 1: "):
        model([[1], itertools.count()])


def test_a_layer_takes_the_rows_of_a_sequence():
    dense = ar.FC(3)

    def attend(rows):
        scores = dense(rows).sum()
        return ops.segment_sum(ops.segment_softmax(scores) * scores)

    model = ar.compile(ar.Map(ar.Vector(2)) >> ar.Function(attend), float_type="float64")
    examples = [[[1, 2], [3, 4], [0, 1]], [[1, 1]]]
    assert np.allclose(model(examples), [model.eval(x) for x in examples])
    _, grads = model.value_and_grad(examples)
    assert grads["FC_1/weight"].shape == (2, 3)
