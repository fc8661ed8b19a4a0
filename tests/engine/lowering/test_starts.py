"""Networks whose start comes from the input; choices after a block; tensors joined along any axis."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import arrows as ar
from arrows.typesys import types as T
from tests.agree import agree

NUMBERS = ar.GetItem("of") >> ar.Map(ar.Scalar(name="x"))
START = ar.GetItem("from") >> ar.Scalar(name="s")
STEP = ar.Function(lambda x, total: (total * x, total + x))
EXAMPLES: list[Any] = [{"of": [1, 2, 3], "from": 10}, {"of": [], "from": 5}]


def floats(values: Any) -> list[float]:
    return [float(value) for value in values]


# ------------------------------------------------------------------------------------------ start_from_input


@pytest.mark.parametrize(("reverse", "outputs"), [(False, [10, 22, 39]), (True, [15, 26, 30])])
def test_a_scan_starts_from_the_input(reverse: bool, outputs: list[float]) -> None:
    scan = ar.Scan(STEP, start_from_input=True, reverse=reverse)
    (first, last), (none, start) = agree((NUMBERS & START) >> scan, EXAMPLES, loss="-")
    assert (floats(first), float(last), none, float(start)) == (outputs, 16, [], 5)
    total = scan >> (ar.GetItem(0) >> ar.Sum() & ar.GetItem(1)) >> ar.Function(lambda a, b: a + 2.0 * b)
    agree((NUMBERS & START) >> total, EXAMPLES, inputs=["x", "s"])
    objects = (ar.GetItem("of") & START) >> ar.Scan(
        (ar.GetItem(0) >> ar.Scalar() & ar.GetItem(1)) >> STEP, start_from_input=True, reverse=reverse
    )
    assert floats(agree(objects, EXAMPLES, loss="-")[0][0]) == outputs


def test_a_network_starts_from_the_input() -> None:
    cell = ar.LSTMCell(4)
    rows = ar.GetItem("of") >> ar.Map(ar.Vector(3, name="x"))
    state = ar.GetItem("from") >> ar.Vector(4, name="s") & ar.Zeros([4])
    network = ar.AllOf(rows, state) >> ar.RNN(cell, start_from_input=True)
    assert str(ar.infer(network).output) == "(Sequence(float32[4]), (float32[4], float32[4]))"
    examples = [{"of": [[1, 2, 3], [3, 4, 5]], "from": [1, 2, 3, 4]}, {"of": [], "from": [0, 1, 0, 1]}]
    ends = network >> ar.GetItem(1) >> ar.Function(lambda h, c: (h * c).sum())
    agree(ends, examples, inputs=["x", "s"])


def test_a_decoder_starts_where_an_encoder_ended() -> None:
    encode = ar.GetItem("of") >> ar.Map(ar.Vector(2, name="x")) >> ar.RNN(ar.GRUCell(3)) >> ar.GetItem(1)
    words = ar.GetItem("to") >> ar.Map(ar.Vector(2))
    decode = (words & encode) >> ar.RNN(ar.GRUCell(3), start_from_input=True) >> ar.GetItem(0) >> ar.Sum()
    examples = [{"of": [[1, 2]] * n, "to": [[0.5, -1]] * m} for n, m in ((2, 1), (0, 3), (1, 0))]
    agree(decode >> ar.Function(lambda v: v.sum()), examples, inputs=["x"])


def test_the_place_in_the_example_is_that_of_the_element() -> None:
    objects = (ar.GetItem("of") & START) >> ar.Scan(
        (ar.GetItem(0) >> ar.Scalar() & ar.GetItem(1)) >> STEP, start_from_input=True
    )
    for call in (objects.eval, lambda x: ar.compile(objects)([x])):
        with pytest.raises(ar.InputError, match=r"of > \[1\]: expected a number, got None"):
            call({"of": [1, None], "from": 0})
        with pytest.raises(ar.InputError, match="from: expected a number, got None"):
            call({"of": [1], "from": None})


# ------------------------------------------------------------------------------------------ pre_block


def test_cases_see_what_the_block_before_them_gives() -> None:
    read = ar.GetItem("of") >> ar.Vector(2, name="v")
    cases = {"sum": ar.Function(lambda v: v.sum()), "none": ar.Zeros([])}
    examples = [{"kind": "sum", "of": [1, 2]}, {"kind": "none", "of": [3, 4]}]
    for key in (lambda x: x["kind"], ar.GetItem("kind")):
        block = ar.OneOf(key, cases, pre_block=read)
        assert floats(agree(block, examples, inputs=["v"])) == [3, 0]
        with pytest.raises(
            ar.InputError, match="there is no case for the key 'max'; there are 'sum', 'none'"
        ):
            ar.compile(block)([{"kind": "max", "of": [1, 2]}])
        with pytest.raises(ar.InputError, match=r"of: expected float32\[2\]"):
            ar.compile(block)([{"kind": "sum", "of": [1]}])
    with pytest.raises(ar.InputError, match="KeyError: 'kind'\n  in  OneOf"):
        ar.OneOf(lambda x: x["kind"], cases, pre_block=read).eval({"of": [1, 2]})


def test_cases_may_be_added_one_by_one() -> None:
    one = ar.OneOf(lambda x: x > 0, pre_block=ar.Scalar(), name="sign").case(True, ar.Identity())
    both = one.case(False, ar.Function(lambda x: -x))
    assert (one.keys, both.keys) == ((True,), (True, False))
    assert floats(agree(both, [3, -4])) == [3, 4]
    assert both.name == "sign"
    with pytest.raises(ar.ArrowValueError, match="two cases for the key 1"):
        both.case(1, ar.Identity())
    drops = ar.OneOf(lambda x: x, [ar.Constant(1.0), ar.Constant(2.0)], pre_block=ar.Void())
    assert floats(agree(drops, [0, 1, True])) == [1, 2, 2]


def test_a_choice_says_what_its_blocks_are_for() -> None:
    twice = ar.Function(lambda x: x * 2.0)
    block = ar.OneOf(ar.GetItem(1), {"a": twice, "b": ar.Zeros([]), "c": twice}, pre_block=ar.Scalar())
    typed = ar.infer(ar.GetItem(0) >> block)
    assert [line.strip().partition(" = ")[0] for line in str(typed).splitlines()[3:]] == [
        "before",
        "key",
        "case 'a'",
        "case 'b'",
        "case 'c'",
    ]


def test_what_stands_before_the_cases_is_done_once() -> None:
    before = ar.Scalar() >> (ar.Metric("seen") & ar.Identity()) >> ar.GetItem(1)
    block = ar.OneOf(
        lambda x: x > 0, {True: ar.Identity(), False: ar.Function(lambda x: x * 2.0)}, pre_block=before
    )
    model = ar.compile(block)
    assert model([1, -2]).tolist() == [1, -4]
    assert model.metrics["seen"].tolist() == [[1], [-2]]


# ------------------------------------------------------------------------------------------ Concat


@pytest.mark.parametrize(("dim", "shape"), [(0, (2, 4)), (1, (2, 4)), (-1, (2, 4)), (-2, (2, 4))])
def test_concat_counts_axes_from_either_end(dim: int, shape: tuple[int, int]) -> None:
    sides = ((2, 3), (2, 1)) if dim % 2 else ((1, 4), (1, 4))
    a, b = (ar.GetItem(i) >> ar.Tensor(side, name=f"t{i}") for i, side in enumerate(sides))
    block = (a & b) >> ar.Concat(dim)
    assert ar.infer(block).output == T.Tensor(shape)
    data = [tuple(np.arange(np.prod(side)).reshape(side) + n for side in sides) for n in (0, 5)]
    for found, (x, y) in zip(agree(block, data, loss="-"), data, strict=True):
        assert np.array_equal(found, np.concatenate([x, y], axis=dim))
    agree(block >> ar.Function(lambda m: (m * m * m).sum()), data, inputs=["t0", "t1"])


def test_concat_takes_nested_tuples_apart() -> None:
    numbers = ar.GetItem(0) >> ar.Scalar("int64")
    inner = ar.AllOf(
        ar.AllOf(), ar.GetItem(1) >> ar.Vector(2, "int64"), ar.GetItem(2) >> ar.Vector(0, "int64")
    )
    block = ar.AllOf(ar.AllOf(numbers), inner) >> ar.Concat(flatten=True)
    assert agree(block, [(1, [2, 3], [])], loss="-")[0].tolist() == [1, 2, 3]
    assert agree(ar.AllOf(ar.Scalar("float64")) >> ar.Concat(-1), [3], loss="-")[0].tolist() == [3]


def test_they_print_as_they_are_written_and_pickle() -> None:
    cell = ar.GRUCell(4)
    texts = {
        "RNN(GRUCell(4), start_from_input=True, reverse=True)": ar.RNN(
            cell, start_from_input=True, reverse=True
        ),
        "OneOf(len, {1: Identity(), 2: Zeros(float32)}, pre_block=GetItem(0) >> Scalar('float32'))": ar.OneOf(
            len, {1: ar.Identity(), 2: ar.Zeros([])}, pre_block=ar.GetItem(0) >> ar.Scalar()
        ),
        "Concat(-1, flatten=True)": ar.Concat(-1, flatten=True),
    }
    for text, block in texts.items():
        assert repr(block) == repr(pickle.loads(pickle.dumps(block))) == text
