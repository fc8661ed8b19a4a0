"""Columns of many examples, and the selection of some."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arrows.engine.reading import wiring
from arrows.engine.reading.wiring import Column, Selection


@pytest.mark.parametrize("many", [0, 4096])
@given(lengths=st.lists(st.integers(0, 4), max_size=6), data=st.data())
def test_a_selection_is_the_examples_in_its_order(many: int, lengths: list[int], data: st.DataObject) -> None:
    examples = np.split(np.arange(sum(lengths)), np.cumsum(lengths))[:-1] if lengths else []
    places = st.lists(st.integers(0, len(lengths) - 1), max_size=8) if lengths else st.just([])
    chosen = data.draw(places)
    column = Column(np.arange(sum(lengths)), np.concatenate(([0], np.cumsum(lengths, dtype=np.int64))))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(wiring, "_MANY", many)
        found = Selection.at(column.offsets, np.array(chosen, np.intp)).of(column.values)
    assert found.values.tolist() == [value for place in chosen for value in examples[place].tolist()]
    assert found.offsets.tolist() == np.cumsum([0, *(len(examples[place]) for place in chosen)]).tolist()
