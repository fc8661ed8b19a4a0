"""`ar.shared`: an object reached twice is visited, counted and computed once, wherever the block stands."""

from __future__ import annotations

import numpy as np
import pytest

import arrows as ar
from tests.agree import agree


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


def test_cycles_through_shared_end_in_an_error():
    example = diamonds(2)
    example["right"] = example
    model = ar.compile(dag_block())
    with pytest.raises(ar.InputError, match="cyclic"):
        model([example])


def child_sum(children: int | None, *, once: bool) -> ar.Block:
    """Tai et al.'s cells over {"x": vector, "below": [...]}, of any number of children or of so many."""
    cell = ar.TreeLSTM(3, children=children)

    def tree(me):
        again = ar.shared(me) if once else me
        if children is None:
            below = ar.GetItem("below") >> ar.Map(again)
        else:
            item = ar.Optional(again, ar.Zeros(cell.state))
            below = ar.AllOf(
                *(
                    ar.InputTransform(lambda t, i=i: (t["below"] + [None] * 9)[i]) >> item
                    for i in range(children)
                )
            )
        return (ar.GetItem("x") >> ar.Vector(2, name="x") & below) >> cell

    return ar.fix(tree) >> ar.Function(lambda h, c: (h * h).sum() + c.sum())


def graphs() -> list:
    leaf = {"x": [1.0, 0.5], "below": []}
    other = {"x": [0.0, 2.0], "below": [leaf, leaf, {"x": [1.0, 1.0], "below": [leaf]}]}
    return [{"x": [0.5, -1.0], "below": [other, leaf, other]}, leaf, {"x": [2.0, 0.0], "below": [other]}]


@pytest.mark.parametrize("children", [None, 3])
def test_trees_and_graphs_of_any_number_of_children(children):
    values = agree(child_sum(children, once=True), graphs(), inputs=["x"])
    # what is shared has the numbers of what is computed again
    np.testing.assert_allclose(agree(child_sum(children, once=False), graphs()), values)
