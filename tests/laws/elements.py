"""Laws of parts of sequences, of what stands beside all elements, and of units and pairs."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

import arrows as ar
from arrows import ops
from tests.generation.build import WIDTH, words
from tests.laws.law import change, integers, join, law, reader, sequence, some

FIRST, SECOND = ar.GetItem(0), ar.GetItem(1)


@law("(s & Broadcast(c)) >> Zip >> Map(first) == s", sequence, reader, where="c has no effects")
def _(s, c):
    return (s & c >> ar.Broadcast()) >> ar.Zip() >> ar.Map(FIRST), s


@law("Broadcast >> Map(f) == f >> Broadcast", sequence, reader, change, where="f has no effects")
def _(s, c, f):
    return (s & c >> ar.Broadcast() >> ar.Map(f)) >> ar.Zip(), (s & c >> f >> ar.Broadcast()) >> ar.Zip()


@law("(Broadcast(c) & Broadcast(d)) >> Zip == Broadcast(c & d)", sequence, reader, reader)
def _(s, c, d):
    return (s & (c >> ar.Broadcast() & d >> ar.Broadcast()) >> ar.Zip()) >> ar.Zip(), (
        s & (c & d) >> ar.Broadcast()
    ) >> ar.Zip()


@law(
    "Broadcast of an object, read at each element == read, then Broadcast",
    sequence,
    reader,
    join,
    where="c has no effects",
)
def _(s, c, j):
    return (s & ar.Broadcast() >> ar.Map(c)) >> ar.ZipWith(j), (s & c >> ar.Broadcast()) >> ar.ZipWith(j)


@law("Slice() == Identity", sequence)
def _(s):
    return s >> ar.Slice(), s


@law("Slice(start=a) >> Slice(start=b) == Slice(start=a + b)", sequence, where="a >= 0 and b >= 0")
def _(s):
    return s >> ar.Slice(start=1) >> ar.Slice(start=2), s >> ar.Slice(start=3)


@law("Slice >> Map(f) == Map(f) >> Slice", sequence, change, where="f has no effects")
def _(s, f):
    return s >> ar.Slice(start=-3, stop=3, step=2) >> ar.Map(f), s >> ar.Map(f) >> ar.Slice(
        start=-3, stop=3, step=2
    )


@law("Slice before reading == Slice after reading", sequence)
def _(s):
    return ar.Slice(start=1, stop=-1) >> s, s >> ar.Slice(start=1, stop=-1)


@law("Slice(step=-1) == Reverse", sequence)
def _(s):
    return s >> ar.Slice(step=-1), s >> ar.Reverse()


@law(
    "GetItem(k, default=d) == InputTransform(x -> x.get(k, d))",
    data=st.dictionaries(st.sampled_from(["x", "y"]), words),
)
def _():
    return ar.GetItem("x", default=0.5) >> ar.Scalar() >> _SPREAD, ar.InputTransform(
        lambda x: x.get("x", 0.5)
    ) >> ar.Scalar() >> _SPREAD


@law("Slice(a, b) == GetItem(slice(a, b))", sequence)
def _(s):
    return s >> ar.Slice(start=1, stop=3), s >> ar.GetItem(slice(1, 3))


@law("(s[:n], s[n:]) have the sum of s", integers)
def _(s):
    return s >> (ar.Slice(stop=2) >> ar.Sum() & ar.Slice(start=2) >> ar.Sum()) >> ar.Sum(), s >> ar.Sum()


@law("Nth of (s, n) == GetItem(n)", some)
def _(s):
    return (s & ar.InputTransform(lambda x: -1)) >> ar.Nth(), s >> ar.GetItem(-1)


@law("Nth of (s >> Map(f), n) == Nth >> f", some, change, where="f has no effects")
def _(s, f):
    return (s >> ar.Map(f) & ar.InputTransform(lambda x: 0)) >> ar.Nth(), (
        s & ar.InputTransform(lambda x: 0)
    ) >> ar.Nth() >> f


@law(
    "Nth before reading == Nth after reading",
    data=st.tuples(st.lists(words, min_size=2, max_size=4), st.integers(-2, 1)),
)
def _():
    return (FIRST & SECOND) >> ar.Nth() >> ar.Scalar(), (FIRST >> ar.Map(ar.Scalar()) & SECOND) >> ar.Nth()


@law("Nth of (Reverse(s), n) == Nth of (s, -1 - n)", some)
def _(s):
    return (s >> ar.Reverse() & ar.InputTransform(lambda x: 0)) >> ar.Nth(), (
        s & ar.InputTransform(lambda x: -1)
    ) >> ar.Nth()


@law("Map(f) >> Length == Length", sequence, change, where="f has no effects")
def _(s, f):
    return s >> ar.Map(f) >> ar.Length(), s >> ar.Length()


@law("Reverse >> Length == Length", sequence)
def _(s):
    return s >> ar.Reverse() >> ar.Length(), s >> ar.Length()


@law("Length == Map(1) >> Sum", sequence)
def _(s):
    return s >> ar.Length(), s >> ar.Map(ar.Constant(1)) >> ar.Sum()


@law("Length before reading == Length after reading", sequence)
def _(s):
    return ar.Length("int64"), s >> ar.Length("int64")


@law("Length of a tuple == the number of its items", reader, reader)
def _(f, g):
    return (f & g) >> ar.Length(), ar.Constant(2)


@law("NGrams(1) == Map(1-tuple)", sequence)
def _(s):
    return s >> ar.NGrams(1), s >> ar.Map(ar.AllOf(ar.Identity()))


@law("NGrams(2) == (s & s[1:]) >> Zip", sequence)
def _(s):
    return s >> ar.NGrams(2), s >> (ar.Identity() & ar.Slice(start=1)) >> ar.Zip(strict=False)


@law("Map(f) >> NGrams(2) == NGrams(2) >> Map(f * f)", sequence, change, where="f has no effects")
def _(s, f):
    return s >> ar.Map(f) >> ar.NGrams(2), s >> ar.NGrams(2) >> ar.Map(f * f)


@law("NGrams before reading == NGrams after reading", data=st.lists(words, max_size=5))
def _():
    return ar.NGrams(3) >> ar.Map(ar.Record((ar.Scalar(),) * 3)), ar.Map(ar.Scalar()) >> ar.NGrams(3)


@law("f * g == first >> f & second >> g", reader, reader, change, change)
def _(u, v, f, g):
    return (u & v) >> f * g, (u & v) >> (FIRST >> f & SECOND >> g)


@law("(f & g) >> (h * k) == f >> h & g >> k", reader, reader, change, change)
def _(f, g, h, k):
    return (f & g) >> h * k, f >> h & g >> k


@law("f * g >> h * k == (f >> h) * (g >> k)", change, change, change, change, reader, reader)
def _(f, g, h, k, u, v):
    return (u & v) >> f * g >> h * k, (u & v) >> (f >> h) * (g >> k)


@law("Identity * Identity == Identity", reader, reader)
def _(f, g):
    return (f & g) >> ar.Identity() * ar.Identity(), f & g


@law("f * g >> swap == swap >> g * f", reader, reader, change, change)
def _(u, v, f, g):
    return (u & v) >> f * g >> (SECOND & FIRST), (u & v) >> (SECOND & FIRST) >> g * f


@law("f * g, of objects == read first, then side by side", change, change, data=st.tuples(words, words))
def _(f, g):
    return (ar.Scalar() >> _SPREAD >> f) * (ar.Scalar() >> _SPREAD >> g), ar.Record(
        (ar.Scalar(), ar.Scalar())
    ) >> (_SPREAD >> f) * (_SPREAD >> g)


_SPREAD = ar.Function(lambda x: x * np.linspace(0.25, 0.5, WIDTH, dtype="float32"))


@law("OneHot(n) == Scalar >> one_hot", data=words)
def _():
    return ar.OneHot(4), ar.Scalar("int32") >> ar.Function(lambda i: ops.one_hot(i, 4))


@law("OneHot(a, b) == InputTransform(x -> x - a) >> OneHot(b - a)", data=st.integers(-2, 2))
def _():
    return ar.OneHot(-2, 3, "int32"), ar.InputTransform(lambda x: x + 2) >> ar.OneHot(5, dtype="int32")


@law("OneHotFromList(range(n)) == OneHot(n)", data=words)
def _():
    return ar.OneHotFromList(range(4)), ar.OneHot(4)


@law("OneHotFromList(strict=False) == OneHotFromList, of what is in the list", data=st.sampled_from("abc"))
def _():
    return ar.OneHotFromList("abc", strict=False), ar.OneHotFromList("abc")


@law("OneHotFromList(strict=False) == zeros, of what is not", data=st.sampled_from(["d", None, 0, ()]))
def _():
    return ar.OneHotFromList("abc", strict=False), ar.Zeros([3])


@law("Input(dict) == Identity", reader)
def _(f):
    return ar.InputTransform(lambda x: {"x": x}) >> ar.Input(dict).get(lambda x: x["x"]) >> f, f


@law("Input >> f == f", reader)
def _(f):
    return ar.Input() >> f, f
