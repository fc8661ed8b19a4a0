"""Mutations of keys, tuples, wires, sequences, states and recursions."""

from __future__ import annotations

from typing import Any

import arrows as ar
from arrows import ops
from tests.generation import parts
from tests.generation.between import lstm
from tests.generation.build import WIDTH, Piece, anything
from tests.generation.meetings import MEETINGS, Keys, Meeting, meeting
from tests.mutations.mutation import KEY, LONGER, SIZES, mutation, reader, total

FIRST, SECOND = ar.GetItem(0), ar.GetItem(1)
ADD = ar.Function(total)


@mutation("key", "a pair has the items 0 and 1, -1 and -2", r"GetItem|item", r"2|pair")
def beyond_a_pair(build, f, g):
    place = build.one_of(2, -3, 99)
    return (f & g) >> SECOND, lambda: (f & g) >> ar.GetItem(place)


@mutation("key", "the record has no such key", r"GetItem", r"'c'|C", r"'a'.*'b'|a.*b")
def misspelt(f, g):
    record = ar.Record({"a": f, "b": g})
    return record >> ar.GetItem("b"), lambda: record >> ar.GetItem("c")


@mutation("default", "a record has what its type says", r"GetItem", r"default")
def of_a_missing_item(build, f):
    key = build.one_of("a", "b")
    return ar.Record({"a": f}) >> ar.GetItem("a"), lambda: ar.Record({"a": f}) >> ar.GetItem(key, default=0)


@mutation("key", "a tuple without keys has no key", r"GetItem", r"'a'")
def of_a_tuple_without_keys(f, g):
    return ar.Record({"a": f, "b": g}) >> ar.GetItem("a"), lambda: (f & g) >> ar.GetItem("a")


@mutation("key", "where tuples with other keys meet, a key is not the same item of all", r"GetItem", r"keys")
def lost_where_tuples_meet(build):
    key, keys, others = build.one_of(
        ("a", ("a", "b"), (("b", "a"), ("a", "c"), None)),
        (5, (5, 1), ((6, 1), ("a", "b"), None)),
    )
    piece, kind = Piece(reader(build), anything), build.one_of(*MEETINGS)
    different = (keys, build.one_of(*others))

    def taken(keys: tuple[Keys, Keys]) -> Any:
        return meeting(build, piece, kind, Meeting(build, keys))[0] >> ar.GetItem(key)

    return taken((keys, keys)), lambda: taken(build.one_of(different, different[::-1]))


@mutation("key", "a tensor has no items", r"GetItem", r"float32\[3\]")
def of_a_tensor(build, f):
    place = build.one_of(0, "a", slice(1))
    return ar.AllOf(f) >> FIRST, lambda: f >> ar.GetItem(place)


@mutation("key", "the record has no such key", r"GetItem|item|wired", r"'c'")
def misspelt_on_a_wire(f, g):
    record = ar.Record({"a": f, "b": g})

    def wired(key: str) -> Any:
        return ar.arrow(lambda x: record(x)[key])

    return wired("a"), lambda: wired("c")


@mutation("key", "one key chooses one case", r"OneOf", r"twice|two cases")
def chosen_twice(f, g):
    return ar.OneOf(KEY, [(True, f), (False, g)]), lambda: ar.OneOf(KEY, [(True, f), (1, g)])


@mutation("arity", "an arrow of two parameters takes no triple", r"both", r"2|two|pair")
def of_an_arrow(build, f, g):
    @ar.arrow
    def both(a: Any, b: Any) -> Any:
        return ADD(a, b)

    bad = build.one_of(f & g & f, ar.AllOf(f), f)
    return (f & g) >> both, lambda: bad >> both


@mutation("arity", "a pair cannot be unpacked into three", r"unpack|apart", r"3|three")
def of_unpacking(f, g):
    return (
        ar.arrow(lambda x: ADD(*ar.unpack((f & g)(x), 2))),
        lambda: ar.arrow(lambda x: ar.Sum()(*ar.unpack((f & g)(x), 3))),
    )


