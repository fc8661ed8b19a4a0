"""The operators of numbers, which blocks and wires refuse: each refusal names the right spelling."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from arrows.combinators.base.arguments import shortened

ARITHMETIC = {"add": "+", "sub": "-", "mul": "*", "matmul": "@", "truediv": "/", "pow": "**"}
COMPARISONS = {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="}


class WithoutValue:
    """A block or a wire: it stands for a value before there is one, so nothing can be calculated with it.

    It refuses the operators of numbers that its class does not define, and `and`, `or`, `not` and `if`.
    """

    __slots__ = ()

    def refuse_operator(self, symbol: str, operands: tuple[object, ...]) -> NoReturn:
        """Refuses an operator; one with a single operand is written with it, as `-x`."""
        raise NotImplementedError

    def refuse_test(self) -> NoReturn:
        """Refuses to be true or false."""
        raise NotImplementedError

    def __bool__(self) -> bool:  # noqa: PLE0304  it always raises
        self.refuse_test()


def _refusing(symbol: str, swapped: bool = False) -> Callable[[Any, object], NoReturn]:
    def refuse(self: WithoutValue, other: object) -> NoReturn:
        self.refuse_operator(symbol, (other, self) if swapped else (self, other))

    return refuse


# A loop sets them, so that type checkers see none of them, and refuse these operators before anything runs.
# Blocks compare by identity, so `==` and `!=` are left to wires.
for _name, _symbol in {**ARITHMETIC, **COMPARISONS}.items():
    if _name not in ("eq", "ne"):
        setattr(WithoutValue, f"__{_name}__", _refusing(_symbol))
    if _name in ARITHMETIC:
        setattr(WithoutValue, f"__r{_name}__", _refusing(_symbol, swapped=True))


def as_function(symbol: str, operands: tuple[object, ...]) -> tuple[str, list[object]]:
    """Writes an operator as a `Function` of the blocks or wires among its operands; what else there is stands
    in the formula.

    Returns:
        The Function as text, and its arguments.

    Example:
        >>> import arrows as ar
        >>> as_function("-", (1, ar.Scalar()))
        ('ar.Function(lambda x: 1 - x)', [Scalar('float32')])
    """
    taken: list[object] = [x for x in operands if isinstance(x, WithoutValue)]
    letters = iter("xy")
    names = (next(letters) if isinstance(x, WithoutValue) else shortened(x) for x in operands)
    formula = f" {symbol} ".join(names)
    return f"ar.Function(lambda {', '.join('xy'[: len(taken)])}: {formula})", taken
