"""Mutations of sizes, element types, readers and of what functions are given."""

from __future__ import annotations

from typing import Any

import numpy as np

import arrows as ar
from arrows import ops
from tests.generation import parts
from tests.generation.between import lstm
from tests.generation.build import WIDTH, WORDS
from tests.mutations.mutation import (
    KEY,
    LONGER,
    SIZES,
    mutation,
    sequence,
    total,
)

SQUARE = np.eye(WIDTH, dtype="float32")
FIRST, SECOND = ar.GetItem(0), ar.GetItem(1)


def doubles(x: Any) -> Any:
    return ops.cast(x, "float64")


DOUBLES = ar.Function(doubles, name="doubles")
"""From floats to float64, which no float32 is."""


@mutation("size", "a matrix of 3 rows multiplies no vector of 4", r"through_a_matrix", r"\b4\b", r"\b3\b")
def into_a_matrix(f):
    def through_a_matrix(x: Any) -> Any:
        return x @ SQUARE

    last = ar.Function(through_a_matrix)
    return f >> last, lambda: f >> LONGER >> last


@mutation("size", "vectors of 3 and of 4 have no sum", r"Function\(total\)", *SIZES)
def of_an_operand(f, g):
    last = ar.Function(total)
    return (f & g) >> last, lambda: (f & g >> LONGER) >> last


@mutation("size", "a layer may stand on several types", r"FC", *SIZES)
def into_a_layer_that_stands_elsewhere(f, g):
    layer = ar.FC(WIDTH)
    return (
        (f >> layer & g >> layer) >> ar.Sum(),
        lambda: (f >> layer & g >> LONGER >> layer) >> ar.Sum(),
    )


@mutation("size", "attend takes a vector like them", r"Embedding\(\d+, 3\)\.attend", *SIZES)
def into_a_tied_table(build, f):
    table = build.layer("embedding", lambda: ar.Embedding(WORDS, WIDTH))
    last = ar.Function(parts.fewer)
    return f >> table.attend >> last, lambda: f >> LONGER >> table.attend >> last


@mutation("size", "Sum adds items of one type", r"Sum", *SIZES)
def of_a_summand(f, g):
    return (f & g) >> ar.Sum(), lambda: (f & g >> LONGER) >> ar.Sum()


@mutation("size", "joined along axis 1, both must agree in axis 0", r"Concat", r"axis 0 is 3.*4|\b3\b.*\b4\b")
def beside_in_a_concat(f, g):
    column = ar.Function(lambda x: ops.reshape(x, (-1, 1)))
    narrow = ar.Function(lambda x: x[:, 0])
    return (
        (f >> column & g >> column) >> ar.Concat(axis=1) >> narrow,
        lambda: (f >> column & g >> LONGER >> column) >> ar.Concat(axis=1) >> narrow,
    )


@mutation("size", "Concat has no axis 1 of vectors", r"Concat", r"axis 1")
def an_axis(f, g):
    last = ar.Function(lambda x: x[:WIDTH])
    return (f & g) >> ar.Concat() >> last, lambda: (f & g) >> ar.Concat(1) >> last


@mutation("size", "the label's classes and the scores differ in number", r"SquaredError", *SIZES)
def of_a_target(f, g, h):
    good = (f & g) >> ar.SquaredError()
    bad = ar.Pipe(f & g >> LONGER, ar.SquaredError())
    return (good & h) >> SECOND, lambda: (bad & h) >> SECOND


@mutation("size", "2 heads share no vector of 3", r"MultiHeadAttention", r"2 heads", r"vectors of 3")
def of_a_head(build):
    f, causal = sequence(build), build.one_of(False, True)
    good, bad = ar.MultiHeadAttention(WIDTH, causal=causal), ar.MultiHeadAttention(2, causal=causal)
    return f >> good >> ar.Sum(), lambda: f >> bad >> ar.Sum()


@mutation("type", "attention is within a sequence", r"MultiHeadAttention", r"sequence of vectors", r"Map")
def within_one_vector(build):
    f, heads = sequence(build), ar.MultiHeadAttention(1)
    return f >> heads >> ar.Sum(), lambda: f >> ar.Map(heads) >> ar.Sum()


