"""Blocks that read documents: numbers, truth values, dates and texts, arrays and objects of these.

Each gives a vector, and has the arguments that decisions on a path have (`decide.py`).
"""

from __future__ import annotations

import math
import re
import zlib
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta

import numpy as np

import arrows as ar
from arrows import ops
from arrows.arrays import HostArray
from arrows.combinators import AnyBlock, Unfit
from arrows.ops import TensorLike
from arrows.typesys import ArrowValueError, quoted

MOST = 1000  # words or characters of a text that are read; the rest is left out
FARTHEST = 30.0  # standard deviations from the mean: what lies beyond counts as this far away
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


def number(mean: float, std: float, *, log: bool = False, written: bool = False) -> AnyBlock:
    """A block that reads a number and gives a vector of two: the standardised number, and 1.

    The 1 tells a number from the zeros that `ar.Optional` gives where there is none.  The number is read in
    float64, so that neighbouring times in seconds stay apart; one that lies more than 30 deviations from the
    mean counts as one at 30.

    Args:
        mean, std: of the numbers, or of their logarithms.
        log: take `sign(x) * log(1 + |x|)` first, for numbers of many magnitudes.
        written: the number is written as a text.

    Raises:
        ArrowValueError: a deviation that is not above 0.
        InputError: at evaluation, something else than a number.

    >>> number(10.0, 2.0).eval(13)
    array([1.5, 1. ], dtype=float32)
    """
    value: AnyBlock = ar.Scalar("float64") >> _standardised(mean, std, log=log)
    block = (value & ar.Constant(1.0)) >> ar.Concat()
    return ar.InputTransform(float) >> block if written else block


def vector(means: Sequence[float], stds: Sequence[float]) -> AnyBlock:
    """A block that reads a list of as many numbers as there are means, each standardised by its own.

    Raises:
        ArrowValueError: a deviation that is not above 0, or not as many as means.
        InputError: at evaluation, a list of another length, or of something else than numbers.

    >>> vector([0.0, 10.0], [1.0, 5.0]).eval([2, 5])
    array([ 2., -1.], dtype=float32)
    """
    if len(means) != len(stds):
        raise ArrowValueError(f"vector: {len(means)} means, and {len(stds)} deviations")
    read: AnyBlock = ar.Vector(len(means), "float64")
    return read >> _standardised(np.array(means, np.float64), np.array(stds, np.float64))


def boolean() -> AnyBlock:
    """A block that reads a truth value: 1 for true and -1 for false, so that 0 stands for a missing one.

    >>> boolean().eval(True), boolean().eval(False)
    (array([1.], dtype=float32), array([-1.], dtype=float32))
    """
    return ar.InputTransform(_sign, name="boolean") >> ar.Vector(1)


def date(mean: float, std: float) -> AnyBlock:
    """A block that reads an ISO 8601 date, with or without a time, and gives a vector of seven.

    These are its day since 1970, standardised, and the sine and cosine of its place in the year, in the week
    and in the day.  A time without a zone counts as UTC.

    Args:
        mean, std: of the days since 1970.

    Raises:
        ArrowValueError: a deviation that is not above 0.
        InputError: at evaluation, something else than a date.

    >>> date(19_844.0, 1.0).eval("2024-05-01T06:00:00Z")[0].item()
    0.25
    """
    read = ar.InputTransform(_date_numbers, name="date")
    return read >> vector([mean, *[0.0] * 6], [std, *[1.0] * 6])


def category(words: Sequence[str], width: int, *, name: str, texts: bool = True) -> AnyBlock:
    """A block that reads one of several words as an embedding of at most `width` numbers.

    Args:
        words: those that are known; all others have one vector together.
        width: of the vector, if there are as many words.
        name: of the layer.
        texts: whether the words are texts in the documents; otherwise numbers or truth values, too.

    >>> category(["red", "blue"], 32, name="colour").eval("green").shape
    (3,)
    """
    vocabulary = ar.Vocabulary(words)
    table = ar.Embedding(len(vocabulary), min(width, len(vocabulary)), name=name)
    block: AnyBlock = vocabulary.block() >> table
    return block if texts else ar.InputTransform(category_name) >> block


def text(of: str, buckets: int, width: int, *, name: str) -> AnyBlock:
    """A block that reads a text by the hashes of its words or characters, and attention over these.

    Each run of one or two words in lower case, or of one to four characters, has one of `buckets` vectors by
    its hash, so that no vocabulary is needed, and two may share one.  Joulin, Grave, Bojanowski, Mikolov,
    "Bag of Tricks for Efficient Text Classification", EACL 2017.

    Args:
        of: "words" or "characters", the latter for texts that are not made of words: formulas, codes, names.
        buckets: how many vectors there are.
        width: of the vectors.
        name: of the layer.

    Raises:
        InputError: at evaluation, something else than a text.

    >>> text("words", 1000, 4, name="review").eval("A good film.").shape
    (5,)
    """
    hashes = ar.InputTransform(HashedNGrams(buckets, of), name=f"hashed {of}")
    each: AnyBlock = ar.Scalar("int32") >> ar.Embedding(buckets, width, name=name)
    return hashes >> ar.Map(each) >> _pooled("attention", width, name)


