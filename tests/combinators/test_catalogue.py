"""The error conditions of TensorFlow Fold, row by row: each raises in words, when composed or when checked.

`ROWS` holds row, what is done, the error, and words that its text must have. `ABSENT` holds the rows whose
condition cannot occur here, and why.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import arrows as ar
from arrows import training
from arrows import types as T
from arrows.training import schedules
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


def crossed_scopes() -> None:
    first, second = ar.Composition().scope(), ar.Composition().scope()
    first.__enter__()
    second.__enter__()
    try:
        first.__exit__(None, None, None)
    finally:
        with contextlib.suppress(ArrowValueError):  # nothing is wired in them
            second.__exit__(None, None, None)
            first.__exit__(None, None, None)


def foreign() -> Any:
    other: Any = ar.Composition(name="other")
    with other.scope():
        wire = S().reads(other.input)
        other.output.reads(wire)
    return composition(lambda c: c.output.reads(ADD.reads(wire, wire)))


def twice(c: Any) -> None:
    c.output.reads(S().reads(c.input))
    c.output.reads(S().reads(c.input))


def cycle(c: Any) -> None:
    f, g = ar.Function(lambda x: x), ar.Function(lambda x: x)
    f.reads(g)
    g.reads(f)


def unread(c: Any) -> None:
    S().reads(c.input)
    c.output.reads(S().reads(c.input))


def different(c: Any) -> None:
    pair = (V(3) & V(4)).reads(c.input)
    c.output.reads(ADD.reads(pair[0], pair[1]))


def declared(resolve: int, refer: bool) -> Any:
    declaration: Any = ar.ForwardDeclaration(name="tree")
    reference = declaration()
    for _ in range(resolve):
        declaration.resolve_to(S())
    return declaration() if refer else reference


def train(examples: Any, **options: Any) -> Any:
    model = ar.compile(S() >> ar.Function(lambda x: x.reshape(1)) >> ar.FC(1) >> ar.Function(lambda y: y[0]))
    return training.train(model, examples, training.SGD(0.1), progress=False, **options)


RECURSION = ar.fix(lambda me: ar.OneOf(bool).case(True, ar.InputTransform(list) >> me).case(False, S()))
FLOAT_LAYER = ar.FC(3, name="dense")

ROWS: list[tuple[str, Callable[[], Any], type[Exception], str]] = [
    ("B1", lambda: ar.Tensor(3), TYPE,
     "a shape must be a tuple or list of sizes, not 3"),  # type: ignore[arg-type]
    ("B2", lambda: ar.Tensor([1.5]), TYPE, "a size must be an integer, not 1.5"),  # type: ignore[list-item]
    ("B2", lambda: ar.Tensor([3, -1]), VALUE, "must not be negative: -1 in the shape [3, -1]"),
    ("B3", lambda: ar.Scalar(3), TYPE, "unknown element type 3"),  # type: ignore[call-overload]
    ("B4", lambda: ar.Scalar("float31"), TYPE, "unknown element type 'float31'"),
    ("B5", lambda: T.Tuple((T.Input(), 3)), TYPE,
     "item 1 of a tuple type must be a type, not 3"),  # type: ignore[arg-type]
    ("B6", lambda: T.Sequence(3), TYPE, "must be a type, not 3"),  # type: ignore[arg-type]
    ("B7", lambda: ar.Zeros(None), TYPE, "cannot read None as a type"),
    ("B8", lambda: ar.Tensor([None, 3]), TYPE,
     "a size must be an integer, not None"),  # type: ignore[list-item]
    ("B9", lambda: ar.infer(V(3) >> FLOAT_LAYER >> ar.Function(lambda x: x + np.ones(4, "float32"))), TYPE,
     "axis 0"),
    ("B9", lambda: ar.infer(ar.GetItem(0) >> S() >> ar.InputTransform(len)), TYPE, "a tensor on the left"),
    ("B10", lambda: ar.infer(S() >> ar.GetItem("a")), TYPE, "float32 has no items"),
    ("B11", lambda: ar.infer(ar.fix(lambda me: ar.Map(me))), TYPE, "cannot"),
    ("B12", lambda: ar.infer(ar.fix(lambda me: me)), TYPE, "nothing fixes the type"),
    ("B13", lambda: ar.Identity(name=3), TYPE, "name must be a string, not 3"),  # type: ignore[arg-type]
    ("B13", lambda: ar.FC(3, name=3), TYPE, "name must be a string, not 3"),  # type: ignore[call-overload]
    ("B20", lambda: S() >> 3, TYPE, "cannot use 3 as the right side of >>"),  # type: ignore[operator]
    ("B20", lambda: S() >> (lambda x: x), TYPE, "ar.Function(f) for a function of tensors"),
    ("B22", lambda: S().reads(S()), TYPE, "inside the scope of a Composition"),
    ("B23", lambda: S()[0], TYPE, "block >> ar.GetItem(0)"),
    ("B24", crossed_scopes, VALUE, "scopes are left in the reverse order"),
    ("B25", lambda: ar.infer(ar.Block()), TYPE, "is no core form"),
    ("B27", lambda: ar.Constant("x"), TYPE, "an array, got 'x'"),
    ("B29", lambda: ar.Function(3), TYPE,
     "expected a function of tensors, got 3"),  # type: ignore[call-overload]
    ("B30", lambda: ar.infer(ar.GetItem(0) >> ar.Function(lambda x: x)), TYPE, "is a Python object"),
    ("B34", lambda: ar.infer(S() >> ar.Function(lambda x: "x")), TYPE, "<lambda> returned str"),
    ("B34", lambda: ar.infer(S() >> ar.Function(lambda x: None)), TYPE, "<lambda> returned None"),
    ("B39", lambda: ar.InputTransform(3), TYPE,
     "expected a function of a Python object, got 3"),  # type: ignore[arg-type]
    ("B41", lambda: ar.infer(ENDLESS >> ar.GetItem(0)), TYPE, "an endless sequence has no items"),
    ("B42", lambda: ar.infer(TWO >> ar.GetItem(2)), TYPE, "there is no item 2: the tuple has items 0 to 1"),
    ("B43", lambda: ar.GetItem("a").eval({"b": 1}), INPUT, "there is no 'a'"),
    ("B43", lambda: ar.GetItem(2).eval([1]), INPUT, "GetItem(2)"),
    ("B44", lambda: ar.infer(ENDLESS >> ar.Length()), TYPE, "an endless sequence has no length"),
    ("B45", lambda: ar.Slice(1), ArrowTypeError, "Slice"),  # type: ignore[misc]
    ("B46", lambda: ar.Slice(begin=1), ArrowTypeError, "'begin'"),  # type: ignore[call-arg]
    ("B47", lambda: declared(1, True), VALUE, "is resolved already"),
    ("B48", lambda: declared(2, False), VALUE, "is resolved already"),
    ("B49", lambda: ar.compile(declared(0, False)), TYPE, "is not resolved"),
    ("B50", lambda: ar.infer(composition(lambda c: c.output.reads(ADD.reads(S().reads(c.input))))), TYPE,
     "takes 2 tensors (x, y), and it gets one tensor"),
    ("B51", lambda: ar.infer(composition(different)), TYPE, "axis 0 is 3 on the left and 4 on the right"),
    ("B52", foreign, TYPE, "Composition"),
    ("B53", lambda: composition(lambda c: c.output.reads(S().reads(c.output))), TYPE,
     "is written, and not read"),
    ("B54", lambda: composition(lambda c: c.input.reads(S())), TYPE, "blocks read the input"),
    ("B55", lambda: composition(twice), VALUE, "it is wired already"),
    ("B56", lambda: ar.infer(composition(lambda c: c.output.reads(TWO.reads(c.input)[2]))), TYPE,
     "no item 2"),
    ("B57", lambda: composition(cycle), TYPE, "has read nothing here so far"),
    ("B58", lambda: ar.infer(composition(unread)), TYPE, "no block reads this wire"),
    ("B59", lambda: composition(lambda c: S().reads(c.input)), VALUE, "nothing is wired to its output"),
    ("B60", lambda: ar.infer(TWO >> ar.Record({"a": ar.Identity()})), TYPE, "the tuple has no keys"),
    ("B61", lambda: ar.infer(TWO >> ar.Record((ar.Identity(),) * 3)), TYPE, "no item 2"),
    ("B62", lambda: ar.Record(3), TYPE, "got 3"),
    ("B62", lambda: ar.OneOf(len, 3), TYPE, "got 3"),
    ("B63", lambda: ar.Record({"a": S()})["b"], TYPE, "block >> ar.GetItem('b')"),
    ("B64", lambda: ar.infer((S() & V(2)) >> ar.Map(ar.Identity())), TYPE, "items have one type"),
    ("B65", lambda: ar.infer(ar.Zeros(()) >> ar.Map(ar.Identity())), TYPE,
     "an empty tuple has no elements"),
    ("B66", lambda: ar.infer(S() >> ar.Map(ar.Identity())), TYPE, "float32 has none"),
    ("B67", lambda: ar.infer(ENDLESS >> ar.Fold(ADD, ar.Zeros([]))), TYPE, "would never end"),
    ("B68", lambda: ar.infer(NUMBERS >> ar.Fold(S(), ar.Zeros([]))), TYPE,
     "takes a pair: the state so far"),
    ("B68", lambda: ar.infer(NUMBERS >> ar.Fold(ar.Function(lambda x: x), ar.Zeros([]))), TYPE,
     "it gets 2 tensors"),
    ("B69", lambda: ar.infer(NUMBERS >> ar.RNN(S(), ar.Zeros([]))), TYPE, "takes a pair: the next element"),
    ("B69", lambda: ar.infer(V(2) >> ar.RNN(ADD, ar.Zeros([2]))), TYPE, "has none"),
    ("B69", lambda: ar.infer(ENDLESS >> ar.RNN(ADD, ar.Zeros([]))), TYPE, "would never end"),
    ("B69", lambda: ar.infer(NUMBERS >> ar.RNN(ar.Function(lambda x, s: (s, s)), ar.Zeros([]))), TYPE,
     "a state of the same type"),
    ("B69", lambda: ar.infer(NUMBERS >> ar.Scan(ADD, ar.Zeros([]))), TYPE,
     "must give a pair, an output and the next state"),
    ("B70", lambda: ar.RNN(ADD, ar.Zeros([]), start_from_input=True), VALUE,
     "start"),  # type: ignore[call-overload]
    ("B71", lambda: ar.infer(NUMBERS >> ar.RNN(ADD)), TYPE, "cannot infer the state of RNN"),
    ("B73", lambda: ar.infer(ENDLESS >> ar.Reduce(ADD)), TYPE, "would never end"),
    ("B74", lambda: ar.OneOf(3, {1: S()}), TYPE,
     "expected as key a function of the input, or a block, got 3"),
    ("B75", lambda: ar.OneOf(len, {}), VALUE, "has no case to choose"),
    ("B76", lambda: ar.infer(ar.OneOf(len).case(0, S()).case(1, V(2))), TYPE,
     "every case must give the same type"),
    ("B76", lambda: ar.infer(ar.Optional(S(), ar.Zeros([2]))), TYPE, "every case must give the same type"),
    ("B77", lambda: ar.infer((S() & ar.GetItem(0)) >> ar.Concat()), TYPE, "item 1"),
    ("B77", lambda: ar.infer((S() & TWO) >> ar.Concat()), TYPE,
     "ar.Concat(flatten=True) joins what is inside"),
    ("B77", lambda: ar.infer(TWO >> ar.Concat(1)), TYPE, "which has no axis 1"),
    ("B77", lambda: ar.infer((ar.Tensor([2, 3]) & ar.Tensor([3, 3])) >> ar.Concat(1)), TYPE,
     "axis 0 is 2 in item 0 and 3 in item 1"),
    ("B77", lambda: ar.infer((S() & S("int32")) >> ar.Concat()), TYPE, "float32, item 1 of int32"),
    ("B77", lambda: ar.infer(ar.Zeros(()) >> ar.Concat()), TYPE, "nothing to join in an empty tuple"),
    ("B78", lambda: ar.infer(ar.Zeros(()) >> ar.Zip()), TYPE, "there are no sequences in an empty tuple"),
    ("B78", lambda: ar.infer((NUMBERS & S()) >> ar.Zip()), TYPE,
     "item 1 is float32, which has no elements"),
    ("B79", lambda: ar.NGrams(0), VALUE, "n is 0"),
    ("B80", lambda: ar.OneHot(0), VALUE, "the range from 0 to 0 is empty"),
    ("B81", lambda: ar.OneHot(3).eval(7), INPUT, "expected an int from 0 to 2, got 7"),
    ("B81", lambda: ar.OneHotFromList("ab").eval("c"), INPUT, "'c'"),
    ("B82", lambda: ar.OneHotFromList([1, 1.0]), VALUE, "are equal"),
    ("B83", lambda: ar.infer((NUMBERS & ar.Identity() & ar.Identity()) >> ar.Nth()), TYPE, "a tuple of 3"),
    ("B83", lambda: ar.infer((S() & ar.Identity()) >> ar.Nth()), TYPE,
     "item 0 is float32, which has no elements"),
    ("B83", lambda: ar.infer((ENDLESS & ar.Identity()) >> ar.Nth()), TYPE, "endless"),
    ("B83", lambda: ar.infer((NUMBERS & S("int32")) >> ar.Nth()), TYPE,
     "an index must be a Python object"),
    ("B84", lambda: ar.Zeros(T.Input()), TYPE, "there is no zero of Input"),
    ("B84", lambda: ar.Zeros((T.Broadcast(T.Void()),)), TYPE, "there is no zero of Broadcast(Void)"),
    ("B85", lambda: ar.Metric(3), TYPE, "must be a string, not 3"),  # type: ignore[arg-type]
    ("B85", lambda: ar.infer((S() & S() & S()) >> ar.Metric("m")), TYPE, "it gets a tuple of 3 items"),
    ("B85", lambda: ar.infer(ar.GetItem(0) >> ar.Metric("m")), TYPE, "which is not a tensor"),
    ("B85", lambda: ar.infer(TWO >> ar.Metric("m")), TYPE, "must be a Python object, not float32"),
    ("B86", lambda: ar.compile(ar.AllOf(S() >> ar.Metric("m"), V(2) >> ar.Metric("m"), S())), TYPE,
     "a metric has one type in a model"),
    ("B100", lambda: ar.compile(ar.GetItem("x")), TYPE, "its result holds a Python object"),
    ("B102", lambda: ar.compile(ENDLESS), TYPE, "its result holds the endless sequence"),
    ("B108", lambda: ar.compile(S())(3), TYPE,
     "a single example makes a batch of one: [example]"),  # type: ignore[arg-type]
    ("B112", lambda: ar.compile(RECURSION, max_nodes=50)([[1]]), INPUT, "raise max_nodes if it is meant"),
    ("B114", lambda: ar.compile(V(3))([[1, 2]]), INPUT, "example 0: expected float32[3], got a list of 2"),
    ("B142", lambda: ar.infer(S() >> ar.FC(3)), TYPE, "the input of FC must be a vector, not float32"),
    ("B142", lambda: ar.infer(V(3, "int32") >> ar.FC(3)), TYPE, "the input of FC must be floating"),
    ("B143", lambda: ar.infer(ar.AllOf(V(2) >> FLOAT_LAYER, V(4) >> FLOAT_LAYER)), TYPE,
     "fixed by its use at"),
    ("B145", lambda: ar.infer(S() >> ar.Embedding(9, 3)), TYPE, "the input of Embedding must be an integer"),
    ("B146", lambda: ar.compile(S("int32") >> ar.Embedding(9, 3, initializer=lambda *_: np.zeros(3))), VALUE,
     "gave an array of shape [3], not [9, 3]"),
    ("B126", lambda: ar.infer(S() >> ar.Function(lambda x: object())), TYPE, "<lambda> returned object"),
    ("B161", lambda: schedules.compounding(-0.1, 1.0, 2.0), VALUE, "compounding"),
    ("B162", lambda: training.SGD(0.1, foo=3), TYPE,
     "SGD has no argument 'foo'"),  # type: ignore[call-arg]
    ("B162", lambda: training.SGD(-1.0), VALUE, "learning_rate is -1.0, and should be at least 0"),
    ("B166", lambda: ar.compile(S("int32") >> ar.Metric("m"), loss="m"), TYPE, "only floats can be a loss"),
    ("B172", lambda: train([1.0], batch_size=0), VALUE, "batch_size is 0, and should be 1 or more"),
    ("B173", lambda: train(3), TYPE, "expected a list of examples, got int"),
    ("B173", lambda: train([1.0], epochs=-1), VALUE, "epochs is -1, and should be 0 or more"),
]  # fmt: skip

ABSENT = {
    "B21": "a block may stand in many places",
    "B26": "blocks have one name, that of `name=`",
    "B28": "arrays have all their sizes",
    "B31": "a function without arguments is a constant",
    "B32": "functions declare no output; it is traced",
    "B33": "a function may return an empty tuple",
    "B35": "shapes of one example are always known",
    "B36": "a function sees one example, which may be a scalar",
    "B37": "there is no batch axis to declare",
    "B38": "shapes of one example are always known",
    "B40": "no protocol buffers",
    "B72": "the state of a cell may be any type with zeros",
    "B101": "a model of Void is well-typed; its result is None",
    "B103": "a model is compiled once, when it is made",
    "B104": "a model is compiled once, when it is made",
    "B105": "a model is compiled once, when it is made",
    "B106": "a model takes examples, and has no other input",
    "B107": "a model takes examples, and has no other input",
    "B109": "no pools of processes to nest",
    "B110": "no sessions",
    "B111": "an empty batch has loss 0 and zero gradients",
    "B113": "every type of constant is known",
    "B140": "a layer has a name, no scope",
    "B141": "no scopes of variables",
    "B144": "parameters are in the model, and there when it is",
    "B147": "parameters are made from the inferred type",
    **dict.fromkeys((f"B{n}" for n in (*range(120, 126), *range(128, 134))), "no loom: functions are traced"),
    "B127": "an operation has the type it was traced with; tests/ops/test_registry.py holds kernels to it",
    "B134": "no schedule messages",
    "B160": "no specifications in strings",
    "B163": "no modes",
    "B164": "no parameter servers and no queues",
    "B165": "nothing to finalize",
    "B167": "what `train` needs are its arguments",
    "B168": "an optimizer belongs to no graph",
    "B169": "an epoch over no examples has a loss of 0",
    "B170": "the last batch of an epoch may be smaller",
    "B171": "no parameter servers and no queues",
}


@pytest.mark.parametrize(
    ("row", "act", "kind", "words"), ROWS, ids=[f"{r[0]}-{i}" for i, r in enumerate(ROWS)]
)
def test_row(row: str, act: Callable[[], Any], kind: type[Exception], words: str) -> None:
    with pytest.raises(kind) as caught:
        act()
    assert type(caught.value) is kind
    text = " ".join(str(caught.value).split())
    assert words in text, str(caught.value)


def test_every_row_is_here() -> None:
    numbers = [*range(1, 14), *range(20, 87), *range(100, 115), *range(120, 135), *range(140, 148)]
    numbers += range(160, 174)
    assert {row for row, *_ in ROWS} | set(ABSENT) == {f"B{n}" for n in numbers}
    assert {row for row, *_ in ROWS} & set(ABSENT) == set()