@mutation("type", "a window goes over a sequence", r"Window|Shift", r"is not a sequence")
def of_neighbours(build):
    first = ar.Map(ar.Function(lambda x: x[0]))
    f, moved = sequence(build), build.one_of(ar.Shift(1), ar.Window(3, padding="valid") >> first)
    return f >> moved >> ar.Sum(), lambda: f >> ar.Sum() >> moved >> ar.Sum()


@mutation("dtype", "a place is an integer", r"At", r"a place is one integer", r"float32")
def of_a_place(build):
    f, at = sequence(build), ar.At(default=0)
    return (f & ar.Constant(1, "int32")) >> at, lambda: (f & ar.Constant(1.0)) >> at


@mutation("dtype", "an index is an integer", r"Embedding", r"float")
def of_an_index(build):
    table = ar.Embedding(WORDS, WIDTH)
    dtype = build.one_of("float32", "float64", "bool")
    return ar.Scalar("int32") >> table, lambda: ar.Scalar(dtype if dtype != "bool" else "float32") >> table


@mutation("dtype", "element types do not mix by themselves", r"Function\(total\)", r"float32", r"float64")
def of_an_operand_of_a_function(f, g):
    last = ar.Function(total)
    return (f & g) >> last, lambda: (f & g >> DOUBLES) >> last


@mutation("dtype", "joined tensors have one element type", r"Concat", r"float32", r"float64|int32")
def of_a_part_of_a_concat(build, f, g):
    last = ar.Function(lambda x: x[:WIDTH])
    other = build.one_of(DOUBLES, ar.Function(lambda x: ops.cast(x > 0, "int32")))
    return (f & g) >> ar.Concat() >> last, lambda: (f & g >> other) >> ar.Concat() >> last


@mutation("dtype", "Sum adds items of one type", r"Sum", r"float32\[3\]", r"int32\[3\]")
def of_a_constant_summand(f):
    return (
        (f & ar.Constant([1.0, 2.0, 3.0])) >> ar.Sum(),
        lambda: (f & ar.Constant([1, 2, 3])) >> ar.Sum(),
    )


@mutation("reader", "a Function takes tensors, and an Input is none", r"Function\(", r"Input")
def dropped_before_a_function():
    last = ar.Function(ops.tanh)
    return ar.Vector(WIDTH) >> last, lambda: ar.Identity() >> last


@mutation("reader", "a layer takes tensors, and an Input is none", r"FC|Embedding|LSTMCell", r"Input")
def dropped_before_a_layer(build):
    kind = build.one_of("fc", "embedding")
    layer = ar.FC(WIDTH) if kind == "fc" else ar.Embedding(WORDS, WIDTH)
    read = ar.Vector(WIDTH) if kind == "fc" else ar.Scalar("int32")
    return read >> layer, lambda: ar.GetItem("x") >> layer


@mutation("reader", "Sum adds tensors, and a field is an Input", r"Sum", r"Input")
def dropped_before_a_sum(f):
    return ar.Map(f) >> ar.Sum(), lambda: ar.Map(ar.GetItem("x")) >> ar.Sum()


@mutation("reader", "a tensor is no Python object", r"Vector|Scalar|Tensor|OneHot", r"float32\[3\]")
def read_twice(build, f):
    again = build.one_of(ar.Vector(WIDTH), ar.Scalar(), ar.Tensor([WIDTH]), ar.OneHot(WIDTH))
    return f, lambda: f >> again


@mutation("reader", "a tensor is no Python object", r"InputTransform", r"float32\[3\]")
def transformed_after_reading(f):
    transform = ar.InputTransform(parts.watched(lambda x: x))
    return transform >> f, lambda: f >> transform


@mutation("reader", "ar.shared remembers Python objects", r"shared", r"float32\[3\]")
def shared_after_reading(f):
    return ar.shared(f), lambda: f >> ar.shared(ar.Vector(WIDTH))


