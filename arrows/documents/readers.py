"""Blocks that read single values of documents: numbers, truth values, dates and texts."""

from __future__ import annotations

import math
import re
import zlib
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import numpy as np

from arrows import ops
from arrows.combinators import (
    AnyBlock,
    Concat,
    Constant,
    Function,
    InputTransform,
    Length,
    Scalar,
    Unfit,
    Vector,
)
from arrows.ops import TensorLike
from arrows.ops.arrays import HostArray
from arrows.typesys import ArrowValueError
from arrows.typesys.quoting import quoted

FARTHEST = 30.0  # deviations from the mean: what lies beyond counts as this far away
_JSON_TYPES = {
    type(None): "null",
    bool: "boolean",
    int: "number",
    float: "number",
    str: "text",
    list: "array",
    dict: "object",
}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# `fromisoformat` also takes 20240501, which may be any number.
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}.*)?", re.ASCII)
_WORD = re.compile(r"\w+|[^\w\s]")


def json_type(value: object) -> str:
    """The JSON type of a value: "null", "boolean", "number", "text", "array" or "object".

    Raises:
        ValueError: JSON has no such value.

    >>> json_type(True), json_type(1), json_type("one")
    ('boolean', 'number', 'text')
    """
    kind = _JSON_TYPES.get(type(value))
    if kind is None:
        raise Unfit(f"expected a JSON value, got an object of type {type(value).__name__}")
    return kind


def number(mean: float = 0.0, deviation: float = 1.0, *, log: bool = False) -> AnyBlock:
    """A block that reads a number and gives a vector of two: the standardised number, and 1.

    The 1 tells a number from the zeros that `ar.Optional` gives where there is none.  The number is read in
    float64, so that neighbouring times in seconds stay apart; one that lies more than 30 deviations from the
    mean counts as one at 30.

    Args:
        mean, deviation: of the numbers, or of their logarithms.
        log: take sign(x) * log(1 + |x|) first, for numbers of many magnitudes.

    Raises:
        ArrowValueError: a deviation that is not above 0.
        InputError: at evaluation, something else than a number.

    >>> number(10.0, 2.0).eval(13)
    array([1.5, 1. ], dtype=float32)
    """
    read: AnyBlock = Scalar("float64")
    return (read >> _standardised(mean, deviation, log=log) & Constant(1.0)) >> Concat()


def numbers(means: Sequence[float], deviations: Sequence[float]) -> AnyBlock:
    """A block that reads a list of as many numbers as there are means, each standardised by its own.

    Raises:
        ArrowValueError: a deviation that is not above 0, or not as many as means.
        InputError: at evaluation, a list of another length, or of something else than numbers.

    >>> numbers([0.0, 10.0], [1.0, 5.0]).eval([2, 5])
    array([ 2., -1.], dtype=float32)
    """
    if len(means) != len(deviations):
        raise ArrowValueError(f"numbers: {len(means)} means, and {len(deviations)} deviations")
    read: AnyBlock = Vector(len(means), "float64")
    return read >> _standardised(np.array(means, np.float64), np.array(deviations, np.float64))


def boolean() -> AnyBlock:
    """A block that reads a truth value: 1 for true and -1 for false, so that 0 stands for a missing one.

    >>> boolean().eval(True), boolean().eval(False)
    (array([1.], dtype=float32), array([-1.], dtype=float32))
    """
    return InputTransform(_sign, name="boolean") >> Vector(1)


def date(mean: float = 0.0, deviation: float = 1.0) -> AnyBlock:
    """A block that reads an ISO 8601 date, with or without a time, and gives a vector of seven.

    These are its day since 1970, standardised, and the sine and cosine of its place in the year, in the week
    and in the day.  A time without a zone counts as UTC.

    Args:
        mean, deviation: of the days since 1970.

    Raises:
        ArrowValueError: a deviation that is not above 0.
        InputError: at evaluation, something else than a date.

    >>> date(19_844.0, 1.0).eval("2024-05-01T06:00:00Z")[0].item()
    0.25
    """
    read: AnyBlock = InputTransform(_date_numbers, name="date") >> Vector(7, "float64")
    return read >> _standardised(np.array([mean, *[0.0] * 6]), np.array([deviation, *[1.0] * 6]))


def log_length() -> AnyBlock:
    """A block that reads a sequence and gives log(1 + its length), a vector of one.

    >>> log_length().eval(["a", "b"])
    array([1.0986123], dtype=float32)
    """
    count: AnyBlock = Length("float32")
    return count >> Function(_log_length)


def hashed_words(buckets: int, longest: int = 2, most: int = 1000) -> AnyBlock:
    """A block that reads a text as numbers from 0 to `buckets` - 1, of its words and of neighbouring ones.

    Words are in lower case, and signs are words; each run of 1 to `longest` of them has a number by its
    hash, so that no vocabulary is needed, and two may share one.  Joulin, Grave, Bojanowski, Mikolov, "Bag
    of Tricks for Efficient Text Classification", EACL 2017.

    Args:
        buckets: how many numbers there are.
        longest: how many neighbouring words have a number together.
        most: words of a text that are read; the rest is left out.

    Raises:
        InputError: at evaluation, something else than a text.

    >>> import arrows as ar
    >>> len((hashed_words(1000) >> ar.Map(ar.Scalar("int32"))).eval("A good film."))
    7
    """
    return InputTransform(HashedNGrams(buckets, longest, most, words=True), name="hashed_words")


