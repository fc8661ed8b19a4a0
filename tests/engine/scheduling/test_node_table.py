"""The table of a set's nodes, and batches that are chosen from it."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import arrows as ar
from arrows import ops
from arrows.engine.planning import SCHEDULES
from arrows.engine.reading import hashes
from arrows.engine.scheduling import WiredBatch, merge
from tests.engine.scheduling.specification import verify
from tests.generate import Case, cases


@pytest.fixture(autouse=True, scope="module")
def _always() -> Any:
    """Small sets are shared as well here."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(hashes, "_FEWEST_A_LEVEL", 0)
        yield


@settings(max_examples=40)
@given(case=cases(), schedule=st.sampled_from(SCHEDULES), data=st.data())
def test_a_batch_is_scheduled_alike_whatever_set_it_is_chosen_from(
    case: Case, schedule: str, data: st.DataObject
) -> None:
    model = ar.compile(case.block, schedule=schedule)
    wirings = model.prepare(case.examples).wirings
    places = st.lists(st.integers(0, len(wirings) - 1), max_size=6) if len(wirings) else st.just([])
    indices = np.array(data.draw(places), np.intp)
    share = data.draw(st.booleans())
    chosen = merge(model.plan, WiredBatch(wirings, indices), share=share)
    alone = merge(model.plan, WiredBatch.all(wirings.select(indices)), share=share)
    verify(model.plan, chosen)
    verify(model.plan, alone)
    assert chosen.slab_rows == alone.slab_rows
    for mine, other in zip(chosen.operations, alone.operations, strict=True):
        assert mine.bounds.tolist() == other.bounds.tolist()
    for mine, other in zip(chosen.outputs.results, alone.outputs.results, strict=True):
        assert mine.offsets.tolist() == other.offsets.tolist()


def test_an_example_that_is_chosen_twice_has_its_own_dropout() -> None:
    model = ar.compile(ar.Vector(60) >> ar.Function(lambda x: ops.dropout(x, 0.5)))
    prepared = model.prepare([[1.0] * 60, [2.0] * 60])
    rows = model(prepared[[1, 0, 1]], training=True, ids=[7, 8, 9])
    assert not np.array_equal(rows[0], rows[2])
    model.step = 0
    again = model(prepared[[1, 1]], training=True, ids=[9, 7])
    assert np.array_equal(again, rows[[2, 0]])


def test_the_nodes_of_a_very_large_set_are_numbered_batch_by_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    model = ar.compile(ar.Map(ar.Scalar() >> ar.Function(lambda x: x * x)) >> ar.Sum())
    prepared = model.prepare([[1, 2], [], [3], [4, 5]])
    monkeypatch.setattr(importlib.import_module("arrows.engine.scheduling.merge"), "_MOST_IDS", 8)
    assert model(prepared[[3, 0, 3, 1]]).tolist() == [41, 5, 41, 0]