# Where the type of the item is solved later, the tuple is told as (?,).
@mutation("arity", "f * g takes a pair", r"\*|pair", r"float32\[3\]|\(\?,\)")
def of_two_side_by_side(build, f, g):
    bad = build.one_of(f & g & f, f, ar.AllOf(f))
    change = build.change()
    return (f & g) >> change * ar.Identity() >> ADD, lambda: bad >> (change * ar.Identity()) >> ADD


@mutation("wire", "a wire that nobody reads must be Void", r"wired|arrow", r"read")
def left_unread(f, g):
    def wired(reads: bool) -> Any:
        def body(x: Any) -> Any:
            a, b = f(x), g(x)
            return ADD(a, b if reads else a)

        return ar.arrow(body)

    return wired(True), lambda: wired(False)


@mutation("wire", "a wire belongs to one arrow", r"wire", r"arrow")
def of_another_arrow(f):
    kept: list[Any] = []

    def keep(x: Any) -> Any:
        kept.append(x)
        return f(x)

    good = ar.arrow(keep)
    return good, lambda: ar.arrow(lambda x: ADD(f(x), f(kept[0])))


@mutation(
    "sequence",
    "a tensor has no elements to go over",
    r"Map|Fold|Reverse|NGrams|Length|Slice",
    r"float32\[3\]",
)
def is_a_tensor(build, s, f):
    over = build.one_of(
        ar.Map(ar.Identity()) >> ar.Sum(),
        ar.Fold(SECOND, ar.Zeros([WIDTH])),
        ar.Reverse() >> ar.Sum(),
        ar.NGrams(1) >> ar.Map(FIRST) >> ar.Sum(),
        ar.Slice(start=1) >> ar.Sum(),
        ar.Length() >> ar.Function(parts.spread),
    )
    return s >> over, lambda: f >> over


@mutation("sequence", "a vector is no sequence of vectors", r"Sum", r"float32\[3\]")
def summed_without_elements(f):
    return ar.Map(f) >> ar.Sum(), lambda: f >> ar.Sum()


@mutation("sequence", "a tensor cannot stand beside a sequence in Zip", r"Zip", r"float32\[3\]")
def zipped_with_a_tensor(s, f):
    return (s & s) >> ar.ZipWith(ADD) >> ar.Sum(), lambda: (s & f) >> ar.ZipWith(ADD) >> ar.Sum()


@mutation("sequence", "Zip takes a tuple of sequences", r"Zip", r"Sequence\((float32\[3\]|\?)\)")
def zipped_alone(s):
    last = ar.Map(FIRST) >> ar.Sum()
    return ar.AllOf(s) >> ar.Zip() >> last, lambda: s >> ar.Zip() >> last


@mutation("arity", "the elements of three sequences are triples", r"Function\(total\)", r"3|three|2|two")
def of_a_zip(s, t):
    return (s & t) >> ar.ZipWith(ADD) >> ar.Sum(), lambda: (s & t & s) >> ar.ZipWith(ADD) >> ar.Sum()


@mutation("sequence", "a tuple is gone over only if its items have one type", r"Map", "3", "4")
def is_a_mixed_tuple(f, g):
    over = ar.Map(ar.Identity())
    return (f & g) >> over >> ar.Sum(), lambda: (f & g >> LONGER) >> over >> ar.Function(ops.segment_sum)


@mutation(
    "sequence", "an endless sequence has no last element", r"Broadcast|endless|no end", r"float32\[3\]|\(\?\)"
)
def never_ends(build, f):
    over = build.one_of(
        ar.Fold(SECOND, ar.Zeros([WIDTH])),
        ar.Sum(),
        ar.Reverse() >> ar.Sum(),
        ar.Length() >> ar.Function(parts.spread),
    )
    return ar.Map(f) >> over, lambda: f >> ar.Broadcast() >> over


