"""Repeated rows are found, and computed once, with the same numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import arrows as ar
from arrows import ops
from arrows.engine.device import Arena, Upload, get_device
from arrows.engine.reading import structural_hash
from arrows.engine.running import batch_plan, distinct
from arrows.engine.running.distinct import find_distinct, plan_distinct
from arrows.engine.running.operation_code import DistinctLayout
from tests.agree import agrees as agrees_with_reference
from tests.engine.running.test_gathers import operation_rows

WORDS, WIDTH = 6, 2
SENTENCES = [[0, 1, 0, 0], [5], [], [1, 1, 2, 1, 0, 1], [5, 0]]
LAYOUT = DistinctLayout(operand=0, width=1, spread=(1,), summed=(2, 0))


@pytest.fixture(autouse=True)
def _always(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also of narrow rows, and in sets that are too small for equal words to be looked for."""
    monkeypatch.setattr(distinct, "_WORTH", 0)
    monkeypatch.setattr(structural_hash, "_FEWEST_A_LEVEL", 0)


@pytest.fixture
def sizes(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """How many distinct rows there were, and of how many."""
    seen: list[tuple[int, int]] = []

    def watched(layout: DistinctLayout, operation: int, rows: Any, upload: Upload) -> Any:
        planned = plan_distinct(layout, operation, rows, upload)
        if planned is not None:
            seen.append((planned.count, rows.count))
        return planned

    monkeypatch.setattr(batch_plan, "plan_distinct", watched)
    return seen


@pytest.mark.parametrize("name", ["cpu", "fake"])
@given(data=st.data())
def test_every_place_is_summed_to_its_row(name: str, data: st.DataObject) -> None:
    read = data.draw(st.lists(st.integers(0, 5), min_size=2, max_size=30))
    rounds = data.draw(st.integers(1, 4))
    rows = operation_rows(read, bounds=[0, len(read)])
    device = get_device(name)
    upload, arena = Upload(device), Arena(device)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(distinct, "_ROUNDS", rounds)
        planned = plan_distinct(LAYOUT, 0, rows, upload)
    assert planned is not None
    uploaded = upload.send()
    numbers = planned.rows.ports[0].rows
    assert sorted(set(read)) == sorted(numbers.tolist())
    assert planned.count == len(numbers)

    kept = [None, device.to_device(np.zeros((len(read), 1)))]
    kept_early, spread = planned.bind_spread(device, arena, uploaded, kept)
    assert kept_early[0] is None and kept_early[1] is not None
    kept_early[1][...] = device.to_device(numbers[:, None].astype(float))
    spread()
    assert kept[1] is not None
    assert device.to_numpy(kept[1])[:, 0].tolist() == read

    values = np.arange(1.0, len(read) + 1)[:, None]
    saved = [device.to_device(values), None, device.to_device(10 * values)]
    sums, add_up = planned.bind_sums(device, arena, uploaded, saved)
    add_up()
    wanted = np.zeros((6, 1))
    np.add.at(wanted, read, values)
    assert (device.to_numpy(sums[1]) == wanted[numbers]).all()
    assert (device.to_numpy(sums[0]) == 10 * wanted[numbers]).all()


def test_few_or_narrow_rows_are_computed_as_they_come(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(distinct, "_WORTH", 0.5)
    assert find_distinct(LAYOUT, operation_rows([0, 1, 2, 3, 0], bounds=[0, 5])) is None
    repeated = find_distinct(LAYOUT, operation_rows([7, 1, 1, 7, 1], bounds=[0, 5]))
    assert repeated is not None
    assert repeated.rows.tolist() == [1, 7]  # the row that most places read comes first
    assert repeated.row_of.tolist() == [1, 0, 0, 1, 0]
    assert (repeated.rounds.tolist(), repeated.ends, repeated.rest) == ([1, 0, 2, 3, 4], [2, 4, 5], None)


# ------------------------------------------------------------------------------------------------- models


def sentences(step: Any, words: Any = None, size: int = 3) -> Any:
    if words is None:
        words = ar.Scalar("int32") >> ar.Embedding(WORDS, WIDTH, name="words")
    return ar.Map(words) >> ar.Fold(step, ar.Zeros([size])) >> ar.Function(lambda h: h.sum(), name="sum")


def agrees(model: ar.Model, examples: list[Any]) -> None:
    """Values and gradients of a prepared set, in which equal words are one, are those of the reference."""
    prepared = model.prepare(examples)
    agrees_with_reference(model, examples, prepared)
    values = ar.to_numpy(model(prepared))
    assert np.allclose(values, [model.eval(example) for example in examples], rtol=1e-12, atol=1e-12)


def recurrent() -> Any:
    """`tanh(x @ A + h @ B + c)`; of parameters, so that all kinds of gradients flow."""
    both = ar.Function(lambda h, x: ops.concat([x, h]))
    return both >> ar.FC(3, ops.tanh, name="cell")


STEPS: dict[str, Callable[..., Any]] = {
    "a product": lambda h, x: ops.tanh(h * 0.5 + x @ np.ones((2, 3))),
    "a product that is multiplied": lambda h, x: ops.tanh(h * (x @ np.ones((2, 3)))),
    "two products": lambda h, x: ops.tanh(h + x @ np.ones((2, 3))) * (x @ np.full((2, 3), 0.3)),
    "more of the product": lambda h, x: ops.tanh(x @ np.ones((2, 3)) * 2.0 + 1.0) + h,
    "a view of the product": lambda h, x: h @ np.ones((3, 3)) * 0.1 + (x @ np.ones((2, 4)))[1:],
    "the word besides": lambda h, x: ops.tanh(h + x @ np.ones((2, 3))) + x.sum(),
    "a function of the word": lambda h, x: ops.tanh(x) @ np.ones((2, 3)) + h * 0.5,
    "its square": lambda h, x: (x @ np.ones((2, 3))) * (x @ np.ones((2, 3))) + h * 0.5,
}


@pytest.mark.parametrize("device", ["cpu", "fake"])
@pytest.mark.parametrize("rounds", [1, 2, 16])
def test_a_cell_on_words(
    device: str, rounds: int, sizes: list[tuple[int, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(distinct, "_ROUNDS", rounds)
    model = ar.compile(sentences(recurrent()), device=device, float_type="float64")
    agrees(model, SENTENCES)
    assert sizes == [(4, 12), (4, 12)]  # trained, and run; the 5 that two sentences begin with is one
    codes = model.executors.get(training=True, gradients=True).codes.values()
    (repeated,) = [code.code.program.distinct for code in codes if code.distinct is not None]
    assert repeated is not None and len(repeated.products) == 1
    agrees(model, [[0, 1, 2, 3, 4, 5], []])  # all distinct
    agrees(model, [[3] * 40])
    agrees(model, [[]])


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("trained", [False, True])
def test_all_kinds_of_steps(step: str, trained: bool) -> None:
    """Also beside a parameter that is multiplied with words, and with words nobody trains."""
    words: Any = ar.Scalar("int32") >> ar.Embedding(WORDS, WIDTH, name="words")
    if not trained:
        words = ar.Scalar("int32") >> ar.Function(
            lambda n: ops.stack([n.cast("float64") * 0.3, n.cast("float64") - 1.0])
        )
    block = sentences(ar.Function(STEPS[step]), words)
    scale = ar.Vector(2) >> ar.FC(1, name="scale") >> ar.Function(lambda y: y.sum())
    model = ar.compile({"a": block, "b": scale} >> ar.Function(lambda a, b: a * b), float_type="float64")
    agrees(model, [{"a": words, "b": [0.3, -0.2]} for words in SENTENCES])


def test_words_that_the_steps_read_too_are_computed_for_each_place(sizes: list[tuple[int, int]]) -> None:
    step = ar.Function(STEPS["the word besides"])
    model = ar.compile(sentences(step), float_type="float64")
    model(model.prepare(SENTENCES))
    assert not sizes


@pytest.mark.parametrize(
    "step",
    [
        lambda h, x: ops.tanh(h + x @ np.ones((2, 3))) + ops.concat([x, x])[1:],
        lambda h, x: ops.tanh(h + x @ np.ones((2, 3))) * ops.tanh(ops.concat([h, x]))[2:],
    ],
)
def test_words_that_the_steps_join_are_computed_for_each_place(
    step: Any, sizes: list[tuple[int, int]]
) -> None:
    """What is joined is gathered as one operand, and none of its parts is held by itself."""
    agrees(ar.compile(sentences(ar.Function(step)), float_type="float64"), SENTENCES)
    assert not sizes


def test_two_operands_are_computed_for_each_place(sizes: list[tuple[int, int]]) -> None:
    words = ar.Scalar("int32") >> ar.Embedding(WORDS, WIDTH, name="words")
    pairs = ar.Map(words & words >> ar.FC(2, name="other"))
    step = ar.Function(lambda h, xy: ops.concat([xy[0], xy[1], h])) >> ar.FC(3, ops.tanh, name="cell")
    block = pairs >> ar.Fold(step, ar.Zeros([3])) >> ar.Function(lambda h: h.sum())
    agrees(ar.compile(block, float_type="float64"), SENTENCES)
    assert not sizes


def test_dropout_of_words_computes_every_place(sizes: list[tuple[int, int]]) -> None:
    """Alike words are dropped at different places; without dropout they are alike again."""
    drop = ar.GetItem(0) & ar.GetItem(1) >> ar.Dropout(0.5)
    model = ar.compile(sentences(drop >> recurrent()), float_type="float64")
    prepared = model.prepare(SENTENCES)
    model.value_and_grad(prepared)
    assert all(count == places for count, places in sizes)
    sizes.clear()
    model(prepared)
    assert sizes == [(4, 12)]


def test_what_an_operation_returns_is_made_for_every_place() -> None:
    step = ar.Function(lambda x, h: (x @ np.ones((2, 3)) * 2.0, h + x @ np.ones((2, 3))))
    words = ar.Scalar("int32") >> ar.Embedding(WORDS, WIDTH, name="words")
    scan = ar.Map(words) >> ar.Scan(step, ar.Zeros([3])) >> ar.GetItem(0)
    block = scan >> ar.Map(ar.Function(lambda y: y * y)) >> ar.Sum() >> ar.FC(1, name="out")
    agrees(ar.compile(block >> ar.Function(lambda y: y.sum()), float_type="float64"), SENTENCES)
