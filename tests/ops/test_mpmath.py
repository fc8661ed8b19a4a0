"""Functions of one number against mpmath, over the whole range of float32: values and derivatives."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import mpmath
import numpy as np
import pytest

import arrows as ar
from arrows import ops
from arrows.engine.device import kernel
from arrows.engine.program import region as emitter

Array = np.ndarray[Any, Any]
Function = Callable[[Any], Any]

LIMITS = np.finfo(np.float32)
PRECISION = 60  # digits; numbers up to 1e38 and their squares are subtracted from 1


def _points() -> Array:
    """Numbers of every size that float32 has, dense where functions bend, and the ends of its range."""
    sizes = np.geomspace(1.5e-45, float(LIMITS.max), 150)
    near = np.linspace(0, 110, 221)
    x = np.concatenate([sizes, near, np.linspace(0, 10, 100)[1:], [LIMITS.tiny, LIMITS.max, LIMITS.eps]])
    return np.unique(np.concatenate([x, -x]).astype("float32"))


POINTS = _points()
m = mpmath


def _sigmoid(x: Any) -> Any:
    return 1 / (1 + m.exp(-x))


def _softplus(x: Any) -> Any:
    return m.log1p(m.exp(x)) if x < 100 else x + m.exp(-x)


def _normal(x: Any) -> Any:
    """The probability that a standard normal variable is less than x."""
    return m.erfc(-x / m.sqrt(2)) / 2


LOST = 128 * 3 * float(LIMITS.smallest_subnormal)  # x times what is below the smallest normal number
# The function, the truth, and the error that is allowed: relative to the truth, and absolute (0 still allows
# what numbers below the smallest normal one lose).
CASES: dict[str, tuple[Function, Function, float, float]] = {
    "abs": (ops.abs, abs, 0, 0),
    "negative": (ops.negative, lambda x: -x, 0, 0),
    "sign": (ops.sign, m.sign, 0, 0),
    "square": (ops.square, lambda x: x * x, 1e-7, 0),
    "relu": (ops.relu, lambda x: max(x, 0), 0, 0),
    "leaky_relu": (ops.leaky_relu, lambda x: x if x > 0 else x * m.mpf("0.01"), 2e-7, 0),
    "exp": (ops.exp, m.exp, 4e-7, 0),
    "expm1": (ops.expm1, m.expm1, 4e-7, 0),
    "tanh": (ops.tanh, m.tanh, 4e-7, 0),
    "sigmoid": (ops.sigmoid, _sigmoid, 4e-7, 0),
    "softplus": (ops.softplus, _softplus, 4e-7, 0),
    "silu": (ops.silu, lambda x: x * _sigmoid(x), 5e-7, LOST),
    "elu": (ops.elu, lambda x: x if x > 0 else m.expm1(x), 4e-7, 0),
    "erf": (ops.erf, m.erf, 5e-7, 0),
    "gelu": (ops.gelu, lambda x: x * _normal(x), 5e-7, 8e-7),
    "sin": (ops.sin, m.sin, 4e-7, 1e-7),
    "cos": (ops.cos, m.cos, 4e-7, 1e-7),
}
POSITIVE: dict[str, tuple[Function, Function, float, float]] = {
    "sqrt": (ops.sqrt, m.sqrt, 1e-7, 0),
    "log": (ops.log, m.log, 4e-7, 0),
    "log1p": (ops.log1p, m.log1p, 4e-7, 0),
    "power 2.5": (lambda x: ops.power(x, 2.5), lambda x: x ** m.mpf("2.5"), 3e-7, 0),
    "power -1": (lambda x: ops.power(x, -1), lambda x: 1 / x, 3e-7, 0),
}
EVERY = CASES | POSITIVE
FUSED = ["abs", "negative", "sign", "square", "relu", "tanh", "sigmoid", "silu", "sqrt"]


@cache
def truth(name: str) -> tuple[Array, list[Any]]:
    points = POINTS if name in CASES else POINTS[POINTS > 0]
    with mpmath.workdps(PRECISION):
        return points, [EVERY[name][1](mpmath.mpf(float(x))) for x in points]


def check(name: str, found: Array) -> None:
    points, wanted = truth(name)
    _, _, relative, absolute = EVERY[name]
    with np.errstate(over="ignore"):
        rounded = np.array([float(y) for y in wanted]).astype("float32")  # infinity where it overflows
    error = np.array(
        [
            float(abs(mpmath.mpf(float(y)) - w))
            if np.isfinite(y) and np.isfinite(r)
            else float(y != r) * np.inf
            for y, w, r in zip(found, wanted, rounded, strict=True)
        ]
    )
    error[np.isnan(error)] = 0
    few = 3 * float(LIMITS.smallest_subnormal)
    allowed = relative * np.abs(np.nan_to_num(rounded, posinf=0, neginf=0)).astype("float64") + absolute + few
    # At the ends of the range one may round to infinity and the other to the largest number.
    edge = np.abs(np.nan_to_num(rounded, posinf=LIMITS.max, neginf=-LIMITS.max)) > LIMITS.max * (1 - 1e-6)
    wrong = np.flatnonzero((error > allowed) & ~edge | (np.isnan(found)))
    assert not len(wrong), [(points[i], found[i], rounded[i]) for i in wrong[:9]]


@pytest.mark.parametrize("name", EVERY)
def test_plain(name: str) -> None:
    check(name, np.asarray(EVERY[name][0](truth(name)[0])))


numba = pytest.mark.skipif(not kernel.available(), reason="numba is not installed")


@pytest.fixture
def sources(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Collects the sources that are compiled."""
    found: list[str] = []
    monkeypatch.setenv("ARROWS_CACHE", str(tmp_path_factory.getbasetemp() / "chains"))

    def noted(source: str) -> Any:
        found.append(source)
        return kernel.compiled(source)

    monkeypatch.setattr(emitter, "compiled", noted)
    return found