def array(element: AnyBlock, width: int, *, name: str, pooling: str = "pooled") -> AnyBlock:
    """A block that reads an array.

    Args:
        element: reads an element.
        width: of the state of a recurrent network.
        name: of the layer, if there is one.
        pooling: how the vectors of the elements become one: "pooled" (sum, mean and largest), "mean" or
            "attention", each with the logarithm of the length; or "sequence", a recurrent network.

    >>> array(number(0.0, 1.0), 4, name="sizes").eval([1, 2, 3]).shape
    (7,)
    """
    return ar.Input(list) >> ar.Map(element) >> _pooled(pooling, width, name)


def mapping(element: AnyBlock, width: int, *, name: str, pooling: str = "pooled") -> AnyBlock:
    """As `array`, of an object whose keys are data: `element` reads objects of a "key" and a "value".

    >>> mapping(record({"value": boolean()}, 4, name="vote"), 4, name="votes").eval({"ann": True}).shape
    (13,)
    """
    return ar.InputTransform(entries) >> ar.Map(element) >> _pooled(pooling, width, name)


def record(fields: Mapping[str, AnyBlock], width: int, *, name: str, wide: bool = False) -> AnyBlock:
    """A block that reads an object: the vectors of its fields, zeros for missing ones, and a layer on them.

    Args:
        fields: what reads each field.
        width: of the layer.
        name: of the layer.
        wide: give the vectors of the fields, too, beside what the layer makes of them.

    >>> record({"age": number(30.0, 10.0), "spam": boolean()}, 4, name="person").eval({"age": 3}).shape
    (4,)
    """
    parts = [ar.GetItem(key, default=None) >> ar.Optional(block) for key, block in fields.items()]
    return sized(ar.AllOf(*parts) >> ar.Concat(), width, name=name, wide=wide)


def mixed(cases: Mapping[str, AnyBlock | None], width: int, *, name: str) -> AnyBlock:
    """A block that reads values of several types, each by a block and a layer of its own.

    Args:
        cases: by JSON type; None gives zeros.
        width: of the vector.
        name: the layers' names begin so.

    >>> mixed({"number": number(0.0, 1.0), "boolean": boolean()}, 4, name="spam").eval(True).shape
    (4,)
    """
    layers = {
        kind: ar.Zeros([width]) if block is None else sized(block, width, name=f"{name} {kind}")
        for kind, block in cases.items()
    }
    return ar.OneOf(json_type, layers)


def sized(block: AnyBlock, width: int, *, name: str, wide: bool = False) -> AnyBlock:
    """A block and a layer, which gives `width` numbers; with `wide` also those of the block.

    >>> sized(boolean(), 4, name="spam").eval(True).shape
    (4,)
    """
    layer: AnyBlock = ar.FC(width, ops.tanh, name=name)
    return block >> (ar.AllOf(layer, ar.Identity()) >> ar.Concat() if wide else layer)


def _pooled(pooling: str, width: int, name: str) -> AnyBlock:
    """A block that makes one vector of a sequence of vectors."""
    if pooling == "sequence":
        return ar.RNN(ar.GRUCell(width, name=f"{name} cell")) >> ar.GetItem(1)
    mean = ar.Mean(default=0.0)
    parts: dict[str, list[AnyBlock]] = {
        "mean": [mean],
        "pooled": [ar.Sum(), mean, ar.Max(default=0.0)],
        "attention": [ar.Attention(ar.FC(1, name=f"{name} score"), default=0.0)],
    }
    if pooling not in parts:
        raise ArrowValueError(f"there is no pooling {pooling!r:.60}")
    log_length: AnyBlock = ar.Length("float32") >> ar.Function(lambda n: ops.reshape(ops.log1p(n), (1,)))
    return ar.AllOf(*parts[pooling], log_length) >> ar.Concat()


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


def category_name(value: object) -> str:
    """A number or truth value as the text that names its category; a text is itself.

    Raises:
        ValueError: an array or an object.

    >>> category_name(3), category_name(3.0), category_name(True), category_name("red")
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
    """From a text to the hashes of its n-grams, shorter ones first: of words and signs, or of characters.

    >>> len(HashedNGrams(1000, "words")("so good"))
    3
    """

    def __init__(self, buckets: int, of: str) -> None:
        if of not in ("words", "characters") or type(buckets) is not int or buckets < 1:
            raise ArrowValueError(
                f"a text is read by words or characters, in buckets from 1: {of}, {buckets}"
            )
        self.buckets, self.of = buckets, of
        self.__name__ = f"{buckets:,} buckets"

    def __call__(self, text: str) -> list[int]:
        read, words = _require_text(text), self.of == "words"
        units = [*map(_encoded, _WORD.findall(read.lower()) if words else read)][:MOST]
        # crc32 is the same in every process, which `hash` is not, and mixes well enough for buckets.
        return [
            zlib.crc32(b"\0".join(units[first : first + length])) % self.buckets
            for length in range(1, 3 if words else 5)
            for first in range(len(units) - length + 1)
        ]


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


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


def _standardised(mean: float | HostArray, std: float | HostArray, *, log: bool = False) -> AnyBlock:
    """A block that standardises numbers and makes them float32."""
    means, stds = np.float64(mean), np.float64(std)
    if not (np.isfinite(means).all() and np.isfinite(stds).all() and (stds > 0).all()):
        raise ArrowValueError(
            f"numbers want a finite mean and a finite deviation above 0, not {mean} and {std}"
        )

    def standardise(x: TensorLike) -> TensorLike:
        value = ops.sign(x) * ops.log1p(ops.abs(x)) if log else x
        standard = (value - mean) / std
        return ops.minimum(ops.maximum(standard, -FARTHEST), FARTHEST).cast("float32")

    return ar.Function(standardise)
