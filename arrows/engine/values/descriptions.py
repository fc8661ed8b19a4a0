"""What errors say about a user's objects: what they are, what they lack, what they raised."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from itertools import islice
from numbers import Real
from operator import index
from typing import Any

import numpy as np

from arrows.combinators import attributes, has_attributes
from arrows.typesys.quoting import QUOTED, shortened

_RAISED = 300  # characters of an exception's own text


def short_repr(value: Any) -> str:
    """At most 40 characters of an object's `repr`."""
    try:
        text = repr(value.item() if isinstance(value, np.generic) else value)
    except ValueError:  # Python refuses to print integers of thousands of digits
        return f"an integer of {value.bit_length()} bits"
    return text if len(text) <= 40 else text[:37] + "..."


def describe(value: Any) -> str:
    """A Python object in a few words for an error: small things as they are, large ones by kind and size.

    >>> describe(None), describe("film"), describe([1, 2]), describe(np.zeros((2, 3)))
    ('None', "'film'", 'a list of 2', 'an array float64[2, 3]')
    """
    if isinstance(value, (type, Enum)):
        return describe_key(value)
    if isinstance(value, np.ndarray):
        return f"an array {value.dtype}{list(value.shape)}"
    if isinstance(value, (list, tuple, dict, set, frozenset)):
        return f"a {type(value).__name__} of {len(value)}"
    if isinstance(value, str):
        return short_repr(value[:60])
    if value is None or isinstance(value, (bytes, complex, Real, np.generic)):
        return short_repr(value)
    return f"a value of type {type(value).__name__}"


def describe_key(key: Any) -> str:
    """A key of a choice for an error: what `describe` shrinks to kind and size, classes, enums and short
    tuples, is told from other keys by its text.

    >>> describe_key(int), describe_key(("NP", 2)), describe_key(tuple(range(100)))
    ("<class 'int'>", "('NP', 2)", 'a tuple of 100')
    """
    if isinstance(key, Enum):
        return str(key) if key.name is None else f"{type(key).__name__}.{key.name}"
    if isinstance(key, type):
        return repr(key)
    if isinstance(key, tuple) and len(key) <= 4:
        items = [describe(item) for item in key]  # not deeper: a tuple in it is told by its length
        text = f"({', '.join(items)}{',' if len(items) == 1 else ''})"
        if len(text) <= 60:
            return text
    return describe(key)


def describe_error(error: BaseException) -> str:
    """An exception that a user's code raised: its type, and the start of its text.

    >>> describe_error(KeyError("word")), describe_error(ValueError())
    ("KeyError: 'word'", 'ValueError')
    """
    text = shortened(str(error), _RAISED)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def explain_no_element(container: object, place: Any, error: Exception) -> str:
    """Why `nth` gave no element.

    Args:
        container: what it was asked of.
        place: the number of the element.
        error: what was raised.

    >>> explain_no_element([1, 2], 2, IndexError())
    'there is no element 2 in a list of 2'
    """
    try:
        index(place)
    except TypeError:
        return f"expected an integer as the place of an element, got {describe(place)}"
    if isinstance(error, IndexError):
        return f"there is no element {describe(place)} in {describe(container)}"
    if isinstance(error, TypeError):
        return f"expected a list or another sequence, got {describe(container)}"
    return f"the element {describe(place)}: {describe_error(error)}"


def explain_no_item(value: object, key: object, error: Exception) -> str:
    """Why `GetItem` found no item.

    Args:
        value: what it was asked of.
        key: the item's key.
        error: what was raised.

    >>> explain_no_item({"left": 1}, "right", KeyError("right"))
    "there is no 'right' among the keys 'left'"
    """
    if isinstance(key, slice):
        return f"expected a list or another sequence that has slices, got {describe(value)}"
    if isinstance(value, dict) and isinstance(error, KeyError):
        if not value:
            return f"there is no {key!r} in an empty dict"
        keys = (shortened(repr(other), QUOTED) for other in list(value))
        return f"there is no {key!r} among the keys {_listed(keys)}"
    names = attributes(value)
    no_items = f"expected something with the item {key!r}, got {describe(value)}"
    if isinstance(error, AttributeError) and has_attributes(value) and key not in names:
        listed = f"there is no {key!r} among the attributes {_listed(names)} of {describe(value)}"
        return listed if names else no_items
    if isinstance(error, IndexError):
        return f"there is no item {key!r} in {describe(value)}"
    if isinstance(error, TypeError):
        return no_items
    return f"the item {key!r}: {describe_error(error)}"


def _listed(names: Iterable[str]) -> str:
    """At most eight names."""
    first = list(islice(names, 9))
    return ", ".join(first[:8]) + (", ..." if len(first) > 8 else "")
