"""Plans of how gradients get from readers to rows, against adding them up one by one."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from arrows.engine.running.transpose import plan_pull, plan_push


def cuts(data: st.DataObject, stop: int) -> np.ndarray:
    """Bounds of some steps, none of them empty."""
    inner = data.draw(st.sets(st.integers(1, max(stop - 1, 1)), max_size=4)) if stop > 1 else set()
    return np.array(sorted({0, *inner, stop}))


@given(data=st.data())
def test_a_push_adds_each_gradient_once(data: st.DataObject) -> None:
    pieces = data.draw(st.integers(1, 3))
    count = data.draw(st.integers(0, 12))
    rows = np.array(data.draw(st.lists(st.integers(0, 5), min_size=count, max_size=count)), int)
    piece = np.array(data.draw(st.lists(st.integers(0, pieces - 1), min_size=count, max_size=count)), int)
    places = np.array(data.draw(st.permutations(range(count))), int)
    values = np.arange(1.0, count + 1)
    push = plan_push(places, rows, piece, pieces)
    if push is None:
        assert count == 0
        return
    assert push.longest == max(np.bincount(piece * 10 + rows))
    for p in range(pieces):
        wanted, found = np.zeros(6), np.zeros(6)
        np.add.at(wanted, rows[piece == p], values[places[piece == p]])
        b, y = push.bounds[p : p + 2]
        order = push.order[push.places[p] : push.places[p + 1]]
        some = push.rows[b:y]
        assert len(set(some.tolist())) == len(some)
        if len(some):
            found[some] = np.add.reduceat(values[order], push.starts[b:y])
        assert (found == wanted).all()
        if push.longest == 1:
            first, place = push.ranges[p]
            assert (first >= 0) == (some.tolist() == list(range(first, first + len(some))))
            assert (place >= 0) == (order.tolist() == list(range(place, place + len(order))))


@given(data=st.data())
def test_a_pull_takes_every_gradient_of_a_row(data: st.DataObject) -> None:
    count = data.draw(st.integers(1, 12))
    bounds = cuts(data, count)
    # Where readers stand: in a row of their own order, or one after another.
    places = (
        np.arange(count) if data.draw(st.booleans()) else np.array(data.draw(st.permutations(range(count))))
    )
    there = np.array(data.draw(st.lists(st.booleans(), min_size=count, max_size=count)))
    zero = count + 4
    inverse = np.where(there, places, zero)
    rows = np.flatnonzero(there).tolist()
    some = st.lists(st.sampled_from(rows), max_size=4) if rows else st.just([])
    again_rows = np.array(data.draw(some), int)
    again = (count + np.arange(len(again_rows)), again_rows)
    values = np.concatenate([np.arange(1.0, zero + 1), [0.0]])
    pull = plan_pull(inverse, zero, bounds, again if len(again_rows) else None)
    wanted = values[inverse].copy()
    np.add.at(wanted, again_rows, values[again[0]])
    if pull is None:
        assert not there.any()
        return
    found = np.zeros(count)
    for step, (a, z, first) in enumerate(pull.spans):
        assert bounds[step] <= a <= z <= bounds[step + 1] or a == z
        found[a:z] += values[first : first + z - a] if first >= 0 else values[pull.index[a:z]]
        if pull.more is not None:
            b, y = pull.more.bounds[step : step + 2]
            order = pull.more.order[pull.more.places[step] : pull.more.places[step + 1]]
            if y > b:
                more = pull.more.rows[b:y]
                assert bounds[step] <= more.min() and more.max() < bounds[step + 1]
                found[more] += np.add.reduceat(values[order], pull.more.starts[b:y])
    assert (found == wanted).all()


def test_a_range_of_places_is_a_view() -> None:
    # Of the first step's rows all but the last have a reader, in order; of the second's, one in between.
    pull = plan_pull(np.array([4, 5, 9, 9, 6, 9]), 9, np.array([0, 3, 6]), None)
    assert pull is not None
    assert pull.spans == [(0, 2, 4), (4, 5, 6)]
    # A gap in between: one gather, zeros for the row without.
    pull = plan_pull(np.array([4, 9, 5]), 9, np.array([0, 3]), None)
    assert pull is not None
    assert pull.spans == [(0, 3, -1)]
