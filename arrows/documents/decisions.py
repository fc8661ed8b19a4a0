"""Decides how each path of a document is read, from what the samples have there."""

from __future__ import annotations

import contextlib
import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from arrows.documents.plans import (
    ArrayPlan,
    BooleanPlan,
    CategoryPlan,
    CharactersPlan,
    DatePlan,
    LeftOutPlan,
    MixedPlan,
    NumberPlan,
    ObjectPlan,
    PathPlan,
    Pooling,
    RepeatPlan,
    TextPlan,
    VectorPlan,
)
from arrows.documents.scalars import HashedNGrams, category, days
from arrows.documents.schema import ROOT, ArraySchema, ObjectSchema, RepeatedSchema, Schema
from arrows.ops.arrays import HostArray
from arrows.typesys import ArrowValueError
from arrows.typesys.quoting import quoted, shortened

KINDS = {
    "boolean": ("category",),
    "number": ("number", "category"),
    "text": ("category", "text", "words", "ngrams", "characters", "date", "number"),
    "array": ("attention", "mean", "pooled", "sequence", "vector"),
    "object": ("map", "object"),
}
"""The kinds that values of a JSON type may be forced to."""

POOLINGS: Mapping[str, Pooling] = {
    "attention": "attention",
    "mean": "mean",
    "pooled": "pooled",
    "sequence": "sequence",
}
MOST_CATEGORIES = 10_000
_LONGEST_NAME = 64  # characters of a category
_FEW = 20  # samples with which statistics begin
_RARE = 50  # with more categories than these, those that occur once are unknown
_SELDOM = 3  # a vector is hardly learnt from fewer occurrences
_CODES = range(3, 11)  # so many different whole numbers are codes, if each occurs `_FEW` times on average
# As many buckets as there are n-grams, so that few share one; 100,000 vectors of 32 numbers take 13 MB.  On
# the sentences of the Stanford Sentiment Treebank 100,000 give an accuracy of 0.43 (dev), and 10,000 of 0.38.
_BUCKETS = (1_000, 10_000, 100_000)
_VECTOR = range(2, 65)
_HEAVY = 2.0  # skewness (0 of a normal distribution, 2 of an exponential one) from which logarithms are taken
_ID = re.compile(
    r"[0-9a-fA-F]{8,}|[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}|[A-Za-z]{0,10}[-_#:.]?[0-9]+"
)
_ID_NAME = re.compile(r"(^|_|\W)(id|uuid|guid|index|key)'?\]?$|[a-z]I[dD]$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Decider:
    """Makes plans of schemas.

    Attributes:
        kinds: by path, what the user wants instead of what would be decided.
    """

    kinds: Mapping[str, str]

    def plan(self, schema: Schema) -> PathPlan:
        """How the values of a schema are read.

        Raises:
            ArrowValueError: a kind that the values at its path cannot have; it names the path.
        """
        forced = self.kinds.get(schema.path)
        types = schema.types
        if forced is not None:
            self._require_kind(forced, schema)
        if forced == "category":
            plan: PathPlan = _category(_names(schema), schema.path, texts=types == ("text",))
        elif not types:
            plan = LeftOutPlan(path=schema.path, reason=_nothing(schema))
        elif forced is None and _is_constant(schema):
            plan = LeftOutPlan(path=schema.path, reason=f"always {_always(schema)}")
        elif len(types) == 1:
            plan = self._of_type(types[0], schema, forced)
        else:
            cases = {name: self._of_type(name, schema, None) for name in types}
            words = ", ".join(
                f"{_counted(_size(name, schema), name)}{' too deep' * (name in schema.deeper)}"
                for name in types
            )
            plan = MixedPlan(path=schema.path, reason=words, cases=cases)
            if all(isinstance(case, LeftOutPlan) for case in cases.values()):
                plan = LeftOutPlan(path=schema.path, reason=plan.reason)
        absent = [
            f"{count:,} {word}" for word, count in (("missing", schema.missing), ("null", schema.nulls))
        ]
        if types:
            plan = replace(plan, reason="; ".join([plan.reason, *(x for x in absent if x[:2] != "0 ")]))
        return replace(plan, nullable=schema.nulls > 0)

    def _require_kind(self, kind: str, schema: Schema) -> None:
        fits = {name for type_ in schema.types if type_ not in schema.deeper for name in KINDS[type_]}
        if len(schema.types) > 1:
            scalars = {"boolean", "number", "text"}.issuperset(schema.types)
            fits = {"category"} if scalars else set()
        if kind not in fits:
            there = " and ".join(f"{name}s" for name in schema.types) or "nothing but null"
            raise ArrowValueError(
                f"infer_block: kinds says {kind!r} for {quoted(schema.path)}, and the samples have {there}; "
                + (f"there it may be {', '.join(sorted(fits))}" if fits else "there no kind can be chosen")
            )

    def _of_type(self, name: str, schema: Schema, forced: str | None) -> PathPlan:
        """How the values of one JSON type are read."""
        path = schema.path
        if name in schema.deeper:
            return LeftOutPlan(path=path, reason=f"{_counted(schema.deeper[name], name)} too deep")
        if name == "boolean":
            return BooleanPlan(path=path, reason=_counted(len(schema.booleans), "truth value"))
        if name == "number":
            return _number(_floats(schema.numbers), path, schema.numbers, forced)
        if name == "text":
            return _text(schema.texts, path, forced)
        values = schema.arrays if name == "array" else schema.objects
        assert values is not None
        if isinstance(values, RepeatedSchema):
            again = f"{_counted(values.count, name)} like those at {values.head}"
            return RepeatPlan(path=path, reason=again, head=values.head, array=name == "array")
        if isinstance(values, ArraySchema):
            return self._array(values, path, forced)
        return self._object(values, path)

    def _array(self, values: ArraySchema, path: str, forced: str | None) -> PathPlan:
        lengths, element = values.lengths, values.element
        count = _counted(len(lengths), "map" if values.keyed else "array")
        words = f"{count} of {_range(lengths)} elements"
        fixed = len({*lengths}) == 1 and lengths[0] in _VECTOR and not values.keyed
        numeric = element.types == ("number",) and not element.nulls
        if forced == "vector" and not (fixed and numeric):
            raise ArrowValueError(
                f"infer_block: kinds says 'vector' for {quoted(path)}, and not all of its arrays are of one "
                f"length from {_VECTOR.start} to {_VECTOR.stop - 1} and of numbers alone"
            )
        if fixed and numeric and (forced == "vector" or (forced is None and len(lengths) >= _FEW)):
            return _vector(_floats(element.numbers), lengths[0], path)
        if not element.count:
            return LeftOutPlan(path=path, reason="always empty")
        plan = self.plan(element)
        if isinstance(plan, LeftOutPlan):
            return LeftOutPlan(path=path, reason=f"{words}: {plan.reason}")
        return ArrayPlan(
            path=path,
            reason=f"{words}{', nested in one another' if values.recursive else ''}",
            element=plan,
            pooling=POOLINGS.get(forced or "", "pooled"),
            keyed=values.keyed,
            recursive=values.recursive,
        )

    def _object(self, values: ObjectSchema, path: str) -> PathPlan:
        fields = {key: self.plan(schema) for key, schema in values.fields.items()}
        nested = ", nested in one another" if values.recursive else ""
        words = f"{_counted(values.count, 'object')} of {_counted(len(fields), 'field')}{nested}"
        fields |= {key: LeftOutPlan(path=key, reason="named in ignore") for key in values.ignored}
        if all(isinstance(plan, (LeftOutPlan, RepeatPlan)) for plan in fields.values()) and not any(
            isinstance(plan, RepeatPlan) for plan in fields.values()
        ):
            return LeftOutPlan(path=path, reason=f"{words}, none of which is read")
        return ObjectPlan(path=path, reason=words, fields=fields, recursive=values.recursive)


def _is_constant(schema: Schema) -> bool:
    """Whether a field has the same value in all objects, of which there are enough to tell.

    The elements of arrays are not asked: how many there are says something, whatever they are.
    """
    values = [*schema.booleans, *schema.numbers, *schema.texts]
    return (
        len(values) == schema.count >= _FEW
        and not schema.missing
        and len(schema.types) == 1
        and values.count(values[0]) == len(values)
        and schema.path != ROOT
        and "[]" not in schema.path
    )


def _always(schema: Schema) -> str:
    return shortened(quoted(category([*schema.booleans, *schema.numbers, *schema.texts][0])), 60)


def _nothing(schema: Schema) -> str:
    return "never there" if not schema.count else "always null"


def _size(name: str, schema: Schema) -> int:
    values = {"boolean": schema.booleans, "number": schema.numbers, "text": schema.texts}
    if name in values:
        return len(values[name])
    if name in schema.deeper:
        return schema.deeper[name]
    part = schema.arrays if name == "array" else schema.objects
    return len(part.lengths) if isinstance(part, ArraySchema) else part.count if part is not None else 0


def _names(schema: Schema) -> list[str]:
    """All scalars as texts."""
    assert not schema.arrays and not schema.objects
    return [category(value) for value in (*schema.texts, *schema.numbers, *schema.booleans)]


def _category(names: Sequence[str], path: str, *, texts: bool = True) -> PathPlan:
    counts = Counter(names)
    least = 2 if len(counts) > _RARE and max(counts.values()) > 1 else 1
    frequent = [name for name, count in counts.items() if count >= least]
    # A text that is called as the vocabulary calls unknown ones is one of them.
    words = sorted({*frequent} - {"<unknown>"}, key=lambda name: (-counts[name], name))[:MOST_CATEGORIES]
    rare = len(counts) - len(words)
    reason = f"{len(counts):,} different in {len(names):,}" + (
        f", {rare:,} rare ones unknown" if rare else ""
    )
    return CategoryPlan(path=path, reason=reason, words=tuple(words), texts=texts)


def _text(texts: Sequence[str], path: str, forced: str | None) -> PathPlan:
    counts = Counter(texts)
    words = f"{len(counts):,} different in {_counted(len(texts), 'text')}"
    if forced == "number":
        return replace(_written_numbers(texts, path), reason=f"{words}, read as numbers")
    dates = _dates(texts)
    if forced == "date" and dates is None:
        wrong = next(text for text in texts if _dates([text]) is None)
        raise ArrowValueError(
            f"infer_block: kinds says 'date' for {quoted(path)}, and a sample has {quoted(wrong)}; dates "
            "are written as in ISO 8601: 2024-05-31 or 2024-05-31T12:00:00Z"
        )
    if dates is not None and forced in {None, "date"}:
        mean, deviation = _moments(dates)
        return DatePlan(path=path, reason=_counted(len(texts), "date"), mean=mean, deviation=deviation)
    if forced == "characters":
        letters = Counter(letter for text in counts for letter in text)
        ordered = tuple(sorted(letters, key=lambda letter: (-letters[letter], letter)))
        return CharactersPlan(path=path, reason=words, letters=ordered)
    if forced in {"words", "ngrams"} or (forced == "text"):
        of_words = forced == "words" or (forced == "text" and _has_words(counts))
        return _free_text(counts, path, words, of_words=of_words)
    distinct = len(counts) / len(texts)
    if len(texts) >= _FEW and distinct > 0.95 and all(map(_ID.fullmatch, counts)):
        return LeftOutPlan(path=path, reason=f"{words}: ids, which say nothing about other documents")
    if len(texts) < _FEW:
        names = all(len(text) <= 24 and not re.search(r"\s", text) for text in counts)
    else:
        names = distinct <= 0.5 and max(map(len, counts)) <= _LONGEST_NAME
    if names and not (_has_words(counts) and _are_mostly_rare(counts)):
        return _category(texts, path)
    return _free_text(counts, path, words, of_words=_has_words(counts))


def _are_mostly_rare(counts: Mapping[str, int]) -> bool:
    """Whether most categories occur too seldom to learn a vector for each."""
    return len(counts) > _RARE and 2 * sum(count < _SELDOM for count in counts.values()) > len(counts)


def _free_text(texts: Mapping[str, int], path: str, reason: str, *, of_words: bool) -> TextPlan:
    hashes = HashedNGrams.of_words(2**32) if of_words else HashedNGrams.of_characters(2**32)
    seen: set[int] = set()
    for text in texts:
        seen.update(hashes(text))
        if len(seen) > _BUCKETS[-2]:
            break  # more than this take the most buckets, however many more
    buckets = next((count for count in _BUCKETS if count >= len(seen)), _BUCKETS[-1])
    return TextPlan(path=path, reason=reason, of_words=of_words, buckets=buckets)


def _has_words(texts: Mapping[str, int]) -> bool:
    """Whether most texts are of several words."""
    return 2 * sum(len(text.split()) > 1 for text in texts) > len(texts)


def _dates(texts: Sequence[str]) -> HostArray | None:
    """Texts as days since 1970; None if some are no dates."""
    try:
        return np.array([days(text) for text in texts])
    except ValueError:
        return None


def _written_numbers(texts: Sequence[str], path: str) -> NumberPlan:
    try:
        values = np.array([*map(float, texts)])
    except ValueError:
        values = np.array([math.nan])
    if not np.isfinite(values).all():
        raise ArrowValueError(
            f"infer_block: kinds says 'number' for {quoted(path)}, and not all texts are numbers"
        )
    mean, deviation = _moments(values)
    return NumberPlan(path=path, reason="", mean=mean, deviation=deviation, written=True)


def _number(values: HostArray, path: str, written: Sequence[int | float], forced: str | None) -> PathPlan:
    least, most = min(written), max(written)
    words = f"{_counted(len(values), 'number')} from {least:.6g} to {most:.6g}"
    whole = all(isinstance(value, int) for value in written)
    counted = forced is None and whole and len(values) >= _FEW and len({*written}) == len(values)
    if counted and _ID_NAME.search(path):
        return LeftOutPlan(path=path, reason=f"{words}: ids, which say nothing about other documents")
    different = {*written}
    if forced is None and whole and len(different) in _CODES and len(values) >= _FEW * len(different):
        return _category([category(value) for value in written], path, texts=False)
    logs = np.sign(values) * np.log1p(np.abs(values))
    log = len(values) >= _FEW and _skewness(values) > _HEAVY and _skewness(logs) < _skewness(values) / 2
    mean, deviation = _moments(logs if log else values)
    reason = f"{words}, of many magnitudes" if log else words
    return NumberPlan(path=path, reason=reason, mean=mean, deviation=deviation, log=log)


def _vector(values: HostArray, length: int, path: str) -> PathPlan:
    columns = [_moments(column) for column in values.reshape(-1, length).T]
    return VectorPlan(
        path=path,
        reason=f"{_counted(len(values) // length, 'array')} of {length} numbers",
        means=tuple(mean for mean, _ in columns),
        deviations=tuple(deviation for _, deviation in columns),
    )


def _floats(values: Sequence[int | float]) -> HostArray:
    return np.array([*map(float, values)], np.float64)


def _moments(values: HostArray) -> tuple[float, float]:
    """Mean and standard deviation, to as many digits as matter; 1 for a deviation of 0."""
    scale = float(np.abs(values).max()) or 1.0  # squares of large numbers would overflow
    scaled = values / scale
    deviation = float(scaled.std()) * scale
    if not deviation > 1e-12 * scale or not math.isfinite(deviation):
        deviation = scale if not math.isfinite(deviation) else 1.0
    place = 3 - math.floor(math.log10(deviation))
    mean, largest = float(scaled.mean()) * scale, float(np.finfo(np.float64).max)
    with contextlib.suppress(OverflowError):  # it would be rounded up beyond the largest number
        mean = round(mean, place) + 0.0
    return mean, min(float(f"{deviation:.4g}"), largest)


def _skewness(values: HostArray) -> float:
    """How long the tails are: the absolute value of the third standardised moment."""
    scale = float(np.abs(values).max()) or 1.0
    centred = values / scale - (values / scale).mean()
    deviation = float(centred.std())
    return float(abs((centred**3).mean())) / deviation**3 if deviation > 1e-9 else 0.0


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def _range(lengths: Sequence[int]) -> str:
    least, most = min(lengths), max(lengths)
    return f"{least:,}" if least == most else f"{least:,} to {most:,}"
