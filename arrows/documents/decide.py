"""Decides how each path of a document is read, from what the samples have there."""

from __future__ import annotations

import contextlib
import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from arrows.documents.build import LEFT_OUT
from arrows.documents.readers import HashedNGrams, category, days
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

_MOST_CATEGORIES = 10_000
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


def decide(schema: Schema, kinds: Mapping[str, str]) -> dict[str, Any]:
    """How the values of a schema are read: decisions that `build` understands, plain JSON.

    Args:
        schema: what the samples have.
        kinds: by path, what the user wants instead of what would be decided.

    Raises:
        ArrowValueError: a kind that the values at its path cannot have; it names the path.
    """
    forced, types = kinds.get(schema.path), schema.types
    if forced is not None:
        _require_kind(forced, schema)
    values = [*schema.texts, *schema.numbers, *schema.booleans]
    decisions: dict[str, Any]
    if forced == "category":
        decisions = _category([*map(category, values)], texts=types == ("text",))
    elif not types:
        decisions = _left_out("always null" if schema.count else "never there")
    elif forced is None and _is_constant(schema, values):
        decisions = _left_out(f"always {shortened(quoted(category(values[0])), 60)}")
    elif len(types) == 1:
        decisions = _of_type(types[0], schema, kinds, forced)
    else:
        cases = {name: _of_type(name, schema, kinds, None) for name in types}
        because = ", ".join(
            f"{_counted(_size(name, schema), name)}{' too deep' * (name in schema.deeper)}" for name in types
        )
        read = any(case["kind"] != LEFT_OUT for case in cases.values())
        decisions = {"kind": "mixed", "because": because, "cases": cases} if read else _left_out(because)
    if types:
        absent = (("missing", schema.missing), ("null", schema.nulls))
        words = [f"{count:,} {word}" for word, count in absent if count]
        decisions["because"] = "; ".join([decisions["because"], *words])
    return decisions | ({"null": True} if schema.nulls else {})


def _left_out(because: str) -> dict[str, Any]:
    return {"kind": LEFT_OUT, "because": because}


def _require_kind(kind: str, schema: Schema) -> None:
    fits = {name for type_ in schema.types if type_ not in schema.deeper for name in KINDS[type_]}
    if len(schema.types) > 1:
        fits = {"category"} if {"boolean", "number", "text"}.issuperset(schema.types) else set()
    if kind not in fits:
        there = " and ".join(f"{name}s" for name in schema.types) or "nothing but null"
        raise ArrowValueError(
            f"infer_block: kinds says {kind!r} for {quoted(schema.path)}, and the samples have {there}; "
            + (f"there it may be {', '.join(sorted(fits))}" if fits else "there no kind can be chosen")
        )


def _of_type(name: str, schema: Schema, kinds: Mapping[str, str], forced: str | None) -> dict[str, Any]:
    """How the values of one JSON type are read."""
    if name in schema.deeper:
        return _left_out(f"{_counted(schema.deeper[name], name)} too deep")
    if name == "boolean":
        return {"kind": "boolean", "because": _counted(len(schema.booleans), "truth value")}
    if name == "number":
        return _number(schema.numbers, schema.path, forced)
    if name == "text":
        return _text(schema.texts, schema.path, forced)
    values = schema.arrays if name == "array" else schema.objects
    if isinstance(values, RepeatedSchema):
        because = f"{_counted(values.count, name)} like those at {values.head}"
        return {"kind": "again", "path": values.head, "array": name == "array", "because": because}
    if isinstance(values, ArraySchema):
        return _array(values, schema.path, kinds, forced)
    assert values is not None
    return _object(values, kinds)


