"""Unit vectors of integers and of things: `OneHot`, `OneHotFromList`."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np

from arrows.combinators.apply import Function
from arrows.combinators.block import AnyBlock, set_name
from arrows.combinators.compose import DerivedBlock
from arrows.combinators.inputs import Scalar, Transform, Unfit
from arrows.typesys import static
from arrows.typesys import types as T
from arrows.typesys.errors import ArrowTypeError, ArrowValueError, SourceLine, message, unhashed

_SHOWN = 8  # of many elements, so many are named in a message


class OneHot(DerivedBlock[int, static.Tensor[Any, tuple[Any]]]):
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

    def __init__(
        self, start: int, stop: int | None = None, dtype: str = "float32", *, name: str | None = None
    ) -> None:
        set_name(self, name)
        for bound in (start,) if stop is None else (start, stop):
            if isinstance(bound, bool) or not isinstance(bound, int):
                raise _refused(
                    self,
                    f"the bounds are integers, and {bound!r} is none",
                    "ar.OneHot(10) takes 0 to 9; one of some things is ar.OneHotFromList(['noun', 'verb'])",
                )
        first, end = (0, start) if stop is None else (start, stop)
        if end <= first:
            raise ArrowValueError(
                message(
                    f"cannot make a OneHot at {SourceLine.here()}",
                    reason=f"there is no integer from {first} on and below {end}",
                    hint="the end of the range is not in it: ar.OneHot(10) takes 0 to 9",
                )
            )
        words = f"{start}" if stop is None else f"{start}, {stop}"
        self._parts = _parts(self, _Range(first, end, words), end - first, end - first, dtype)

    def written(self) -> list[AnyBlock | str]:
        return [self._parts[0].arguments()]


class OneHotFromList(DerivedBlock[Any, static.Tensor[Any, tuple[Any]]]):
    """Reads one of some things as a unit vector: 1 at its place in the list, 0 elsewhere.

    Args:
        elements: what there is, in order; each can be hashed, and no two are equal.
            Those of a string are its letters.
        dtype: element type of the vector.
        strict: whether anything else is an error; if not, it gives zeros.
        name: the name in messages.

    Raises:
        ArrowTypeError: an element cannot be hashed, or there is no such element type.
        ArrowValueError: two elements are equal (1, 1.0 and True are), or there is none and `strict` is set.
        InputError: at evaluation, if `strict`, something else than one of the elements.

    Source: TensorFlow Fold, `td.OneHotFromList`.

    Example:
        >>> import arrows as ar
        >>> ar.OneHotFromList(["noun", "verb"]).eval("verb").tolist()
        [0.0, 1.0]
        >>> ar.OneHotFromList(["noun", "verb"], strict=False).eval("adverb").tolist()
        [0.0, 0.0]
    """

    strict: bool

    def __init__(
        self,
        elements: Iterable[Hashable],
        dtype: str = "float32",
        strict: bool = True,
        *,
        name: str | None = None,
    ) -> None:
        set_name(self, name)
        if not isinstance(elements, Iterable):
            raise _refused(
                self, f"expected a list of elements, got {elements!r}", "ar.OneHotFromList(['noun', 'verb'])"
            )
        known = list(elements)
        places: dict[Hashable, int] = {}
        for place, element in enumerate(known):
            try:
                first = places.setdefault(element, place)
            except Exception as error:  # noqa: BLE001 (its own __hash__ or __eq__ may raise anything)
                raise _refused(
                    self,
                    f"{unhashed(element, error)}, and so not be looked up",
                    "text, numbers and tuples of them can be",
                ) from (None if isinstance(error, TypeError) else error)
            if first != place:
                raise ArrowValueError(
                    message(
                        f"cannot make a OneHotFromList at {SourceLine.here()}",
                        reason=f"{known[first]!r} and {element!r}, elements {first} and {place}, are equal",
                        hint="leave one out; dict.fromkeys(elements) keeps the first of each",
                    )
                )
        self.strict = bool(strict)
        if not known and self.strict:
            raise ArrowValueError(
                message(
                    f"cannot make a OneHotFromList at {SourceLine.here()}",
                    reason="there are no elements, so that nothing could be read",
                    hint="strict=False reads anything as a vector of no elements",
                )
            )
        size = len(known)
        self._parts = _parts(self, _Places(places, self.strict), size, size + (not self.strict), dtype)

    def written(self) -> list[AnyBlock | str]:
        return [self._parts[0].arguments() + ("" if self.strict else ", strict=False")]


class _Range:
    """The place of an integer in a range."""

    def __init__(self, first: int, end: int, words: str) -> None:
        self.first = first
        self.end = end
        self.__name__ = words

    def __call__(self, x: Any) -> int:
        if isinstance(x, np.ndarray) and x.ndim == 0:
            x = x[()]
        if not isinstance(x, (int, np.integer, np.bool_)) or not self.first <= int(x) < self.end:
            raise Unfit(f"expected an int from {self.first} to {self.end - 1}, got {_short(x)}")
        return int(x) - self.first


class _Places:
    """The place of a thing among some; one more than the last place for others, or an error."""

    def __init__(self, places: dict[Hashable, int], strict: bool) -> None:
        self.places = places
        self.strict = strict
        shown = ", ".join(map(_short, list(places)[:_SHOWN])) + (", ..." if len(places) > _SHOWN else "")
        self.__name__ = f"[{shown}]"

    def __call__(self, x: Any) -> int:
        try:
            place = self.places.get(x)
        except Exception:  # noqa: BLE001 (it cannot be hashed, or its own comparison fails)
            place = None
        if place is None:
            if self.strict:
                raise Unfit(f"{_short(x)} is not among the elements {self.__name__}")
            return len(self.places)
        return place


class _UnitVector:
    """The unit vector of a place; of the `known` first places only."""

    __name__ = "one_hot"

    def __init__(self, known: int, size: int, dtype: str) -> None:
        self.known = known
        self.size = size
        self.dtype = dtype

    def __call__(self, place: Any) -> Any:
        from arrows import ops

        unit = ops.one_hot(place, self.size, self.dtype)
        return unit if self.known == self.size else unit[: self.known]


def _parts(block: AnyBlock, place: Any, known: int, size: int, dtype: str) -> tuple[AnyBlock, ...]:
    element = T.Tensor((), dtype).dtype
    finder: Transform[Any, Any] = Transform(place)
    finder.__dict__["kind"] = block.kind
    return finder, Scalar("int32"), Function(_UnitVector(known, size, element))


def _refused(block: AnyBlock, reason: str, hint: str = "") -> ArrowTypeError:
    return ArrowTypeError(
        message(f"cannot make a {block.kind} at {SourceLine.here()}", reason=reason, hint=hint)
    )


def _short(x: Any) -> str:
    text = repr(x.item() if isinstance(x, np.generic) else x)
    return text if len(text) <= 40 else text[:37] + "..."
