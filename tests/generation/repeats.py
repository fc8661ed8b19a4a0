"""Productions in which the same block object stands at several places, on the same value."""

from __future__ import annotations

from typing import Any

import arrows as ar
from tests.generation import parts
from tests.generation.build import WIDTH, Build, Piece, production, with_effects

KINDS = (
    "pair",
    "prefix",
    "later",
    "deeper",
    "named",
    "wires",
    "tuples of wires",
    "cases",
    "key",
    "elements",
    "folded",
    "endless",
    "shared",
    "recursion",
    "chance",
)


@production
def repeated(build: Build, depth: int) -> Piece:
    """Blocks that stand twice in blocks that stand twice."""
    piece = build.vector(depth)
    for _ in range(build.one_of(1, 2, 3)):
        piece = _twice(build, piece, build.one_of(*KINDS))
    return piece


@with_effects
def repeated_effect(build: Build, depth: int) -> Piece:
    """What has an effect has it at each place; what stands inside without one is computed once."""
    piece, join = build.vector(depth), build.join(2)
    build.metrics.add("loss")
    metric = piece.block >> build.score() >> ar.Metric("loss")
    kind = build.one_of("metric", "tap", "recursion")
    measured = (piece.block & metric) >> ar.GetItem(0)
    if kind == "metric":
        return Piece((measured & measured >> build.change()) >> join, piece.data)
    if kind == "tap":
        tapped = piece.block >> ar.Tap("tensors")
        three = (tapped & piece.block & tapped & metric) >> ar.GetItem(slice(3))
        return Piece(three >> build.join(3), piece.data)
    return _wrapped(Piece(measured, piece.data), lambda me: (me & me) >> join)


def _twice(build: Build, piece: Piece, kind: str) -> Piece:
    """A block that has another one inside several times, on the same value."""
    b, join, change = piece.block, build.join(2), build.change()
    several = ar.Sum() >> ar.Function(ar.ops.tanh)
    if kind == "recursion":
        return _wrapped(piece, lambda me: (me & me >> change) >> join)
    if kind == "pair":
        block = build.one_of(b & b, ar.AllOf(b, b)) >> join
    elif kind == "prefix":
        block = (b & b >> change) >> join
    elif kind == "later":
        block = (b >> change & b) >> join
    elif kind == "deeper":
        both = ar.AllOf(b, b >> change) >> join
        block = ar.AllOf(both, b, both >> change) >> several
    elif kind == "named":
        other = ar.Pipe(b, change, change, name="other")
        block = (ar.Pipe(b, change, name="named") & other) >> join
    elif kind == "wires":
        block = ar.arrow(lambda x: join(b(x), join(change(b(x)), b(x))))
    elif kind == "tuples of wires":

        @ar.arrow
        def block(x: Any) -> Any:
            u, v = b(x), change(b(x))
            return join(join(u, v), join(join(u, v), join(v, u)))
    elif kind == "cases":
        choice = ar.OneOf(parts.watched(_is_container), {True: (b & b >> change) >> join, False: b})
        block = ar.AllOf(choice, b, choice) >> several
    elif kind == "key":
        key = ar.InputTransform(_is_container)
        choice = ar.OneOf(key, {True: b, False: b >> change})
        block = (choice & ar.OneOf(key, {True: b >> change, False: b})) >> join
    elif kind == "elements":
        both = ar.InputTransform(_doubled) >> ar.Map((b & b >> change) >> join) >> ar.Sum()
        block = (both & b & both) >> several
    elif kind == "folded":
        element = ar.GetItem(1) >> b
        step = (ar.GetItem(0) & element & element >> change) >> build.join(3)
        folded = ar.InputTransform(_doubled) >> ar.Fold(
            step, ar.Zeros([WIDTH]), reverse=build.one_of(False, True)
        )
        block = (folded & folded >> change) >> join
    elif kind == "endless":
        spread, sequence = b >> ar.Broadcast(), ar.InputTransform(_doubled) >> ar.Map(b)
        block = (spread & sequence & spread) >> ar.Zip() >> ar.Map(build.join(3)) >> ar.Sum()
    elif kind == "shared":
        once = ar.shared(b)
        block = (once & once >> change) >> join
    else:
        dropped = b >> ar.Dropout(build.dropout)
        block = ar.AllOf(dropped, dropped, b >> change) >> several
    return Piece(block, piece.data)


def _wrapped(piece: Piece, deeper: Any) -> Piece:
    """A recursion that stands in two places on one value inside of itself; examples are one or two deep."""

    def block(me: Any) -> Any:
        inner = ar.GetItem("of")
        return ar.OneOf(parts.watched(_is_deep), {True: inner >> deeper(me), False: inner >> piece.block})

    own = piece.data.map(lambda x: {"deep": False, "of": x})
    return Piece(ar.fix(block), own | own.map(lambda x: {"deep": True, "of": {"deep": True, "of": x}}))


def _is_container(x: Any) -> bool:
    return isinstance(x, (list, tuple, dict))


def _is_deep(x: Any) -> bool:
    return bool(x["deep"])


def _doubled(x: Any) -> list[Any]:
    return [x, x]
