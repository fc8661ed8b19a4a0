"""`Composition`: scopes, `reads`, and the block that is left of them."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest

import arrows as ar
from arrows.typesys import types as T


def add(x: Any, y: Any) -> Any:
    return x + y


def mean() -> Any:
    composition = ar.Composition(name="mean")
    with composition.scope():
        numbers = ar.Map(ar.Scalar()).reads(composition.input)
        total = ar.Sum().reads(numbers)
        count = (ar.InputTransform(len) >> ar.Scalar()).reads(composition.input)
        composition.output.reads(ar.Function(lambda x, n: x / n).reads(total, count))
    return composition


# ------------------------------------------------------------------------------------------ what it means


def test_blocks_read_wires_and_one_another() -> None:
    assert float(mean().eval([1, 2, 6])) == 3
    assert (ar.GetItem("xs") >> mean()).eval({"xs": [4]}) == 4


def test_several_sources_are_a_tuple_and_none_is_nothing() -> None:
    with ar.Composition().scope() as c:
        x, y = ar.Scalar().reads(c.input["x"]), ar.Scalar().reads(c.input["y"])
        seven = ar.Constant(7.0).reads()
        c.output.reads(ar.Identity().reads(x, (y, seven)), x)
    assert str(ar.infer(c)).startswith(
        "Composition(input): Input -> ((float32, (float32, float32)), float32)"
    )
    (x, (y, seven)), again = c.eval({"x": 1, "y": 2})
    assert [float(v) for v in (x, y, seven, again)] == [1, 2, 7, 1]


def test_nothing_but_side_outputs() -> None:
    with ar.Composition().scope() as c:
        ar.Metric("size").reads(ar.Scalar().reads(c.input))
        c.output.reads()
    assert ar.infer(c).output == T.Void()
    model = ar.compile(ar.Map(c))
    model([[1, 2], []])
    assert model.metrics["size"].tolist() == [[1, 2], []]


def test_scopes_nest() -> None:
    outer: Any = ar.Composition(name="outer")
    inner: Any = ar.Composition(name="inner")
    with outer.scope():
        x = ar.Scalar().reads(outer.input)
        with inner.scope():
            inner.output.reads(ar.Function(add).reads(inner.input[0], inner.input[1]))
        # reads goes to the outer scope again
        y = inner.reads(x, x)

        @ar.arrow
        def twice(v: Any) -> Any:
            return ar.Function(add)(v, v)

        outer.output.reads(twice.reads(inner.reads(y, x)))
    assert float(outer.eval(1)) == 6
    assert sum(node.form is inner for node in ar.infer(outer).walk()) == 2


# ------------------------------------------------------------------------------------------ as a value


def test_it_prints_what_reads_what() -> None:
    c = ar.Composition(name="size")
    with c.scope():
        c.output.reads(ar.Scalar().reads(ar.InputTransform(len).reads(c.input)))
    written = "{w1 = (InputTransform(len))(input); w2 = (Scalar('float32'))(w1); return w2}"
    assert repr(c) == f"Composition size(input) {written}"
    assert c.label == "size"


@pytest.mark.parametrize("copied", [copy.deepcopy, copy.copy, lambda x: pickle.loads(pickle.dumps(x))])
def test_it_is_copied_when_it_is_finished(copied: Any) -> None:
    c = ar.Composition(name="c")
    with c.scope():
        c.output.reads(ar.FC(2).reads(ar.Vector(2).reads(c.input)))
        with pytest.raises(ar.ArrowTypeError, match="not finished"):
            copied(c)
    twin = copied(c)
    assert repr(twin) == repr(c) and ar.infer(twin).output == T.Tensor((2,))
    with pytest.raises(AttributeError, match="frozen"):
        twin.name = "d"


def test_an_error_in_the_scope_comes_out_and_closes_it() -> None:
    c = ar.Composition()

    def build() -> None:
        with c.scope():
            c.output.reads(c.input)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        build()
    with pytest.raises(ar.ArrowTypeError, match="left by an error"):
        c >> ar.Scalar()
    with pytest.raises(ar.ArrowValueError, match="it has one scope"), c.scope():
        pass
    # ... and nothing is left open
    with pytest.raises(ar.ArrowTypeError, match="is called on wires"):
        ar.Scalar().reads(ar.Scalar())


def test_a_finished_one_may_be_the_key_of_a_choice() -> None:
    with ar.Composition().scope() as sign:
        sign.output.reads(ar.InputTransform(lambda x: x > 0).reads(sign.input))
    choice = ar.OneOf(sign, {True: ar.Scalar(), False: ar.Zeros([])})
    assert [float(choice.eval(x)) for x in (2, -2)] == [2.0, 0.0]
