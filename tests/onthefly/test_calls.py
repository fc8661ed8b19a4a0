"""Calls that do not fit are refused on the line where they are written, and say why."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import arrows as ar
from arrows import ops
from tests.compare import close

EMPTY = (
    "cannot compute at LINE\n  a sequence without elements has no type\n"
    "  hint  treat an empty list apart: `if xs: ... else: ...`"
)


def mixed(of: str) -> str:
    return (
        f"cannot make a sequence at LINE\n  its element 0 is float32[2] and element 1 is {of}; "
        f"all elements of a "
        "sequence have one type"
    )


ERRORS: dict[str, tuple[Any, str]] = {
    "shapes": (
        lambda g, f, x, y, i: x + y,
        (
            "cannot compute add at LINE\n"
            "  add: float32[2] and float32[3] do not fit: axis 0 is 2 on the left and 3 on the right"
        ),
    ),
    "product": (
        lambda g, f, x, y, i: x @ y,
        (
            "cannot compute matmul at LINE\n  matmul: float32[2] @ float32[3] do not fit: axis "
            "0 is 2 on the left and "
            "axis 0 is 3 on the right"
        ),
    ),
    "element types": (
        lambda g, f, x, y, i: x + i,
        (
            "cannot compute add at LINE\n  add: float32[2] and int32[2] have different element types\n"
            '  hint  cast the int32 one: x.cast("float32")'
        ),
    ),
    "array of integers": (
        lambda g, f, x, y, i: x * np.array([1, 2]),
        (
            "cannot compute multiply at LINE\n  multiply: float32[2] and int32[2] have "
            "different element types\n"
            '  hint  cast the int32 one: x.cast("float32")'
        ),
    ),
    "text": (
        lambda g, f, x, y, i: x + "a",
        "cannot compute add at LINE\n  expected a tensor, a number or a NumPy array, got str",
    ),
    "list beside": (
        lambda g, f, x, y, i: ops.add(x, [1.0, 2.0]),
        (
            "cannot compute add at LINE\n  expected a tensor, a number or a NumPy array, got list\n"
            "  hint  use arrows.ops.stack or numpy.array"
        ),
    ),
    "mean of a list": (
        lambda g, f, x, y, i: ops.mean([x, x]),
        (
            "cannot compute at LINE expected a tensor, a number or a NumPy array, got list\n"
            "  hint  over a list of tensors: ar.Sum()(xs), ar.Mean()(xs); as one tensor: arrows.ops.stack(xs)"
        ),
    ),
    "fraction": (
        lambda g, f, x, y, i: i + 0.5,
        (
            "cannot compute add at LINE\n  add: 0.5 is not a whole number, but the tensor beside "
            "it is int32[2]\n"
            '  hint  cast the tensor first: x.cast("float32")'
        ),
    ),
    "layer": (
        lambda g, f, x, y, i: f(i),
        (
            "cannot call FC(2) on int32[2] at LINE\n  the input of FC must be floating, not int32[2]\n"
            "  hint  cast it: ar.ops.cast"
        ),
    ),
    "two input types": (
        lambda g, f, x, y, i: (f(x), f(y)),
        (
            "cannot call FC(2) on float32[3] at LINE\n"
            "  parameter 'FC_1/weight' is float32[2, 2] for the call at LINE, and this one would make it "
            "float32[3, 2]; a layer may be called on several types where its parameters are the same for "
            "all: use another layer here"
        ),
    ),
    "state": (
        lambda g, f, x, y, i: ar.LSTMCell(3)(x, (x, x)),
        (
            "cannot call LSTMCell(3) on (float32[2], (float32[2], float32[2])) at LINE\n"
            "  the state of LSTMCell must be (h, c): (float32[3], float32[3]), not (float32[2], float32[2])"
        ),
    ),
    "function": (
        lambda g, f, x, y, i: ar.Function(lambda a, b: a)(x),
        (
            "cannot call Function(lambda) on float32[2] at LINE\n"
            "  the function takes 2 tensors (a, b), and it gets one tensor\n"
            "  hint  a tuple gives one argument for each item: (f & g) >> Function(lambda)"
        ),
    ),
    "no elements": (lambda g, f, x, y, i: g.sum([]), EMPTY),
    "empty list": (lambda g, f, x, y, i: ar.Max()([]), EMPTY),
    "elements": (lambda g, f, x, y, i: g.mean([x, y]), mixed("float32[3]")),
    "element kinds": (lambda g, f, x, y, i: g.sum([x, (x, x)]), mixed("(float32[2], float32[2])")),
    "lookup": (
        lambda g, f, x, y, i: ar.Embedding(3, 2)(3),
        "cannot look up 3 at LINE\n  there are 3 rows, numbered from 0 to 2",
    ),
    "negative": (
        lambda g, f, x, y, i: ar.Embedding(3, 2)(np.int64(-1)),
        "cannot look up -1 at LINE\n  there are 3 rows, numbered from 0 to 2",
    ),
    "computed index": (
        lambda g, f, x, y, i: ar.Embedding(3, 2)(i[1] * 4).numpy(),
        "cannot compute Embedding(3, 2) at LINE\n  lookup: index 8 is out of range for an axis of size 3",
    ),
    "block": (
        lambda g, f, x, y, i: f(f, x),
        "cannot compute at LINE\n  FC(2) is a block, and no tensor\n  hint  call it first: block(x)",
    ),
    "what is no number": (
        lambda g, f, x, y, i: f(x, "a"),
        (
            "cannot compute with 'a' at LINE\n  it holds no numbers, or lists of different lengths\n"
            "  hint  operations take lazy tensors, numbers, and arrays and lists of numbers; a "
            "list of lazy\n"
            "        tensors is a sequence"
        ),
    ),
    "ragged": (
        lambda g, f, x, y, i: g.tensor([[1], [2, 3]]),
        (
            "cannot compute with [[1], [2, 3]] at LINE\n  it holds no numbers, or lists of "
            "different lengths\n"
            "  hint  operations take lazy tensors, numbers, and arrays and lists of numbers; a "
            "list of lazy\n"
            "        tensors is a sequence"
        ),
    ),
    "masked": (
        lambda g, f, x, y, i: g.tensor(np.ma.masked_array([1.0, 2.0], [0, 1])),
        (
            "cannot read a value at LINE\n"
            "  expected float32[2], got a masked array float64[2] in which 1 element is masked: "
            "fill them first,\n"
            "  x.filled(0), or leave them out, x.compressed()"
        ),
    ),
    "masked beside": (
        lambda g, f, x, y, i: x * np.ma.masked_array([1.0, 2.0], [0, 1], dtype="float32"),
        "cannot compute multiply at LINE a constant has masked elements hint fill them first: x.filled(0)",
    ),
    "masked constant": (
        lambda g, f, x, y, i: g.constant(np.ma.masked_array([1.0, 2.0], [0, 1])),
        "cannot make a constant at LINE it has masked elements hint fill them first: x.filled(0)",
    ),
    "constant of tensors": (
        lambda g, f, x, y, i: g.constant([x, x]),
        (
            "cannot make a constant at LINE there are tensors among its numbers, which are not known yet "
            "hint g.tensor reads data; ops.stack makes a tensor of tensors"
        ),
    ),
    "large": (
        lambda g, f, x, y, i: g.tensor(2**40),
        (
            "cannot read a value at LINE\n  1099511627776 does not fit int32 (-2147483648 to 2147483647)\n"
            '  hint  name another element type: g.tensor(x, "int64")'
        ),
    ),
    "fractions": (
        lambda g, f, x, y, i: g.tensor([1.5], "int32"),
        (
            "cannot read a value at LINE expected int at [0], got 1.5 "
            'hint name another element type: g.tensor(x, "float32")'
        ),
    ),
    "numbers as truth": (
        lambda g, f, x, y, i: g.tensor([1], "bool"),
        (
            "cannot read a value at LINE expected bool at [0], got 1 "
            'hint name another element type: g.tensor(x, "int32")'
        ),
    ),
    "too large for int64": (
        lambda g, f, x, y, i: g.tensor(2**63, "int64"),
        (
            "cannot read a value at LINE 9223372036854775808 does not fit int64 "
            "(-9223372036854775808 to 9223372036854775807) "
            'hint name another element type: g.tensor(x, "uint64")'
        ),
    ),
    "index by a list": (
        lambda g, f, x, y, i: x[[1, 0]],
        (
            "cannot compute at LINE index: expected integers and slices, got list on axis 0 "
            "hint rows at several places: arrows.ops.lookup(x, numpy.array([1, 0]))"
        ),
    ),
    "index beyond": (
        lambda g, f, x, y, i: x[2],
        "cannot compute at LINE index: 2 is out of range for axis 0 of size 2",
    ),
    "nothing to join": (
        lambda g, f, x, y, i: ops.concat([]),
        "cannot compute at LINE concat takes a list of tensors, and at least one",
    ),
    "iteration": (
        lambda g, f, x, y, i: list(x),
        (
            "cannot compute at LINE a lazy tensor (float32[2]) cannot be iterated or unpacked "
            "hint take it apart by index: x[0], x[1]; its numbers are x.numpy()"
        ),
    ),
    "membership": (
        lambda g, f, x, y, i: 1.0 in x,
        (
            "cannot compute at LINE `in` asks for the values of a lazy tensor (float32[2]) "
            "hint wait for them: x.numpy()"
        ),
    ),
    "index of a list": (
        lambda g, f, x, y, i: ["a", "b"][i[0]],
        (
            "cannot compute at LINE a lazy tensor (int32) is no Python integer before it is computed "
            "hint int(x) waits for it; arrows.ops.lookup(table, x) takes it as an index"
        ),
    ),
    "function of NumPy": (
        lambda g, f, x, y, i: np.argmax(x),
        (
            "cannot compute at LINE numpy.argmax does not take a lazy tensor (float32[2]) "
            "hint numpy.argmax(x.numpy()) waits for its value; arrows.ops.argmax stays lazy"
        ),
    ),
    "function of NumPy alone": (
        lambda g, f, x, y, i: np.exp2(x),
        (
            "cannot compute at LINE numpy.exp2 does not take a lazy tensor (float32[2]) "
            "hint numpy.exp2(x.numpy()) waits for its value"
        ),
    ),
    "format of several": (
        lambda g, f, x, y, i: f"{x:.3f}",
        (
            "cannot format a lazy tensor (float32[2]) at LINE '.3f' is a format of one number "
            "hint x.numpy() has all its numbers, x[0] is one of them"
        ),
    ),
    "shape as a tuple": (
        lambda g, f, x, y, i: g.zeros((2, 3)),
        (
            "cannot read (2, 3) as a type at LINE expected a type, a shape such as [3] or [3, 'int32'], an "
            "element type such as 'int32', or a tuple of these hint a shape is a list: [2, 3]"
        ),
    ),
    "zeros": (
        lambda g, f, x, y, i: g.zeros(ar.types.Input()),
        "there are no zeros of Input: only of tensors, and of tuples of such",
    ),
    "two examples": (
        lambda g, f, x, y, i: g(ar.Vector(2), [1, 2], [3, 4]),
        (
            "cannot run a block at LINE\n  it reads one example, and 2 were given\n"
            "  hint  several examples: [g(block, x) for x in examples]"
        ),
    ),
    "numbers of nothing": (
        lambda g, f, x, y, i: g.numpy([3]),
        "cannot compute 3 at LINE\n  it is not a lazy tensor, nor a tuple, list or dict of lazy tensors",
    ),
}


@pytest.mark.parametrize("name", ERRORS)
def test_what_does_not_fit(name: str) -> None:
    attempt, wanted = ERRORS[name]
    net = ar.OnTheFly()
    with net.batch() as g:
        x, y, i = g.tensor([1.0, 2.0]), g.tensor([1.0, 2.0, 3.0]), g.tensor([1, 2])
        for _ in range(2):
            with pytest.raises((ar.ArrowTypeError, ar.ArrowValueError)) as error:
                attempt(g, ar.FC(2), x, y, i)
            written = re.sub(r"test_calls\.py:\d+", "LINE", str(error.value))
            assert re.sub(r"FC_\d", "FC_1", " ".join(written.split())) == " ".join(wanted.split())
        layer = ar.FC(2)
        g.value_and_grad(ops.sum(layer(x)))  # the batch can be used


def test_calls_of_one_line_are_apart():
    net = ar.OnTheFly()
    layers = [ar.FC(2) for _ in range(3)]
    with net.batch() as g:
        x = g.tensor([1.0, 2.0])
        several = g.numpy([layer(x) for layer in layers])
        assert not close(several[0], several[1], 1e-3)
        one, two = ar.Function(lambda a: a * 2)(x), ar.Function(lambda a: a + 1)(x)
        assert close(g.numpy([one, two, x * 2 + x * 3 * x]), [[2, 4], [2, 3], [5, 16]], 0)
        assert close(g.numpy([f(x) for f in (lambda a: a * 2, lambda a: a * 3)]), [[2, 4], [3, 6]], 0)
        assert close(
            g.numpy([ar.Function(lambda a, n=n: a * n)(x) for n in range(3)]), [[0, 0], [1, 2], [2, 4]], 0
        )


def test_numbers_that_change():
    """A number that is the same at every visit is part of an operation; it may change all the same."""
    net = ar.OnTheFly()
    for _ in range(2):
        with net.batch() as g:
            x, i = g.tensor([1.0, -2.0]), g.tensor([1, 2])
            products = g.numpy([x * k for k in (0.0, -0.0, True, 1, 1.0, float("nan"), float("inf"), False)])
            assert [np.signbit(each).tolist() for each in products[:2]] == [[False, True], [True, False]]
            assert close(products[2:5], [[1, -2]] * 3, 0)
            assert np.isnan(products[5]).all()
            assert products[6].tolist() == [np.inf, -np.inf]
            assert [each.dtype.name for each in g.numpy([i * k for k in (True, 2)])] == ["int32", "int32"]
            assert close(g.numpy([x * np.float32(k) for k in (2, 3)]), [[2, -4], [3, -6]], 0)
            assert close(g.numpy([ops.clip(x, -k, k) for k in (1.0, 2.0)]), [[1, -1], [1, -2]], 0)


def test_element_types_of_numbers():
    net, double = ar.OnTheFly(), ar.OnTheFly(float_type="float64")
    with net.batch() as g:
        values = [np.float64(1), 1.0, np.int64(1), 1, np.uint8(1), True, np.bool_(1), np.ones(2)]
        kinds = ["float32", "float32", "int32", "int32", "int32", "bool", "bool", "float32"]
        assert [g.tensor(value).dtype for value in values] == kinds
        assert g.tensor(np.ones(2), "float64").dtype == "float64"
    with double.batch() as g:
        x = g.tensor([1.0, 2.0])
        for y in (
            x * np.ones(2, "float32"),
            x * np.float32(2),
            g.zeros([2]),
            g.constant(np.ones(2, "float32")),
        ):
            assert y.dtype == "float64"


def test_arrays_beside_tensors_are_read_as_data():
    """NumPy makes float64 and int64, and `g.tensor` and layers take these."""
    net = ar.OnTheFly()
    with net.batch() as g:
        x, i = g.tensor([1.0, 2.0]), g.tensor([1, 2])
        wide, small = g.tensor([1.0, 2.0], "float64"), g.tensor([1.0, 2.0], "float16")
        for y, dtype in (
            (x * np.array([1.0, 3.0]), "float32"),
            (np.array([1.0, 3.0]) * x, "float32"),
            (i * np.array([1, 3]), "int32"),
            (wide * np.array([1, 3], "float32"), "float64"),
            (small * np.array([1.0, 3.0]), "float16"),
            (ops.where(x > 0, x, np.zeros(2)) * np.array([1.0, 3.0]), "float32"),
            (ops.concat([x[:1], np.array([6.0])]), "float32"),
            (ops.stack([x[0], np.array(6.0)]), "float32"),
            (ops.stack([x[0], 6]), "float32"),
        ):
            assert y.dtype == dtype
            assert y.numpy().tolist() == [1, 6]
        assert ops.lookup(x, np.array([1, 0])).numpy().tolist() == [2, 1]
        assert net.call_sites.constants == []


def test_what_is_given_is_read_at_once():
    """Arrays that the program changes later are what they were."""
    net = ar.OnTheFly()
    with net.batch() as g:
        a = np.ones(2, "float32")
        constant, x = g.constant(a), g.tensor(a)
        for n in range(3):
            a[:] = n
            y = x * a
            assert close(y.numpy(), [n, n], 0)
        z = x * a
        a[:] = 9
        assert close(g.numpy([constant, x, z]), [[1, 1], [1, 1], [2, 2]], 0)


def test_layers_that_are_gone():
    """Another layer in the place of one that is gone is another layer."""
    net = ar.OnTheFly()
    with net.batch() as g:
        x = g.tensor([1.0, 2.0])
        values = []
        for _ in range(10):
            values.append(ar.FC(2)(x))
        assert len(net.params) == 20
        assert len({tuple(value) for value in g.numpy(values)}) == 10


def test_sizes_of_nothing_and_of_much():
    net, layer = ar.OnTheFly(), ar.FC(2)
    with net.batch() as g:
        empty = g.tensor([])
        x = layer(ops.concat([empty, g.tensor([1.0, 2.0])]))
        assert close(g.numpy([empty, ops.sum(empty)]), [np.zeros(0, "f"), np.float32(0)], 0)
        g.value_and_grad(ops.sum(x) + ops.sum(empty))
    with net.batch() as g:
        x = g.tensor([0.5, 0.25])
        for _ in range(20_000):
            x = ops.tanh(x)
        loss, _ = g.value_and_grad(ops.sum(x))
        assert 0 < float(loss) < 0.1


def test_as_many_results_as_are_possible():
    net = ar.OnTheFly()
    with net.batch() as g:
        x = g.tensor([1.0, 2.0])
        many = ar.Function(lambda a: tuple(a * float(n) for n in range(1024)))(x)
        assert close(g.numpy([many[1023], many[0]]), [[1023, 2046], [0, 0]], 0)
        with pytest.raises(ar.ArrowTypeError, match="gives 1,025 tensors; at most 1,024 are possible"):
            ar.Function(lambda a: tuple(a * float(n) for n in range(1025)))(x)


def test_a_function_of_lazy_tensors_can_stand_in_a_block() -> None:
    project = ar.FC(2, name="project")

    def gate(x: Any, h: Any) -> Any:
        """Written for lazy tensors, of layers, operators and operations."""
        opened = ops.sigmoid(project(x))
        return opened * h + (1 - opened) * ops.tanh(x[:2])

    net = ar.OnTheFly()
    with net.batch() as g:
        lazy = gate(g.tensor([1.0, 2.0, 3.0]), g.tensor([4.0, 5.0])).numpy()
    block = (ar.GetItem(0) >> ar.Vector(3) & ar.GetItem(1) >> ar.Vector(2)) >> ar.Function(gate)
    model = ar.compile(block, params=net.params)
    assert close(model([([1, 2, 3], [4, 5])])[0], lazy, 1e-6)


def test_numbers_of_numpy_are_numbers() -> None:
    with ar.OnTheFly().batch() as g:
        x = g.tensor([1.0, 2.0])
        for number in (np.float64(2), np.mean([1.0, 3.0]), np.int64(2), np.float32(2)):
            assert (x * number).numpy().tolist() == (number * x).numpy().tolist() == [2, 4]
        assert g.constant([1.0, 2.0]).dtype == "float32"
        assert g.constant(1).dtype == "int32"
        assert g.constant(np.ones(2)).dtype == "float64"


@pytest.mark.parametrize("loss", [None, 3.0, [1.0]])
def test_a_function_that_returns_no_loss_is_named(loss: object) -> None:
    def forgetful(g: Any, example: Any) -> Any:
        return loss

    with pytest.raises(ar.ArrowTypeError, match=r"cannot learn from forgetful(.|\n)*example 0") as error:
        ar.OnTheFly().learner(forgetful).prepare([1, 2])
    assert "lazy scalar" in str(error.value)


def test_a_forgotten_yield_from_is_named() -> None:
    def inner(x: Any) -> Any:
        yield x

    def outer(x: Any) -> Any:
        yield (inner(x), x)

    line = outer.__code__.co_firstlineno + 1
    with ar.OnTheFly().batch() as g, pytest.raises(ar.ArrowTypeError) as error:
        g.run_all([outer(g.tensor(1.0))])
    assert str(error.value) == (
        f"cannot wait for a generator at test_calls.py:{line}\n"
        "  it is not a lazy tensor, nor a tuple, list or dict of lazy tensors\n"
        "  hint  to wait for another generator function: `x = yield from f(...)`"
    )
