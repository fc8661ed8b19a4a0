"""Decides how each path of a document is read, from what the examples have there.

The decisions are a table: by path, in the order of the examples, a row of plain JSON with the kind of block,
what this kind wants to know, and why.
"""

from __future__ import annotations

import contextlib
import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from arrows.arrays import HostArray
from arrows.documents.blocks import HashedNGrams, category_name, days
from arrows.documents.build import LEFT_OUT, Row, Rows
from arrows.documents.schema import ROOT, Node, Schema
from arrows.typesys import ArrowValueError, counted, quoted, shortened

KINDS = {
    "boolean": ("category",),
    "number": ("number", "category"),
    "text": ("category", "text", "words", "ngrams", "date", "number"),
    "array": ("attention", "mean", "pooled", "sequence", "vector"),
    "object": ("map", "object"),
}
"""The kinds that values of a JSON type may be forced to."""

_MOST_CATEGORIES = 10_000
_LONGEST_NAME = 64  # characters of a category
_FEW = 20  # examples with which statistics begin
_RARE = 50  # with more categories than these, those that occur once are unknown
_SELDOM = 3  # a vector is hardly learnt from fewer occurrences
_CODES = range(3, 11)  # so many different whole numbers are codes, if each occurs `_FEW` times on average
# Four times as many buckets as there are n-grams, so that few share one; 100,000 vectors of 32 numbers take
# 13 MB.  On the sentences of the Stanford Sentiment Treebank 100,000 give an accuracy of 0.43 (dev), and
# 10,000 of 0.38.
_BUCKETS = (1_000, 3_000, 10_000, 30_000, 100_000)
_SPARE = 4
_VECTOR = range(2, 65)
_LARGEST = 1e150  # numbers beyond count as this one in means and deviations, whose squares would overflow
_HEAVY = 2.0  # skewness (0 of a normal distribution, 2 of an exponential one) from which logarithms are taken
_ID = re.compile(
    r"[0-9a-fA-F]{8,}|[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}|[A-Za-z]{0,10}[-_#:.]?[0-9]+"
)
_ID_NAME = re.compile(r"(^|_|\W)(id|uuid|guid|index|key)'?\]?$|[a-z]I[dD]$")


def decide(schema: Schema) -> Rows:
    """How documents are read: by path, a row that `build` understands.

    Raises:
        ArrowValueError: `schema.kinds` has a kind that does not fit the values at its path.
    """
    return _rows(schema, schema.nodes[ROOT])


def _rows(schema: Schema, node: Node) -> Rows:
    """The row of a path, and after it those of what lies below."""
    path, types, forced = node.path, node.types, schema.kinds.get(node.path)
    if path in schema.ignored:
        return {path: _row(LEFT_OUT, "named in ignore")}
    if forced is not None:
        _require_kind(forced, schema, node)
    if not types:
        return {path: _row(LEFT_OUT, "always null" if node.count else "never there")}
    scalars = [value for name in ("text", "number", "boolean") for value in node.values.get(name, ())]
    if forced == "category":
        rows: Rows = {path: _category([*map(category_name, scalars)], texts=types == ["text"])}
    elif forced is None and _is_constant(node, scalars):
        rows = {path: _row(LEFT_OUT, f"always {shortened(quoted(category_name(scalars[0])), 60)}")}
    elif len(types) == 1:
        rows = _of_type(schema, node, types[0], forced)
    else:
        cases = {case: row for name in types for case, row in _of_type(schema, node, name, None).items()}
        own = {name: cases[node.row(name)] for name in types}
        if all(row["kind"] == LEFT_OUT for row in own.values()):
            rows = {path: _row(LEFT_OUT, ", ".join(row["because"] for row in own.values()))}
        else:
            sizes = [node.again.get(name, len(node.values.get(name, ()))) for name in types]
            rows = {path: _row("mixed", ", ".join(map(counted, sizes, types)), cases=types), **cases}
    for count, word in ((node.missing, "missing"), (node.nulls, "null")):
        rows[path]["because"] += f"; {count:,} {word}" * (count > 0)
    rows[path] |= {"null": True} if node.nulls else {}
    return rows


def _row(kind: str, because: str, **more: object) -> Row:
    return {"kind": kind, "because": because, **more}


