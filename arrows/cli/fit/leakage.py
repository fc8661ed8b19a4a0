"""Fields that say what the label is, so that a model learns to copy instead of to predict."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import islice

import numpy as np

from arrows.cli.fit.examples import Example, Label
from arrows.documents import category
from arrows.documents.schema import ROOT, below

DEEPEST = 5  # objects and arrays within one another that are looked into
MOST_PLACES = 1000  # of arrays of one length whose numbers are looked at one by one
REPEATED = 10  # examples that a value must have on average, unless there are as few values as labels
_SAME = 1 - 1e-9  # correlation of numbers that are the label, but for unit and origin


def revealing_fields(examples: Sequence[Example]) -> list[str]:
    """The paths of fields that say what the label is, in every example.

    Each value of such a field goes with one label alone, or whether it is there does; or it is a linear
    function of a label that is a number.  Of arrays, the same holds for what they hold all in all, for their
    length, for the elements that look like a label, and for places that have few values, such as those of a
    one-hot vector.  Fields whose values hardly repeat, such as ids, are not named: each of these
    goes with one label alone, whatever the field means.

    >>> documents = [{"age": n, "spam": n % 3 == 0, "flag": "yn"[n % 3 > 0]} for n in range(30)]
    >>> revealing_fields([Example.of(document, ["spam"], "") for document in documents])
    ['flag']
    """
    labels = [example.label for example in examples]
    documents: list[object] = [example.document for example in examples]
    columns = _columns(documents, ROOT, DEEPEST, examples[0].keys if examples else ())
    return [
        path for path, values in columns if any(_reveals(view, labels) for view in _views(values, labels))
    ]


def _columns(
    documents: Sequence[object], path: str, depth: int, label: tuple[str, ...]
) -> Iterator[tuple[str, list[object]]]:
    """The values of each field, and the path of the field; None where it is missing.

    The values of a field of objects within an array are a list.
    """
    if any(isinstance(document, list) for document in documents):
        yield from _element_columns(documents, path, depth)
    objects = [document if isinstance(document, dict) else {} for document in documents]
    for key in dict.fromkeys(key for document in objects for key in document):
        if (key,) == label:
            continue
        values = [document.get(key) for document in objects]
        own = below(path, key)
        if any(isinstance(value, (dict, list)) for value in values) and depth > 1:
            yield from _columns(values, own, depth - 1, label[1:] if label[:1] == (key,) else ())
        if not any(isinstance(value, dict) for value in values):
            yield own, values


def _element_columns(arrays: Sequence[object], path: str, depth: int) -> Iterator[tuple[str, list[object]]]:
    """The values below the elements of arrays: of each array, a list."""
    # All elements become one long column, which the fields cut up as the array was.
    lengths = [len(array) if isinstance(array, list) else 0 for array in arrays]
    elements = [element for array in arrays if isinstance(array, list) for element in array]
    if depth <= 1 or not any(isinstance(element, (dict, list)) for element in elements):
        return
    for own, values in _columns(elements, f"{path}[]", depth - 1, ()):
        rest = iter(values)
        yield own, [list(islice(rest, length)) for length in lengths]


def _views(values: Sequence[object], labels: Sequence[Label]) -> Iterator[list[object]]:
    """What is asked of the values of a field, whether it says the label: of an array, several things."""
    if not any(isinstance(value, list) for value in values):
        yield [*values]
        return
    # None, and what stands beside the arrays of a field, is an array of its own.
    arrays = [value if isinstance(value, list) else [value] for value in values]
    yield [len(value) if isinstance(value, list) else None for value in values]
    yield [_text(array) for array in arrays]
    names = {category(label) for label in labels}
    leaves = [[*_leaves(array)] for array in arrays]
    yield [_text(sorted({category(x) for x in found if category(x) in names})) for found in leaves]
    if len({*map(len, leaves)}) == 1:
        places = [list(place) for place in zip(*leaves, strict=True)]
        yield from places[:MOST_PLACES]
        telling = [place for place in places if _tells_some(place, labels)]
        if telling:
            yield [_text(row) for row in zip(*telling, strict=True)]


def _tells_some(values: Sequence[object], labels: Sequence[Label]) -> bool:
    """Whether a place has few values, one of which goes with one label alone, as in a one-hot vector."""
    found: dict[object, set[Label]] = {}
    for value, label in zip(values, labels, strict=True):
        found.setdefault(value, set()).add(label)
    return len(found) <= max(2, len({*labels})) and any(len(with_it) == 1 for with_it in found.values())


def _leaves(array: Sequence[object]) -> Iterator[str | int | float | bool]:
    """The texts, numbers and truth values in an array, however deep."""
    waiting = [*reversed(array)]
    while waiting:
        value = waiting.pop()
        if isinstance(value, list):
            waiting.extend(reversed(value))
        elif isinstance(value, (str, int, float)):
            yield value


def _text(value: object) -> str:
    return json.dumps(value, sort_keys=True)


def _reveals(values: Sequence[object], labels: Sequence[Label]) -> bool:
    different = len({*labels})
    # Where hardly a label repeats, hardly a pair does, so values that go with one label alone say nothing.
    most = max(different if 2 * different <= len(labels) else 0, len(labels) // REPEATED)
    return (
        _determines([(type(value), value) for value in values], labels, most)
        or _determines([value is None for value in values], labels, most)
        or _is_linear(values, labels)
    )


def _determines(values: Sequence[object], labels: Sequence[Label], most: int) -> bool:
    """Whether each of at most so many values goes with one label alone, and not all with the same."""
    pairs = {*zip(values, labels, strict=True)}
    return len(pairs) == len({*values}) <= most and len({label for _, label in pairs}) > 1


def _is_linear(values: Sequence[object], labels: Sequence[Label]) -> bool:
    columns = []
    for column in (values, labels):
        numbers = [item for item in column if isinstance(item, (int, float)) and not isinstance(item, bool)]
        if len(numbers) != len(labels) or len({*numbers}) < 3:
            return False
        try:
            array = np.array([float(number) for number in numbers])
        except OverflowError:  # a field that is left out may have such a number
            return False
        columns.append(array / np.abs(array).max())  # squares of the numbers themselves might overflow
    with np.errstate(divide="ignore", invalid="ignore"):  # numbers that differ by less than float64 holds
        return bool(abs(np.corrcoef(*columns)[0, 1]) > _SAME)
