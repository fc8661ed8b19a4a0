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


@pytest.mark.parametrize(("name", "operands", "attributes"), CASES, ids=IDS)
def test_on_numpy_and_on_the_fake_device(
    name: str, operands: tuple[Any, ...], attributes: dict[str, Any]
) -> None:
    check_primitive(ops.get(name), *operands, gradients=name not in OTHER_DERIVATIVES, **attributes)
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
