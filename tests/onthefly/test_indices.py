"""Indices that depend on data alone are checked before a run, alike on all devices."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import arrows as ar
from arrows import ops
from arrows.testing.host_kernels import host_compiler

DEVICES = ["cpu", "fake", *(["fake-kernels"] if host_compiler() is not None else [])]
WAYS: dict[str, Callable[[Any, Any, list[int]], Any]] = {
    "a vector": lambda g, table, ids: table(g.tensor(np.array(ids, "int32"))),
    "a part of a vector": lambda g, table, ids: table(g.tensor(np.array(ids, "int32"))[1:]),
    "a computed number": lambda g, table, ids: table(g.tensor(ids[0]) + ids[2] - ids[1]),
    "a sequence": lambda g, table, ids: g(
        ar.Function(lambda xs: ops.segment_sum(table(xs))), [*map(g.tensor, ids)]
    ),
    "rows of a sequence": lambda g, table, ids: table(
        g(ar.Function(lambda xs: xs + 0), [*map(g.tensor, ids)])[2]
    ),
    "a block": lambda g, table, ids: g(ar.Map(ar.Scalar("int32") >> table) >> ar.Sum(), ids),
    "unit vectors": lambda g, table, ids: ops.one_hot(g.tensor(np.array(ids, "int32")), 4),
    "a weighted sum": lambda g, table, ids: table(weighted(g, ids)),
    "a weighted sum that has run": lambda g, table, ids: table(has_run(weighted(g, ids))),
}


ONES = ar.FC([], bias=False, initializer=ar.initializers.ones, name="ones")


def weighted(g: Any, ids: list[int]) -> Any:
    """The first number less the second and more the third, computed with weights that are ones."""
    return ops.cast(ONES(g.tensor(np.array(ids, "float32") * np.array([1, -1, 1], "float32"))), "int32")


def has_run(value: Any) -> Any:
    """The value, which a run of its own has computed."""
    value.numpy()
    return value


def outcome(way: str, device: str, ids: list[int]) -> Any:
    """The loss and gradients of what a program looks up, beside what is in range, or its error."""
    net, table = ar.OnTheFly(device=device, seed=1), ar.Embedding(4, 2, name="table")
    with net.batch() as g:
        g.tensor(0.0).numpy()
        try:
            sums = [ops.sum(WAYS[way](g, table, each)) for each in ([1, 2, 3], ids)]
            loss, gradients = g.value_and_grad(sums[0] + sums[1] + ops.sum(table(0)))
        except ar.ArrowValueError as error:
            return re.sub(r":\d+", "", str(error))
        rows = gradients["table/weight"].to_dense(net.device.xp)
        return [ar.to_numpy(loss), ar.to_numpy(rows)]


@pytest.mark.parametrize("way", WAYS)
def test_an_index_out_of_range_is_the_same_error_on_every_device(way: str) -> None:
    for ids in ([1, 1, 9], [2, 3, -1]):
        first, *others = (outcome(way, device, ids) for device in DEVICES)
        assert isinstance(first, str) and "out of range" in first, first
        assert others == [first] * len(others)


@pytest.mark.parametrize("way", WAYS)
def test_indices_in_range_give_the_same_numbers_on_every_device(way: str) -> None:
    first, *others = (outcome(way, device, [3, 2, 1]) for device in DEVICES)
    for other in others:
        for a, b in zip(first, other, strict=True):
            np.testing.assert_allclose(a, b, 1e-5, 1e-6)


def test_a_refused_call_is_the_one_on_its_own_line() -> None:
    """Also where a call of the same layer on the same kind of operand was first met on another line."""
    none = ar.Function(lambda i: ops.lookup(np.zeros((0, 2), "float32"), i))
    net, embed, score, judge = ar.OnTheFly(), ar.Embedding(3, 2), ar.FC(4), ar.SoftmaxCrossEntropy()
    for _ in range(2):
        with net.batch() as g:
            right = [judge(score(embed(2)), 0), judge(score(embed(0)), 3)]
            count = len(net.call_sites.sites)
            right += [judge(score(embed(1)), 3), judge(score(embed(2)), 0)]
            assert len(net.call_sites.sites) == count  # a right index needs no call site of its own
            other, wrong = lambda: none(0), lambda: judge(score(embed(2)), 4)
            for call in (lambda: none(0), other, wrong, lambda: embed(3), lambda: embed(-1)):
                line = call.__code__.co_firstlineno
                with pytest.raises(ar.ArrowValueError, match=f"test_indices.py:{line}(?!.* or )"):
                    g.numpy(call())
            assert right[0].numpy() == right[3].numpy() != right[1].numpy()
