"""Every primitive: its rule, kernel, vjp, lift and sum_rows agree, on NumPy and on the fake device."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from arrows import ops
from arrows.engine.device import get_device
from arrows.ops.segments import reduce_segments
from arrows.testing import check_primitive
from arrows.typesys import types as T

from .table import CASES

IDS = [
    f"{name}-{'-'.join(str(x.shape) for x in operands)}-{attributes}" for name, operands, attributes in CASES
]

OTHER_DERIVATIVES = {"segment_attention_gradient", "stop_gradient"}
"""One is a derivative, not made of operations with derivatives; the other passes no gradient."""


def test_every_primitive_stands_in_the_table() -> None:
    missing = set(ops.primitives()) - {name for name, _, _ in CASES}
    assert not missing, f"write rows for {sorted(missing)} in tests/ops/table.py"


@pytest.mark.parametrize(("name", "operands", "attributes"), CASES, ids=IDS)
def test_on_numpy(name: str, operands: tuple[Any, ...], attributes: dict[str, Any]) -> None:
    check_primitive(ops.get(name), *operands, gradients=name not in OTHER_DERIVATIVES, **attributes)


@pytest.mark.parametrize(("name", "operands", "attributes"), CASES, ids=IDS)
def test_on_the_fake_device(name: str, operands: tuple[Any, ...], attributes: dict[str, Any]) -> None:
    check_primitive(ops.get(name), *operands, device="fake", gradients=False, **attributes)


@pytest.mark.parametrize("name", sorted({name for name, _, _ in CASES}))
def test_float32_stays_float32(name: str) -> None:
    for _, operands, attributes in (case for case in CASES if case[0] == name):
        small = [x.astype("float32") if x.dtype.kind == "f" else x for x in operands]
        attributes = {k: "float32" if v == "float64" else v for k, v in attributes.items()}
        primitive = ops.get(name)
        types = [T.Tensor(x.shape, x.dtype.name) for x in small]
        extra: dict[str, Any] = {}
        if primitive.segmented:
            if primitive.name != "segment_broadcast":
                count = 1 if primitive.collapses else len(small)
                types[:count] = [T.Tensor(x.shape[1:], x.dtype.name) for x in small[:count]]
            extra["segments"] = ops.Segments.of(np, np.array([0, 5]))
        kind = primitive.rule(*types, **attributes)
        assert kind.dtype != "float64"
        assert np.asarray(primitive.kernel(np, **attributes)(*small, **extra)).dtype.name == kind.dtype


@pytest.mark.parametrize("name", ["softmax", "log_softmax", "sigmoid", "softplus", "tanh", "relu"])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_large_numbers_do_not_overflow(name: str, dtype: str) -> None:
    x = np.array([-100, -1, 0, 1, 100], dtype)
    with np.errstate(all="raise", under="ignore"):
        y = np.asarray(ops.get(name).kernel(np, **({"axis": -1} if "softmax" in name else {}))(x))
    assert np.isfinite(y).all()
    assert y.dtype == dtype


def test_logsumexp_of_large_numbers() -> None:
    with np.errstate(all="raise", under="ignore"):
        run = ops.get("logsumexp").kernel(np, axes=(-1,), keepdims=False)
        assert float(run(np.array([1e4, -1e4], "float32"))) == 1e4


LENGTHS = {
    "none": [],
    "two each": [2] * 50,
    "one each": [1] * 20,
    "seventeen each": [17] * 5,
    "all empty": [0] * 5,
    "some empty": [0, 3, 0, 1, 0],
    "mixed": np.random.default_rng(1).integers(0, 40, 300).tolist(),
    "one long": [1, 1, 3000, 0, 2, 5],
    "very long": [5000],
}


@pytest.mark.parametrize("width", [(), (3,), (20,), (4, 5), (0,)])
@pytest.mark.parametrize("name", sorted(LENGTHS))
def test_segments_of_every_length(name: str, width: tuple[int, ...]) -> None:
    offsets = np.cumsum([0, *LENGTHS[name]])
    x = np.random.default_rng(0).standard_normal((offsets[-1], *width))
    for combine, function in (("add", np.sum), ("maximum", np.max)):
        wanted = np.full((len(offsets) - 1, *width), -7.0)
        for i, (a, b) in enumerate(pairwise(offsets)):
            if b > a:
                wanted[i] = function(x[a:b], axis=0)
        for device in map(get_device, ("cpu", "fake")):
            segments = ops.Segments.of(device.xp, device.to_device(offsets), int(offsets[-1]))
            for out in (None, device.to_device(np.zeros_like(wanted))):
                got = reduce_segments(device.xp, combine, device.to_device(x), segments, -7.0, out)
                np.testing.assert_allclose(device.to_numpy(got), wanted, atol=1e-10)


def test_one_segment_of_100_000_rows() -> None:
    x = np.random.default_rng(0).standard_normal((100_000, 4)).astype("float32")
    segments = ops.Segments.of(np, np.array([0, 100_000]))
    got = ops.get("segment_sum").kernel(np, rows=True)(x, segments=segments)
    np.testing.assert_allclose(got[0], x.sum(axis=0, dtype="float64"), rtol=1e-3, atol=1e-2)
    y = ops.get("segment_softmax").kernel(np, rows=True)(x, segments=segments)
    np.testing.assert_allclose(y.sum(axis=0), 1, rtol=1e-3)
