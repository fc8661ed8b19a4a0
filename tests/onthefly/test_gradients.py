"""Gradients of batches: more than once, through several runs, and after steps."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

import arrows as ar
from arrows import ops
from arrows.training import SGD, Adam
from tests.compare import close
from tests.onthefly.said import said
from tests.onthefly.test_programs import each_dense
from tests.profile import draws


def test_gradients_may_be_asked_for_again():
    net, layer, embed = ar.OnTheFly(), ar.FC(2), ar.Embedding(4, 2)
    with net.batch() as g:
        x = embed(1)
        one, two = ops.sum(layer(x)), ops.sum(layer(ops.tanh(layer(x))))
        first = each_dense(g.value_and_grad(one)[1])
        other = each_dense(g.value_and_grad(two)[1])
        assert close(each_dense(g.value_and_grad(one)[1]), first, 0)
        assert close(each_dense(g.value_and_grad(two)[1]), other, 0)
    with net.batch() as g:
        x = embed(1)
        alone = each_dense(g.value_and_grad(ops.sum(layer(ops.tanh(layer(x)))))[1])
    assert close(other, alone, 1e-6)


def test_what_has_no_parameters_has_no_gradient():
    net, layer = ar.OnTheFly(), ar.FC(2)
    with net.batch() as g:
        layer([1.0, 2.0])
        for loss, value in ((g.tensor(3.0), 3), (g.zeros([]), 0), (g.sum([g.zeros([]), g.tensor(1.0)]), 1)):
            found, gradients = g.value_and_grad(loss)
            assert float(found) == value
            assert {k: x.any() for k, x in gradients.items()} == {"FC_1/weight": False, "FC_1/bias": False}


@pytest.mark.parametrize(
    ("loss", "what"),
    [
        (lambda g: g.tensor([1.0, 2.0]), "float32[2]"),
        (lambda g: g.tensor(1), "int32"),
        (lambda g: 3.0, "a float"),
        (lambda g: [g.tensor(1.0)], "a list"),
    ],
)
def test_a_loss_is_a_scalar(loss: Any, what: str) -> None:
    net = ar.OnTheFly()
    with net.batch() as g, pytest.raises(ar.ArrowTypeError) as error:
        g.value_and_grad(loss(g))
    assert said(error) == (
        f"cannot differentiate at LINE\n  the loss must be a floating scalar, and it is {what}\n"
        "  hint  put the losses of a batch together: g.mean(losses)"
    )


def test_a_batch_without_gradients():
    net, layer = ar.OnTheFly(), ar.FC(2)
    with net.batch(gradients=False) as g:
        loss = ops.sum(layer([1.0, 2.0]))
        loss.numpy()
        with pytest.raises(ar.ArrowValueError) as error:
            g.value_and_grad(loss)
    assert said(error) == (
        "cannot differentiate\n  the batch keeps nothing for gradients\n"
        "  hint  make it by net.batch(), without gradients=False"
    )


@pytest.mark.parametrize(
    "step",
    [
        lambda net, g, loss: g.train_step(loss, SGD(0.1)),
        lambda net, g, loss: SGD(0.1).step(net, g.value_and_grad(loss)[1]),
        lambda net, g, loss: [loss.numpy(), net.params.__setitem__("FC_1/bias", np.ones(2, "float32"))],
    ],
)
def test_a_step_ends_what_a_batch_computes(step: Any) -> None:
    """Values of the old parameters and of the new ones would be those of no model."""
    net, layer = ar.OnTheFly(), ar.FC(2)
    with net.batch() as g:
        data = g.tensor([1.0, 2.0])
        old = layer(data)
        loss, waiting = ops.sum(old * old), ops.sum(old)
        before = old.numpy()
        step(net, g, loss)
        assert np.array_equal(old.numpy(), before)
        for attempt, use in (
            ("differentiate", lambda: g.value_and_grad(loss)),
            ("compute a value", lambda: waiting.numpy()),
            ("compute a value", lambda: layer(data * 2.0).numpy()),
            ("compute a value", lambda: layer(data).numpy()),  # another call than that of `old`
        ):
            with pytest.raises(ar.ArrowValueError) as error:
                use()
            assert said(error) == (
                f"cannot {attempt}\n"
                "  a step has changed the parameters since the batch computed its first values\n"
                "  hint  begin another batch after a step"
            )
    with net.batch() as g:
        after = layer([1.0, 2.0]).numpy()
        assert not np.array_equal(after, before)
        expected = np.array([1, 2], "f") @ net.params["FC_1/weight"] + net.params["FC_1/bias"]
        assert close(after, expected, 1e-6)


def test_parameters_may_be_set_before_a_batch_computes() -> None:
    net, layer = ar.OnTheFly(), ar.FC(2)
    for value in (0, 5):
        with net.batch() as g:
            waiting = layer(g.zeros([2]))
            net.params["FC_1/bias"] = np.full(2, value, "float32")
            assert close(g.numpy([waiting, layer(g.zeros([2]))]), [[value, value]] * 2, 0)


def test_an_optimizer_that_is_none():
    net, layer = ar.OnTheFly(), ar.FC(2)
    with net.batch() as g:
        loss = ops.sum(layer([1.0, 2.0]))
        for optimizer in (Adam, 3):
            with pytest.raises(ar.ArrowTypeError, match="the optimizer must be one such as Adam"):
                g.train_step(loss, optimizer)
        with pytest.raises(ZeroDivisionError):
            g.train_step(loss, SGD(0.1), check=lambda value: 1 / 0)
        assert net.step == 0
        g.train_step(loss, SGD(0.1))
    assert net.step == 1


class Tied(ar.Layer[Any, Any]):
    """A table that is looked up, and that multiplies."""

    def parameters(self, input: Any) -> tuple[ops.Parameter, ...]:
        return (ops.Parameter("table", (4, 2), "float32", ar.initializers.normal(1.0)),)

    def forward(self, parameters: Any, x: Any) -> Any:
        table = parameters["table"]
        return table @ x if x.type.floating else ops.lookup(table, x)


@pytest.mark.parametrize("device", ["cpu", "fake"])
@pytest.mark.parametrize("reads", [(), (0,), (1,), (0, 1, 2)])
def test_a_table_that_multiplies_too(device: str, reads: tuple[int, ...]) -> None:
    """Its gradient is row-sparse in one run and dense in another."""
    tied, net = Tied(), ar.OnTheFly(device=device)
    with net.batch() as g:
        values: list[Any] = []
        for step in (lambda: tied(1), lambda: tied(values[0]), lambda: tied(2) * values[0]):
            values.append(step())
            if len(values) - 1 in reads:
                values[-1].numpy()
        loss, gradients = g.value_and_grad(ops.sum(values[1]) + ops.sum(values[2]))
    table = ar.to_numpy(net.params["Tied_1/table"])
    wanted = np.tile(table[1], (4, 1))
    wanted[1] += table.sum(0) + table[2]
    wanted[2] += table[1]
    assert close(each_dense(gradients)["Tied_1/table"], wanted, 1e-5)
    assert close(float(ar.to_numpy(loss)), (table @ table[1]).sum() + table[2] @ table[1], 1e-5)


@draws(100, 1000)
@given(calls=st.lists(st.tuples(*[st.sampled_from([0, 1, 3])] * 3), min_size=1, max_size=5))
def test_calls_use_parts_of_a_weight(calls: list[tuple[int, ...]]) -> None:
    """Parts beside constants of zero are not multiplied: calls write parts of one gradient that meet."""
    layer = ar.FC(2)
    joined = ar.Function(lambda *parts: layer(ops.concat(parts)).sum())
    with ar.OnTheFly().batch() as g:
        losses = [joined(*[g.tensor([k * 1.0]) if k else g.zeros([1]) for k in call]) for call in calls]
        _, gradients = g.value_and_grad(g.sum(losses))
        assert close(gradients["FC_1/weight"], np.repeat(np.sum(calls, 0)[:, None], 2, 1), 0)
