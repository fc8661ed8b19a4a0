"""A batch: what may be done with its tensors, when, and what is said of the rest."""

from __future__ import annotations

import gc
import threading
import weakref
from contextlib import nullcontext
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest

import arrows as ar
from arrows import ops
from arrows.training import AdamW, load, save
from tests.compare import close
from tests.onthefly.said import said


@pytest.mark.parametrize(
    "ask",
    [
        lambda h, x: h.numpy(x),
        lambda h, x: h.numpy({"a": [x]}),
        lambda h, x: h.tensor(x),
        lambda h, x: h.value_and_grad(x),
        lambda h, x: h.sum([h.tensor(1.0), x]),
        lambda h, x: ar.FC(2)(h.tensor([1.0]), x),
        lambda h, x: ar.LSTMCell(2)(h.tensor([1.0]), (x, x)),
        lambda h, x: h(ar.Map(ar.Sum()), [[x, x]]),
        lambda h, x: h.run_all([yielding(x)]),
    ],
)
@pytest.mark.parametrize("kind", ["tensor", "zeros"])
def test_tensors_of_another_batch_are_refused(ask: Any, kind: str) -> None:
    net = ar.OnTheFly()
    with net.batch() as g, net.batch() as h:
        for n in range(5):
            h.tensor(float(n))
        x = g.tensor(1.0) if kind == "tensor" else g.zeros([])
        with pytest.raises(ar.ArrowTypeError) as error:
            ask(h, x)
    of = "value that came in" if kind == "tensor" else "constant"
    text = f"cannot compute at LINE\n  LazyTensor(float32 of a {of}) belongs to another batch\n"
    assert said(error) == text + "  hint  bring its value over as numbers: g.tensor(x.numpy())"


def yielding(x: Any) -> Any:
    return (yield x)


def test_a_line_that_has_run_refuses_tensors_of_another_batch() -> None:
    """A call that was seen before is found by fewer questions."""
    net, layer = ar.OnTheFly(), ar.FC(2)
    with net.batch() as g, net.batch() as h:
        own, other = h.tensor([1.0]), g.tensor([1.0])
        for x in (own, own, other):
            with pytest.raises(ar.ArrowTypeError, match="another batch") if x is other else nullcontext():
                h(layer, x)


def test_numbers_with_tensors_among_them_are_refused():
    """NumPy would make numbers of them, and their gradients would be lost."""
    net = ar.OnTheFly()
    with net.batch() as g:
        x = g.tensor(1.0)
        tensor = g.tensor
        for attempt in (lambda: tensor([x, x]), lambda: tensor([[1.0], (x,)]), lambda: ar.FC(2)([[x], [x]])):
            with pytest.raises(ar.ArrowTypeError) as error:
                attempt()
            assert said(error) == (
                "cannot read a value at LINE\n"
                "  there are tensors among its numbers, which are not known yet\n"
                "  hint  ops.stack makes a tensor of tensors"
            )
        assert not g.timelines


OVER = (
    " (LINE)\n  the batch that its tensors belong to is over, and their memory is given back\n"
    "  hint  bring values out of `with net.batch() as g` as numbers: x.numpy()"
)


def test_a_batch_that_is_over():
    net, layer = ar.OnTheFly(), ar.FC(2)
    with net.batch() as g:
        x, z = g.tensor(1.0), g.zeros([])
    attempts = {
        "make zeros": lambda: g.zeros([2]),
        "read a value": lambda: g.tensor(3),
        "make a constant": lambda: g.constant(np.ones(2)),
        "compute add": lambda: x + 1,
        "compute greater": lambda: z > x,
        "compute a value": lambda: float(x),
        "call Sum()": lambda: g.sum([x]),
        "call FC(2)": lambda: layer(x),
        "call dropout": lambda: ops.dropout(x, 0.5),
        "run instances": lambda: g.run_all([]),
        "run a block": lambda: g(layer, x),
        "differentiate": lambda: g.value_and_grad(x),
    }
    for attempt, use in attempts.items():
        with pytest.raises(ar.ArrowValueError) as error:
            use()
        assert said(error) == f"cannot {attempt}" + OVER
    assert repr(x) == "LazyTensor(float32 of a value that came in)"


