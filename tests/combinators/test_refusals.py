"""What raises in words, when composed, checked or run; the conditions are those of TensorFlow Fold's errors.

A row is what is done, the error, and words that its text must have.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import arrows as ar
from arrows import training, types as T
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


def different(c: Any) -> None:
    pair = (V(3) & V(4)).reads(c.input)
    c.output.reads(ADD.reads(pair[0], pair[1]))


def train(examples: Any, **options: Any) -> Any:
    model = ar.compile(S() >> ar.Function(lambda x: x.reshape(1)) >> ar.FC(1) >> ar.Function(lambda y: y[0]))
    return training.train(model, examples, training.SGD(0.1), progress=False, **options)


ROWS: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (lambda: ar.Tensor(3), TYPE, "a shape must be a tuple or list of sizes, not 3"),
    (lambda: ar.Tensor([1.5]), TYPE, "a size must be an integer, not 1.5"),
    (lambda: ar.Tensor([3, -1]), VALUE, "must not be negative: -1 in the shape [3, -1]"),
    (lambda: ar.Scalar("float31"), TYPE, "unknown element type 'float31'"),
    (lambda: T.Tuple((T.Input(), 3)), TYPE, "item 1 of a tuple type must be a type, not 3"),
    (lambda: T.Sequence(3), TYPE, "must be a type, not 3"),
    (lambda: ar.Zeros(None), TYPE, "cannot read None as a type"),
    (lambda: ar.Identity(name=3), TYPE, "name must be a string, not 3"),
    (lambda: S() >> 3, TYPE, "cannot use 3 as the right side of >>"),
    (lambda: S() >> (lambda x: x), TYPE, "ar.Function(f) for a function of tensors"),
    (lambda: S()[0], TYPE, "block >> ar.GetItem(0)"),
    (lambda: ar.infer(ar.Block()), TYPE, "is no core form"),
    (lambda: ar.Constant("x"), TYPE, "an array, got 'x'"),
    (lambda: ar.Function(3), TYPE, "expected a function of tensors, got 3"),
    (lambda: ar.infer(S() >> ar.Function(lambda x: "x")), TYPE, "<lambda> returned"),
    (lambda: ar.InputTransform(3), TYPE, "expected a function of a Python object, got 3"),
    (lambda: ar.infer(TWO >> ar.GetItem(2)), TYPE, "there is no item 2: the tuple has items 0 to 1"),
    (lambda: ar.GetItem("a").eval({"b": 1}), INPUT, "there is no 'a'"),
    (lambda: ar.GetItem(2).eval([1]), INPUT, "GetItem(2)"),
    (lambda: ar.infer(ENDLESS >> ar.Length()), TYPE, "an endless sequence has no length"),
    (lambda: ar.Slice(begin=1), ArrowTypeError, "'begin'"),
    (lambda: ar.infer(composition(lambda c: c.output.reads(ADD.reads(S().reads(c.input))))), TYPE,
     "takes 2 tensors (x, y), and it gets one tensor"),
    (lambda: ar.infer(composition(different)), TYPE, "axis 0 is 3 on the left and 4 on the right"),
    (lambda: ar.infer(composition(lambda c: c.output.reads(TWO.reads(c.input)[2]))), TYPE, "no item 2"),
    (lambda: ar.infer(TWO >> ar.Record({"a": ar.Identity()})), TYPE, "the tuple has no keys"),
    (lambda: ar.infer(TWO >> ar.Record((ar.Identity(),) * 3)), TYPE, "no item 2"),
    (lambda: ar.Record(3), TYPE, "got 3"),
    (lambda: ar.Record({"a": S()})["b"], TYPE, "block >> ar.GetItem('b')"),
    (lambda: ar.infer(ar.Zeros(()) >> ar.Map(ar.Identity())), TYPE, "an empty tuple has no elements"),
    (lambda: ar.infer(S() >> ar.Map(ar.Identity())), TYPE, "float32 has none"),
    (lambda: ar.infer(NUMBERS >> ar.Fold(S(), ar.Zeros([]))), TYPE, "takes a pair: the state so far"),
    (lambda: ar.infer(NUMBERS >> ar.RNN(S(), ar.Zeros([]))), TYPE, "takes a pair: the next element"),
    (lambda: ar.infer(V(2) >> ar.RNN(ADD, ar.Zeros([2]))), TYPE, "has none"),
    (lambda: ar.infer(NUMBERS >> ar.Scan(ADD, ar.Zeros([]))), TYPE,
     "must give a pair, an output and the next state"),
    (lambda: ar.RNN(ADD, ar.Zeros([]), initial_state_from_input=True), VALUE, "initial_state"),
    (lambda: ar.Bidirectional(ar.RNN(ar.GRUCell(2)), ar.GRUCell(2)), TYPE, "an RNN takes all"),
    (lambda: ar.infer(NUMBERS >> ar.RNN(ADD)), TYPE, "and nothing says of which type"),
    (lambda: ar.OneOf(3, {1: S()}), TYPE, "expected as key a function of the input, or a block, got 3"),
    (lambda: ar.OneOf(len, {}), VALUE, "has no case to choose"),
    (lambda: ar.infer((S() & ar.GetItem(0)) >> ar.Concat()), TYPE, "item 1"),
    (lambda: ar.infer(TWO >> ar.Concat(1)), TYPE, "has no axis 1"),
    (lambda: ar.infer((ar.Tensor([2, 3]) & ar.Tensor([3, 3])) >> ar.Concat(1)), TYPE,
     "float32[2, 3] and float32[3, 3] do not fit along axis 1"),
    (lambda: ar.infer(ar.Zeros(()) >> ar.Concat()), TYPE, "nothing to join in an empty tuple"),
    (lambda: ar.infer(ar.Zeros(()) >> ar.Zip()), TYPE, "there are no sequences in an empty tuple"),
    (lambda: ar.infer((NUMBERS & S()) >> ar.Zip()), TYPE, "item 1 is float32, which has no elements"),
    (lambda: ar.OneHot(0), VALUE, "the length of the range must be at least 1, not 0"),
    (lambda: ar.NGrams(10**5000), VALUE, "must be at most 10,000, not a number that is too long to write"),
    (lambda: ar.OneHot(3).eval(7), INPUT, "expected an int from 0 to 2, got 7"),
    (lambda: ar.OneHotFromList("ab").eval("c"), INPUT, "'c'"),
    (lambda: ar.infer((NUMBERS & S("int32")) >> ar.Nth()), TYPE, "an index must be a Python object"),
    (lambda: ar.Zeros(T.Input()), TYPE, "there is no zero of Input"),
    (lambda: ar.infer(ar.GetItem(0) >> ar.Metric("m")), TYPE, "which is not a tensor"),
    (lambda: ar.infer(TWO >> ar.Metric("m")), TYPE, "must be a Python object, not float32"),
    (lambda: ar.compile(ar.GetItem("x")), TYPE, "its result holds a Python object"),
    (lambda: ar.compile(ENDLESS), TYPE, "its result holds the endless sequence"),
    (lambda: ar.compile(S())(3), TYPE, "a single example makes a batch of one: [example]"),
    (lambda: ar.compile(V(3))([[1, 2]]), INPUT, "example 0: expected float32[3], got a list of 2"),
    (lambda: ar.compile(S("int32") >> ar.Embedding(9, 3, initializer=lambda *_: np.zeros(3))), VALUE,
     "gave an array of shape [3], not [9, 3]"),
    (lambda: ar.infer(S() >> ar.Function(lambda x: object())), TYPE, "<lambda> returned"),
    (lambda: training.SGD(-1.0), VALUE, "learning_rate is -1.0, and should be at least 0"),
    (lambda: train([1.0], batch_size=0), VALUE, "batch_size is 0, and should be 1 or more"),
    (lambda: train([1.0], epochs=-1), VALUE, "epochs is -1, and should be 0 or more"),
]  # fmt: skip


@pytest.mark.parametrize(("act", "kind", "words"), ROWS)
def test_what_cannot_be_is_refused_in_words(
    act: Callable[[], Any], kind: type[Exception], words: str
) -> None:
    with pytest.raises(kind) as caught:
        act()
    assert type(caught.value) is kind
    assert words in " ".join(str(caught.value).split()), str(caught.value)
