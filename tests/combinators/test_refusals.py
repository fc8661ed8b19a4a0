"""What raises in words, when composed, checked or run; the conditions are those of TensorFlow Fold's errors.

A row is what is done, the error, and words that its text must have.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import arrows as ar
from arrows import types as T
from arrows.typesys.errors import ArrowTypeError, ArrowValueError, InputError

S, V = ar.Scalar, ar.Vector
ADD = ar.Function(lambda x, y: x + y, name="add")
NUMBERS = ar.Map(ar.Scalar())
ENDLESS = ar.Scalar() >> ar.Broadcast()
TWO = S() & S()
TYPE, VALUE, INPUT = ArrowTypeError, ArrowValueError, InputError


def composition(body: Callable[[Any], Any]) -> ar.Block[Any, Any]:
    c: Any = ar.Composition(name="c")
    with c.scope():
        body(c)
    return c


ROWS: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (lambda: ar.Tensor(3), TYPE, "a shape must be a tuple or list of sizes, not 3"),
    (lambda: ar.Tensor([3, -1]), VALUE, "must not be negative: -1 in the shape [3, -1]"),
    (lambda: T.Tuple((T.Input(), 3)), TYPE, "item 1 of a tuple type must be a type, not 3"),
    (lambda: S() >> (lambda x: x), TYPE, "ar.Function(f) for a function of tensors"),
    (lambda: ar.infer(ar.Block()), TYPE, "is no core form"),
    (lambda: ar.infer(S() >> ar.Function(lambda x: "x")), TYPE, "<lambda> returned"),
    (lambda: ar.infer(TWO >> ar.GetItem(2)), TYPE, "there is no item 2: the tuple has items 0 to 1"),
    (lambda: ar.GetItem("a").eval({"b": 1}), INPUT, "there is no 'a'"),
    (lambda: ar.infer(ENDLESS >> ar.Length()), TYPE, "an endless sequence has no length"),
    (lambda: ar.Slice(begin=1), ArrowTypeError, "'begin'"),
    (lambda: ar.infer(composition(lambda c: c.output.reads(TWO.reads(c.input)[2]))), TYPE, "no item 2"),
    (lambda: ar.infer(TWO >> ar.Record({"a": ar.Identity()})), TYPE, "the tuple has no keys"),
    (lambda: ar.infer(TWO >> ar.Record((ar.Identity(),) * 3)), TYPE, "no item 2"),
    (lambda: ar.infer(ar.Zeros(()) >> ar.Map(ar.Identity())), TYPE, "an empty tuple has no elements"),
    (lambda: ar.infer(NUMBERS >> ar.Fold(S(), ar.Zeros([]))), TYPE, "takes a pair: the state so far"),
    (lambda: ar.infer(NUMBERS >> ar.RNN(S(), ar.Zeros([]))), TYPE, "takes a pair: the next element"),
    (lambda: ar.infer(V(2) >> ar.RNN(ADD, ar.Zeros([2]))), TYPE, "has none"),
    (lambda: ar.infer(NUMBERS >> ar.Scan(ADD, ar.Zeros([]))), TYPE,
     "must give a pair, an output and the next state"),
    (lambda: ar.Bidirectional(ar.RNN(ar.GRUCell(2)), ar.GRUCell(2)), TYPE, "an RNN takes all"),
    (lambda: ar.infer(NUMBERS >> ar.RNN(ADD)), TYPE, "and nothing says of which type"),
    (lambda: ar.infer((ar.Tensor([2, 3]) & ar.Tensor([3, 3])) >> ar.Concat(1)), TYPE,
     "float32[2, 3] and float32[3, 3] do not fit along axis 1"),
    (lambda: ar.infer((NUMBERS & S()) >> ar.Zip()), TYPE, "item 1 is float32, which has no elements"),
    (lambda: ar.NGrams(10**5000), VALUE, "must be at most 10,000, not a number that is too long to write"),
    (lambda: ar.infer((NUMBERS & S("int32")) >> ar.Nth()), TYPE, "an index must be a Python object"),
    (lambda: ar.Zeros(T.Input()), TYPE, "there is no zero of Input"),
    (lambda: ar.infer(ar.GetItem(0) >> ar.Metric("m")), TYPE, "which is not a tensor"),
    (lambda: ar.infer(TWO >> ar.Metric("m")), TYPE, "must be a Python object, not float32"),
    (lambda: ar.compile(ar.GetItem("x")), TYPE, "its result holds a Python object"),
    (lambda: ar.compile(ENDLESS), TYPE, "its result holds the endless sequence"),
    (lambda: ar.compile(S())(3), TYPE, "a single example makes a batch of one: [example]"),
    (lambda: ar.compile(V(3))([[1, 2]]), INPUT, "example 0: expected float32[3], got a list of 2"),
]  # fmt: skip


@pytest.mark.parametrize(("act", "kind", "words"), ROWS)
def test_what_cannot_be_is_refused_in_words(
    act: Callable[[], Any], kind: type[Exception], words: str
) -> None:
    with pytest.raises(kind) as caught:
        act()
    assert type(caught.value) is kind
    assert words in " ".join(str(caught.value).split()), str(caught.value)
