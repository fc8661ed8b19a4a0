"""Side by side: `f * g` takes a pair, one block each."""

from __future__ import annotations

from typing import Any

from arrows.combinators.block import AnyBlock
from arrows.combinators.compose import Pipe, chain
from arrows.combinators.convert import as_block
from arrows.combinators.fanout import AndFan, Fan
from arrows.combinators.inputs import Item


class PairItem(Item[Any, Any]):
    """What one side of `f * g` gets: an item of the pair."""

    def __init__(self, key: int) -> None:
        super().__init__(key, arity=2)
        self.kind = "PairItem"

    def brief(self, depth: int) -> str:
        return f"item {self.key} of the pair"


class Parallel(Fan[Any, Any]):
    """The fan-out that `*` makes: each side reads its item of the pair."""

    def __init__(self, left: AnyBlock, right: AnyBlock) -> None:
        super().__init__((chain(PairItem(0), left), chain(PairItem(1), right)))

    def operands(self) -> list[tuple[list[AnyBlock], bool]]:
        """The steps of each side, and whether they stand in brackets where the block is written."""
        found: list[tuple[list[AnyBlock], bool]] = []
        for place, part in enumerate(self.parts):
            steps = list(part.parts[1:]) if type(part) is Pipe and part.name is None else []
            only = steps[0] if len(steps) == 1 else None
            loose = (isinstance(only, AndFan) and only.name is None) or (
                place == 1 and isinstance(only, Parallel)
            )
            found.append((steps, len(steps) > 1 or loose))
        return found

    def brief(self, depth: int) -> str:
        if depth == 0:
            return "two side by side"
        words = []
        for steps, brackets in self.operands():
            text = " >> ".join(step.brief(depth - 1) for step in steps[:3]) or "Identity()"
            if len(steps) > 3:
                text = f"a chain of {len(steps)}"
            words.append(f"({text})" if brackets else text)
        return " * ".join(words)


def side_by_side(left: Any, right: Any) -> Parallel:
    """`left * right`."""
    return Parallel(as_block(left, "the left side of *"), as_block(right, "the right side of *"))