def _require_kind(kind: str, schema: Schema, node: Node) -> None:
    types = [name for name in node.types if name not in schema.too_deep(node)]
    fits = {name for type_ in types for name in KINDS[type_]}
    if len(node.types) > 1:
        fits = {"category"} if {"boolean", "number", "text"}.issuperset(node.types) else set()
    if kind not in fits:
        there = " and ".join(f"{name}s" for name in node.types) or "nothing but null"
        fitting = f"there it may be {', '.join(sorted(fits))}" if fits else "there no kind can be chosen"
        raise _misfit(kind, node.path, f"the examples have {there}; {fitting}")


def _misfit(kind: str, path: str, why: str) -> ArrowValueError:
    return ArrowValueError(f"infer_block: kinds says {kind!r} for {quoted(path)}, and {why}")


def _of_type(schema: Schema, node: Node, name: str, forced: str | None) -> Rows:
    """The row for the values of one JSON type, and those of what lies below them."""
    path, values = node.row(name), node.values.get(name, [])
    if name in node.again:
        head = schema.nodes[schema.heads[node.path, name]]
        because = f"{counted(node.again[name], name)} like those at {head.path}"
        return {path: _row("again", because, path=head.row(name))}
    if name in schema.too_deep(node):
        return {path: _row(LEFT_OUT, f"{counted(len(values), name)} too deep")}
    if name == "boolean":
        return {path: _row("boolean", counted(len(values), "truth value"))}
    if name == "number":
        return {path: _number(values, node.path, forced)}
    if name == "text":
        return {path: _text(values, node.path, forced)}
    if node.element is not None and (name == "array" or schema.kinds.get(node.path) == "map"):
        row, below = _array(node, node.element, forced, keyed=name == "object"), [node.element]
    else:
        below = [*node.fields.values()]
        because = f"{counted(len(values), 'object')} of {counted(len(below), 'field')}"
        row = _row("object", because, fields=[*node.fields])
    if row["kind"] not in {"array", "map", "object"}:
        return {path: row}
    rows = {path: row for inner in below for path, row in _rows(schema, inner).items()}
    if all(rows[inner.path]["kind"] == LEFT_OUT for inner in below):
        why = "none of which is read" if name == "object" else rows[below[0].path]["because"]
        return {path: _row(LEFT_OUT, f"{row['because']}, {why}")}
    if name in node.recursive:
        row |= {"because": f"{row['because']}, nested in one another", "recursive": True}
    return {path: row, **rows}


def _array(node: Node, element: Node, forced: str | None, *, keyed: bool) -> Row:
    """The row for arrays, or for objects whose keys are data."""
    least, most = min(node.lengths), max(node.lengths)
    numeric = least == most in _VECTOR and element.types == ["number"] and not (element.nulls or keyed)
    if forced == "vector" and not numeric:
        lengths = f"one length from {_VECTOR.start} to {_VECTOR.stop - 1}"
        raise _misfit(forced, node.path, f"not all of its arrays are of {lengths} and of numbers alone")
    if numeric and (forced == "vector" or (forced is None and len(node.lengths) >= _FEW)):
        columns = np.array([*map(float, element.values["number"])]).reshape(-1, most).T
        means, deviations = (list(each) for each in zip(*map(_moments, columns), strict=True))
        because = f"{counted(len(node.lengths), 'array')} of {most} numbers"
        return _row("vector", because, means=means, stds=deviations)
    if not element.count:
        return _row(LEFT_OUT, "always empty")
    kind = "map" if keyed else "array"
    range_ = f"{least:,}{f' to {most:,}' if least < most else ''}"
    because = f"{counted(len(node.lengths), kind)} of {range_} elements"
    return _row(kind, because, pooling=forced if forced in KINDS["array"] else "pooled")


def _is_constant(node: Node, values: Sequence[object]) -> bool:
    """Whether a field has the same value in all objects, of which there are enough to tell.

    The elements of arrays are not asked: how many there are says something, whatever they are.
    """
    return (
        len(values) == node.count >= _FEW
        and not node.missing
        and len(node.types) == 1
        and values.count(values[0]) == len(values)
        and node.path != ROOT
        and "[]" not in node.path
    )


def _category(names: Sequence[str], *, texts: bool = True) -> Row:
    counts = Counter(names)
    least = 2 if len(counts) > _RARE and max(counts.values()) > 1 else 1
    frequent = [name for name, count in counts.items() if count >= least]
    # A text that is called as the vocabulary calls unknown ones is one of them.
    words = sorted({*frequent} - {"<unknown>"}, key=lambda name: (-counts[name], name))[:_MOST_CATEGORIES]
    rare = len(counts) - len(words)
    because = f"{len(counts):,} different in {len(names):,}" + f", {rare:,} rare ones unknown" * (rare > 0)
    return _row("category", because, words=words, **({} if texts else {"texts": False}))


