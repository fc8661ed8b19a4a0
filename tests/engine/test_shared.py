"""`ar.shared`: an object reached twice is visited, counted and computed once, wherever the block stands."""

from __future__ import annotations

import numpy as np
import pytest

import arrows as ar


def dag_block() -> ar.Block:
    @ar.fix
    def node(me):
        once = ar.shared(me)
        own = ar.GetItem("value") >> ar.Scalar()
        below = (ar.GetItem("left") >> once & ar.GetItem("right") >> once) >> ar.Function(lambda a, b: a + b)
        inner = (own & below) >> ar.Function(lambda value, rest: value + rest)

        @ar.arrow
        def counted(x):
            result = ar.OneOf(lambda x: "left" in x).case(True, inner).case(False, own)(x)
            ar.Metric("visits")(result)
            return result

        return counted

    return node


def diamonds(depth: int) -> dict:
    node = {"value": 1}
    for _ in range(depth):
        node = {"value": 1, "left": node, "right": node}
    return node


@pytest.mark.parametrize("schedule", ["depth", "none"])
def test_a_block_that_stands_twice_remembers_once(schedule):
    model = ar.compile(dag_block(), schedule=schedule)
    example = diamonds(30)  # 2**31 paths, 31 objects
    expected = 2.0**31 - 1
    assert np.isclose(model([example, {"value": 3}])[0], expected)
    assert model.metrics["visits"].lengths.tolist() == [31, 1]
    assert np.isclose(model.eval(example), expected)


def test_examples_do_not_share_with_one_another():
    model = ar.compile(ar.shared(ar.GetItem("value") >> ar.Scalar()))
    one = {"value": 1}
    assert model([one]).tolist() == [1.0]
    one["value"] = 2
    assert model([one, one]).tolist() == [2.0, 2.0]
