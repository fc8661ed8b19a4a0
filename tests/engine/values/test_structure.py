"""Generators that call generators."""

from __future__ import annotations

import pytest

from arrows.engine.values import Recursion, trampoline


def test_deep_recursion_in_order() -> None:
    visits = []

    def tree(depth: int) -> Recursion[int]:
        visits.append(depth)
        if depth == 0:
            return 1
        return (yield tree(depth - 1)) + (yield tree(depth - 1))

    assert trampoline(tree(3)) == 8
    assert visits == [3, 2, 1, 0, 0, 1, 0, 0, 2, 1, 0, 0, 1, 0, 0]


def test_an_exception_leaves_with_a_short_traceback() -> None:
    def down(n: int) -> Recursion[int]:
        if n == 0:
            raise KeyError("here")
        return (yield down(n - 1))

    with pytest.raises(KeyError, match="here") as caught:
        trampoline(down(50_000))
    assert len(caught.traceback) < 5
