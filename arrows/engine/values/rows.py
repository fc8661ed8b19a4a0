"""The results of a batch taken apart: one row for each example, as tables and JSON have them."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from arrows.engine.device import host_array
from arrows.engine.values.results import Labelled, Ragged
from arrows.engine.values.trampoline import Recursion, each, trampoline


def rows_of(result: object, count: int) -> list[Any]:
    """The rows of a batch's result, on the host.

    Args:
        result: as a model gives it.
        count: how many examples the batch has.

    Returns:
        For each example: a Python number for a scalar, a NumPy array for a tensor with axes, a dict for a
        tuple whose keys are texts and a plain tuple for any other, for a sequence an array of its elements if
        these are tensors, else the list of its elements' rows, and None for Void.

    >>> import numpy as np
    >>> words = Labelled((np.array([0.5, 2.0]), Ragged(np.arange(3), np.array([0, 2, 3]))), ("mean", "words"))
    >>> rows_of(words, 2)
    [{'mean': 0.5, 'words': array([0, 1])}, {'mean': 2.0, 'words': array([2])}]
    """
    return trampoline(_rows(result, count))


def _rows(part: object, count: int) -> Recursion[list[Any]]:
    if part is None:
        return [None] * count
    if isinstance(part, tuple):
        columns = yield each(_rows(item, count) for item in part)
        if isinstance(part, Labelled) and all(isinstance(label, str) for label in part.labels):
            return [dict(zip(part.labels, row, strict=True)) for row in zip(*columns, strict=True)] or [
                {}
            ] * count
        return list(zip(*columns, strict=True)) or [()] * count
    if isinstance(part, Ragged):
        bounds = part.offsets.tolist()
        values = part.values
        if values is None or isinstance(values, (tuple, Ragged)):
            elements = yield _rows(values, bounds[-1])
        else:
            elements = host_array(values)
        return [elements[start:stop] for start, stop in pairwise(bounds)]
    array = host_array(part)
    return array.tolist() if array.ndim == 1 else list(array)
