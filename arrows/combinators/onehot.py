"""Unit vectors of integers and of other objects: `OneHot`, `OneHotFromList`."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from arrows import ops
from arrows.combinators.apply import Function
from arrows.combinators.base.arguments import places_of, require_integer, shortened, wrong_argument
from arrows.combinators.base.block import AnyBlock, Block, derived
from arrows.combinators.inputs import InputTransform, Scalar, Unfit
from arrows.ops import TensorLike
from arrows.typesys import explains_arguments, static, types as T

UnitVector: TypeAlias = static.Tensor[Any, tuple[Any]]

_SHOWN = 8  # a message names at most so many elements


@explains_arguments("block")
def OneHot(
    start: int, stop: int | None = None, dtype: str = "float32", *, name: str | None = None
) -> Block[int, UnitVector]:
    """Reads an integer as a unit vector: 1 at its place, 0 elsewhere.

    Args:
        start: the first integer; alone it is the end of a range that begins at 0, as in `range`.
        stop: one more than the last integer.
        dtype: element type of the vector.
        name: the name in messages.

    Raises:
        ArrowTypeError: a bound is no integer, or there is no such element type.
        ArrowValueError: the range is empty.
        InputError: at evaluation, something else than an integer of the range.

    Source: TensorFlow Fold, `td.OneHot`.

    Example:
        >>> import arrows as ar
        >>> ar.OneHot(3).eval(1).tolist(), ar.OneHot(-1, 1, "int32").eval(-1).tolist()
        ([0.0, 1.0, 0.0], [1, 0])
    """
    hint = "ar.OneHot(10) takes 0 to 9; to choose from a list: ar.OneHotFromList(['noun', 'verb'])"
    for bound in (start,) if stop is None else (start, stop):
        require_integer("a OneHot", "a bound", bound, hint=hint)
    first, end = (0, start) if stop is None else (start, stop)
    length = f"the length of the range from {first} to {end}"
    size = require_integer("a OneHot", length, end - first, 1, 2**31 - 1, hint)
    words = f"{start}" if stop is None else f"{start}, {stop}"
    return _one_hot("OneHot", [words], partial(_place_in_range, first, end), size, size, dtype, name)


@explains_arguments("block")
def OneHotFromList(
    elements: Iterable[Hashable], dtype: str = "float32", strict: bool = True, *, name: str | None = None
) -> Block[Any, UnitVector]:
    """Reads an element of a list as a unit vector: 1 at its place in the list, 0 elsewhere.

    Args:
        elements: the elements in order; each can be hashed, and no two are equal. A string stands for its
            letters.
        dtype: element type of the vector.
        strict: whether anything else is an error; if not, it gives zeros.
        name: the name in messages.

    Raises:
        ArrowTypeError: an element cannot be hashed, or there is no such element type.
        ArrowValueError: two elements are equal (1, 1.0 and True are).
        InputError: at evaluation, if `strict`, something else than one of the elements.

    Source: TensorFlow Fold, `td.OneHotFromList`.

    Example:
        >>> import arrows as ar
        >>> ar.OneHotFromList(["noun", "verb"]).eval("verb").tolist()
        [0.0, 1.0]
        >>> ar.OneHotFromList(["noun", "verb"], strict=False).eval("adverb").tolist()
        [0.0, 0.0]
    """
    if not isinstance(elements, Iterable):
        raise wrong_argument(
            "a OneHotFromList",
            f"expected a list of elements, got {elements!r}",
            hint="ar.OneHotFromList(['noun', 'verb'])",
        )
    listed = list(elements)
    hint = "leave one out; dict.fromkeys(elements) keeps the first of each"
    places = places_of("a OneHotFromList", "element", listed, hint)
    size = len(listed)
    shown = f"[{', '.join(map(_short, listed[:_SHOWN]))}{', ...' if len(listed) > _SHOWN else ''}]"
    look_up = partial(_place_in_list, places, shown if strict else "")
    words = [shown] if strict else [shown, "strict=False"]
    return _one_hot("OneHotFromList", words, look_up, size, size + (not strict), dtype, name)


def _one_hot(
    head: str,
    words: list[str],
    look_up: Callable[[Any], int],
    size: int,
    places: int,
    dtype: str,
    name: str | None,
) -> Block[Any, Any]:
    unit: AnyBlock = Function(partial(_unit_vector, size, places, T.Tensor((), dtype).dtype))
    return derived(head, words, InputTransform(look_up), Scalar("int32"), unit, name=name)


def _place_in_range(first: int, end: int, x: object) -> int:
    """Finds the place of an integer in a range."""
    if isinstance(x, np.ndarray) and x.ndim == 0:
        x = x[()]
    if not isinstance(x, (int, np.integer, np.bool_)) or not first <= int(x) < end:
        raise Unfit(f"expected an int from {first} to {end - 1}, got {_short(x)}")
    return int(x) - first


def _place_in_list(places: dict[Hashable, int], shown: str, x: Hashable) -> int:
    """Finds the place of an object in a list, which an error shows; the place after the last if none does."""
    try:
        place = places.get(x)
    except Exception:  # noqa: BLE001 (it cannot be hashed, or its own comparison fails)
        place = None
    if place is None and shown:
        raise Unfit(f"{_short(x)} is not among the elements {shown}")
    return len(places) if place is None else place


def _unit_vector(size: int, places: int, dtype: str, place: TensorLike) -> TensorLike:
    """Makes the unit vector of one of `places` places; from `size` on a place gives zeros."""
    unit = ops.one_hot(place, places, dtype)
    return unit if size == places else unit[:size]


def _short(x: object) -> str:
    return shortened(x.item() if isinstance(x, np.generic) else x)