@mutation("arity", "a function of two parameters takes no triple", r"Function\(total\)", r"2|two|3|three")
def of_a_function(build, f, g):
    last = ar.Function(total)
    bad = build.one_of(f & g & f, ar.AllOf(f), f)
    return (f & g) >> last, lambda: bad >> last


@mutation(
    "arity",
    "a cell takes the pair of an element and a state",
    r"LSTMCell",
    r"pair|\(h, c\)|state|vector|the tuple has 2 items",
)
def of_a_cell(build, f):
    cell = lstm(build)
    last = cell >> FIRST
    bad = build.one_of(
        f & ar.Zeros([WIDTH]) & ar.Zeros([WIDTH]),
        ar.AllOf(f),
        f,
        f & ar.Zeros([WIDTH]),
        ar.Zeros(cell.state) & f,
    )
    return (f & ar.Zeros(cell.state)) >> last, lambda: bad >> last


@mutation("arity", "Concat joins the items of a tuple", r"Concat", r"tuple")
def one_thing_for_a_tuple(f):
    return ar.AllOf(f) >> ar.Concat(), lambda: f >> ar.Concat()


@mutation("arity", "a loss compares two things", r"SquaredError|Hinge|CrossEntropy|Huber", r"pair|two|2")
def of_a_loss(build, f, g, h):
    loss = build.one_of(ar.SquaredError(), ar.Huber(), ar.SigmoidCrossEntropy())
    squash = ar.Function(ops.sigmoid)
    return (
        ((f & g >> squash) >> loss & h) >> SECOND,
        lambda: (f >> loss & h) >> SECOND,
    )


@mutation("result", "a vector is no pair of vectors", r"OneOf|case", r"tensor.*tuple")
def of_a_case_becomes_a_pair(f, g):
    return (
        ar.OneOf(KEY, {True: f, False: g}),
        lambda: ar.OneOf(KEY, {True: f, False: g >> (ar.Identity() & ar.Identity())}),
    )


@mutation("result", "a sequence of vectors is no vector", r"OneOf|case", r"Sequence\((float32\[3\]|\?)\)")
def of_a_case_becomes_a_sequence(f, s):
    return (
        ar.OneOf(KEY, {True: f, False: s >> ar.Sum()}),
        lambda: ar.OneOf(KEY, {True: f, False: s}),
    )


@mutation("size", "all cases of a choice give one type", r"OneOf|case", *SIZES)
def of_a_case(f, g):
    return (
        ar.OneOf(KEY, {True: f, False: g}),
        lambda: ar.OneOf(KEY, {True: f, False: g >> LONGER}),
    )


@mutation("dtype", "all cases of a choice give one type", r"OneOf|case", r"float32\[3\]", r"float64\[3\]")
def of_the_result_of_a_case(f, g):
    return (
        ar.OneOf(KEY, {True: f, False: g}),
        lambda: ar.OneOf(KEY, {True: f >> DOUBLES, False: g}),
    )


@mutation("result", "what None gives has the type of the rest", r"Optional|case|None", r"float32\[3\]")
def of_the_none_case(build, f):
    bad = build.one_of(
        ar.Zeros([WIDTH + 1]), ar.Zeros([]), ar.Zeros(([WIDTH],)), ar.Constant([1, 2, 3]), ar.Void()
    )
    return ar.Optional(f, ar.Zeros([WIDTH])), lambda: ar.Optional(f, bad)


@mutation("result", "a Python object is no vector", r"OneOf|case", r"Input")
def of_a_case_is_left_unread(f, g):
    return (
        ar.OneOf(KEY, {True: f, False: g}),
        lambda: ar.OneOf(KEY, {True: f, False: ar.InputTransform(len)}),
    )


@mutation("key", "a tensor is no key", r"OneOf|key", r"float32|int32")
def of_a_choice_is_a_tensor(build, f, g):
    bad = build.one_of(f, ar.Scalar("int32"))
    return (
        ar.OneOf(ar.InputTransform(KEY), {True: f, False: g}),
        lambda: ar.OneOf(bad, {True: f, False: g}),
    )
