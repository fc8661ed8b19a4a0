"""Every operator on blocks and wires works, or is refused in words that name the right spelling."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import arrows as ar
from arrows.typesys import ArrowTypeError

BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "@": operator.matmul, "/": operator.truediv,
    "**": operator.pow, ">>": operator.rshift, "&": operator.and_, "<": operator.lt, "<=": operator.le,
    ">": operator.gt, ">=": operator.ge, "==": operator.eq, "!=": operator.ne,
}  # fmt: skip
UNARY: dict[str, Callable[[Any], Any]] = {
    "not": operator.not_, "if": lambda x: 1 if x else 2, "and": lambda x: x and 1,
    "list": lambda x: [*x], "sum": lambda x: sum([x, x]),
}  # fmt: skip
PYTHONS = {
    "-": operator.neg, "abs": abs, "//": lambda x: x // 2, "%": lambda x: x % 2, "|": lambda x: x | x,
    "<<": lambda x: x << x, "^": lambda x: 2 ^ x, "len": len, "int": int, "float": float, "round": round,
    "index": range,
}  # fmt: skip
OTHERS: dict[str, Any] = {
    "number": 2, "float": 1.5, "text": "a", "none": None, "array": np.ones(2), "row": np.float32(2),
    "list": [1, 2], "dict": {"a": ar.Scalar()}, "tuple": (ar.Scalar(),), "block": ar.FC(3, name="dense"),
}  # fmt: skip
COMPOSE = (">>", "&", "*")
IDENTITY = ("==", "!=")


def refused(attempt: Callable[[], Any]) -> str:
    """The text of the refusal, which must say what to do instead."""
    with pytest.raises(ArrowTypeError) as caught:
        attempt()
    assert caught.value.details.hint, str(caught.value)
    return " ".join(str(caught.value).split())


PAIRS = [
    pytest.param(symbol, other, swapped, id=f"{other} {symbol} it" if swapped else f"it {symbol} {other}")
    for symbol in BINARY
    for other in OTHERS
    for swapped in (False, True)
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


@pytest.mark.parametrize("symbol", [symbol for symbol in BINARY if symbol not in (">>", "&")])
def test_two_operands_with_a_wire(symbol: str) -> None:
    operate = BINARY[symbol]
    for other in OTHERS.values():
        refused(lambda other=other: ar.arrow(lambda x: operate(x, other)))
        refused(lambda other=other: ar.arrow(lambda x: operate(other, x)))
    refused(lambda: ar.arrow(lambda x: operate(x, x["other"])))


@pytest.mark.parametrize("symbol", UNARY)
def test_one_operand(symbol: str) -> None:
    refused(lambda: UNARY[symbol](ar.Scalar()))
    refused(lambda: ar.arrow(UNARY[symbol]))


@pytest.mark.parametrize("symbol", PYTHONS)
def test_what_python_refuses(symbol: str) -> None:
    with pytest.raises(TypeError, match="Read"):
        PYTHONS[symbol](ar.Scalar())
    with pytest.raises(TypeError, match=r"Wire|wire"):
        ar.arrow(lambda x: PYTHONS[symbol](x))


@pytest.mark.parametrize(
    ("attempt", "hint"),
    [
        (lambda f, g: f + g, "(Scalar('float32') & dense) >> ar.Function(lambda x, y: x + y)"),
        (lambda f, g: f - 2, "Scalar('float32') >> ar.Function(lambda x: x - 2)"),
        (lambda f, g: 2 - f, "Scalar('float32') >> ar.Function(lambda x: 2 - x)"),
        (lambda f, g: f < g, "(Scalar('float32') & dense) >> ar.Function(lambda x, y: x < y)"),
        (lambda f, g: f[0], "block >> ar.GetItem(0)"),
        (lambda f, g: f and g, "both results: f & g; one by value: ar.OneOf(key, {...})"),
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
        (lambda p: p >> ar.Scalar(), "then call it on the wire, as ar.Map(f)(wire)"),
    ],
)
def test_a_decision_in_an_arrow_names_one_of(body: Any, hint: str) -> None:
    assert hint in refused(lambda: ar.arrow(body))
