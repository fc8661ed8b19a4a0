"""Infinite numbers and NaN are values: nothing warns of them or raises, whatever NumPy has been told."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import arrows as ar
from arrows import ops
from arrows.engine.device import available
from arrows.engine.planning import SCHEDULES
from arrows.training import SGD, Adam, RMSprop
from tests.profile import sampled

HOW: list[Any] = [{"schedule": schedule} for schedule in SCHEDULES]
HOW += [{"device": "fake"}, {"float_type": "float16"}, {"float_type": "float64"}]
if available():
    HOW.append({"jit": True})


def wild(x: Any) -> Any:
    """Overflows, underflows, divides by zero and takes the logarithm of nothing."""
    large = ops.exp(x * 40.0) * ops.square(x)
    return (
        large
        + 1.0 / (x - x)
        + ops.log(ops.relu(x))
        + ops.sqrt(x - 2.0)
        + ops.exp(-abs(x) * 90.0) * 1e39
        + ops.norm(x * 1e30)
        + ops.tanh(large) * ops.sigmoid(-large)
        + ops.power(x, -2.5)
        + ops.cast(large, "float16").cast(x.dtype)
    )


def block() -> ar.Block[Any, Any]:
    cell = ar.Function(lambda state, x: ops.tanh(state) * 1e30 * x + state)
    states = ar.Map(ar.Vector(3, name="x") >> ar.FC(3, name="fc")) >> ar.Fold(cell, ar.Zeros([3]))
    numbers = states >> ar.Function(lambda x: (wild(x) * x).sum())
    many = (
        ar.Map(ar.Vector(3))
        >> ar.Map(ar.Function(lambda x: ops.sum(wild(x))))
        >> (ar.Sum() & ar.Max(default=0))
    )
    return (numbers & many) >> ar.Function(lambda a, bc: a * bc[0] + bc[1])


BATCH = [
    [[1e30, -1.0, 0.0], [3e38, 1e-45, 2.0]],
    [[0.0, 0.0, 0.0]],
    [],
    [[float("inf"), float("nan"), 1.0]] * 3,
]


@pytest.mark.parametrize("flags", ["warn", "raise", "call"])
@pytest.mark.parametrize("how", sampled(HOW, 2), ids=str)
def test_engine_and_optimizers(how: dict[str, Any], flags: str, monkeypatch: Any, tmp_path: Any) -> None:
    if "jit" in how:
        monkeypatch.setenv("ARROWS_CACHE", str(tmp_path))
    called: list[Any] = []
    batch = [[[6e4, -1.0, 1e-7]] * 2] if "float16" in how.values() else BATCH
    with np.errstate(all=flags, call=lambda *words: called.append(words)):
        model = ar.compile(block(), seed=3, **how)
        results = model(batch)
        for optimizer in (SGD(1e30), Adam(1e30, clip_norm=1.0), RMSprop(0.1, average=0.9)):
            value, grads = model.value_and_grad(batch, inputs=["x"])
            optimizer.step(model, grads)
            model.train_step(batch, optimizer)
        assert np.geterr() == dict.fromkeys(("divide", "over", "under", "invalid"), flags)
    assert not called
    assert not np.isfinite(ar.to_numpy(value))
    assert not np.isfinite(ar.to_numpy(results)).all()


@pytest.mark.parametrize("flags", ["warn", "raise"])
def test_the_reference_does_the_same(flags: str) -> None:
    model = ar.compile(block(), seed=3)
    with np.errstate(all=flags):
        one = [model.eval(example) for example in BATCH]
        found = model(BATCH)
        np.testing.assert_array_equal(np.isnan(one), np.isnan(found))
        np.testing.assert_array_equal(np.isposinf(one), np.isposinf(found))
        assert ops.log(np.zeros(1)).tolist() == [-np.inf]
        assert ops.exp(np.full(1, 1e3, "float32")).tolist() == [np.inf]


def test_what_a_user_computes_warns_as_before() -> None:
    """The rule is for arrows' own numbers: a function on inputs is the user's."""
    model = ar.compile(ar.InputTransform(lambda x: float(np.log(np.float64(x)))) >> ar.Scalar())
    with np.errstate(all="raise"), pytest.raises(ar.InputError, match="FloatingPointError"):
        model([0.0])
