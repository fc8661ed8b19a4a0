"""Calls that do not fit are refused on the line where they are written, and say why."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import arrows as ar
from arrows import ops
from arrows.ops import extend
from tests.compare import close
from tests.onthefly.said import said

# What is attempted, with a batch and three tensors, and what is said of it.
ERRORS: list[tuple[Any, str]] = [
    (lambda g, x, y, i: x + y, "cannot compute add at LINE add: float32[2] and float32[3] do not fit: axis"),
    (lambda g, x, y, i: x + i, 'int32[2] have different element types hint cast the int32 one: x.cast("floa'),
    (lambda g, x, y, i: x + "a", "add at LINE expected a tensor, a number or a NumPy array, got str"),
    (lambda g, x, y, i: ops.mean([x, x]), "got list hint over a list of tensors: ar.Sum()(xs), ar.Mean()(xs"),
    (lambda g, x, y, i: ar.FC(2)(i), "cannot call FC(2) on int32[2] at LINE the input of FC must be floatin"),
    (
        lambda g, x, y, i: [f(z) for f in [ar.FC(2)] for z in (x, y)],
        (
            "cannot call FC(2) on float32[3] at LINE parameter 'FC_1/weight' is float32[2, 2] for the call "
            "at LINE, and this one would make it float32[3, 2]; a layer may be called on several types where "
            "its parameters are the same for all: use another layer here"
        ),
    ),
    (lambda g, x, y, i: ar.LSTMCell(3)(x, (x, x)), "at LINE the state of LSTMCell must be (h, c): (float32["),
    (lambda g, x, y, i: ar.Function(lambda a, b: a)(x), "tensor hint put them side by side first"),
    (lambda g, x, y, i: g.sum([]), "at LINE a sequence without elements has no type hint treat an empty"),
    (lambda g, x, y, i: g.sum([x, (x, x)]), "and element 1 is (float32[2], float32[2]); all elements of a"),
    (lambda g, x, y, i: ar.Embedding(3, 2)(3).numpy(), "cannot compute Embedding(3, 2) at LINE index 3 is"),
    (lambda g, x, y, i: ar.Embedding(3, 2)(np.int64(-1)).numpy(), "Embedding(3, 2) at LINE index -1 is out"),
    (lambda g, x, y, i: ar.Embedding(3, 2)(i[1] * 4).numpy(), "cannot compute Embedding(3, 2) at LINE index"),
    (lambda g, x, y, i: ar.FC(2)(ar.FC(2), x), "at LINE FC(2) is a block, and no tensor hint call it first:"),
    (lambda g, x, y, i: ar.FC(2)(x, "a"), "cannot compute with 'a' at LINE it holds no numbers, or lists of"),
    (lambda g, x, y, i: g.tensor([[1], [2, 3]]), "hint operations take lazy tensors, numbers, and arrays an"),
    (
        lambda g, x, y, i: g.tensor(np.ma.masked_array([1.0, 2.0], [0, 1])),
        "cannot read a value at LINE expected float32[2], got an array float64[2] with masked elements",
    ),
    (
        lambda g, x, y, i: x * np.ma.masked_array([1.0, 2.0], [0, 1], dtype="float32"),
        "cannot compute multiply at LINE a constant has masked elements hint fill them first: x.filled(0)",
    ),
    (
        lambda g, x, y, i: g.constant(np.ma.masked_array([1.0, 2.0], [0, 1])),
        "array float64[2] with masked elements: fill them first, x.filled(0)",
    ),
    (lambda g, x, y, i: g.constant([x, x]), "a value at LINE there are tensors among its numbers"),
    (lambda g, x, y, i: g.tensor(2**40), "does not fit int32 (-2147483648 to 2147483647) hint name another"),
    (lambda g, x, y, i: g.tensor([1.5], "int32"), "expected int at [0], got 1.5 hint name another element t"),
    (lambda g, x, y, i: x[[1, 0]], "hint rows at several places: arrows.ops.gather(x, numpy.array([1, 0]))"),
    (lambda g, x, y, i: list(x), "cannot be iterated or unpacked hint take it apart by index: x[0], x[1]; i"),
    (lambda g, x, y, i: x[0] > 0 and x[1] < 2, "the truth of a lazy tensor (bool) is not known before it is"),
    (lambda g, x, y, i: not x, "known before it is computed hint to wait for one value: `if float(x) > 0`;"),
    (lambda g, x, y, i: x[0] in [x[1], x], "`value = yield x` in a generator that g.run_all runs"),
    (lambda g, x, y, i: ["a"][i[0]], "is no Python integer before it is computed hint int(x) waits for it;"),
    (lambda g, x, y, i: np.exp2(x), "lazy tensor (float32[2]) hint numpy.exp2(x.numpy()) waits for its valu"),
    (lambda g, x, y, i: f"{x:.3f}", "cannot take item() of float32[2] at LINE only a tensor of one el"),
    (lambda g, x, y, i: g.zeros((2, 3)), "'int32', or a tuple of these hint a shape is a list: [2, 3]"),
    (lambda g, x, y, i: g.zeros(ar.types.Input()), "there are no zeros of Input: only of tensors, and of tu"),
    (lambda g, x, y, i: g(ar.Vector(2), [1, 2], [3, 4]), "hint several examples: [g(block, x) for x in exa"),
    (lambda g, x, y, i: g.numpy([3]), "cannot compute 3 at LINE it is not a lazy tensor, nor a tuple, list"),
]


@pytest.mark.parametrize(("attempt", "words"), ERRORS, ids=[words[:50] for _, words in ERRORS])
def test_what_does_not_fit(attempt: Any, words: str) -> None:
    with ar.OnTheFly().batch() as g:
        x, y, i = g.tensor([1.0, 2.0]), g.tensor([1.0, 2.0, 3.0]), g.tensor([1, 2])
        for _ in range(2):
            with pytest.raises((ar.ArrowTypeError, ar.ArrowValueError)) as error:
                attempt(g, x, y, i)
            written = " ".join(said(error).split())
            assert words in re.sub(r"FC_\d", "FC_1", written)
            assert re.match("cannot .* at LINE", written) or words.startswith("there are no zeros")
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


def over(xp: Any, by: float) -> Any:
    return lambda x, out=None: xp.divide(x, by, out=out)


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
            own = extend.Primitive("over", lambda x, by: x, over, elementwise=True)
            quotients = g.numpy([extend.bind(own, x, by=k) for k in (0.5, 0.0, -0.0)])
            assert [each.tolist() for each in quotients] == [[2, -4], [np.inf, -np.inf], [-np.inf, np.inf]]
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


@pytest.mark.parametrize("device", ["cpu", "fake"])
def test_a_constant_beside_a_sequence_is_read_like_a_tensor(device: str) -> None:
    pooled = ar.Function(lambda xs, k, x: (ops.segment_sum(xs * k) + x, xs + k))
    with ar.OnTheFly(device=device).batch() as g:
        number = np.array([1.5, 2.0], "float32")
        for k in (g.constant(number), g.tensor(number)):
            for xs in ([k, k], [g.tensor([1.0, 2.0]), k], [g.tensor([float(i), 2.0]) for i in range(3)]):
                rows = np.array([x.numpy() for x in xs])
                for block in (pooled, ar.Identity() >> pooled):
                    total, each = block(xs, k, xs[0])
                    assert close(total.numpy(), (rows * number).sum(0) + rows[0], 1e-6)
                    assert close([x.numpy() for x in each], rows + number, 1e-6)


@pytest.mark.parametrize("operator", [lambda a, b: a + b, lambda a, b: a - b, lambda a, b: a * b])
def test_one_place_meets_constants_and_tensors_on_either_side(operator: Any) -> None:
    """Also where its call site is known from earlier batches."""
    net, random = ar.OnTheFly(float_type="float64"), np.random.default_rng(0)
    for _ in range(3):
        with net.batch() as g:
            results, wanted = [], []
            for _ in range(12):
                values = random.standard_normal((2, 3))
                kinds = random.permutation([g.tensor, g.constant, g.tensor])[:2]
                a, b = (make(value) for make, value in zip(kinds, values, strict=True))
                results.append(operator(g.zeros([3]), operator(a, b)))
                wanted.append(operator(np.zeros(3), operator(*values)))
            assert close(g.numpy(results), wanted, 1e-12)


def test_sizes_of_nothing_and_of_much():
    net, layer = ar.OnTheFly(), ar.FC(2)
    with net.batch() as g:
        empty = g.tensor([])
        x = layer(ops.concat([empty, g.tensor([1.0, 2.0])]))
        assert close(g.numpy([empty, ops.sum(empty)]), [np.zeros(0, "f"), np.float32(0)], 0)
        g.value_and_grad(ops.sum(x) + ops.sum(empty))
    with net.batch() as g:
        x = g.tensor([0.5, 0.25])
        for _ in range(5_000):
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


def test_a_list_that_was_an_operand_before_may_have_changed() -> None:
    total: Any = ar.Function(lambda xs: ops.segment_sum(xs[0] * xs[1]))
    with ar.OnTheFly().batch() as g:
        one, two = g.tensor([1.0]), g.tensor([2.0])
        pairs, mixed = [(one, two), (two, two)], [(one, np.ones(1, "float32"))]
        sums = [total(pairs), total(pairs)]
        pairs[0] = two, two
        sums.append(total(pairs))
        pairs.append((one, one))
        sums += [total(pairs), total([(two, one)]), total([(one, two)]), total(mixed)]
        mixed[0][1][:] = 7.0
        sums.append(total(mixed))
        assert [float(x[0]) for x in g.numpy(sums)] == [6.0, 6.0, 8.0, 9.0, 2.0, 2.0, 1.0, 7.0]