@numba
def test_fused(sources: list[str]) -> None:
    def every(x: Any) -> Any:
        return tuple(ops.negative(ops.negative(EVERY[name][0](x))) for name in FUSED)

    model = ar.compile(ar.Vector(len(POINTS)) >> ar.Function(every), jit=True)
    results = model([POINTS])
    (source,) = sources
    assert all(f"{word}(" in source for word in ("abs", "sign", "relu", "tanh", "sigmoid", "sqrt"))
    for name, found in zip(FUSED, results, strict=True):
        check(name, found[0] if name in CASES else found[0][POINTS > 0])


@numba
def test_the_logarithm_of_a_compiled_sigmoid(sources: list[str]) -> None:
    model = ar.compile(ar.Vector(4) >> ar.Function(lambda x: ops.log(ops.sigmoid(-x))), jit=True)
    np.testing.assert_allclose(
        model([[20, 60, 87, -20]])[0], [-20, -60, -87, -2.0611536e-9], rtol=1e-5, atol=6e-8
    )
    assert "sigmoid(" in sources[0]


SMOOTH = ["tanh", "sigmoid", "silu", "softplus", "elu", "gelu", "erf", "leaky_relu", "abs"]
DENSE = POINTS[np.abs(POINTS) > 1e-30][::2]
DENSE = DENSE[(DENSE % 1 != 0) | (np.abs(DENSE) > 20)]  # no kinks


@cache
def derivatives(name: str) -> Array:
    """The true derivatives for |x| < 120; beyond, they are 0, 1 or -1."""
    with mpmath.workdps(PRECISION):
        points = [mpmath.mpf(float(x)) for x in DENSE if abs(x) < 120]
        return np.array([float(mpmath.diff(EVERY[name][1], x, method="step")) for x in points])


@pytest.mark.parametrize("compiled", [False, pytest.param(True, marks=[numba, pytest.mark.nightly])])
def test_derivatives(sources: list[str], compiled: bool) -> None:
    """Derivatives are right to 2e-6, absolute and relative, since many of them are differences from 1."""
    names = SMOOTH[:5] if compiled else SMOOTH

    def total(x: Any) -> Any:
        return sum(ops.sum(EVERY[name][0](x[i])) for i, name in enumerate(names))

    block = ar.Tensor((len(names), len(DENSE)), name="x") >> ar.Function(total)
    points = np.stack([DENSE] * len(names))
    found = ar.compile(block, jit=compiled).value_and_grad([points], inputs=["x"])[1]["x"].values[0]
    assert bool(sources) == compiled
    near = np.abs(DENSE) < 120
    for name, gradient in zip(names, found, strict=True):
        assert np.isfinite(gradient).all(), (name, DENSE[~np.isfinite(gradient)])
        wanted = derivatives(name)
        wrong = np.abs(gradient[near] - wanted) > 2e-6 * (1 + np.abs(wanted))
        assert not wrong.any(), (name, DENSE[near][wrong], gradient[near][wrong], wanted[wrong])
