"""Blocks that a program makes anew, in place: equal ones are one call site, with the right numbers."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import arrows as ar

SCALE, WEIGHT = 2.0, np.ones(2, "f")


class Scaled(ar.Layer[Any, Any]):
    factor = 1.0

    def parameters(self, input: Any) -> tuple[()]:
        return ()

    def forward(self, parameters: Any, a: Any) -> Any:
        return a * SCALE * self.factor


def scale(a: Any) -> Any:
    return a * SCALE


def sites_after(batches: int, call: Callable[[Any, Any, int], Any]) -> tuple[int, int]:
    """How many call sites and operations a network has after so many batches of two equal calls each."""
    net = ar.OnTheFly()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for number in range(batches):
            with net.batch() as g:
                for _ in range(2):
                    x = g.tensor([1.0, number])
                    g.numpy(call(g, x, number))
    return len(net.call_sites.sites), len(net.plan().operations)


CALLS: dict[str, Callable[[Any, Any, int], Any]] = {
    "a reduction": lambda g, x, n: ar.Sum()([x, x]),
    "a loss": lambda g, x, n: ar.SoftmaxCrossEntropy()(x, n % 2),
    "a loss with arguments": lambda g, x, n: ar.SoftmaxCrossEntropy(weight=[1.0, 3.0])(x, n % 2),
    "a layer without parameters": lambda g, x, n: ar.Dropout(0.5)(x),
    "a function": lambda g, x, n: ar.Function(lambda a: ar.ops.tanh(a) * SCALE)(x),
    "a function of an array": lambda g, x, n: ar.Function(lambda a: a * WEIGHT)(x),
    "a partial function": lambda g, x, n: ar.Function(partial(ar.ops.clip, low=0.5, high=2.0))(x),
    "a function of a function's result": lambda g, x, n: ar.Function(lambda a: ar.Function(scale)(a))(x),
    "a function of nothing": lambda g, x, n: ar.Function(lambda: 2.0)(),
    "a layer of the user's": lambda g, x, n: Scaled()(x),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_block_made_in_place_is_one_call_site(name: str) -> None:
    few, many = sites_after(3, CALLS[name]), sites_after(40, CALLS[name])
    assert few == many


def test_a_function_in_place_may_call_a_layer_that_was_made_once() -> None:
    fc = ar.FC(2)
    call = lambda g, x, n: ar.Function(lambda a: ar.ops.tanh(fc(a)))(x)  # noqa: E731
    assert sites_after(3, call) == sites_after(50, call)


def value(call: Callable[[Any], Any], net: Any) -> list[float]:
    with net.batch() as g:
        x = g.tensor([1.0, 2.0])
        result: list[float] = np.asarray(g.numpy(call(x))).ravel().tolist()
        return result


def test_a_function_reads_its_closure_and_globals_as_they_are_now(monkeypatch: pytest.MonkeyPatch) -> None:
    net, factor, listed, array = ar.OnTheFly(), 1.0, [1.0], np.ones(1, "f")
    settings = SimpleNamespace(factor=1.0)
    functions: list[Callable[[Any], Any]] = [
        lambda x: ar.Function(lambda a: a * factor)(x),
        lambda x: ar.Function(lambda a: a * listed[0])(x),
        lambda x: ar.Function(lambda a: a * array)(x),
        lambda x: ar.Function(lambda a: a * settings.factor)(x),
        lambda x: ar.Function(lambda a: a * SCALE)(x),
        lambda x: ar.Map(ar.Function(lambda a: a * factor))([x]),
    ]
    for new in (1.0, 2.0, 3.0, 2.0):
        factor = listed[0] = array[0] = settings.factor = new
        monkeypatch.setattr(f"{__name__}.SCALE", new)
        for function in functions:
            assert value(function, net) == [new, 2 * new]


def test_blocks_that_differ_are_told_apart() -> None:
    net = ar.OnTheFly()
    for start, stop in ((0, 1), (1, 2), (0, 1)):
        part = slice(start, stop)
        assert value(lambda x, part=part: ar.Function(lambda a: a[part])(x), net) == [stop]  # type: ignore[misc]
    for factor in (0.0, -0.0, 1, 1.0, True):
        got = value(lambda x, f=factor: ar.Function(lambda a: ar.ops.divide(f, a))(x), net)  # type: ignore[misc]
        assert np.signbit(got[0]) == np.signbit(factor)


PLAIN: list[Callable[[], Any]] = [
    *(ar.Sum, ar.Mean, ar.Max, ar.Min, lambda: ar.Sum(name="total"), lambda: ar.Sum(name="sum")),
    *(lambda by=by: ar.Shift(by) for by in (1, -1, 2)),  # type: ignore[misc]
    *(lambda rate=rate: ar.Dropout(rate) for rate in (0.25, 0.5)),  # type: ignore[misc]
]


def test_blocks_without_parameters_are_one_call_site_if_they_are_equal_and_only_then() -> None:
    net = ar.OnTheFly()
    for _ in range(2):
        with net.batch() as g:
            x = g.tensor([1.0, 2.0])
            for make in PLAIN * 2:
                block = make()
                block(x if isinstance(block, ar.Dropout) else [x, x])
    calls = [site for site in net.call_sites.sites if site.kind == "apply"]
    assert len(calls) == len(PLAIN)


def test_losses_at_one_place_have_their_own_arguments() -> None:
    net = ar.OnTheFly()
    makers: list[Callable[[], Any]] = [
        *(ar.SoftmaxCrossEntropy, lambda: ar.SoftmaxCrossEntropy(label_smoothing=0.5)),
        *(
            lambda: ar.SoftmaxCrossEntropy(weight=[1.0, 2.0]),
            lambda: ar.SoftmaxCrossEntropy(weight=[1.0, 3.0]),
        ),
    ]
    with net.batch() as g:
        together = [float(make()(g.tensor([1.0, 2.0]), 1)) for make in makers * 2]
    alone = [
        float(((ar.Vector(2) & ar.Constant(1, "int32")) >> make()).eval([1.0, 2.0])) for make in makers * 2
    ]
    np.testing.assert_allclose(together, alone, 1e-6)


def test_what_has_parameters_is_equal_to_itself_alone() -> None:
    net = ar.OnTheFly()
    with net.batch() as g:
        x = g.tensor([1.0, 2.0])
        for _ in range(2):
            fc = ar.FC(2, bias=False)
            g.numpy([ar.FC(2, bias=False)(x), ar.Embedding(3, 2)(1)])
            g.numpy(ar.Map(ar.FC(2, bias=False))([x]))
            g.numpy(ar.Function(lambda a, fc=fc: fc(a))(x))
            g.numpy(g(ar.Constant([1.0, 2.0], trainable=True), None))
    assert list(net.params) == [
        *("FC_1/weight", "Embedding_1/weight", "FC_2/weight", "FC_3/weight", "Constant_1/value"),
        *("FC_4/weight", "Embedding_2/weight", "FC_5/weight", "FC_6/weight", "Constant_2/value"),
    ]
