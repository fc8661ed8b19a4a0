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


@pytest.mark.parametrize(
    ("rows", "shape", "dtype", "turned", "one_by_one"),
    [
        (1, (600, 1500), "float32", False, False),
        (2, (600, 1500), "float32", False, True),
        (4, (600, 1500), "float32", False, True),
        (5, (600, 1500), "float32", False, False),
        (8, (600, 1500), "float32", True, True),
        (9, (600, 1500), "float32", True, False),
        (3, (600, 1500), "float64", False, False),
        (4, (600, 1500), "float64", True, True),
        (4, (300, 300), "float32", False, False),
        (2, (300, 30000), "float32", False, False),
    ],
)
def test_row_by_row_where_that_was_measured_to_be_faster(
    rows: int, shape: tuple[int, int], dtype: str, turned: bool, one_by_one: bool, monkeypatch: Any
) -> None:
    monkeypatch.setattr(sums, "_BLOCKS", False)
    monkeypatch.setattr(sums, "FEW_TRANSPOSED", 8)
    products = products_of(rows, shape, dtype, turned, monkeypatch)
    assert [a for a, _ in products] == [3 if one_by_one else 2]  # each row is a matrix of its own


@pytest.mark.parametrize(
    ("rows", "shape", "turned", "columns"),
    [
        (1, (600, 1500), False, [1500]),
        (2, (600, 1500), False, [832, 668]),
        (8, (600, 1500), False, [208] * 7 + [44]),
        (8, (1500, 600), False, [80] * 7 + [40]),
        (16, (1500, 600), False, [600]),  # blocks would be narrow
        (16, (1500, 600), True, [32] * 18 + [24]),
        (2, (900, 300), True, [300]),
        (4, (900, 300), True, [272, 28]),
        (17, (1500, 600), True, [600]),
    ],
)
def test_blocks_of_columns_where_that_was_measured_to_be_faster(
    rows: int, shape: tuple[int, int], turned: bool, columns: list[int], monkeypatch: Any
) -> None:
    monkeypatch.setattr(sums, "_BLOCKS", True)
    monkeypatch.setattr(sums, "FEW_TRANSPOSED", 16)
    products = products_of(rows, shape, "float32", turned, monkeypatch)
    assert products == [(2, width) for width in columns]


def products_of(
    rows: int, shape: tuple[int, int], dtype: str, turned: bool, monkeypatch: Any
) -> list[tuple[int, int]]:
    """The products that are made: the axes of the left operand, and the columns of the right one."""
    b = np.zeros(shape[::-1], dtype).T if turned else np.zeros(shape, dtype)
    products = []

    def matmul(a: Any, b: Any, out: Any = None) -> Any:
        products.append((a.ndim, b.shape[-1]))
        return out

    monkeypatch.setattr(sums.np, "matmul", matmul)
    rows_by_matrix(np.zeros((rows, shape[0]), dtype), b, out=np.zeros((rows, shape[1]), dtype))
    return products
