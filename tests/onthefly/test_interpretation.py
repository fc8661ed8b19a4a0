"""Blocks inside of a batch mean what they mean compiled, and what the reference computes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import assume, given, strategies as st

import arrows as ar
from arrows import ops
from arrows.engine import reference
from tests.compare import close, meets_kink
from tests.generate import Case, cases
from tests.onthefly.test_programs import KERNELS, SCHEDULES, TOLERANCE, each_dense
from tests.profile import draws
from tests.reference_gradients import value_and_grad


def check(case: Case, schedule: str, device: str) -> None:
    """The values of all examples, and where the result is a scalar, the gradients of their mean."""
    net = ar.OnTheFly(seed=3, schedule=schedule, device=device, float_type="float64")
    with net.batch() as g:
        results = [g(case.block, x) for x in case.examples]
        values = g.numpy(results)
        differ = case.loss is None and bool(results)
        loss, gradients = g.value_and_grad(g.mean(results)) if differ else (None, {})
        gradients = each_dense(gradients)
        loss = None if loss is None else float(ar.to_numpy(loss))
    typed = net.typed(case.block, None)

    def lookup(owner: Any, spec: Any) -> Any:
        kind = "float64" if spec.dtype.startswith("float") else spec.dtype
        net.params.ensure(owner, replace(spec, dtype=kind))  # of layers that no example came to
        return ar.to_numpy(net.params.of(owner, spec))

    assume(not meets_kink(typed, case.examples, lookup, "float64"))
    right = [reference.evaluate(typed, x, lookup, float_type="float64").value for x in case.examples]
    assert close(values, right, TOLERANCE)
    if differ:
        wanted = value_and_grad(typed, case.examples, lookup, loss=None, float_type="float64")
        assert close(loss, wanted.value, TOLERANCE)
        for name, gradient in gradients.items():
            owner, spec = net.params.owner(name)
            assert close(gradient, wanted.parameters[owner, spec.name], TOLERANCE), name


@draws(15, 1000)
@given(
    case=cases(effects=False, noise=False),
    schedule=st.sampled_from(SCHEDULES),
    device=st.sampled_from(["cpu", "cpu", "fake", *KERNELS]),
)
def test_blocks(case, schedule, device):
    check(case, schedule, device)


def test_an_empty_sequence_of_an_example():
    total = ar.Map(ar.Vector(2)) >> ar.Sum()
    net = ar.OnTheFly()
    with net.batch() as g:
        results = [g(total, x) for x in ([], [[1, 2], [3, 4]], [])]
        assert close(g.numpy(results), [[0, 0], [4, 6], [0, 0]], 0)
        assert len(g.timelines[0].steps) == 1  # one line of the block, one operation


def test_lists_of_lists_of_tensors():
    sums = ar.Map(ar.Sum())
    net = ar.OnTheFly()
    with net.batch() as g:
        x, y = g.tensor([1.0, 2.0]), g.tensor([3.0, 4.0])
        assert close(g.numpy(g(sums, [[x, y], [], [x]])), [[4, 6], [0, 0], [1, 2]], 0)
        assert close(g.numpy(g(sums, [[], [x]])), [[0, 0], [1, 2]], 0)
        assert close(g.numpy(sums([[], [x]])), [[0, 0], [1, 2]], 0)


def test_plain_values_beside_tensors():
    scale = ar.Function(lambda a, b: a * b)
    net = ar.OnTheFly()
    with net.batch() as g:
        x = g.tensor([1.0, 2.0])
        assert close(g(scale, x, 2.0).numpy(), [2, 4], 0)
        assert close(g(scale, x, [2.0, 3.0]).numpy(), [2, 6], 0)


def test_records_have_their_keys():
    record = ar.Record({"a": ar.Scalar(), "b": ar.Record({"c": ar.Vector(2)})})
    net = ar.OnTheFly()
    with net.batch() as g:
        result = g(record, {"a": 1, "b": {"c": [2, 3]}})
        assert float(result["a"]) == 1
        assert close(g.numpy(result)["b"]["c"], [2, 3], 0)


@pytest.mark.nightly
def test_deep_and_circular_examples():
    """Data nest as deep as memory allows; what goes in a circle is refused, as everywhere."""
    embed = ar.Scalar("int32") >> ar.Embedding(3, 2)

    @ar.fix
    def tree(me):
        pair = (ar.GetItem(0) >> me & ar.GetItem(1) >> me) >> ar.Function(lambda a, b: 0.5 * a + b)
        return ar.OneOf(lambda t: isinstance(t, int)).case(True, embed).case(False, pair)

    net = ar.OnTheFly()
    deep = 1
    for _ in range(5000):
        deep = (deep, 2)
    circle = [1, 2]
    circle[0] = circle
    with net.batch() as g:
        values = g.numpy([g(tree, deep), g(tree, (1, 2))])
        assert values[0].shape == (2,)
        g.value_and_grad(ops.sum(g(tree, deep)))
        with pytest.raises(ar.InputError):
            g(tree, circle)
