"""Mutations of what operations, losses, places, cells and declarations are told."""

from __future__ import annotations

from typing import Any

import numpy as np

import arrows as ar
from arrows import ops
from tests.generation import parts
from tests.generation.build import WIDTH, WORDS, Build
from tests.mutations.mutation import KEY, LONGER, SIZES, Pair, mutation, reader, sequence, total

FIRST, SECOND = ar.GetItem(0), ar.GetItem(1)
DOUBLES = ar.Function(lambda x: ops.cast(x, "float64"), name="doubles")
TRUTH = ar.Function(lambda x: x > 0.0, name="truth")


def one_step(build: Build, function: Any) -> Any:
    """A Function of a vector whose result is a vector."""
    return ar.Function(function, name=function.__name__)


@mutation("size", "what is rounded, or has no gradient, keeps its size", r"rounded_sum", *SIZES)
def of_what_is_rounded(build: Build) -> Pair:
    f, g = reader(build), reader(build)
    rounding = build.one_of(ops.floor, ops.round, ops.stop_gradient)

    def rounded_sum(a: Any, b: Any) -> Any:
        return a + rounding(b)

    last = ar.Function(rounded_sum)
    return (f & g) >> last, lambda: (f & g >> LONGER) >> last


@mutation("dtype", "a truth value is not rounded, divided or sorted away", r"of_numbers", r"bool")
def of_what_takes_numbers(build: Build) -> Pair:
    f = reader(build)
    number = build.one_of(ops.floor, ops.round, lambda x: x % 2, lambda x: x // 2, lambda x: 2 % x)

    def of_numbers(x: Any) -> Any:
        return number(x)

    last = ar.Function(of_numbers)
    return f >> last, lambda: f >> TRUTH >> last


@mutation("size", "each element has its divisor", r"remainder", r"mod|floor_divide", *SIZES)
def of_a_divisor(build: Build) -> Pair:
    f, g = reader(build), reader(build)
    divide = build.one_of(ops.mod, ops.floor_divide)

    def remainder(a: Any, b: Any) -> Any:
        return divide(a, b * b + 1.0)

    last = ar.Function(remainder)
    return (f & g) >> last, lambda: (f & g >> LONGER) >> last


@mutation("dtype", "element types do not mix by themselves", r"remainder", r"float32", r"float64")
def of_a_divisor_of_another_type(build: Build) -> Pair:
    f, g = reader(build), reader(build)
    divide = build.one_of(ops.mod, ops.floor_divide)

    def remainder(a: Any, b: Any) -> Any:
        return divide(a, b * b + 1.0)

    last = ar.Function(remainder)
    return (f & g) >> last, lambda: (f & g >> DOUBLES) >> last


@mutation("size", "a vector of 3 has no best 4", r"best", r"top_k", r"3 elements, fewer than \d")
def of_the_best(build: Build) -> Pair:
    f, k = reader(build), build.one_of(1, 2, 3)

    def best(x: Any) -> Any:
        return x * ops.top_k(x, k)[0].sum()

    def too_many(x: Any) -> Any:
        return x * ops.top_k(x, WIDTH + k)[0].sum()

    return f >> ar.Function(best), lambda: f >> ar.Function(too_many, name="best")


@mutation("size", "a number has no order", r"ordered", r"sort|top_k", r"scalar")
def of_what_is_sorted(build: Build) -> Pair:
    f = reader(build)
    order = build.one_of(lambda x: ops.sort(x)[0], lambda x: ops.argsort(x), lambda x: ops.top_k(x, 1)[0])

    def ordered(x: Any) -> Any:
        return order(x)

    good = f & f >> ar.Function(ordered)
    return good >> FIRST, lambda: (f & f >> ar.Function(ops.sum) >> ar.Function(ordered)) >> FIRST


@mutation("arity", "sort gives values and places", r"ordered", r"tuple|TypeError")
def of_a_sort(build: Build) -> Pair:
    f = reader(build)

    def ordered(x: Any) -> Any:
        return ops.sort(x)[0] * 1.0

    def both(x: Any) -> Any:
        return ops.sort(x) * 1.0

    return f >> ar.Function(ordered), lambda: f >> ar.Function(both, name="ordered")


@mutation(
    "size", "axes of one letter have one size", r"contracted", r"einsum: axis 'i' has the sizes 3 and 4"
)
def of_an_axis_in_einsum(build: Build) -> Pair:
    f, g = reader(build), reader(build)

    def contracted(a: Any, b: Any) -> Any:
        return ops.einsum("i,i->i", a, b)

    last = ar.Function(contracted)
    return (f & g) >> last, lambda: (f & g >> LONGER) >> last


@mutation("argument", "subscripts name each axis of each operand once", r"contracted", r"einsum")
def of_einsum(build: Build) -> Pair:
    f, g = reader(build), reader(build)
    bad = build.one_of("ij,i->i", "i,i->j", "...i,i->i", "i->i", "i,i->ii", "i;i", 3)

    def contracted(subscripts: Any) -> Any:
        return ar.Function(lambda a, b: ops.einsum(subscripts, a, b), name="contracted")

    return (f & g) >> contracted("i,i->i"), lambda: (f & g) >> contracted(bad)


@mutation("size", "what is drawn has the shape that is asked for", r"noisy", r"float32\[3\]", r"float32\[5\]")
def of_what_is_drawn(build: Build) -> Pair:
    f, draw = reader(build), build.one_of(ops.normal, ops.uniform)

    def noisy(size: int) -> Any:
        return ar.Function(lambda x: x + draw([size]), name="noisy")

    return f >> noisy(WIDTH), lambda: f >> noisy(WIDTH + 2)


@mutation("dtype", "random numbers are floating", r"noisy", r"draws floating numbers, not int32")
def of_what_is_drawn_as_integers(build: Build) -> Pair:
    f = reader(build)
    kind = build.one_of("given", "like")

    def noisy(dtype: str) -> Any:
        def add(x: Any) -> Any:
            drawn = ops.normal([WIDTH], dtype) if kind == "given" else ops.uniform_like(x.cast(dtype))
            return x + drawn

        return ar.Function(add, name="noisy")

    return f >> noisy("float32"), lambda: f >> noisy("int32")


@mutation("argument", "bounds are numbers, the lower one below", r"noisy", r"uniform: .* bounds?")
def of_uniform(build: Build) -> Pair:
    f = reader(build)
    bounds = build.one_of((1.0, 0.0), (0.0, float("inf")), ("0", 1), (None, 1), (float("nan"), 1.0))

    def noisy(low: Any, high: Any) -> Any:
        return ar.Function(lambda x: x + ops.uniform([WIDTH], low, high), name="noisy")

    return f >> noisy(0.0, 1.0), lambda: f >> noisy(*bounds)


@mutation("argument", "a Function has no random numbers of its own", r"drawn", r"ops\.normal")
def of_a_random_generator(build: Build) -> Pair:
    f, generator = reader(build), np.random.default_rng(0)

    def drawn(x: Any) -> Any:
        return x + ops.normal([WIDTH])

    def frozen(x: Any) -> Any:
        return x + generator.normal(size=WIDTH).astype("float32")

    return f >> ar.Function(drawn), lambda: f >> ar.Function(frozen, name="drawn")


@mutation("size", "each class has its weight", r"CrossEntropy|Hinge", r"2 weights", r"float32\[3\]")
def of_the_weights_of_classes(build: Build) -> Pair:
    f, g = reader(build), reader(build)
    kind = build.one_of("label", "distribution", "hinge")
    of_loss: Any = ar.Hinge if kind == "hinge" else ar.SoftmaxCrossEntropy
    target = g >> ar.Function(ops.softmax) if kind == "distribution" else ar.Constant(1, "int32")
    good, bad = of_loss(weight=[1.0, 2.0, 0.5]), of_loss(weight=[1.0, 2.0])
    return ((f & target) >> good & g) >> SECOND, lambda: ((f & target) >> bad & g) >> SECOND


@mutation("argument", "sequences have one length, or they need not", r"Zip", r"strict must be True or False")
def of_a_zip(build: Build) -> Pair:
    s, strict = sequence(build), build.one_of(True, False)
    bad = build.one_of("no", 1, None)
    last = ar.Map(ar.Function(total)) >> ar.Sum()
    return (s & s) >> ar.Zip(strict=strict) >> last, lambda: (s & s) >> ar.Zip(strict=bad) >> last


@mutation("state", "the step gives the state that the input starts from", r"Fold|longer", *SIZES)
def of_a_fold_that_starts_from_its_input(build: Build) -> Pair:
    s, first = sequence(build), reader(build)

    def fold(step: Any) -> Any:
        return ar.Fold(step, start_from_input=True)

    return (s & first) >> fold(SECOND), lambda: (s & first) >> fold(SECOND >> LONGER)


@mutation("state", "a Fold that starts from its input takes a pair", r"Fold", r"pair|start")
def of_a_fold_without_its_start(build: Build) -> Pair:
    s, first = sequence(build), reader(build)
    fold = ar.Fold(SECOND, start_from_input=True)
    bad = build.one_of(s, s & first & first, ar.AllOf(s))
    return (s & first) >> fold, lambda: bad >> fold


@mutation("argument", "a Fold has one start", r"Fold", r"start")
def of_a_fold(build: Build) -> Pair:
    s = sequence(build)
    bad: Any = build.one_of(
        lambda: ar.Fold(SECOND),  # type: ignore[call-overload]
        lambda: ar.Fold(SECOND, ar.Zeros([WIDTH]), start_from_input=True),  # type: ignore[call-overload]
        lambda: ar.Fold(SECOND, start_from_input="yes"),  # type: ignore[call-overload]
    )
    return s >> ar.Fold(SECOND, ar.Zeros([WIDTH])), lambda: s >> bad()


@mutation(
    "sequence",
    "one element is no sequence of integers",
    r"At",
    r"a place is one integer|item 0|pair|side by side",
)
def of_what_stands_at_a_place(build: Build) -> Pair:
    s, f, at = sequence(build), reader(build), ar.At(default=0)
    place = ar.Constant(1, "int32")
    bad = build.one_of(s & ar.Length("int32") >> ar.Broadcast(), f & place, s & s, s, s & place & place)
    return (s & place) >> at, lambda: bad >> at


@mutation("argument", "a default stands for an element", r"At|Shift|Window", r"default")
def beyond_the_ends(build: Build) -> Pair:
    s, place = sequence(build), ar.Constant(1, "int32")
    good = s >> ar.Shift(1) >> ar.Sum()
    integers = ar.Map(ar.Scalar("int32"))
    bad: Any = build.one_of(
        lambda: (s & place) >> ar.At(default="x"),
        lambda: (integers & place) >> ar.At(default=0.5),
        lambda: s >> ar.Shift(1, default=[1.0, 2.0]),
        lambda: s >> ar.Shift(1, default="x"),
        lambda: integers >> ar.Window(3, default=0.5),
        lambda: s >> ar.Window(3, default=[0.0] * 4),
    )
    return good, bad


@mutation("argument", "a window has elements, and steps on", r"Shift|Window|Conv1d", r".")
def of_a_window(build: Build) -> Pair:
    s = sequence(build)
    bad: Any = build.one_of(
        lambda: ar.Shift(1.5),  # type: ignore[arg-type]
        lambda: ar.Shift(2**40),
        lambda: ar.Window(0),
        lambda: ar.Window(3, padding="full"),
        lambda: ar.Window(3, padding=2),
        lambda: ar.Window(3, stride=0),
        lambda: ar.Window(3, dilation=-1),
        lambda: ar.Conv1d(2, 0),
        lambda: ar.Conv1d(2, 3, padding=5),
    )
    return s >> ar.Shift(1) >> ar.Sum(), lambda: s >> bad() >> ar.Sum()


@mutation("sequence", "a convolution goes over vectors", r"Conv1d", r"sequence|vectors|Vector")
def of_a_convolution(build: Build) -> Pair:
    s, filters = sequence(build), ar.Conv1d(WIDTH, 3, padding="same")
    bad = build.one_of(s >> ar.Sum(), s >> ar.Map(ar.Function(ops.sum)), s >> ar.Map(TRUTH), ar.Identity())
    return s >> filters >> ar.Sum(), lambda: bad >> filters >> ar.Sum()


@mutation("size", "filters that stand twice see vectors of one size", r"Conv1d", r"3", r"4")
def of_what_filters_see(build: Build) -> Pair:
    s, t, filters = sequence(build), sequence(build), ar.Conv1d(WIDTH, 2)
    both = s >> filters >> ar.Sum() & t >> filters >> ar.Sum()
    return (
        both >> ar.Function(total),
        lambda: (s >> filters >> ar.Sum() & t >> ar.Map(LONGER) >> filters >> ar.Sum()) >> ar.Function(total),
    )


@mutation("dtype", "attention is among floats", r"MultiHeadAttention", r"int32|bool")
def of_what_attends(build: Build) -> Pair:
    s, heads = sequence(build), ar.MultiHeadAttention(1)
    whole = ar.Function(lambda x: ops.cast(x, "int32"))
    return s >> heads >> ar.Sum(), lambda: s >> ar.Map(build.one_of(whole, TRUTH)) >> heads >> ar.Sum()


@mutation("state", "the state of a cell has its size", r"GRUCell\(3, reset_after=True\)", *SIZES)
def of_a_cell_whose_gate_is_behind(build: Build) -> Pair:
    f, g, cell = reader(build), reader(build), ar.GRUCell(WIDTH, reset_after=True)
    return (f & g) >> cell, lambda: (f & g >> LONGER) >> cell


@mutation("result", "what None gives does not read", r"Optional", r"None case", r"reads data")
def of_a_none_case_that_reads(build: Build) -> Pair:
    f = reader(build)
    bad = build.one_of(ar.Vector(WIDTH), ar.GetItem("x") >> ar.Vector(WIDTH))
    return ar.Optional(f, ar.Zeros([WIDTH])), lambda: ar.Optional(ar.Vector(WIDTH), bad)


@mutation("recursion", "what is declared is what comes out", r"tree", *SIZES)
def declared_by_its_output(build: Build) -> Pair:
    f, join = reader(build), build.join(2)

    def recursion(size: int) -> Any:
        @ar.fix(output=[size])
        def tree(me: Any) -> Any:
            pair = (FIRST >> me & f) >> join
            return ar.OneOf(KEY).case(True, f).case(False, pair)

        return tree

    return recursion(WIDTH), lambda: recursion(WIDTH + 1)


@mutation("arity", "a Function that is called takes what it has parameters for", r"outer", r"inner|argument")
def of_a_function_that_is_called(build: Build) -> Pair:
    f = reader(build)

    def inner(a: Any, b: Any) -> Any:
        return a * 1.0 + b

    called = ar.Function(inner)
    bad = build.one_of(lambda x: called(x), lambda x: called(x, x, x), lambda x: called((x, x, x)))
    good = ar.Function(lambda x: called(x, x), name="outer")
    return f >> good, lambda: f >> ar.Function(bad, name="outer")


@mutation(
    "size", "a layer that is called takes what it takes as a block", r"outer", r"vector|size|3|LSTMCell"
)
def of_a_layer_that_is_called(build: Build) -> Pair:
    f, cell, table = reader(build), ar.LSTMCell(WIDTH), ar.Embedding(WORDS, WIDTH)
    bad = build.one_of(
        lambda x: cell((x, x))[0],
        lambda x: cell(x, (LONGER.function(x), x))[0],
        lambda x: table.attend(LONGER.function(x)),
        lambda x: table.attend(x, x),
        lambda x: ar.FC(WIDTH)((x, x)),
    )
    good = ar.Function(lambda x: cell((x, (x, x)))[0] + parts.fewer(table.attend(x)), name="outer")
    return f >> good, lambda: f >> ar.Function(bad, name="outer")