def _text(texts: Sequence[str], path: str, forced: str | None) -> Row:
    counts = Counter(texts)
    because = f"{len(counts):,} different in {counted(len(texts), 'text')}"
    if forced == "number":
        return _row("number", because, **_standard(_written_numbers(texts, path)), written=True)
    dates = _dates(texts) if forced in {None, "date"} else None
    if dates is not None:
        return _row("date", counted(len(texts), "date"), **_standard(dates))
    if forced == "date":
        wrong = next(text for text in texts if _dates([text]) is None)
        iso = "dates are written as in ISO 8601: 2024-05-31 or 2024-05-31T12:00:00Z"
        raise _misfit(forced, path, f"an example has {quoted(wrong)}; {iso}")
    # Most texts are of several words.
    of_words = 2 * sum(len(text.split()) > 1 for text in counts) > len(counts)
    of = "words" if forced == "words" or (of_words and forced != "ngrams") else "characters"
    if forced is not None:
        return _free_text(counts, because, of=of)
    distinct = len(counts) / len(texts)
    if len(texts) >= _FEW and distinct > 0.95 and all(map(_ID.fullmatch, counts)):
        return _row(LEFT_OUT, f"{because}: ids, which say nothing about other documents")
    if len(texts) < _FEW:
        names = all(len(text) <= 24 and not re.search(r"\s", text) for text in counts)
    else:
        names = distinct <= 0.5 and max(map(len, counts)) <= _LONGEST_NAME
    # Most categories may occur too seldom to learn a vector for each.
    rare = len(counts) > _RARE and 2 * sum(count < _SELDOM for count in counts.values()) > len(counts)
    is_category = names and not (of_words and rare)
    return _category(texts) if is_category else _free_text(counts, because, of=of)


def _free_text(texts: Mapping[str, int], because: str, *, of: str) -> Row:
    hashes = HashedNGrams(2**32, of)
    seen: set[int] = set()
    for text in texts:
        seen.update(hashes(text))
        if _SPARE * len(seen) > _BUCKETS[-2]:
            break  # more than this take the most buckets, however many more
    buckets = next((count for count in _BUCKETS if count >= _SPARE * len(seen)), _BUCKETS[-1])
    return _row("text", because, of=of, buckets=buckets)


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
    raise _misfit("number", path, "not all texts are numbers")


def _number(written: Sequence[int | float], path: str, forced: str | None) -> Row:
    because = f"{counted(len(written), 'number')} from {min(written):.6g} to {max(written):.6g}"
    different = {*written}
    if forced is None and all(isinstance(value, int) for value in written):
        if _ID_NAME.search(path) and len(different) == len(written) >= _FEW:
            return _row(LEFT_OUT, f"{because}: ids, which say nothing about other documents")
        if len(different) in _CODES and len(written) >= _FEW * len(different):
            return _category([*map(category_name, written)], texts=False)
    values = np.array([*map(float, written)])
    logs = np.sign(values) * np.log1p(np.abs(values))
    if len(values) >= _FEW and _skewness(values) > max(_HEAVY, 2 * _skewness(logs)):
        return _row("number", f"{because}, of many magnitudes", **_standard(logs), log=True)
    return _row("number", because, **_standard(values))


def _standard(values: HostArray) -> dict[str, float]:
    mean, deviation = _moments(values)
    return {"mean": mean, "std": deviation}


def _moments(values: HostArray) -> tuple[float, float]:
    """Mean and standard deviation, to as many digits as matter; at least 1 where values are about equal."""
    values = np.clip(values, -_LARGEST, _LARGEST)
    deviation, rounding = float(values.std()), _rounding(values)
    if deviation <= rounding:
        deviation = max(1.0, rounding)
    digits = 3 - math.floor(math.log10(deviation))
    return round(float(values.mean()), digits) + 0.0, float(f"{deviation:.4g}")


def _skewness(values: HostArray) -> float:
    """How long the tails are: the absolute value of the third standardised moment."""
    centred = np.clip(values, -_LARGEST, _LARGEST)
    centred -= centred.mean()
    deviation = float(centred.std())
    return float(abs(np.mean((centred / deviation) ** 3))) if deviation > _rounding(values) else 0.0


def _rounding(values: HostArray) -> float:
    """A deviation that says nothing: equal values that were calculated in two ways have it."""
    return 1e-12 * min(float(np.abs(values).max()), _LARGEST)