def _array(values: ArraySchema, path: str, kinds: Mapping[str, str], forced: str | None) -> dict[str, Any]:
    lengths, element = values.lengths, values.element
    least, most = min(lengths), max(lengths)
    count = _counted(len(lengths), "map" if values.keyed else "array")
    because = f"{count} of {least:,}{f' to {most:,}' if least < most else ''} elements"
    fixed = least == most in _VECTOR and not values.keyed
    numeric = element.types == ("number",) and not element.nulls
    if forced == "vector" and not (fixed and numeric):
        raise ArrowValueError(
            f"infer_block: kinds says 'vector' for {quoted(path)}, and not all of its arrays are of one "
            f"length from {_VECTOR.start} to {_VECTOR.stop - 1} and of numbers alone"
        )
    if fixed and numeric and (forced == "vector" or (forced is None and len(lengths) >= _FEW)):
        columns = np.array([*map(float, element.numbers)]).reshape(-1, most).T
        means, deviations = zip(*map(_moments, columns), strict=True)
        because = f"{_counted(len(lengths), 'array')} of {most} numbers"
        return {"kind": "vector", "because": because, "means": [*means], "deviations": [*deviations]}
    if not element.count:
        return _left_out("always empty")
    inner = decide(element, kinds)
    if inner["kind"] == LEFT_OUT:
        return _left_out(f"{because}: {inner['because']}")
    nested = {"recursive": True} if values.recursive else {}
    return {
        "kind": "map" if values.keyed else "array",
        "pooling": forced if forced in KINDS["array"] else "pooled",
        "because": because + ", nested in one another" * values.recursive,
        "element": inner,
    } | nested


def _object(values: ObjectSchema, kinds: Mapping[str, str]) -> dict[str, Any]:
    fields = {key: decide(schema, kinds) for key, schema in values.fields.items()}
    because = f"{_counted(values.count, 'object')} of {_counted(len(fields), 'field')}"
    because += ", nested in one another" * values.recursive
    if all(inner["kind"] == LEFT_OUT for inner in fields.values()):
        return _left_out(f"{because}, none of which is read")
    fields |= {key: _left_out("named in ignore") for key in values.ignored}
    nested = {"recursive": True} if values.recursive else {}
    return {"kind": "object", "because": because, "fields": fields} | nested


def _is_constant(schema: Schema, values: Sequence[object]) -> bool:
    """Whether a field has the same value in all objects, of which there are enough to tell.

    The elements of arrays are not asked: how many there are says something, whatever they are.
    """
    return (
        len(values) == schema.count >= _FEW
        and not schema.missing
        and len(schema.types) == 1
        and values.count(values[0]) == len(values)
        and schema.path != ROOT
        and "[]" not in schema.path
    )


def _size(name: str, schema: Schema) -> int:
    values = {"boolean": schema.booleans, "number": schema.numbers, "text": schema.texts}
    if name in values:
        return len(values[name])
    part = schema.arrays if name == "array" else schema.objects
    if part is None:
        return schema.deeper[name]
    return len(part.lengths) if isinstance(part, ArraySchema) else part.count


def _category(names: Sequence[str], *, texts: bool = True) -> dict[str, Any]:
    counts = Counter(names)
    least = 2 if len(counts) > _RARE and max(counts.values()) > 1 else 1
    frequent = [name for name, count in counts.items() if count >= least]
    # A text that is called as the vocabulary calls unknown ones is one of them.
    words = sorted({*frequent} - {"<unknown>"}, key=lambda name: (-counts[name], name))[:_MOST_CATEGORIES]
    rare = len(counts) - len(words)
    because = f"{len(counts):,} different in {len(names):,}" + f", {rare:,} rare ones unknown" * (rare > 0)
    return {"kind": "category", "because": because, "words": words} | ({} if texts else {"texts": False})


