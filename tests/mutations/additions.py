"""Mutations of what operations, losses, places, cells and declarations are told."""

from __future__ import annotations

from typing import Any

import arrows as ar
from arrows import ops
from tests.generation import parts
from tests.generation.build import WIDTH, WORDS
from tests.mutations.mutation import KEY, LONGER, SIZES, mutation, reader, total

FIRST, SECOND = ar.GetItem(0), ar.GetItem(1)
TRUTH = ar.Function(lambda x: x > 0.0, name="truth")


@mutation("size", "each class has its weight", r"CrossEntropy", r"2 weights", r"float32\[3\]")
def of_the_weights_of_classes(build, f, g):
    target = g >> ar.Function(ops.softmax) if build.one_of(True, False) else ar.Constant(1, "int32")
    good, bad = ar.SoftmaxCrossEntropy(weight=[1.0, 2.0, 0.5]), ar.SoftmaxCrossEntropy(weight=[1.0, 2.0])
    return ((f & target) >> good & g) >> SECOND, lambda: ((f & target) >> bad & g) >> SECOND


@mutation("state", "the step gives the state that the input starts from", r"Fold|longer", *SIZES)
def of_a_fold_that_starts_from_its_input(build, s):
    first = reader(build)

    def fold(step: Any) -> Any:
        return ar.Fold(step, initial_state_from_input=True)

    return (s & first) >> fold(SECOND), lambda: (s & first) >> fold(SECOND >> LONGER)


@mutation("state", "a Fold that starts from its input takes a pair", r"Fold", r"pair|start")
def of_a_fold_without_its_start(build, s):
    first = reader(build)
    fold = ar.Fold(SECOND, initial_state_from_input=True)
    bad = build.one_of(s, s & first & first, ar.AllOf(s))
    return (s & first) >> fold, lambda: bad >> fold


@mutation(
    "sequence",
    "one element is no sequence of integers",
    r"At",
    r"a place is one integer|item 0|pair|side by side",
)
def of_what_stands_at_a_place(build, s, f):
    at = ar.At(default=0)
    place = ar.Constant(1, "int32")
    bad = build.one_of(s & ar.Length("int32") >> ar.Broadcast(), f & place, s & s, s, s & place & place)
    return (s & place) >> at, lambda: bad >> at


@mutation("sequence", "a convolution goes over vectors", r"Conv1d", r"sequence|vectors|Vector|elements")
def of_a_convolution(build, s):
    filters = ar.Conv1d(WIDTH, 3, padding="same")
    bad = build.one_of(s >> ar.Sum(), s >> ar.Map(ar.Function(ops.sum)), s >> ar.Map(TRUTH), ar.Identity())
    return s >> filters >> ar.Sum(), lambda: bad >> filters >> ar.Sum()


@mutation("size", "filters that stand twice see vectors of one size", r"Conv1d", r"3", r"4")
def of_what_filters_see(s, t):
    filters = ar.Conv1d(WIDTH, 2)
    both = s >> filters >> ar.Sum() & t >> filters >> ar.Sum()
    return (
        both >> ar.Function(total),
        lambda: (s >> filters >> ar.Sum() & t >> ar.Map(LONGER) >> filters >> ar.Sum()) >> ar.Function(total),
    )


@mutation("dtype", "attention is among floats", r"MultiHeadAttention", r"int32|bool")
def of_what_attends(build, s):
    heads = ar.MultiHeadAttention(1)
    whole = ar.Function(lambda x: ops.cast(x, "int32"))
    return s >> heads >> ar.Sum(), lambda: s >> ar.Map(build.one_of(whole, TRUTH)) >> heads >> ar.Sum()


@mutation("state", "the state of a cell has its size", r"GRUCell\(3, reset_after=True\)", *SIZES)
def of_a_cell_whose_gate_is_behind(f, g):
    cell = ar.GRUCell(WIDTH, reset_after=True)
    return (f & g) >> cell, lambda: (f & g >> LONGER) >> cell


# A layer that joins what is declared with what comes out meets both lengths before the tree does.
@mutation("recursion", "what is declared is what comes out", r"tree", SIZES[0], SIZES[1] + "|on two types")
def declared_by_its_output(f, join):
    def recursion(size: int) -> Any:
        @ar.fix(output_type=[size])
        def tree(me: Any) -> Any:
            pair = (FIRST >> me & f) >> join
            return ar.OneOf(KEY).case(True, f).case(False, pair)

        return tree

    return recursion(WIDTH), lambda: recursion(WIDTH + 1)


@mutation("arity", "a Function that is called takes what it has parameters for", r"outer", r"inner|argument")
def of_a_function_that_is_called(build, f):
    def inner(a: Any, b: Any) -> Any:
        return a * 1.0 + b

    called = ar.Function(inner)
    bad = build.one_of(lambda x: called(x), lambda x: called(x, x, x), lambda x: called((x, x, x)))
    good = ar.Function(lambda x: called(x, x), name="outer")
    return f >> good, lambda: f >> ar.Function(bad, name="outer")


@mutation(
    "size", "a layer that is called takes what it takes as a block", r"outer", r"vector|size|3|LSTMCell"
)
def of_a_layer_that_is_called(build, f):
    cell, table = ar.LSTMCell(WIDTH), ar.Embedding(WORDS, WIDTH)
    bad = build.one_of(
        lambda x: cell((x, x))[0],
        lambda x: cell(x, (LONGER.of_example(x), x))[0],
        lambda x: table.attend(LONGER.of_example(x)),
        lambda x: table.attend(x, x),
        lambda x: ar.FC(WIDTH)((x, x)),
    )
    good = ar.Function(lambda x: cell((x, (x, x)))[0] + parts.fewer(table.attend(x)), name="outer")
    return f >> good, lambda: f >> ar.Function(bad, name="outer")
