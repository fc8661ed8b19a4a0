"""What is too large to be typed, in words: expressions of too many places, types of too many parts."""

from __future__ import annotations

from arrows.inference.occurrences import Occurrence
from arrows.inference.reasons import name_of, path
from arrows.typesys.errors import ArrowTypeError, Side, message
from arrows.typesys.terms import MAX_PARTS


def too_large(node: Occurrence, most: int) -> ArrowTypeError:
    """An expression whose places cannot all be looked at."""
    return ArrowTypeError(
        message(
            "cannot type the expression",
            [Side(name_of(node), "? -> ?", node.form.site)],
            path(node),
            f"it has more than {most:,} places, and this is one of them: a block that stands twice in a "
            "block that stands twice, and so on, stands at twice as many places at each level",
            "the same block on the same value is one place, if it is in one case of a choice and nothing "
            "inside has an effect (a Metric, a Tap, dropout); else name the value in an @ar.arrow, and read "
            "the name twice",
        )
    )


def too_wide(node: Occurrence, width: int) -> ArrowTypeError:
    """A type whose parts cannot all be looked at."""
    return ArrowTypeError(
        message(
            f"cannot type {name_of(node)}",
            [Side(name_of(node), "? -> ?", node.form.site)],
            path(node),
            f"a type has {_count(width)} parts here, and {MAX_PARTS:,} is the most: "
            "a tuple of a tuple with itself, and so on, has twice as many at each level",
            "join the items before the next level: (f & f) >> ar.Concat(), or a Function of both",
        )
    )


def _count(n: int) -> str:
    return f"{n:,}" if n < 10**9 else f"more than 2**{(n - 1).bit_length() - 1}"
