"""Laws of graphs: messages along edges, and elements in groups."""

from __future__ import annotations

from typing import Any

import arrows as ar
from tests.laws.law import change, join, law, sequence, some

FIRST, SECOND = ar.GetItem(0), ar.GetItem(1)


def chained(xs: Any) -> Any:
    """Edges from each element to the next."""
    return [(i, i + 1) for i in range(len(xs) - 1)]


def complete(xs: Any) -> Any:
    """Edges from each element to each."""
    return [(i, j) for j in range(len(xs)) for i in range(len(xs))]


EACH = ar.InputTransform(lambda xs: range(len(xs)), name="each")
ONE = ar.InputTransform(lambda xs: [0], name="one")
ZEROS = ar.InputTransform(lambda xs: [0] * len(xs), name="zeros")
CHAIN, ALL = ar.InputTransform(chained), ar.InputTransform(complete)


@law("GroupBy, each to a group of its own == Map(a group of one)", sequence)
def _(s):
    return (s & EACH & s) >> ar.GroupBy() >> ar.Map(FIRST), s


@law("GroupBy, all to one group == the elements", sequence)
def _(s):
    return (s & ZEROS & ONE) >> ar.GroupBy() >> FIRST, s


@law("Map(f) before GroupBy == Map(Map(f)) after it", sequence, change)
def _(s, f):
    return (s >> ar.Map(f) & ZEROS & s) >> ar.GroupBy(), (s & ZEROS & s) >> ar.GroupBy() >> ar.Map(ar.Map(f))


@law("MessagePassing(first) along i -> i + 1 == Shift(1)", sequence)
def _(s):
    return (s & CHAIN) >> ar.MessagePassing(FIRST), s >> ar.Shift(1)


@law("MessagePassing(f, g) along i -> i == ZipWith(f >> g)", sequence, join, join)
def _(s, f, g):
    loops = EACH >> ar.Map(ar.Identity() & ar.Identity())
    return (s & loops) >> ar.MessagePassing(f, g, features=False), s >> ar.Map(
        ((ar.Identity() & ar.Identity()) >> f & ar.Identity()) >> g
    )


@law("MessagePassing between all, combine='mean' == each the mean", some)
def _(s):
    return (s & ALL) >> ar.MessagePassing(FIRST, combine="mean"), (
        s & s >> ar.Mean() >> ar.Broadcast()
    ) >> ar.ZipWith(SECOND)


@law("MessagePassing with features == without, of messages that ignore them", sequence, join)
def _(s, f):
    ignoring = (FIRST & SECOND) >> f
    beside = CHAIN >> ar.Map(ar.Zeros([3]))
    return (s & CHAIN & beside) >> ar.MessagePassing(ignoring, f, features=True), (
        s & CHAIN
    ) >> ar.MessagePassing(f, f)
