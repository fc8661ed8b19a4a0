"""Scans, recurrent networks and sequences side by side: what they mean, and how they batch."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import arrows as ar
from arrows.engine.reference import interpret
from arrows.engine.scheduling import merge
from arrows.testing.schedules import verify
from arrows.typesys import types as T
from tests.combinators import kit

TOTAL = ar.Function(lambda x, total: (total, total + x))
NUMBERS = ar.Map(ar.Scalar())
LENGTHS = [3, 0, 1, 5]
SCHEDULES = ["strata", "depth", "agenda", "none"]


def floats(values: Any) -> list[float]:
    return [float(value) for value in values]


def rows(seed: int = 0) -> list[Any]:
    generator = np.random.default_rng(seed)
    return [generator.normal(size=(length, 3)).astype("float32").tolist() for length in LENGTHS]


def steps(model: ar.Model, examples: Any) -> int:
    return len(merge(model.plan, model.prepare(examples)[:].wired).steps)


# ------------------------------------------------------------------------------------------ what they mean


def test_a_scan_keeps_what_it_makes_on_the_way() -> None:
    outputs, last = (NUMBERS >> ar.Scan(TOTAL, ar.Constant(10.0))).eval([1, 2, 3])
    assert (floats(outputs), float(last)) == ([10, 11, 13], 16)


def test_a_scan_from_the_end_gives_its_outputs_in_the_order_of_the_elements() -> None:
    outputs, last = (NUMBERS >> ar.Scan(TOTAL, ar.Zeros([]), reverse=True)).eval([1, 2, 3])
    assert (floats(outputs), float(last)) == ([5, 3, 0], 6)


@pytest.mark.parametrize("reverse", [False, True])
def test_nothing_gives_no_outputs_and_the_start(reverse: bool) -> None:
    block = NUMBERS >> ar.Scan(TOTAL, ar.Constant(10.0), reverse=reverse)
    assert block.eval([])[0] == []
    assert float(block.eval([])[1]) == 10
    outputs, last = ar.compile(block)([[], [1, 2]])
    assert [len(one) for one in outputs.tolist()] == [0, 2]
    assert ar.to_numpy(last).tolist() == [10, 13]
    outputs, last = ar.compile(block)([])
    assert outputs.tolist() == []


def test_a_scan_over_python_objects_reads_them_in_its_step() -> None:
    step = (ar.GetItem(0) >> ar.Scalar() & ar.GetItem(1)) >> TOTAL
    for given in ([1, 2, 3], (1, 2, 3), range(1, 4)):
        assert float(ar.Scan(step, ar.Zeros([]), reverse=True).eval(given)[1]) == 6
    assert ar.to_numpy(ar.compile(ar.Scan(step, ar.Zeros([]), reverse=True))([range(3), []])[1]).tolist() == [
        3,
        0,
    ]


def test_a_scan_over_a_tuple() -> None:
    pair = ar.GetItem(0) >> ar.Scalar() & ar.GetItem(1) >> ar.Scalar()
    assert ar.compile(pair >> ar.Scan(TOTAL, ar.Zeros([]), reverse=True))([(1, 2)])[0].tolist() == [[2, 0]]


def test_the_output_of_a_network_is_the_state_or_its_first_item() -> None:
    add = ar.RNN(ar.Function(lambda x, h: x + h), ar.Zeros([]))
    assert floats((NUMBERS >> add).eval([1, 2, 3])[0]) == [1, 3, 6]
    cell = ar.LSTMCell(4)
    outputs, (h, c) = (ar.Map(ar.Vector(3)) >> ar.RNN(cell)).eval(rows()[0])
    assert len(outputs) == 3 and outputs[-1].shape == c.shape
    assert (outputs[-1] == h).all()
    outputs, (h, c) = (ar.Map(ar.Vector(3)) >> ar.RNN(cell, reverse=True)).eval(rows()[0])
    assert (outputs[0] == h).all()


def test_a_network_is_the_fold_of_its_cell() -> None:
    cell = ar.LSTMCell(4)
    fold = ar.Fold((ar.GetItem(1) & ar.GetItem(0)) >> cell, ar.Zeros(cell.state))
    both = ar.Map(ar.Vector(3)) >> (fold & ar.RNN(cell) >> ar.GetItem(1))
    for example in rows():
        folded, run = both.eval(example)
        assert (folded[0] == run[0]).all() and (folded[1] == run[1]).all()


def test_from_the_end_is_reversed_twice() -> None:
    cell = ar.LSTMCell(4)
    turned = ar.Reverse() >> ar.RNN(cell) >> ar.GetItem(0) >> ar.Reverse()
    both = ar.Map(ar.Vector(3)) >> (turned & ar.RNN(cell, reverse=True) >> ar.GetItem(0))
    for example in rows():
        assert all(map(np.array_equal, *both.eval(example)))


def test_a_step_may_give_the_state_before() -> None:
    swap = ar.Function(lambda x, last: (last, x))
    outputs, _ = ar.compile(ar.Map(ar.Vector(2)) >> ar.Scan(swap, ar.Zeros([2])))([[[1, 2], [3, 4]]])
    assert outputs.tolist() == [[[0, 0], [1, 2]]]


def test_a_scan_of_objects_alone() -> None:
    """The state may be a Python object: the length so far."""
    count = ar.InputTransform(lambda pair: (pair[1] or 0) + 1)
    block = ar.Scan(count & ar.GetItem(0), ar.InputTransform(lambda _: None))
    with pytest.raises(ar.ArrowTypeError, match="gets no input"):
        ar.infer(block)


def test_zip_ends_with_the_shortest() -> None:
    pair = ar.GetItem(0) >> NUMBERS & ar.GetItem(1) >> NUMBERS
    block = pair >> ar.ZipWith(ar.Function(lambda x, y: x * y), strict=False)
    assert floats(block.eval(([1, 2, 3], [10, 100]))) == [10, 200]
    assert ar.compile(block)([([1, 2, 3], [10, 100]), ([], [1])]).tolist() == [[10, 200], []]


def test_zip_of_python_objects() -> None:
    assert ar.Zip(strict=False).eval(["ab", [1, 2, 3]]) == [("a", 1), ("b", 2)]
    assert ar.Zip(strict=False).eval([]) == []
    rows = ar.Zip(strict=False) >> ar.Map(ar.GetItem(1) >> ar.Scalar())
    assert ar.compile(rows)([["ab", [1, 2, 3]]]).tolist() == [[1, 2]]
    mixed = (ar.GetItem(0) & ar.GetItem(1) >> NUMBERS) >> ar.Zip(strict=False) >> ar.Map(ar.GetItem(1))
    assert ar.compile(mixed)([("a", [1, 2, 3]), ("", [1])]).tolist() == [[1], []]


def test_zip_with_what_has_no_end() -> None:
    of = T.Tuple((T.Sequence(T.Tensor(())), T.Broadcast(T.Tensor(()))))
    assert ar.infer(ar.Zip(), of).output == T.Sequence(T.Tuple((T.Tensor(()), T.Tensor(()))))
    of = T.Tuple((T.Broadcast(T.Tensor(())), T.Broadcast(T.Tensor(()))))
    assert isinstance(ar.infer(ar.Zip(), of).output, T.Broadcast)


def test_reverse() -> None:
    assert ar.Reverse().eval([1, 2]) == [2, 1]
    pair = ar.GetItem(0) >> ar.Scalar() & ar.GetItem(1) >> ar.Vector(2)
    assert ar.infer(pair >> ar.Reverse()).output == T.Tuple((T.Tensor((2,)), T.Tensor(())))
    assert ar.compile(NUMBERS >> ar.Reverse())([[1, 2], []]).tolist() == [[2, 1], []]


# ------------------------------------------------------------------------------------------ errors in data


@pytest.mark.parametrize(
    ("block", "example", "reason"),
    [
        (ar.Zip() >> ar.Map(ar.GetItem(0) >> ar.Scalar()), [[1], 2], "[1]: expected a sequence, got 2"),
        (ar.Zip() >> ar.Map(ar.GetItem(0) >> ar.Scalar()), 7, "expected a sequence, got 7"),
        (ar.Zip() >> ar.Map(ar.GetItem(0) >> ar.Scalar()), [["x"]], "[0] > [0]: expected a number"),
        (ar.Reverse() >> NUMBERS, 3, "expected a list or another sequence that has slices, got 3"),
        (ar.Reverse() >> NUMBERS, {"a": 1}, "expected a list or another sequence that has slices"),
        (
            ar.Scan((ar.GetItem(0) >> ar.Scalar() & ar.GetItem(1)) >> TOTAL, ar.Zeros([]), reverse=True),
            [1, None],
            "[1]: expected a number",
        ),
        (
            NUMBERS >> ar.Scan(TOTAL, ar.Zeros([])) >> ar.GetItem(0) >> ar.GetItem(4),
            [1],
            "there is no item 4",
        ),
    ],
)
def test_what_does_not_fit_is_reported_with_its_place(block: Any, example: Any, reason: str) -> None:
    with pytest.raises(ar.InputError) as caught:
        block.eval(example)
    assert reason in str(caught.value)
    with pytest.raises(ar.InputError) as caught:
        ar.compile(block)([example])
    assert reason in str(caught.value)


# ------------------------------------------------------------------------------------------ as values


def test_they_print_as_they_are_written() -> None:
    cell = ar.LSTMCell(4)
    texts = {
        "RNN(LSTMCell(4))": ar.RNN(cell),
        "RNN(LSTMCell(4), Zeros((float32[4], float32[4])), reverse=True)": ar.RNN(
            cell, ar.Zeros(cell.state), reverse=True
        ),
        "Scan(Function(lambda), Zeros(float32))": ar.Scan(TOTAL, ar.Zeros([])),
        "Bidirectional(LSTMCell(4), LSTMCell(4)) >> GetItem(0)": ar.Bidirectional(cell, cell)
        >> ar.GetItem(0),
        "Zip() >> Reverse() >> ZipWith(Concat())": ar.Zip() >> ar.Reverse() >> ar.ZipWith(ar.Concat()),
        "RNN(LSTMCell(4), name='words')": ar.RNN(cell, name="words"),
    }
    for text, block in texts.items():
        assert repr(block) == text
    assert ar.Bidirectional(cell, cell).label == "Bidirectional(LSTMCell(4), LSTMCell(4))"
    assert ar.RNN(cell, name="words").label == "words"


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_copies_keep_which_cells_are_one(copied: Any) -> None:
    cell = ar.LSTMCell(4, name="cell")
    block = ar.Map(ar.Vector(3)) >> ar.Bidirectional(cell, cell)
    made = copied(block)
    assert repr(made) == repr(block)
    assert made.parts[1].forward is made.parts[1].backward is not cell
    assert list(ar.compile(made).params) == ["cell/weight", "cell/bias"]
    example = rows()[0]
    assert all(map(np.array_equal, made.eval(example)[0], block.eval(example)[0]))


def test_the_cell_may_be_what_stands_for_a_block() -> None:
    keep = ar.RNN(ar.arrow(lambda _x, h: h), ar.Zeros([2]))
    assert ar.infer(ar.Map(ar.Vector(3)) >> keep).output == T.as_type((T.Sequence(T.as_type([2])), [2]))
    with pytest.raises(ar.ArrowTypeError, match="the cell of an RNN"):
        ar.RNN(3)  # type: ignore[call-overload]
    with pytest.raises(ar.ArrowTypeError, match="reverse must be True or False"):
        ar.RNN(keep, reverse=1)  # type: ignore[call-overload]


def test_types_flow_backwards_through_a_network() -> None:
    table = kit.Embedding(5, 3)
    step = (ar.GetItem(0) >> table & ar.GetItem(1)) >> ar.Function(lambda x, h: x + h)
    # only the start says what the state is, and a reader behind it what an open result is
    typed = ar.infer(ar.Map(ar.Identity()) >> ar.RNN(step, ar.Zeros([3])), T.Sequence(T.Tensor((), "int32")))
    assert typed.output == T.as_type((T.Sequence(T.as_type([3])), [3]))
    optional = ar.Optional(ar.Vector(3) >> ar.FC(3))
    assert ar.infer(ar.RNN(ar.GetItem(0) >> optional, ar.Zeros([3]))).input == T.Input()


# ------------------------------------------------------------------------------------------ in batches


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("shared", [False, True])
def test_batched_is_one_by_one(schedule: str, shared: bool) -> None:
    cell = ar.LSTMCell(4)
    both = ar.Map(ar.Vector(3)) >> ar.Bidirectional(cell, cell if shared else ar.LSTMCell(2))
    model = ar.compile(both, schedule=schedule)
    examples = rows()
    prepared = model.prepare(examples)
    verify(model.plan, merge(model.plan, prepared[:].wired))
    outputs, (_, (h, _)) = model(prepared)
    for i, example in enumerate(examples):
        wanted, (_, (state, _)) = model.eval(example)
        np.testing.assert_allclose(ar.to_numpy(h)[i], state, atol=1e-6)
        assert len(outputs.tolist()[i]) == len(wanted)
        if wanted:
            np.testing.assert_allclose(outputs.tolist()[i], wanted, atol=1e-6)


def test_one_cell_in_both_directions_takes_the_steps_of_one() -> None:
    cell = ar.LSTMCell(4)
    read = ar.Map(ar.Vector(3))
    alone = ar.compile(read >> ar.RNN(cell) >> ar.GetItem(0), schedule="strata")
    twice = read >> (ar.RNN(cell) >> ar.GetItem(0) & ar.RNN(cell, reverse=True) >> ar.GetItem(0))
    assert steps(alone, rows()) == max(LENGTHS)
    assert steps(ar.compile(twice, schedule="strata"), rows()) == max(LENGTHS)
    # ... and joining both directions is one step for the batch, behind them
    joined = ar.compile(read >> ar.Bidirectional(cell, cell) >> ar.GetItem(0), schedule="strata")
    assert steps(joined, rows()) == max(LENGTHS) + 1


def test_a_network_over_networks_runs_the_inner_ones_side_by_side() -> None:
    inner, outer = ar.LSTMCell(4), ar.LSTMCell(4)
    words = ar.Map(ar.Map(ar.Vector(3)) >> ar.RNN(inner) >> ar.GetItem(1) >> ar.GetItem(0))
    model = ar.compile(words >> ar.RNN(outer) >> ar.GetItem(1) >> ar.GetItem(0), schedule="strata")
    assert steps(model, [rows(), rows(1)[:2], []]) == max(LENGTHS) + len(LENGTHS)


def test_the_walk_counts_nothing_twice() -> None:
    """A scan in the dry walk that looks for errors needs no numbers."""
    from arrows.engine.reference import LengthSemantics

    typed = ar.infer(ar.Map(ar.Vector(3)) >> ar.Bidirectional(ar.LSTMCell(2), ar.LSTMCell(2)))
    outputs, _ = interpret(typed, rows()[0], LengthSemantics())
    assert len(outputs) == 3


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_long_sequence(schedule: str) -> None:
    cell = ar.RNN(ar.Function(lambda x, h: 0.5 * h + x), ar.Zeros([]), reverse=True)
    model = ar.compile(NUMBERS >> cell >> ar.GetItem(1), schedule=schedule)
    count = 2000 if schedule == "none" else 20_000
    value, _ = model.value_and_grad([[1.0] * count, []])
    assert float(value) == pytest.approx(1.0)
