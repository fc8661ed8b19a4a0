"""Mutations of reductions, networks that are given their state, declarations, Compositions, taps."""

from __future__ import annotations

from typing import Any

import arrows as ar
from arrows import ops
from tests.generation import parts
from tests.generation.build import WIDTH
from tests.mutations.mutation import KEY, LONGER, SIZES, mutation, reader, total

FIRST, SECOND = ar.GetItem(0), ar.GetItem(1)
ADD = ar.Function(total)
# A clash of sizes names the axis, one of types the whole type.
SIZE = r"float32\[3\]|axis 0 is 3|element type is float32"


@mutation("result", "what is combined has the type of the elements", r"Reduce|combine|reduce", *SIZES)
def of_a_combine(s):
    return s >> ar.Reduce(FIRST), lambda: s >> ar.Reduce(FIRST >> LONGER)


@mutation("result", "the default has the type of the elements", r"Reduce|default|reduce|Zeros", SIZE)
def of_the_default_of_a_tree(build, s):
    bad = build.one_of(ar.Zeros([WIDTH + 1]), ar.Zeros([]), ar.Constant([1, 2, 3]), ar.Zeros(([WIDTH],)))
    return s >> ar.Reduce(FIRST, ar.Zeros([WIDTH])), lambda: s >> ar.Reduce(FIRST, bad)


@mutation("arity", "two elements are combined at a time", r"Reduce|Function", r"3|2|two|three")
def of_a_tree(s):
    def of_three(a: Any, b: Any, c: Any) -> Any:
        return a + b + c

    return s >> ar.Reduce(ADD), lambda: s >> ar.Reduce(ar.Function(of_three))


@mutation("reader", "extremes and means are of tensors", r"Max|Min|Mean", r"Python object|Input")
def dropped_before_a_reduction(build, f):
    reduce = build.one_of(ar.Max, ar.Min, ar.Mean)(default=0.0)
    return ar.Map(f) >> reduce, lambda: ar.Identity() >> reduce


@mutation("dtype", "the mean of integers is none", r"Mean", r"int32|int64|uint8")
def of_a_mean(build):
    last = ar.Mean(default=0) >> ar.Function(parts.spread)
    dtype = build.one_of("int32", "int64", "uint8")
    return ar.Map(ar.Scalar()) >> last, lambda: ar.Map(ar.Scalar(dtype)) >> last


@mutation("size", "a pair is no three", r"Stack", r"2", r"3")
def of_a_stack(f, g):
    last = ar.Function(lambda x: x[0])
    return (f & g) >> ar.Stack(2) >> last, lambda: (f & g) >> ar.Stack(3) >> last


@mutation("size", "what is stacked has one type", r"Stack", *SIZES)
def of_an_element_of_a_stack(f, g):
    last = ar.Function(lambda x: x[0])
    return (f & g) >> ar.Stack(2) >> last, lambda: (f & g >> LONGER) >> ar.Stack(2) >> last


@mutation("size", "a score is a number", r"Attention", r"score", r"float32\[3\]")
def of_a_score(build, s):
    score = build.score()
    return s >> ar.Attention(score), lambda: s >> ar.Attention(build.change())


@mutation("dtype", "a score is a floating number", r"Attention", r"score", r"int32")
def of_a_score_is_an_integer(build, s):
    count = ar.Function(lambda x: ops.cast(x[0], "int32"))
    return s >> ar.Attention(build.score()), lambda: s >> ar.Attention(count)


@mutation("sequence", "attention goes over elements", r"Attention|Map", r"float32\[3\]")
def attended_is_a_tensor(build, f):
    last = ar.Attention(build.score(), default=0.0)
    return ar.Map(f) >> last, lambda: f >> last


@mutation("state", "the step must give the state that it starts from", r"RNN|Scan|longer", *SIZES)
def that_is_read(build, s):
    first = reader(build)
    kind = build.one_of("rnn", "scan")
    network = (
        ar.RNN(SECOND, initial_state_from_input=True)
        if kind == "rnn"
        else ar.Scan(FIRST & SECOND, initial_state_from_input=True)
    )
    bad = (
        ar.RNN(SECOND >> LONGER, initial_state_from_input=True)
        if kind == "rnn"
        else ar.Scan(FIRST & SECOND >> LONGER, initial_state_from_input=True)
    )
    return (s & first) >> network >> SECOND, lambda: (s & first) >> bad >> SECOND