def test_a_batch_is_entered_once_and_before_it_is_used():
    net = ar.OnTheFly()
    g = net.batch()
    with pytest.raises(ar.ArrowValueError) as error:
        g.tensor(1.0)
    text = "cannot read a value (LINE)\n  the batch has not begun\n  hint  with net.batch() as g: ..."
    assert said(error) == text
    for _ in range(2):
        with pytest.raises(ar.ArrowValueError, match="a batch is entered once"):
            with g, g:
                pass


def test_batches_end_in_any_order():
    """A batch in a generator may end long after one that began later; plain values go to what is open."""
    embed = ar.Embedding(3, 2)
    net = ar.OnTheFly()
    g, h, i = net.batch(), net.batch(), net.batch()
    with i:
        g.__enter__()
        h.__enter__()
        g.__exit__(None, None, None)
        assert embed(1).context is h
        h.__exit__(None, None, None)
        assert embed(1).context is i
    with pytest.raises(ar.ArrowTypeError, match=r"on lazy tensors, inside of net\.batch"):
        embed(1)


def test_a_batch_may_end_in_another_thread():
    """As one that the garbage collector ends does."""
    embed, net = ar.Embedding(3, 2), ar.OnTheFly()
    g = net.batch()
    g.__enter__()
    embed(1).numpy()
    thread = threading.Thread(target=g.__exit__, args=(None, None, None))
    thread.start()
    thread.join()
    with pytest.raises(ar.ArrowTypeError):
        embed(1)
    assert net.held_memory


def test_nested_batches_are_apart():
    embed, net, other = ar.Embedding(3, 2), ar.OnTheFly(), ar.OnTheFly(seed=1)
    with net.batch() as g:
        a = embed(1)
        with other.batch() as h:
            b = embed(1)
            assert (a.context, b.context) == (g, h)
            assert not np.array_equal(b.numpy(), a.numpy())
        assert embed(2).context is g
        with net.batch() as h:
            assert np.array_equal(embed(1).numpy(), a.numpy())
            h.value_and_grad(ops.sum(embed(2)))
        g.value_and_grad(ops.sum(a))


def test_threads_have_batches_of_their_own():
    net, layer, embed = ar.OnTheFly(), ar.FC(3), ar.Embedding(9, 2)
    losses: dict[int, list[float]] = {}
    errors: list[BaseException] = []

    def work(number: int) -> None:
        try:
            with pytest.raises(ar.ArrowTypeError):
                embed(1)
            for _ in range(5):
                with net.batch() as g:
                    y = layer(embed(number))
                    for _ in range(number):
                        y = ops.tanh(y * 0.5)
                        y.numpy()
                    loss, _ = g.value_and_grad(ops.sum(y))
                    losses.setdefault(number, []).append(float(loss))
        except BaseException as error:  # noqa: BLE001 - whatever it is, the test shows it
            errors.append(error)

    with net.batch():
        threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert not errors
    for number, several in losses.items():
        with net.batch():
            y = layer(embed(number))
            for _ in range(number):
                y = ops.tanh(y * 0.5)
            assert close(several, [float(ops.sum(y))] * 5, 1e-6)


def test_memory_goes_back_after_errors_too():
    net, layer = ar.OnTheFly(), ar.FC(4)

    def compute() -> None:
        x = layer([1.0, 2.0])
        x.numpy()
        ops.tanh(x).numpy()

    with net.batch():
        compute()
    held = net.held_memory
    assert held > 0
    for _ in range(3):
        with pytest.raises(ZeroDivisionError), net.batch():
            compute() or 1 / 0
        assert net.held_memory == held
    with net.batch():
        assert net.held_memory == held
        compute()
        assert net.held_memory == 0
    net.release_memory()
    assert net.held_memory == 0


