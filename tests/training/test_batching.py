"""Rules that put examples into batches."""

from __future__ import annotations

from itertools import chain, pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

import arrows as ar
from arrows.training.batching import checked_batch_size, epoch_batches

SIZES = st.lists(st.integers(1, 30), max_size=60)


class Known:
    def __init__(self, nodes: list[int]) -> None:
        self.nodes = np.array(nodes, np.int64)


def drawn(rule: Any, sizes: list[int], seed: tuple[int, int] = (0, 1)) -> list[list[int]]:
    """The batches of an epoch; together they are the examples, each once."""
    epoch = epoch_batches(rule, Known(sizes), len(sizes), seed)
    position, batches = 0, []
    while position < len(sizes):
        stop = epoch.stop(position)
        assert stop > position
        batches.append(epoch.order[position:stop].tolist())
        position = stop
    assert sorted(chain.from_iterable(batches)) == list(range(len(sizes))) and len(batches) == len(
        epoch.stops
    )
    return batches


@given(sizes=SIZES, most=st.integers(1, 80))
def test_as_many_examples_as_fit(sizes: list[int], most: int) -> None:
    batches = drawn(ar.ByNodes(most), sizes)
    totals = [sum(sizes[n] for n in batch) for batch in batches]
    for batch, total in zip(batches, totals, strict=True):
        assert total <= most or len(batch) == 1
    for total, following in zip(totals, batches[1:], strict=False):
        assert total + sizes[following[0]] > most  # not one more would have fitted


@given(sizes=SIZES, size=st.integers(1, 9), pool=st.integers(1, 20))
def test_a_bucket_has_examples_of_like_size(sizes: list[int], size: int, pool: int) -> None:
    for rule in (size, ar.ByNodes(20)):
        batches = drawn(ar.Bucketed(rule, pool=1000), sizes)
        spans = sorted((min(sizes[n] for n in batch), max(sizes[n] for n in batch)) for batch in batches)
        assert all(low[1] <= high[0] for low, high in pairwise(spans))
    lengths = [len(batch) for batch in drawn(ar.Bucketed(size, pool=pool), sizes)]
    assert sum(length < size for length in lengths) <= 1 and all(length <= size for length in lengths)


def test_by_count_is_the_order_that_it_always_was() -> None:
    epoch = epoch_batches(4, None, 10, (7, 3))
    assert epoch.order.tolist() == np.random.default_rng((7, 3)).permutation(10).tolist()
    assert epoch.stops.tolist() == [4, 8, 10] and epoch.stop(0, 2) == 8 and epoch.stop(8, 2) == 10


@pytest.mark.parametrize("make", [ar.ByNodes, ar.Bucketed, lambda n: ar.Bucketed(4, pool=n)])
def test_bad_arguments(make: Any) -> None:
    for bad in ("8", 2.0, None, True):
        with pytest.raises(ar.ArrowTypeError, match="must be a whole number"):
            make(bad)
    with pytest.raises(ar.ArrowValueError, match="is 0, and should be 1 or more"):
        make(0)
    with pytest.raises(ar.ArrowTypeError, match=r"train: batch_size must be a whole number, or ByNodes"):
        checked_batch_size("train", "64")
