"""Fields that say what the label is, so that a model learns to copy instead of to predict."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from arrows.cli.fit.examples import Example, Label
from arrows.documents import ROOT, below, category_name

MOST_EXAMPLES = 10_000  # that are looked at
DEEPEST = 5  # objects and arrays within one another that are looked into
MOST_PLACES = 1000  # of arrays of one length whose numbers are looked at one by one
REPEATED = 10  # examples that a value must have on average, unless there are as few values as labels
_SAME = 1 - 1e-9  # correlation of numbers that are the label, but for unit and origin

Leaf = str | int | float | bool


def revealing_fields(examples: Sequence[Example], label: str) -> list[str]:
    """The paths of fields that say what the label is, in every example of the first `MOST_EXAMPLES`.

    Each value of such a field goes with one label alone, or whether it is there does; or it is a linear
    function of a label that is a number.  Of arrays, the same holds for what they hold all in all, for their
    length, for the elements that look like a label, and for places that have few values, such as those of a
    one-hot vector.  Fields whose values hardly repeat, such as ids, are not named: each of these
    goes with one label alone, whatever the field means.

    Args:
        examples: to learn from.
        label: the path of the label.

    >>> documents = [{"age": n, "spam": n % 3 == 0, "flag": "yn"[n % 3 > 0]} for n in range(30)]
    >>> revealing_fields([Example.of(document, ["spam"], "") for document in documents], "spam")
    ['flag']
    """
    examples = examples[:MOST_EXAMPLES]
    labels = [example.label for example in examples]
    # By path, what each example has there: a value, several within arrays, or nothing.
    columns: dict[str, list[list[Leaf]]] = {}
    for number, example in enumerate(examples):
        for path, leaf in _leaves(example.document, ROOT, DEEPEST):
            if path not in columns and path != label:
                columns[path] = [[] for _ in examples]
            if path != label:
                columns[path][number].append(leaf)
    return [path for path, column in columns.items() if _reveals(column, labels)]


def _leaves(value: object, path: str, depth: int) -> Iterator[tuple[str, Leaf]]:
    """The texts, numbers and truth values in a document, and their paths; in an array, that of the array."""
    if isinstance(value, dict) and depth:
        for key, inner in value.items():
            yield from _leaves(inner, below(path, key), depth - 1)
    elif isinstance(value, list) and depth:
        for inner in value:
            yield from _leaves(inner, f"{path}[]" if isinstance(inner, dict) else path, depth - 1)
    elif isinstance(value, (str, int, float)):
        yield path, value


def _reveals(column: Sequence[Sequence[Leaf]], labels: Sequence[Label]) -> bool:
    different, names = len({*labels}), {category_name(label) for label in labels}
    # Where hardly a label repeats, hardly a pair does, so values that go with one label alone say nothing.
    most = max(different if 2 * different <= len(labels) else 0, len(labels) // REPEATED)
    views: list[list[object]] = [
        [repr(leaves) for leaves in column],
        [len(leaves) for leaves in column],
        [repr(sorted({category_name(leaf) for leaf in leaves} & names)) for leaves in column],
    ]
    places: list[list[Leaf]] = []
    if len({*map(len, column)}) == 1:
        places = [list(place) for place in zip(*column, strict=True)]
        telling = [place for place in places if _tells_some(place, labels)]
        views += [[repr(row) for row in zip(*telling, strict=True)]] if telling else []
    return any(_determines(view, labels, most) for view in views) or any(
        _determines([repr([leaf]) for leaf in place], labels, most) or _is_linear(place, labels)
        for place in places[:MOST_PLACES]
    )


def _tells_some(values: Sequence[object], labels: Sequence[Label]) -> bool:
    """Whether a place has few values, one of which goes with one label alone, as in a one-hot vector."""
    found: dict[object, set[Label]] = {}
    for value, label in zip(values, labels, strict=True):
        found.setdefault(value, set()).add(label)
    return len(found) <= max(2, len({*labels})) and any(len(with_it) == 1 for with_it in found.values())


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