def _text(texts: Sequence[str], path: str, forced: str | None) -> dict[str, Any]:
    counts = Counter(texts)
    because = f"{len(counts):,} different in {_counted(len(texts), 'text')}"
    if forced == "number":
        return {
            "kind": "number",
            "because": f"{because}, read as numbers",
            **_standard(_written_numbers(texts, path)),
            "written": True,
        }
    dates = _dates(texts)
    if forced == "date" and dates is None:
        wrong = next(text for text in texts if _dates([text]) is None)
        raise ArrowValueError(
            f"infer_block: kinds says 'date' for {quoted(path)}, and a sample has {quoted(wrong)}; dates "
            "are written as in ISO 8601: 2024-05-31 or 2024-05-31T12:00:00Z"
        )
    if dates is not None and forced in {None, "date"}:
        return {"kind": "date", "because": _counted(len(texts), "date"), **_standard(dates)}
    if forced == "characters":
        letters = Counter(letter for text in counts for letter in text)
        ordered = sorted(letters, key=lambda letter: (-letters[letter], letter))
        return {"kind": "characters", "because": because, "letters": ordered}
    # Most texts are of several words.
    of_words = 2 * sum(len(text.split()) > 1 for text in counts) > len(counts)
    if forced is not None:
        return _free_text(counts, because, of_words=forced == "words" or (forced == "text" and of_words))
    distinct = len(counts) / len(texts)
    if len(texts) >= _FEW and distinct > 0.95 and all(map(_ID.fullmatch, counts)):
        return _left_out(f"{because}: ids, which say nothing about other documents")
    if len(texts) < _FEW:
        names = all(len(text) <= 24 and not re.search(r"\s", text) for text in counts)
    else:
        names = distinct <= 0.5 and max(map(len, counts)) <= _LONGEST_NAME
    # Most categories may occur too seldom to learn a vector for each.
    rare = len(counts) > _RARE and 2 * sum(count < _SELDOM for count in counts.values()) > len(counts)
    return (
        _category(texts)
        if names and not (of_words and rare)
        else _free_text(counts, because, of_words=of_words)
    )


def _free_text(texts: Mapping[str, int], because: str, *, of_words: bool) -> dict[str, Any]:
    hashes = HashedNGrams.of_words(2**32) if of_words else HashedNGrams.of_characters(2**32)
    seen: set[int] = set()
    for text in texts:
        seen.update(hashes(text))
        if len(seen) > _BUCKETS[-2]:
            break  # more than this take the most buckets, however many more
    buckets = next((count for count in _BUCKETS if count >= len(seen)), _BUCKETS[-1])
    return {
        "kind": "text",
        "because": because,
        "of": "words" if of_words else "characters",
        "buckets": buckets,
    }


def _dates(texts: Sequence[str]) -> HostArray | None:
    """Texts as days since 1970; None if some are no dates."""
    try:
        return np.array([days(text) for text in texts])
    except ValueError:
        return None


def _written_numbers(texts: Sequence[str], path: str) -> HostArray:
    with contextlib.suppress(ValueError):
        values = np.array([*map(float, texts)])
        if np.isfinite(values).all():
            return values
    raise ArrowValueError(
        f"infer_block: kinds says 'number' for {quoted(path)}, and not all texts are numbers"
    )


def _number(written: Sequence[int | float], path: str, forced: str | None) -> dict[str, Any]:
    because = f"{_counted(len(written), 'number')} from {min(written):.6g} to {max(written):.6g}"
    different = {*written}
    if forced is None and all(isinstance(value, int) for value in written):
        if _ID_NAME.search(path) and len(different) == len(written) >= _FEW:
            return _left_out(f"{because}: ids, which say nothing about other documents")
        if len(different) in _CODES and len(written) >= _FEW * len(different):
            return _category([*map(category, written)], texts=False)
    values = np.array([*map(float, written)])
    logs = np.sign(values) * np.log1p(np.abs(values))
    if len(values) >= _FEW and _skewness(values) > max(_HEAVY, 2 * _skewness(logs)):
        because += ", of many magnitudes"
        return {"kind": "number", "because": because, **_standard(logs), "log": True}
    return {"kind": "number", "because": because, **_standard(values)}


def _standard(values: HostArray) -> dict[str, float]:
    mean, deviation = _moments(values)
    return {"mean": mean, "deviation": deviation}


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
