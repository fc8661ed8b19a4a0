"""Products of a few rows with a large matrix: computed row by row, they give the same numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from arrows.ops import sums
from arrows.ops.sums import rows_by_matrix

RNG = np.random.default_rng(0)
LAYOUTS = {
    "as it is": lambda a: a,
    "transposed": lambda a: np.ascontiguousarray(a.T).T,
    "every other column": lambda a: np.repeat(a, 2, axis=-1)[..., ::2],
    "backwards": lambda a: np.ascontiguousarray(a[::-1])[::-1],
}


@pytest.mark.parametrize("blocks", [True, False])
@pytest.mark.parametrize("large", [0, 1_000_000])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_they_are_those_of_one_product(
    layout: str, dtype: str, large: int, blocks: bool, monkeypatch: Any
) -> None:
    monkeypatch.setattr(sums, "_BLOCKS", blocks)
    monkeypatch.setattr(sums, "_LARGE", large)  # 0: small matrices, too, are multiplied in blocks or rows
    if large == 0:
        monkeypatch.setattr(sums, "_KERNELS_WITHOUT_COPY", (2_000, 100))
        monkeypatch.setattr(sums, "_NARROWEST", 16)
        monkeypatch.setattr(sums, "_NARROWEST_TRANSPOSED", 16)
    lay = LAYOUTS[layout]
    for rows in (0, 1, 2, 3, 4, 5, 8, 9):
        for k, m in ((5, 7), (0, 3), (3, 0), (1, 1), (9, 50)):
            a, b = ((RNG.normal(size=shape) * 9).astype(dtype) for shape in ((rows, k), (k, m)))
            wanted = a @ b
            wide = np.zeros((rows, 2 * m + 1), dtype)
            for out in (None, np.full((rows, m), 3, dtype), wide[:, 1 : m + 1], wide[:, 1::2]):
                found = rows_by_matrix(lay(a), lay(b), out=out)
                assert out is None or found is out
                assert found.dtype == wanted.dtype
                np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-4)
            assert not wide[:, 0].any()
