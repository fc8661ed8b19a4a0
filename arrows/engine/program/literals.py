"""Reads what stands inside of the lines of a program: numbers, ranges, attributes, constants."""

from __future__ import annotations

import ast
from collections.abc import Hashable, Iterator

import numpy as np

from arrows.ops.arrays import HostArray
from arrows.typesys import types as T


class NotReadable(Exception):
    """Says what is wrong with a line."""


def zeros(generator: np.random.Generator, shape: tuple[int, ...], dtype: str) -> HostArray:
    """Initializes parameters that exist in text alone."""
    return np.zeros(shape, dtype)


def numbers_of(text: str) -> tuple[int, ...]:
    """``0, 1``"""
    words = [word.strip() for word in text.split(",")]
    if not all(word.isdecimal() for word in words):
        raise NotReadable(f"expected numbers, got {text!r}")
    return tuple(map(int, words))


def ranges_of(text: str) -> Iterator[tuple[int, int]]:
    """``0:3, 0:4``"""
    for part in filter(None, (part.strip() for part in text.split(","))):
        start, colon, stop = part.partition(":")
        if not (start.isdecimal() and colon and stop.isdecimal()):
            raise NotReadable(f"expected a range such as 0:3, got {part!r}")
        yield int(start), int(stop)


def attributes_of(text: str) -> Iterator[tuple[str, Hashable]]:
    """``axis=-1, keepdims=True``"""
    call = _expression(f"f({text})", text)
    if not isinstance(call, ast.Call) or call.args:
        raise NotReadable(f"expected attributes such as axis=-1, got {text!r}")
    for keyword in call.keywords:
        if keyword.arg is None:
            raise NotReadable(f"expected attributes such as axis=-1, got {text!r}")
        value = _literal(keyword.value, text)
        if not isinstance(value, Hashable):
            raise NotReadable(f"the attribute {keyword.arg} is a {type(value).__name__}")
        yield keyword.arg, value


def array_of(type: T.Tensor, text: str) -> HostArray:
    """A constant: its numbers, or one number that stands everywhere."""
    if text == str(type):
        raise NotReadable("a constant of so many numbers is not written out, and cannot be read")
    try:
        array = np.array(_literal(_expression(text, text), text), type.dtype)
        if array.ndim and array.shape != type.shape and not (array.size == 0 and 0 in type.shape):
            raise NotReadable(f"the numbers have the shape {list(array.shape)}")
    except (TypeError, ValueError, OverflowError):
        raise NotReadable(f"{text!r} are no numbers of {type.dtype}") from None
    array = np.full(type.shape, array) if not array.ndim else array.reshape(type.shape)
    array.flags.writeable = False
    return array


def _expression(text: str, shown: str) -> ast.expr:
    try:
        return ast.parse(text, mode="eval").body
    except SyntaxError:
        raise NotReadable(f"{shown!r} cannot be read") from None


def _literal(node: ast.expr, text: str) -> object:
    """A literal of Python, in which `inf` and `nan` may stand."""
    try:
        return ast.literal_eval(_Floats().visit(node))
    except (ValueError, TypeError):
        raise NotReadable(f"{text!r} is no literal") from None


class _Floats(ast.NodeTransformer):
    """Makes numbers of the names that Python writes for floats without a literal."""

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return ast.Constant(float(node.id)) if node.id in ("inf", "nan") else node
