"""Adds up the repeated rows of a row-sparse gradient, so that each row of the parameter is updated once."""

from __future__ import annotations

import numpy as np

from arrows.engine.backend import Backend
from arrows.ops import RowSparse


def merge_rows(backend: Backend, gradient: RowSparse) -> RowSparse:
    """The same gradient with distinct rows in rising order, the values of repeated rows added up.

    Only the row numbers come to the host, where their order is found; the values stay on the device. A
    gradient that is in this form already is handed back as it is.

    Args:
        backend: of the device that the gradient is on.
        gradient: rows `[n]`, values `[n, ...]`.

    Returns:
        Rows `[m]` with m <= n, values `[m, ...]`.

    >>> from arrows.engine.backend import backend
    >>> twice = RowSparse(np.array([4, 1, 4]), np.array([[1.0], [2.0], [3.0]]), (9, 1))
    >>> merged = merge_rows(backend("cpu"), twice)
    >>> merged.rows.tolist(), merged.values.tolist()
    ([1, 4], [[2.0], [4.0]])
    """
    rows = backend.to_numpy(gradient.rows)
    if len(rows) < 2 or bool((rows[1:] > rows[:-1]).all()):
        return gradient
    order = np.argsort(rows, kind="stable")
    in_order = rows[order]
    starts = np.flatnonzero(np.concatenate(([True], in_order[1:] != in_order[:-1])))

    def up(numbers: np.ndarray[tuple[int], np.dtype[np.int64]]) -> object:
        return backend.to_device(numbers.astype(backend.index_dtype))

    values = backend.zeros((len(starts), *gradient.values.shape[1:]), gradient.values.dtype)
    longest = int(np.diff(starts, append=len(rows)).max())
    everything = up(np.arange(len(starts)))
    backend.add_reduced(values, everything, gradient.values, up(order), up(starts), longest)
    return RowSparse(up(in_order[starts]), values, gradient.shape)
