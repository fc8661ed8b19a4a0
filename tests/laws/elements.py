"""Laws of parts of sequences, of what stands beside all elements, and of units and pairs."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

import arrows as ar
from arrows import ops
from tests.generation.build import WIDTH, words
from tests.laws.law import Law, change, integers, join, reader, sequence, some

FIRST, SECOND = ar.GetItem(0), ar.GetItem(1)


BROADCAST = [
    Law(
        "(s & Broadcast(c)) >> Zip >> Map(first) == s",
        ("Broadcast", "Zip"),
        (sequence, reader),
        lambda s, c: (s & c >> ar.Broadcast()) >> ar.Zip() >> ar.Map(FIRST),
        lambda s, c: s,
        "c has no effects",
    ),
    Law(
        "Broadcast >> Map(f) == f >> Broadcast",
        ("Broadcast", "Map"),
        (sequence, reader, change),
        lambda s, c, f: (s & c >> ar.Broadcast() >> ar.Map(f)) >> ar.Zip(),
        lambda s, c, f: (s & c >> f >> ar.Broadcast()) >> ar.Zip(),
        "f has no effects",
    ),
    Law(
        "(Broadcast(c) & Broadcast(d)) >> Zip == Broadcast(c & d)",
        ("Broadcast", "Zip"),
        (sequence, reader, reader),
        lambda s, c, d: (s & (c >> ar.Broadcast() & d >> ar.Broadcast()) >> ar.Zip()) >> ar.Zip(),
        lambda s, c, d: (s & (c & d) >> ar.Broadcast()) >> ar.Zip(),
    ),
    Law(
        "Broadcast of an object, read at each element == read, then Broadcast",
        ("Broadcast", "Map"),
        (sequence, reader, join),
        lambda s, c, j: (s & ar.Broadcast() >> ar.Map(c)) >> ar.ZipWith(j),
        lambda s, c, j: (s & c >> ar.Broadcast()) >> ar.ZipWith(j),
        "c has no effects",
    ),
]

PARTS = [
    Law("Slice() == Identity", ("Slice", "Identity"), (sequence,), lambda s: s >> ar.Slice(), lambda s: s),
    Law(
        "Slice(start=a) >> Slice(start=b) == Slice(start=a + b)",
        ("Slice",),
        (sequence,),
        lambda s: s >> ar.Slice(start=1) >> ar.Slice(start=2),
        lambda s: s >> ar.Slice(start=3),
        "a >= 0 and b >= 0",
    ),
    Law(
        "Slice >> Map(f) == Map(f) >> Slice",
        ("Slice", "Map"),
        (sequence, change),
        lambda s, f: s >> ar.Slice(start=-3, stop=3, step=2) >> ar.Map(f),
        lambda s, f: s >> ar.Map(f) >> ar.Slice(start=-3, stop=3, step=2),
        "f has no effects",
    ),
    Law(
        "Slice before reading == Slice after reading",
        ("Slice",),
        (sequence,),
        lambda s: ar.Slice(start=1, stop=-1) >> s,
        lambda s: s >> ar.Slice(start=1, stop=-1),
    ),
    Law(
        "Slice(step=-1) == Reverse",
        ("Slice", "Reverse"),
        (sequence,),
        lambda s: s >> ar.Slice(step=-1),
        lambda s: s >> ar.Reverse(),
    ),
    Law(
        "GetItem(k, default=d) == InputTransform(x -> x.get(k, d))",
        ("GetItem",),
        (),
        lambda: ar.GetItem("x", default=0.5) >> ar.Scalar() >> _SPREAD,
        lambda: ar.InputTransform(lambda x: x.get("x", 0.5)) >> ar.Scalar() >> _SPREAD,
        data=st.dictionaries(st.sampled_from(["x", "y"]), words),
    ),
    Law(
        "Slice(a, b) == GetItem(slice(a, b))",
        ("Slice", "GetItem"),
        (sequence,),
        lambda s: s >> ar.Slice(start=1, stop=3),
        lambda s: s >> ar.GetItem(slice(1, 3)),
    ),
    Law(
        "(s[:n], s[n:]) have the sum of s",
        ("Slice", "Sum"),
        (integers,),
        lambda s: s >> (ar.Slice(stop=2) >> ar.Sum() & ar.Slice(start=2) >> ar.Sum()) >> ar.Sum(),
        lambda s: s >> ar.Sum(),
    ),
    Law(
        "Nth of (s, n) == GetItem(n)",
        ("Nth", "GetItem"),
        (some,),
        lambda s: (s & ar.InputTransform(lambda x: -1)) >> ar.Nth(),
        lambda s: s >> ar.GetItem(-1),
    ),
    Law(
        "Nth of (s >> Map(f), n) == Nth >> f",
        ("Nth", "Map"),
        (some, change),
        lambda s, f: (s >> ar.Map(f) & ar.InputTransform(lambda x: 0)) >> ar.Nth(),
        lambda s, f: (s & ar.InputTransform(lambda x: 0)) >> ar.Nth() >> f,
        "f has no effects",
    ),
    Law(
        "Nth before reading == Nth after reading",
        ("Nth",),
        (),
        lambda: (FIRST & SECOND) >> ar.Nth() >> ar.Scalar(),
        lambda: (FIRST >> ar.Map(ar.Scalar()) & SECOND) >> ar.Nth(),
        data=st.tuples(st.lists(words, min_size=2, max_size=4), st.integers(-2, 1)),
    ),
    Law(
        "Nth of (Reverse(s), n) == Nth of (s, -1 - n)",
        ("Nth", "Reverse"),
        (some,),
        lambda s: (s >> ar.Reverse() & ar.InputTransform(lambda x: 0)) >> ar.Nth(),
        lambda s: (s & ar.InputTransform(lambda x: -1)) >> ar.Nth(),
    ),
    Law(
        "Map(f) >> Length == Length",
        ("Length", "Map"),
        (sequence, change),
        lambda s, f: s >> ar.Map(f) >> ar.Length(),
        lambda s, f: s >> ar.Length(),
        "f has no effects",
    ),
    Law(
        "Reverse >> Length == Length",
        ("Length", "Reverse"),
        (sequence,),
        lambda s: s >> ar.Reverse() >> ar.Length(),
        lambda s: s >> ar.Length(),
    ),
    Law(
        "Length == Map(1) >> Sum",
        ("Length", "Sum"),
        (sequence,),
        lambda s: s >> ar.Length(),
        lambda s: s >> ar.Map(ar.Constant(1)) >> ar.Sum(),
    ),
    Law(
        "Length before reading == Length after reading",
        ("Length",),
        (sequence,),
        lambda s: ar.Length("int64"),
        lambda s: s >> ar.Length("int64"),
    ),
    Law(
        "Length of a tuple == the number of its items",
        ("Length",),
        (reader, reader),
        lambda f, g: (f & g) >> ar.Length(),
        lambda f, g: ar.Constant(2),
    ),
    Law(
        "NGrams(1) == Map(1-tuple)",
        ("NGrams", "Map", "AllOf"),
        (sequence,),
        lambda s: s >> ar.NGrams(1),
        lambda s: s >> ar.Map(ar.AllOf(ar.Identity())),
    ),
    Law(
        "NGrams(2) == (s & s[1:]) >> Zip",
        ("NGrams", "Zip", "Slice"),
        (sequence,),
        lambda s: s >> ar.NGrams(2),
        lambda s: s >> (ar.Identity() & ar.Slice(start=1)) >> ar.Zip(strict=False),
    ),
    Law(
        "Map(f) >> NGrams(2) == NGrams(2) >> Map(f * f)",
        ("NGrams", "Map"),
        (sequence, change),
        lambda s, f: s >> ar.Map(f) >> ar.NGrams(2),
        lambda s, f: s >> ar.NGrams(2) >> ar.Map(f * f),
        "f has no effects",
    ),
    Law(
        "NGrams before reading == NGrams after reading",
        ("NGrams",),
        (),
        lambda: ar.NGrams(3) >> ar.Map(ar.Record((ar.Scalar(),) * 3)),
        lambda: ar.Map(ar.Scalar()) >> ar.NGrams(3),
        data=st.lists(words, max_size=5),
    ),
]

BESIDE = [
    Law(
        "f * g == first >> f & second >> g",
        ("Pipe", "AllOf", "GetItem"),
        (reader, reader, change, change),
        lambda u, v, f, g: (u & v) >> f * g,
        lambda u, v, f, g: (u & v) >> (FIRST >> f & SECOND >> g),
    ),
    Law(
        "(f & g) >> (h * k) == f >> h & g >> k",
        ("AllOf", "Pipe"),
        (reader, reader, change, change),
        lambda f, g, h, k: (f & g) >> h * k,
        lambda f, g, h, k: f >> h & g >> k,
    ),
    Law(
        "f * g >> h * k == (f >> h) * (g >> k)",
        ("Pipe",),
        (change, change, change, change, reader, reader),
        lambda f, g, h, k, u, v: (u & v) >> (f * g) >> (h * k),
        lambda f, g, h, k, u, v: (u & v) >> (f >> h) * (g >> k),
    ),
    Law(
        "Identity * Identity == Identity",
        ("Identity",),
        (reader, reader),
        lambda f, g: (f & g) >> ar.Identity() * ar.Identity(),
        lambda f, g: f & g,
    ),
    Law(
        "f * g >> swap == swap >> g * f",
        ("GetItem",),
        (reader, reader, change, change),
        lambda u, v, f, g: (u & v) >> (f * g) >> (SECOND & FIRST),
        lambda u, v, f, g: (u & v) >> (SECOND & FIRST) >> g * f,
    ),
    Law(
        "f * g, of objects == read first, then side by side",
        ("Record",),
        (change, change),
        lambda f, g: (ar.Scalar() >> _SPREAD >> f) * (ar.Scalar() >> _SPREAD >> g),
        lambda f, g: ar.Record((ar.Scalar(), ar.Scalar())) >> (_SPREAD >> f) * (_SPREAD >> g),
        data=st.tuples(words, words),
    ),
]

_SPREAD = ar.Function(lambda x: x * np.linspace(0.25, 0.5, WIDTH, dtype="float32"))

UNITS = [
    Law(
        "OneHot(n) == Scalar >> one_hot",
        ("OneHot", "Scalar"),
        (),
        lambda: ar.OneHot(4),
        lambda: ar.Scalar("int32") >> ar.Function(lambda i: ops.one_hot(i, 4)),
        data=words,
    ),
    Law(
        "OneHot(a, b) == InputTransform(x -> x - a) >> OneHot(b - a)",
        ("OneHot", "InputTransform"),
        (),
        lambda: ar.OneHot(-2, 3, "int32"),
        lambda: ar.InputTransform(lambda x: x + 2) >> ar.OneHot(5, dtype="int32"),
        data=st.integers(-2, 2),
    ),
    Law(
        "OneHotFromList(range(n)) == OneHot(n)",
        ("OneHot", "OneHotFromList"),
        (),
        lambda: ar.OneHotFromList(range(4)),
        lambda: ar.OneHot(4),
        data=words,
    ),
    Law(
        "OneHotFromList(strict=False) == OneHotFromList, of what is in the list",
        ("OneHotFromList",),
        (),
        lambda: ar.OneHotFromList("abc", strict=False),
        lambda: ar.OneHotFromList("abc"),
        data=st.sampled_from("abc"),
    ),
    Law(
        "OneHotFromList(strict=False) == zeros, of what is not",
        ("OneHotFromList", "Zeros"),
        (),
        lambda: ar.OneHotFromList("abc", strict=False),
        lambda: ar.Zeros([3]),
        data=st.sampled_from(["d", None, 0, ()]),
    ),
    Law(
        "Input(dict) == Identity",
        ("Input", "Identity", "InputTransform"),
        (reader,),
        lambda f: ar.InputTransform(lambda x: {"x": x}) >> ar.Input(dict).get(lambda x: x["x"]) >> f,
        lambda f: f,
    ),
    Law(
        "Input >> f == f",
        ("Input",),
        (reader,),
        lambda f: ar.Input() >> f,
        lambda f: f,
    ),
]

LAWS = [*BROADCAST, *PARTS, *BESIDE, *UNITS]
