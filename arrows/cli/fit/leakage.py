"""Fields that say what the label is, so that a model learns to copy instead of to predict."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from arrows.cli.fit.examples import Example, Label
from arrows.documents.schema import ROOT, below

DEEPEST = 4  # objects within one another that are looked into
REPEATED = 10  # examples that a value must have on average, unless there are as few values as labels
_SAME = 1 - 1e-9  # correlation of numbers that are the label, but for unit and origin


def revealing_fields(examples: Sequence[Example]) -> list[str]:
    """The paths of fields that say what the label is, in every example.

    Each value of such a field goes with one label alone, or whether it is there does; or it is a linear
    function of a label that is a number.  Fields in arrays are not looked at, nor are those whose values
    hardly repeat, such as ids: each of these goes with one label alone, whatever the field means.

    >>> documents = [{"age": n, "spam": n % 3 == 0, "flag": "yn"[n % 3 > 0]} for n in range(30)]
    >>> revealing_fields([Example.of(document, ["spam"], "") for document in documents])
    ['flag']
    """
    labels = [example.label for example in examples]
    documents: list[object] = [example.document for example in examples]
    columns = _columns(documents, ROOT, DEEPEST, examples[0].keys if examples else ())
    return [path for path, values in columns if _reveals(values, labels)]


def _columns(
    documents: Sequence[object], path: str, depth: int, label: tuple[str, ...]
) -> Iterator[tuple[str, list[object]]]:
    """The values of each field that holds no arrays, and the path of the field; None where it is missing."""
    objects = [document if isinstance(document, dict) else {} for document in documents]
    for key in dict.fromkeys(key for document in objects for key in document):
        if (key,) == label:
            continue
        values = [document.get(key) for document in objects]
        if any(isinstance(value, dict) for value in values) and depth > 1:
            yield from _columns(values, below(path, key), depth - 1, label[1:] if label[:1] == (key,) else ())
        elif not any(isinstance(value, (list, dict)) for value in values):
            yield below(path, key), values


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
