"""Products of a few rows with a large matrix: computed row by row, they give the same numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from arrows.ops.sums import rows_by_matrix

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
    numbers: dict[str, Any] = {"_BLOCKS": blocks, "_LARGE": large}
    if large == 0:  # small matrices, too, are multiplied in blocks or rows
        numbers |= {"_KERNELS_WITHOUT_COPY": (2_000, 100), "_SMALLEST": 2}
    for name, number in numbers.items():
        monkeypatch.setitem(rows_by_matrix.__globals__, name, number)
    lay, random = LAYOUTS[layout], np.random.default_rng(0)
    # Two sums of k products, in whatever order each is added, are at most so far apart, for a term of 1.
    apart = 0 if dtype == "int32" else np.finfo(dtype).eps
    for rows in (0, 1, 2, 3, 4, 5, 8, 9):
        for k, m in ((5, 7), (0, 3), (3, 0), (1, 1), (9, 50)):
            a, b = ((random.normal(size=shape) * 9).astype(dtype) for shape in ((rows, k), (k, m)))
            wanted, most = a @ b, k * apart * (abs(a) @ abs(b))
            wide = np.zeros((rows, 2 * m + 1), dtype)
            for out in (None, np.full((rows, m), 3, dtype), wide[:, 1 : m + 1], wide[:, 1::2]):
                found = rows_by_matrix()(lay(a), lay(b), out=out)
                assert out is None or found is out
                assert found.dtype == wanted.dtype and (abs(found - wanted) <= most).all()
            assert not wide[:, 0].any()


def test_few_rows_and_a_large_matrix_are_multiplied_in_parts(monkeypatch: Any) -> None:
    """In blocks of columns, there and back by turns, or row by row, as was measured to be faster."""
    made: list[tuple[int, ...]] = []
    multiply = rows_by_matrix()

    def products(blocks: bool, rows: int, k: int, m: int) -> list[tuple[int, ...]]:
        made.clear()
        monkeypatch.setitem(rows_by_matrix.__globals__, "_BLOCKS", blocks)
        a, b, out = (np.zeros(shape, "float32") for shape in ((rows, k), (k, m), (rows, m)))
        multiply(a, b if k < m else b.T.copy().T, out=out)
        return list(made)

    monkeypatch.setattr(np, "matmul", lambda a, b, out: out.fill(made.append((a.ndim, *b.shape)) or 0))
    monkeypatch.setitem(rows_by_matrix.__globals__, "FEW_TRANSPOSED", 16)
    monkeypatch.setitem(rows_by_matrix.__globals__, "one_thread", lambda: True)
    assert products(True, 8, 610, 1500) == [(2, 77, 1500)] * 7 + [(2, 71, 1500)]
    assert products(True, 1, 610, 1500) == [(2, 202, 1500)] + [(2, 204, 1500)] * 2  # and back
    assert products(True, 8, 1500, 600) == [(2, 1500, 80)] * 7 + [(2, 1500, 40)]
    assert products(False, 4, 600, 1500) == [(3, 600, 1500)]  # each row is a matrix of its own
    assert products(True, 17, 600, 1500) == products(False, 1, 600, 1500) == [(2, 600, 1500)]
    assert products(True, 8, 60, 150) == products(False, 4, 60, 150) == [(2, 60, 150)]
