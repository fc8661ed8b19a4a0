"""Gradients of batches: more than once, through several runs, and after steps."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import arrows as ar
from arrows import ops
from arrows.training import SGD, Adam
from tests.compare import close
from tests.onthefly.said import said
from tests.onthefly.test_programs import each_dense


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
            assert {name: np.abs(each).max() for name, each in gradients.items()} == dict.fromkeys(
                ["FC_1/weight", "FC_1/bias"], 0
            )


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


def test_a_step_and_on():
    """After a step the batch goes on with the new parameters, on the same data."""
    net, layer, embed = ar.OnTheFly(), ar.FC(2), ar.Embedding(4, 2)
    again = ar.OnTheFly()
    with net.batch() as g:
        data, token = g.tensor([1.0, 2.0]), g.tensor(1)
        zeros = g.zeros([2])
        stale = layer(data + embed(token) + zeros)
        before = stale.numpy()
        losses = [g.train_step(ops.sum(stale * stale), SGD(0.1))]
        fresh = layer(data + embed(token) + zeros)
        assert not np.array_equal(fresh.numpy(), before)
        losses.append(g.train_step(ops.sum(fresh * fresh), SGD(0.1)))
        value, gradients = g.value_and_grad(ops.sum(layer(data + embed(token))))
        assert np.array_equal(stale.numpy(), before)
        for loss in (ops.sum(stale), ops.sum(fresh), ops.sum(layer(data) * stale)):
            with pytest.raises(ar.ArrowValueError) as error:
                g.value_and_grad(loss)
            assert said(error) in [
                f"cannot {attempt}\n"
                f"  {what} depends on values computed before a step changed the parameters\n"
                "  hint  begin another batch after a step"
                for attempt, what in (("differentiate", "the loss"), ("compute a value", "it"))
            ]
        with pytest.raises(ar.ArrowValueError, match="before a step"):
            layer(stale).numpy()  # the old values by the new parameters would be those of no model
    assert net.step == 2
    alone = []
    for _ in range(2):
        with again.batch() as g:
            y = layer(g.tensor([1.0, 2.0]) + embed(1))
            alone.append(g.train_step(ops.sum(y * y), SGD(0.1)))
    with again.batch() as g:
        right, wanted = g.value_and_grad(ops.sum(layer(g.tensor([1.0, 2.0]) + embed(1))))
    assert close(losses, alone, 1e-6)
    assert close([value, each_dense(gradients)], [right, each_dense(wanted)], 1e-6)


def test_parameters_that_are_set_by_hand():
    net, layer = ar.OnTheFly(), ar.FC(2)
    with net.batch() as g:
        old = layer([1.0, 2.0])
        old.numpy()
        net.params["FC_1/weight"] = np.ones((2, 2), "float32")
        assert close(layer([1.0, 2.0]).numpy(), [3, 3], 0)
        with pytest.raises(ar.ArrowValueError, match="before a step changed the parameters"):
            g.value_and_grad(ops.sum(old))
        net.params["FC_1/bias"] = np.ones(2, "float32")
        assert close(layer(g.zeros([2])).numpy(), [1, 1], 0)
        net.params["FC_1/bias"] = np.full(2, 5, "float32")
        assert close(layer(g.zeros([2])).numpy(), [5, 5], 0)


def test_a_step_by_the_optimizer_itself():
    net, layer = ar.OnTheFly(), ar.FC(2)
    with net.batch() as g:
        data = g.tensor([1.0, 2.0])
        old = ops.sum(layer(data) ** 2)
        _, gradients = g.value_and_grad(old)
        SGD(0.1).step(net, gradients)
        new = ops.sum(layer(data) ** 2)
        assert float(new) < float(old)
        g.value_and_grad(new)
        with pytest.raises(ar.ArrowValueError, match="before a step changed the parameters"):
            g.value_and_grad(old)


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


def _normal(generator: np.random.Generator, shape: tuple[int, ...], dtype: str) -> Any:
    return generator.normal(size=shape).astype(dtype)


class Tied(ar.Layer[Any, Any]):
    """A table that is looked up, and that multiplies."""

    def parameters(self, input: Any) -> tuple[ops.Parameter, ...]:
        return (ops.Parameter("table", (4, 2), "float32", _normal),)

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