def hashed_characters(buckets: int, longest: int = 4, most: int = 1000) -> AnyBlock:
    """As `hashed_words`, of the characters of a text, upper and lower case apart.

    For texts that are not made of words: formulas, codes, names.

    >>> import arrows as ar
    >>> len((hashed_characters(1000, longest=2) >> ar.Map(ar.Scalar("int32"))).eval("CCO"))
    5
    """
    return InputTransform(HashedNGrams(buckets, longest, most, words=False), name="hashed_characters")


def characters(text: str) -> list[str]:
    """The characters of a text, the first 1,000 at most.

    Raises:
        ValueError: not a text.

    >>> characters("tree")
    ['t', 'r', 'e', 'e']
    """
    return list(_require_text(text)[:1000])


def entries(document: dict[str, object]) -> list[dict[str, object]]:
    """The fields of an object whose keys are data, as an array of objects.

    Raises:
        ValueError: not an object.

    >>> entries({"ann": 3, "bob": 5})
    [{'key': 'ann', 'value': 3}, {'key': 'bob', 'value': 5}]
    """
    if not isinstance(document, dict):
        raise Unfit(f"expected an object, got {json_type(document)}")
    return [{"key": key, "value": value} for key, value in document.items()]


def days(text: str) -> float:
    """An ISO 8601 date as days since 1970.

    Raises:
        ValueError: not a date.

    >>> days("1970-01-02"), days("1970-01-01T12:00")
    (1.0, 0.5)
    """
    if not _DATE.fullmatch(_require_text(text)):
        raise Unfit(f"expected a date such as 2024-05-31, got {quoted(text)}")
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise Unfit(f"expected a date such as 2024-05-31, got {quoted(text)}: {error}") from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return (moment - _EPOCH) / timedelta(days=1)


def category(value: object) -> str:
    """A number or truth value as the text that names its category; a text is itself.

    Raises:
        ValueError: an array or an object.

    >>> category(3), category(3.0), category(True), category("red")
    ('3', '3', 'true', 'red')
    """
    kind = json_type(value)
    if kind == "boolean":
        return str(value).lower()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if kind not in {"text", "number"}:
        raise Unfit(f"expected a text or a number, got {kind}")
    return str(value)


class HashedNGrams:
    """From a text to the hashes of its n-grams, shorter ones first.

    >>> len(HashedNGrams(1000)("so good"))
    3
    """

    def __init__(self, buckets: int, longest: int = 2, most: int = 1000, *, words: bool = True) -> None:
        for name, value in (("buckets", buckets), ("longest", longest), ("most", most)):
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise ArrowValueError(f"n-grams: {name} should be a whole number from 1, not {value!r}")
        self.buckets, self.longest, self.most, self.words = buckets, longest, most, words
        self.__name__ = f"{buckets:,} buckets"

    def __call__(self, text: str) -> list[int]:
        read = _require_text(text)
        split = (_WORD.findall(read.lower()) if self.words else list(read))[: self.most]
        units = [unit.encode("utf-8", "surrogatepass") for unit in split]
        # crc32 is the same in every process, which `hash` is not, and mixes well enough for buckets.
        return [
            zlib.crc32(b"\0".join(units[first : first + length])) % self.buckets
            for length in range(1, self.longest + 1)
            for first in range(len(units) - length + 1)
        ]


def _require_text(value: object) -> str:
    if not isinstance(value, str):
        raise Unfit(f"expected a text, got {json_type(value)}")
    return value


def _sign(value: object) -> list[float]:
    if not isinstance(value, bool):
        raise Unfit(f"expected true or false, got {json_type(value)}")
    return [1.0 if value else -1.0]


def _date_numbers(text: str) -> list[float]:
    day = days(text)
    # The year's mean length is close enough for a season; 1970 began on a Thursday.
    turns = (day / 365.2425, (day + 3) / 7, day)
    return [day, *(f(2 * math.pi * (turn % 1.0)) for turn in turns for f in (math.sin, math.cos))]


def _log_length(length: TensorLike) -> TensorLike:
    return ops.reshape(ops.log1p(length), (1,))


def _standardised(mean: float | HostArray, deviation: float | HostArray, *, log: bool = False) -> AnyBlock:
    """A block that standardises numbers and makes them float32."""
    means, deviations = np.float64(mean), np.float64(deviation)
    if not (np.isfinite(means).all() and np.isfinite(deviations).all() and (deviations > 0).all()):
        raise ArrowValueError(
            f"numbers want a finite mean and a finite deviation above 0, not {mean} and {deviation}"
        )

    def standardise(x: TensorLike) -> TensorLike:
        value = ops.sign(x) * ops.log1p(ops.abs(x)) if log else x
        standard = (value - mean) / deviation
        return ops.minimum(ops.maximum(standard, -FARTHEST), FARTHEST).cast("float32")

    return Function(standardise)
