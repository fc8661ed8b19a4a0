"""Every operator on blocks and wires works, or is refused in words that name the right spelling."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import arrows as ar
from arrows.typesys import ArrowTypeError, ArrowValueError

BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "@": operator.matmul, "/": operator.truediv,
    "//": operator.floordiv, "%": operator.mod, "**": operator.pow, "<<": operator.lshift,
    ">>": operator.rshift, "&": operator.and_, "|": operator.or_, "^": operator.xor, "<": operator.lt,
    "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq, "!=": operator.ne,
    "divmod": divmod,
}  # fmt: skip
UNARY: dict[str, Callable[[Any], Any]] = {
    "-": operator.neg, "+": operator.pos, "~": operator.invert, "abs": abs, "not": operator.not_,
    "bool": bool, "if": lambda x: 1 if x else 2, "len": len, "iter": iter, "list": list, "*": lambda x: [*x],
    "reversed": reversed, "sum": sum, "max": max, "int": int, "float": float, "complex": complex,
    "round": round, "trunc": math.trunc, "floor": math.floor, "ceil": math.ceil, "index": operator.index,
    "range": range, "sqrt": math.sqrt, "and": lambda x: x and 1, "or": lambda x: x or 1,
    "in": lambda x: 3 in x,
}  # fmt: skip
OTHERS: dict[str, Any] = {
    "number": 2, "float": 1.5, "text": "a", "none": None, "array": np.ones(2), "row": np.float32(2),
    "list": [1, 2], "dict": {"a": ar.Scalar()}, "tuple": (ar.Scalar(),), "block": ar.FC(3, name="dense"),
}  # fmt: skip
COMPOSE = (">>", "&", "*")
IDENTITY = ("==", "!=")


def refused(attempt: Callable[[], Any]) -> str:
    """The text of the refusal, which must say what to do instead."""
    with pytest.raises((ArrowTypeError, ArrowValueError)) as caught:
        attempt()
    assert caught.value.details.hint, str(caught.value)
    return " ".join(str(caught.value).split())


PAIRS = [
    pytest.param(symbol, other, swapped, id=f"{other} {symbol} it" if swapped else f"it {symbol} {other}")
    for symbol in BINARY
    for other in OTHERS
    for swapped in (False, True)
    if (symbol, other, swapped) != ("%", "text", True)  # the formatting of text
]


@pytest.mark.parametrize(("symbol", "other", "swapped"), PAIRS)
def test_two_operands_with_a_block(symbol: str, other: str, swapped: bool) -> None:
    f, g = ar.Scalar(), OTHERS[other]
    left, right = (g, f) if swapped else (f, g)
    if symbol in IDENTITY:
        if other != "array":  # NumPy compares an array with the block element by element
            assert BINARY[symbol](left, right) is (symbol == "!=")
    elif symbol in COMPOSE and other in ("array", "row", "dict", "tuple", "block"):
        assert isinstance(BINARY[symbol](left, right), ar.Block)
    elif symbol in COMPOSE:
        with pytest.raises(ArrowTypeError, match="expected a block"):
            BINARY[symbol](left, right)
    else:
        refused(lambda: BINARY[symbol](left, right))


@pytest.mark.parametrize(("symbol", "other", "swapped"), PAIRS)
def test_two_operands_with_a_wire(symbol: str, other: str, swapped: bool) -> None:
    def body(x: Any) -> Any:
        return BINARY[symbol](OTHERS[other], x) if swapped else BINARY[symbol](x, OTHERS[other])

    refused(lambda: ar.arrow(body))


@pytest.mark.parametrize("symbol", BINARY)
def test_two_wires(symbol: str) -> None:
    refused(lambda: ar.arrow(lambda x: BINARY[symbol](x, x["other"])))


@pytest.mark.parametrize("symbol", UNARY)
def test_one_operand_a_block(symbol: str) -> None:
    refused(lambda: UNARY[symbol](ar.Scalar()))


@pytest.mark.parametrize("symbol", UNARY)
def test_one_operand_a_wire(symbol: str) -> None:
    refused(lambda: ar.arrow(lambda x: UNARY[symbol](x)))


@pytest.mark.parametrize(
    ("attempt", "hint"),
    [
        (lambda f, g: f | g, "one after the other: f >> g; both results of one input: f & g"),
        (lambda f, g: f << g, "one after the other: f >> g; both results of one input: f & g"),
        (lambda f, g: f + g, "(Scalar('float32') & dense) >> ar.Function(lambda x, y: x + y)"),
        (lambda f, g: f - 2, "Scalar('float32') >> ar.Function(lambda x: x - 2)"),
        (lambda f, g: 2 - f, "Scalar('float32') >> ar.Function(lambda x: 2 - x)"),
        (lambda f, g: f < g, "(Scalar('float32') & dense) >> ar.Function(lambda x, y: x < y)"),
        (lambda f, g: -f, "Scalar('float32') >> ar.Function(lambda x: -x)"),
        (lambda f, g: f[0], "block >> ar.GetItem(0)"),
        (lambda f, g: f and g, "both results: f & g; one by value: ar.OneOf(key, {...})"),
        (lambda f, g: len(f), "of each example's sequence: f >> ar.Length()"),
        (lambda f, g: 3 in f, "ar.OneOf(lambda x: 3 in x, ...)"),
    ],
)
def test_the_hint_writes_what_was_meant(attempt: Any, hint: str) -> None:
    assert hint in refused(lambda: attempt(ar.Scalar(), ar.FC(3, name="dense")))


@pytest.mark.parametrize(
    ("body", "hint"),
    [
        (
            lambda p: ar.Scalar()(p["a"]) if p["a"] > 3 else p["b"],
            "in place of `if`: ar.OneOf(lambda p: p['a'] > 3, {True: f, False: g})",
        ),
        (
            lambda p: ar.Scalar()(p["a"]) if p["kind"] == "leaf" else p["b"],
            "ar.OneOf(lambda p: p['kind'] == 'leaf', {True: f, False: g})",
        ),
        (lambda p: p if p["a"] else p["b"], "in place of `if`: ar.OneOf(key, {True: f, False: g})"),
        (lambda p: p if "a" in p else p["b"], "ar.OneOf(lambda x: 'a' in x, ...)"),
        (lambda p: p["a"] + p["b"], "ar.Function(lambda x, y: x + y)(p['a'], p['b'])"),
        (lambda p: 2 * p["a"], "ar.Function(lambda x: 2 * x)(p['a'])"),
        (lambda p: p >> ar.Scalar(), "call the block on it: block(wire)"),
        (lambda p: p["a"] & p["b"], "a tuple of wires is their pair: (u, v)"),
    ],
)
def test_a_decision_in_an_arrow_names_one_of(body: Any, hint: str) -> None:
    assert hint in refused(lambda: ar.arrow(body))