def test_memory_may_be_released_inside_of_a_batch():
    net, layer = ar.OnTheFly(), ar.FC(2)
    with net.batch() as g:
        x = layer([1.0, 2.0])
        before = x.numpy()
        net.release_memory()
        loss, gradients = g.value_and_grad(ops.sum(layer(x)))
        assert np.array_equal(before, x.numpy())
    with net.batch() as g:
        right, wanted = g.value_and_grad(ops.sum(layer(layer([1.0, 2.0]))))
    assert close([loss, gradients], [right, wanted], 1e-6)


def test_numbers_are_the_callers_own():
    """What one asked for is not changed by later batches, nor can it change the values."""
    net, layer = ar.OnTheFly(), ar.FC(2)
    with net.batch() as g:
        x, y = layer([1.0, 2.0]), layer([3.0, 4.0])
        a, b = g.numpy([x, y])
        loss, gradients = g.value_and_grad(ops.sum(x))
        copies = [np.array(n) for n in (a, b, loss, *gradients.values())]
        a[:] = 7
        assert np.array_equal(x.numpy(), copies[0])
        assert np.array_equal(b, copies[1])
        a[:] = copies[0]
    with net.batch() as g:
        z = layer([9.0, 9.0])
        z.numpy()
        g.value_and_grad(ops.sum(z))
    assert all(
        np.array_equal(n, copy) for n, copy in zip((a, b, loss, *gradients.values()), copies, strict=True)
    )


@pytest.mark.parametrize("where", ["forward", "select", "merge"])
def test_an_interrupted_run_can_be_asked_for_again(where: str) -> None:
    net, layer = ar.OnTheFly(), ar.FC(2)
    place = {
        "forward": "arrows.engine.running.Executor.forward",
        "select": "arrows.onthefly.runs.wire",
        "merge": "arrows.onthefly.runs.merge",
    }[where]
    with net.batch() as g:
        x = layer([1.0, 2.0])
        y = ops.tanh(layer(x))
        x.numpy()
        asks = [lambda: y.numpy(), lambda: g.value_and_grad(ops.sum(y))]
        for ask in asks:
            with mock.patch(place, side_effect=KeyboardInterrupt), pytest.raises(KeyboardInterrupt):
                ask()
        found = y.numpy()
    with net.batch():
        assert close(found, ops.tanh(layer(layer([1.0, 2.0]))).numpy(), 1e-6)


class Unread(dict[int, Any]):
    """A mapping that only looks things up."""

    def __iter__(self) -> Any:
        raise AssertionError("a run goes through the values of others")

    items = keys = values = __iter__


def test_a_run_looks_at_its_own_values_alone() -> None:
    """Or the time of a batch that is read often would grow with the square of its length."""
    with ar.OnTheFly().batch() as g:
        waiting = [g.tensor(float(k)) for k in range(3)]
        sums = [g.sum([each, each]) for each in waiting]
        g.recording.reads = Unread(g.recording.reads)
        x = g.tensor(5.0)
        assert float(x * x) == 25
        assert float(g.sum([x, sums[2]])) == 9
        assert [float(x + y) for y in waiting] == [5, 6, 7]


def test_a_sequence_of_tuples_of_one_is_another_than_one_of_tensors() -> None:
    net = ar.OnTheFly()
    first = ar.Function(lambda xs: ops.segment_sum(xs[0] if isinstance(xs, tuple) else xs))
    with net.batch() as g:
        xs = [g.tensor(1.0), g.tensor(2.0)]
        results = [first(sequence) for sequence in (xs, [(x,) for x in xs], xs)]
        assert g.numpy(results) == [3, 3, 3]


