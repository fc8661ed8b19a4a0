"""Equal sub-graphs of a batch are computed once, and no number changes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import arrows as ar
from arrows import ops
from arrows.engine.reading import classify, hashes
from arrows.engine.scheduling import merge
from tests.agree import check
from tests.generate import cases
from tests.profile import NIGHTLY


@pytest.fixture(autouse=True, scope="module")
def _always() -> Any:
    """Sharing pays on large batches alone; here every batch shares what it can."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(hashes, "_FEWEST_A_LEVEL", 0)
        yield


def nodes(model: ar.Model, examples: list[Any]) -> int:
    merged = merge(model.plan, model.prepare(examples)[:].wired)
    return sum(rows.count for rows in merged.operations)


@pytest.mark.parametrize(("device", "schedule"), [("cpu", "strata"), ("cpu", "depth"), ("fake", "strata")])
@settings(max_examples=2000 if NIGHTLY else 12)
@given(data=st.data())
def test_sharing_changes_no_number(data: st.DataObject, device: str, schedule: str) -> None:
    """Every example stands in the batch several times."""
    case = data.draw(cases())
    order = data.draw(st.lists(st.integers(0, len(case.examples) - 1), max_size=8)) if case.examples else []
    check(case, order, "float64", 1e-9, device, schedule)


def test_equal_subtrees_are_one() -> None:
    @ar.fix
    def tree(me: Any) -> Any:
        pair = (ar.GetItem(0) >> me & ar.GetItem(1) >> me) >> ar.Concat() >> ar.FC(2, ops.tanh)
        return ar.OneOf(
            lambda t: isinstance(t, tuple), {True: pair, False: ar.Scalar("int32") >> ar.Embedding(9, 2)}
        )

    model = ar.compile(tree >> ar.Function(lambda h: h.sum()), float_type="float64")
    film = (1, (2, 3))
    once = nodes(model, [film])
    assert nodes(model, [film] * 10) == once
    assert nodes(model, [film, (film, film)]) == once + 2  # a pair more, and its sum
    assert nodes(model, [(1, 2), (2, 1)]) == 4 * 2  # the order of children counts
    value, grads = model.value_and_grad([film, film, (2, 3)])
    single = [model.value_and_grad([example]) for example in (film, film, (2, 3))]
    assert float(value) == pytest.approx(np.mean([float(v) for v, _ in single]))
    for name, gradient in grads.items():
        dense = [g[name].to_dense(np) if hasattr(g[name], "to_dense") else g[name] for _, g in single]
        found = gradient.to_dense(np) if hasattr(gradient, "to_dense") else gradient
        assert np.allclose(found, sum(dense) / 3), name


def test_values_that_differ_in_a_bit_are_not_equal() -> None:
    model = ar.compile(ar.Vector(3) >> ar.Function(lambda x: x.sum()), float_type="float64")
    one = np.array([1.0, 2.0, 3.0])
    other = np.array([1.0, 2.0, np.nextafter(3.0, 4)])
    assert nodes(model, [one, one.copy(), other, one[[1, 0, 2]]]) == 6
    assert nodes(model, [one, one + 0]) == 2


@given(
    words=st.lists(
        st.tuples(*[st.sampled_from([0, 1, 2, 1 << 62, (1 << 64) - 1, 0x9E3779B97F4A7C15])] * 2), max_size=60
    )
)
def test_numbers_are_equal_where_both_words_are(words: list[tuple[int, int]]) -> None:
    """Hashes that agree in the bits that are looked at first, or in one word of two, are still told apart."""
    words_of = np.array(words, np.uint64).reshape(-1, 2)
    numbers = classify(words_of).tolist()
    assert len(set(zip(words, numbers, strict=True))) == len(set(words)) == len(set(numbers))
    assert set(numbers) == set(range(len(set(words))))
