"""Dropout: masks depend on seed, step, example, place and visit, and on nothing else."""

from __future__ import annotations

import numpy as np
import pytest

import arrows as ar
from arrows import ops


def block(rate: float = 0.5):
    dense = ar.FC(6, name="dense")
    cell = ar.Function(lambda h, x: ops.dropout(ops.tanh(ops.dropout(h, rate) + dense(x)), rate))
    return ar.Map(ar.Vector(4)) >> ar.Fold(cell, ar.Zeros([6])) >> ar.Function(lambda h: (h * h).sum())


def examples(count: int = 5):
    generator = np.random.default_rng(3)
    return [generator.normal(size=(n % 4 + 1, 4)).tolist() for n in range(count)]


def test_each_step_seed_example_and_place_has_its_own_mask():
    model = ar.compile(ar.Vector(64) >> ar.Function(lambda x: (ops.dropout(x, 0.5), ops.dropout(x, 0.5))))
    ones = [1.0] * 64
    first, second = model([ones, ones], training=True)
    third, _ = model([ones, ones], training=True)
    other, _ = ar.compile(model.typed.form, seed=1)([ones], training=True)
    masks = [first[0], first[1], second[0], third[0], other[0]]
    assert all(set(mask.tolist()) <= {0.0, 2.0} for mask in masks)
    assert len({mask.tobytes() for mask in masks}) == len(masks)
    assert model.step == 2


def test_without_training_nothing_is_dropped():
    model = ar.compile(block(0.9), float_type="float64")
    plain = model(examples())
    assert np.allclose(plain, [model.eval(x) for x in examples()])
    assert model.step == 0
    assert not np.allclose(model(examples(), training=True), plain)


def test_the_gradient_is_that_of_the_masked_function():
    model = ar.compile(block(), float_type="float64")
    _, grads = model.value_and_grad(examples())
    weight, gradient = model.params["dense/weight"], grads["dense/weight"]
    for place in [(0, 0), (3, 5), (1, 2)]:
        slopes = []
        for change in (1e-6, -1e-6):
            weight[place] += change
            model.step = 0
            slopes.append(float(model.value_and_grad(examples())[0]))
            weight[place] -= change
        assert (slopes[0] - slopes[1]) / 2e-6 == pytest.approx(gradient[place], rel=1e-5, abs=1e-8)


@pytest.mark.parametrize("ids", [[], (), np.zeros(0, np.int32), np.zeros(0, np.float64)])
def test_a_batch_without_examples_has_no_ids(ids):
    model = ar.compile(ar.Vector(2) >> ar.Dropout(0.5))
    assert model([], training=True, ids=ids).shape == (0, 2)
    with pytest.raises(ar.ArrowValueError, match="ids must be 1 integers"):
        model([[1, 2]], training=True, ids=ids)