def test_what_a_value_does_not_need_does_not_run() -> None:
    table, look = np.ones((3, 2), np.float32), ar.Function(lambda table, i: ops.gather(table, i))
    for before in (0, 1, 3):
        with ar.OnTheFly().batch() as g:
            waiting = [look(g.tensor(table), g.tensor(9) + 1) for _ in range(before)]
            x = g.tensor(5.0)
            waiting += [look(g.tensor(table), g.tensor(9) + 2)]
            assert float(x * x) == 25
            assert float(x) == 5
            for refused in waiting:
                with pytest.raises(ar.ArrowValueError, match="index"):
                    refused.numpy()


def test_nothing_may_be_asked_for() -> None:
    with ar.OnTheFly().batch() as g:
        x = g.tensor(1.0) * 2.0
        assert g.numpy(()) == () and g.run_all([]) == [] and g.timelines == ()
        assert float(x) == float(x) == 2 and len(g.timelines) == 1


def test_a_parameter_stands_by_itself(tmp_path: Path) -> None:
    net, x = ar.OnTheFly(), np.array([1.0, -2.0], "float32")
    w, b = (
        net.parameter((2, 3), name="w", initializer=ar.initializers.normal(1.0)),
        net.parameter(3, name="b"),
    )
    whole = ar.Function(lambda x: ops.tanh(x @ w + b))
    ways = [whole, lambda x: ops.tanh(x @ w + b), lambda x: ops.tanh(x @ w() + b())]
    optimizer = AdamW(0.1, weight_decay={"w/*": 0.1})
    for way in ways * 2:
        y = np.tanh(x @ net.params["w/value"] + net.params["b/value"])
        with net.batch() as g:
            loss = ops.sum(g.sum([way(g.tensor(x)), way(g.tensor(x * 1))]))
            _, grads = g.value_and_grad(loss)
            np.testing.assert_allclose(grads["b/value"], 2 - 2 * y**2, atol=1e-5)
            np.testing.assert_allclose(grads["w/value"], np.outer(x, 2 - 2 * y**2), atol=1e-5)
            assert not (ar.Sum()([b, -b, ops.concat([b[:1], b[1:]])]) + b - 2.0 * b).numpy().any()
            np.testing.assert_array_equal(g.numpy([b])[0], net.params["b/value"])
            g.train_step(loss, optimizer)
    save(net, tmp_path / "net")
    fresh, other = ar.OnTheFly(seed=1), ar.OnTheFly(seed=1)
    load(fresh, tmp_path / "net")
    load(other, tmp_path / "net")
    for attempt, words in (
        (lambda: other.parameter((3, 2), name="w"), "cannot use parameter 'w/value' as it was loaded"),
        (lambda: net.parameter(4, name="b"), "name the parameters of two layers 'b'\n  one was made at LINE"),
        (lambda: net.parameter("x"), "a size must be an integer, not 'x'"),
        (lambda: b + 1.0, "the parameter b (float32[3], LINE) has no value here"),
    ):
        with pytest.raises((ar.ArrowTypeError, ar.ArrowValueError)) as raised:
            attempt()
        assert words in said(raised)
    fresh.parameter((2, 3), name="w")
    assert np.array_equal(fresh.params["w/value"], net.params["w/value"])


def test_a_tensor_keeps_no_data_of_a_batch_that_is_over() -> None:
    with ar.OnTheFly().batch() as g:
        g.tensor(np.ones(2))
    assert not g.recording.reads


def test_a_network_keeps_nothing_of_a_batch_that_is_over() -> None:
    net, layer = ar.OnTheFly(), ar.FC(2)

    def batch() -> weakref.ref[Any]:
        with net.batch() as g:
            x = layer(g.tensor([1.0, 2.0]))
            for factor in (2.0, 3.0, np.ones(2), g.constant(np.ones(2, "float32"))):
                x = ops.tanh(x * factor) + ar.Function(lambda a, b: a - b)(x, factor)
            ar.Sum()([x, g(ar.Vector(2), [1, 2])])
            g.value_and_grad(ops.sum(ops.concat([x, x])))
            return weakref.ref(g)

    over = [batch() for _ in range(2)]
    gc.collect()
    assert [each() for each in over] == [None, None]