@mutation("sequence", "the place of Nth is an object that is read", r"Nth", r"int32|float32")
def place_is_a_tensor(s):
    return (
        (FIRST >> s & SECOND) >> ar.Nth(),
        lambda: (FIRST >> s & SECOND >> ar.Scalar("int32")) >> ar.Nth(),
    )


@mutation("sequence", "a tensor has no elements to choose from", r"Nth", r"float32\[3\]")
def nth_of_a_tensor(s, f):
    return (FIRST >> s & SECOND) >> ar.Nth(), lambda: (FIRST >> f & SECOND) >> ar.Nth()


@mutation("sequence", "places are objects that are read", r"GroupBy|MessagePassing", r"places must be")
def places_are_tensors(build, s, f):
    if build.one_of(False, True):
        groups = ar.GroupBy() >> ar.Map(ar.Sum()) >> ar.Sum()
        read = SECOND >> ar.Map(ar.Scalar("int32"))
        return (
            FIRST >> s & SECOND & FIRST >> s
        ) >> groups, lambda: (FIRST >> s & read & FIRST >> s) >> groups
    edge = build.one_of(ar.Vector(2, "int32"), ar.Map(ar.Scalar("int32")))
    last = ar.MessagePassing(FIRST) >> ar.Sum()
    return (FIRST >> s & SECOND) >> last, lambda: (FIRST >> s & SECOND >> ar.Map(edge)) >> last


@mutation("arity", "message passing takes nodes and edges", r"MessagePassing takes \(nodes, edges")
def of_a_graph(build, s):
    right, wrong = (FIRST >> s & SECOND), build.one_of(FIRST >> s & SECOND & FIRST >> s, FIRST >> s)
    block = ar.MessagePassing(FIRST)
    return right >> block >> ar.Sum(), lambda: wrong >> block >> ar.Sum()


@mutation("state", "a message is no longer than a node", r"longer|Function\(total\)|MessagePassing", *SIZES)
def of_a_message(s):
    def made(change: Any) -> Any:
        return (FIRST >> s & SECOND) >> ar.MessagePassing(FIRST >> change, ADD) >> ar.Sum()

    return made(ar.Identity()), lambda: made(LONGER)


@mutation("state", "the step gives vectors of 3, the start has 4", r"[Ff]old|Zeros", "3", "4")
def of_a_start(s):
    return (
        s >> ar.Fold(SECOND, ar.Zeros([WIDTH])),
        lambda: s >> ar.Fold(SECOND, ar.Zeros([WIDTH + 1])) >> ar.Function(lambda x: x[:WIDTH]),
    )


@mutation("state", "the step must give the state that it is given", r"Fold|longer", *SIZES)
def of_a_step(s):
    start = ar.Zeros([WIDTH])
    return s >> ar.Fold(SECOND, start), lambda: s >> ar.Fold(SECOND >> LONGER, start)


@mutation("state", "the state stays the same in a scan", r"Scan|longer", *SIZES)
def of_a_scan(s):
    start = ar.Zeros([WIDTH])
    step = FIRST & SECOND
    return s >> ar.Scan(
        step, start
    ) >> SECOND, lambda: s >> ar.Scan(FIRST & SECOND >> LONGER, start) >> SECOND


@mutation("state", "a scan's step gives a pair", r"[Ss]can", r"pair")
def without_an_output(build, s):
    start = ar.Zeros([WIDTH])
    bad = build.one_of(SECOND, FIRST & SECOND & FIRST)
    return (
        s >> ar.Scan(FIRST & SECOND, start) >> SECOND,
        lambda: s >> ar.Scan(bad, start) >> SECOND,
    )


