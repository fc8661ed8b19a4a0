"""Hints for values of an example that do not fit: which block takes them, or what was meant."""

from __future__ import annotations

import difflib
import math
from collections.abc import Mapping
from numbers import Real

import numpy as np

from arrows.combinators import attributes
from arrows.typesys import types as T

OPTIONAL = "where it may be None, put ar.Optional(f) around what reads it: None gives zeros, or what you say"


def hint_for_leaf(value: object, tensor: T.Tensor, depth: int) -> str:
    """Says what takes a value that does not fit a leaf; empty where nothing is obvious.

    Args:
        value: the value, or the part of it that does not fit.
        tensor: the type of the leaf.
        depth: how many axes lie outside of the part.

    >>> hint_for_leaf(1.5, T.Tensor((), "int32"), 0)
    "ar.Scalar('float32') takes it; to round it: ar.InputTransform(round) >> ar.Scalar('int32')"
    >>> hint_for_leaf([1, 2], T.Tensor((3,)), 0)
    'ar.Vector(2) takes it; ar.Map(ar.Scalar()) takes lists of any length'
    """
    try:
        return _hint_for_leaf(value, tensor, depth)
    except Exception:  # noqa: BLE001 (a user's object may raise anything when it is looked at)
        return ""


def _hint_for_leaf(value: object, tensor: T.Tensor, depth: int) -> str:
    number = leaf_of(T.Tensor((), tensor.dtype))
    if depth == tensor.ndim and isinstance(value, str):
        return _for_text(value, tensor)
    if depth == tensor.ndim and isinstance(value, (Real, np.number)):
        return _for_number(value, tensor)
    if depth:
        return ""
    if value is None:
        return OPTIONAL
    if isinstance(value, Mapping):
        return f"take a field out of it: ar.GetItem({next(iter(value), 'key')!r}) >> {leaf_of(tensor)}"
    if isinstance(value, np.ndarray) and value.ndim != 1:
        return f"{leaf_of(T.Tensor(value.shape, tensor.dtype))} takes it"
    if isinstance(value, (list, tuple, np.ndarray)) and not any(isinstance(x, (list, tuple)) for x in value):
        vector = f"{leaf_of(T.Tensor((len(value),), tensor.dtype))} takes it; " if len(value) else ""
        return f"{vector}ar.Map({number}) takes lists of any length" if tensor.ndim < 2 else ""
    return f"a number alone is read by {number}" if isinstance(value, (Real, np.number)) else ""


def _for_number(value: object, tensor: T.Tensor) -> str:
    leaf, kind = leaf_of(tensor), np.dtype(tensor.dtype).kind
    if kind in "bf" or not isinstance(value, (float, np.floating)):
        return ""
    takes = f"{leaf_of(T.Tensor(tensor.shape, 'float32'), always=True)} takes it"
    rounds = math.isfinite(value) and not tensor.ndim
    return takes + (f"; to round it: ar.InputTransform(round) >> {leaf}" if rounds else "")


def _for_text(text: str, tensor: T.Tensor) -> str:
    leaf, convert = leaf_of(tensor), float if tensor.floating else int
    try:
        convert(text)
    except ValueError:
        return "words become numbers by a vocabulary in its place: ar.Vocabulary.of(words).block()"
    return f"text of a number: ar.InputTransform({convert.__name__}) >> {leaf}" if not tensor.ndim else ""


def leaf_of(tensor: T.Tensor, always: bool = False) -> str:
    """Writes the block that reads a type; `always` writes the element type even if it is the usual one.

    >>> leaf_of(T.Tensor(())), leaf_of(T.Tensor((3,), "int32")), leaf_of(T.Tensor((2, 3)))
    ('ar.Scalar()', "ar.Vector(3, 'int32')", 'ar.Tensor([2, 3])')
    """
    dtype = "" if tensor.dtype == "float32" and not always else repr(tensor.dtype)
    shape = "" if not tensor.ndim else str(tensor.shape[0]) if tensor.ndim == 1 else str(list(tensor.shape))
    name = ("Scalar", "Vector")[tensor.ndim] if tensor.ndim < 2 else "Tensor"
    return f"ar.{name}({', '.join(word for word in (shape, dtype) if word)})"


def hint_for_item(value: object, key: object) -> str:
    """Says what may have been meant by a `GetItem` that finds nothing.

    >>> hint_for_item({"word": 1}, "wrod")
    "did you mean 'word'? Where it may be missing: ar.GetItem('wrod', default=...)"
    """
    if value is None:
        return OPTIONAL
    names = list(value) if isinstance(value, Mapping) else attributes(value)
    listed = isinstance(value, (list, tuple)) and not isinstance(key, str)
    if isinstance(key, slice) or not (names or listed):
        return ""
    texts = [name for name in names if isinstance(name, str)]
    close = difflib.get_close_matches(key, texts, n=1) if isinstance(key, str) else []
    start = f"did you mean {close[0]!r}? W" if close else "w"
    return f"{start}here it may be missing: ar.GetItem({key!r}, default=...)"