@mutation("state", "a network that starts from its input takes a pair", r"RNN|Scan", r"pair")
def is_not_there(build, s):
    first = reader(build)
    network = build.one_of(
        ar.RNN(SECOND, initial_state_from_input=True), ar.Scan(FIRST & SECOND, initial_state_from_input=True)
    )
    bad = build.one_of(s, s & first & first, ar.AllOf(s))
    return (s & first) >> network >> SECOND, lambda: bad >> network >> SECOND


@mutation("recursion", "a declaration that nobody resolved stands for nothing", r"later", r"resolve")
def never_resolved(f, join):
    tree = ar.ForwardDeclaration(name="later")
    good = tree.resolve_to(ar.OneOf(KEY).case(True, f).case(False, (FIRST >> tree() & f) >> join))
    open_one = ar.ForwardDeclaration(name="later")
    return good, lambda: ar.OneOf(KEY).case(True, f).case(False, (FIRST >> open_one() & f) >> join)


@mutation("recursion", "a declaration is resolved once", r"later", r"stands for")
def resolved_twice(f):
    later = ar.ForwardDeclaration(name="later")
    return later.resolve_to(f), lambda: later.resolve_to(f)


@mutation("recursion", "the definition has another type than the declaration", r"later", *SIZES)
def declared_otherwise(f):
    def declared(size: int) -> Any:
        later = ar.ForwardDeclaration(None, [size], name="later")
        again = later()
        return later.resolve_to(ar.OneOf(KEY).case(True, f).case(False, FIRST >> again))

    return declared(WIDTH), lambda: declared(WIDTH + 1)


@mutation("recursion", "each has the type of the other, and one more element", r"grows|other", *SIZES)
def that_grows_in_turns(build, f):
    def recursion(change: Any) -> Any:
        def both(grows: Any, other: Any) -> Any:
            return (
                ar.OneOf(KEY, {True: f, False: FIRST >> other >> change}),
                ar.OneOf(KEY, {True: f, False: FIRST >> grows}),
            )

        return ar.fix(both)[build.one_of(0)]

    return recursion(build.change()), lambda: recursion(LONGER)


def composition(f: Any, g: Any, kind: str) -> Any:
    """A Composition, in order or not."""
    other = ar.Composition(name="other")
    with ar.Composition(name="mine").scope() as c:
        a, b = f.reads(c.input), g.reads(c.input)
        if kind == "foreign":
            a = g.reads(other.input)
        if kind == "itself":
            a = c.reads(c.input)
        if kind == "output":
            a = g.reads(c.output)
        if kind != "nothing":
            c.output.reads(ADD.reads(a, a if kind == "unread" else b))
        if kind == "twice":
            c.output.reads(a)
    return c


@mutation("wire", "the result of a block must be read once, by wires of the scope", r"mine|Composition")
def of_a_composition(build, f, g):
    kind = build.one_of("unread", "foreign", "itself", "output", "nothing", "twice")
    return composition(f, g, ""), lambda: composition(f, g, kind)


@mutation("wire", "a block reads in an open scope", r"reads|scope", r"scope")
def outside_of_a_scope(f, g):
    done = composition(f, g, "")
    return done, lambda: g.reads(done.input)


@mutation("metric", "a tap has one type in a model", r"'seen'|Tap", *SIZES)
def tapped_of_two_types(f, g):
    def seen(change: Any) -> Any:
        return (f >> ar.Tap("seen") & g >> change >> ar.Tap("seen")) >> FIRST

    return seen(ar.Identity()), lambda: seen(LONGER)


@mutation("metric", "an endless sequence is never kept", r"Tap", r"Broadcast|endless|no end")
def tapped_without_end(s, f):
    def beside(tap: Any) -> Any:
        return (s & f >> ar.Broadcast() >> tap) >> ar.ZipWith(ADD) >> ar.Sum()

    return beside(ar.Identity()), lambda: beside(ar.Tap("seen"))