@mutation("state", "the cell's state is (h, c)", r"RNN|LSTMCell", r"\(float32\[3\], float32\[3\]\)|\(h")
def of_a_network(build, s):
    cell = lstm(build)
    bad = build.one_of(
        ar.Zeros([WIDTH]), ar.Zeros(([WIDTH], [WIDTH + 1])), ar.Zeros(([WIDTH], [WIDTH], [WIDTH]))
    )
    last = SECOND >> FIRST
    return s >> ar.RNN(cell, ar.Zeros(cell.state)) >> last, lambda: s >> ar.RNN(cell, bad) >> last


@mutation("state", "a Fold hands (state, element), a cell takes (element, state)", r"LSTMCell|Fold")
def in_the_other_order(build, s):
    cell = lstm(build)
    start = ar.Zeros(cell.state)
    return (
        s >> ar.Fold((SECOND & FIRST) >> cell, start) >> FIRST,
        lambda: s >> ar.Fold(cell, start) >> FIRST,
    )


@mutation(
    "recursion",
    "no case ends without the block itself, so nothing gives a type",
    r"endless",
    r"case|type|end",
)
def without_an_end(f):
    def endless(last: Any) -> Any:
        def endless(me: Any) -> Any:
            return ar.OneOf(KEY, {True: FIRST >> me, False: last if last is not None else SECOND >> me})

        return ar.fix(endless)

    # Nothing reads its result: what does would fix its type.
    return endless(f), lambda: ar.Pipe(endless(None), ar.Zeros([WIDTH]))


@mutation("recursion", "a vector of n elements is none of n + 1", r"grows", *SIZES)
def that_grows(build, f):
    def recursion(change: Any) -> Any:
        def grows(me: Any) -> Any:
            return ar.OneOf(KEY, {True: f, False: FIRST >> me >> change})

        return ar.fix(grows)

    return recursion(build.change()), lambda: recursion(LONGER)


@mutation("recursion", "the recursion takes an object, and a vector is none", r"around", r"float32\[3\]")
def given_what_it_does_not_take(f):
    def recursion(step: Any) -> Any:
        def around(me: Any) -> Any:
            return ar.OneOf(KEY, {True: f, False: step >> me})

        return ar.fix(around)

    return recursion(FIRST), lambda: recursion(f)


@mutation("recursion", "no type is a pair of itself", r"nests", r"itself|infinite|no end|pair|\(")
def that_nests(f):
    def recursion(nested: bool) -> Any:
        def nests(me: Any) -> Any:
            deeper = FIRST >> me
            return ar.OneOf(KEY, {True: f, False: (deeper & deeper) if nested else deeper})

        return ar.fix(nests)

    return recursion(False), lambda: recursion(True)


@mutation("metric", "a metric has one type in a model", r"'seen'|Metric", *SIZES)
def of_two_types(f, g):
    def seen(change: Any) -> Any:
        return (f & f >> ar.Metric("seen") & g >> change >> ar.Metric("seen")) >> FIRST

    return seen(ar.Identity()), lambda: seen(LONGER)


@mutation("metric", "a metric collects tensors", r"Metric", r"Input|tuple|\(")
def of_no_tensor(build, f):
    bad = build.one_of(ar.GetItem("x"), f & f, ar.Map(f))
    return (f & f >> ar.Metric("seen")) >> FIRST, lambda: (f & bad >> ar.Metric("seen")) >> FIRST


@mutation(
    "argument",
    "there is no such thing to make",
    r"NGrams|OneHot|Slice|Zeros|Vector|OneOf|Concat|Constant",
    r".",
)
def that_cannot_be(build, f):
    bad = build.one_of(
        lambda: ar.NGrams(0),
        lambda: ar.OneHot(0),
        lambda: ar.OneHot(3, 3),
        lambda: ar.OneHotFromList(["a", "a"]),
        lambda: ar.Slice(step=0),
        lambda: ar.Zeros(ar.types.Input()),
        lambda: ar.OneOf(KEY, {}),
        lambda: ar.Constant("text"),
        lambda: ar.Concat("0"),  # type: ignore[arg-type]
    )
    return f, bad
