"""Lazy tensors as Python objects: numbers of them, copies, and what they refuse to be."""

from __future__ import annotations

import copy
import math

import numpy as np
import pytest

import arrows as ar
from arrows import ops
from tests.compare import close


def test_numbers_of_a_tensor():
    net = ar.OnTheFly()
    with net.batch() as g:
        x, v = g.tensor(2.5), g.tensor([1.0, 2.0])
        assert (float(x), int(x), x.item(), math.floor(x.item())) == (2.5, 2, 2.5, 2)
        assert np.asarray(v, "float64").dtype == np.float64
        assert np.array(v).tolist() == [1.0, 2.0]
        assert isinstance(np.exp(v), ar.onthefly.LazyTensor)
        assert float(g.zeros([])) == 0
        assert f"{x:.3f} {g.tensor(7):03d} {x * 2:g}" == "2.500 007 5"
        assert f"{x}" == repr(x)


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("backward", r"\n  hint  loss, grads = g.value_and_grad\(loss\), or g.train_step\(loss, optimizer\)"),
        ("value", r"\n  hint  float\(x\), or x.numpy\(\)"),
    ],
)
def test_what_other_tensors_have(name: str, hint: str):
    with ar.OnTheFly().batch() as g:
        x = g.tensor(2.5)
        text = rf"cannot find {name} at test_tensor.py:\d+\n  a lazy tensor has no attribute '{name}'{hint}"
        with pytest.raises(AttributeError, match=f"^{text}$"):
            getattr(x, name)
        assert not hasattr(x, name) and not hasattr(x, "nothing")


def test_copies_are_the_tensor():
    """As states are copied for the hypotheses of a beam."""
    net, cell = ar.OnTheFly(), ar.LSTMCell(2)
    with net.batch() as g:
        state = cell([1.0], g.zeros(cell.state))
        items = {"state": state, "start": g.zeros(cell.state)}
        for double in (copy.copy(items), copy.deepcopy(items)):
            assert close(g.numpy(double), g.numpy(items), 0)
        loss, gradients = g.value_and_grad(ops.sum(copy.deepcopy(state)[0]))
        right, wanted = g.value_and_grad(ops.sum(state[0]))
        assert close([loss, gradients], [right, wanted], 0)


def test_tensors_of_a_function_and_of_a_batch_do_not_mix():
    net = ar.OnTheFly()
    kept = []
    with net.batch() as g:
        x = g.tensor([1.0, 2.0])
        ar.Function(lambda a: (kept.append(a), a)[1])(x)
        for mix in (lambda: ar.Function(lambda a: a * x)(x), lambda: kept[0] * x, lambda: x - kept[0]):
            with pytest.raises(
                ar.ArrowTypeError, match="its operands belong to different batches, or one of"
            ):
                mix()
        with pytest.raises(ar.ArrowTypeError, match="a tensor of a Function got into a batch"):
            ar.FC(2)(x, kept[0])
