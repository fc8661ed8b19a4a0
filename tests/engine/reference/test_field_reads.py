"""Which field a function reads is found without running what is not that."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from operator import attrgetter, itemgetter
from typing import Any

import pytest

from arrows.engine.reference.field_reads import fields_of


def of_customer(order: Any) -> Any:
    return order.customer


def by(key: Any) -> Callable[[Any], Any]:
    return lambda x: x[key]


@pytest.mark.parametrize(
    ("function", "fields"),
    [
        (lambda r: r.customer.name, ("customer", "name")),
        (lambda r: r["customer"]["names"][-1], ("customer", "names", -1)),
        (lambda r, key="a": r[key], ("a",)),
        (by("b"), ("b",)),
        (of_customer, ("customer",)),
        (attrgetter("customer.name"), ("customer", "name")),
        (itemgetter(3), (3,)),
        (lambda r: r, ()),
    ],
)
def test_fields(function: Any, fields: tuple[Any, ...]) -> None:
    assert fields_of(function) == fields


ran: list[Any] = []
numbers: dict[Any, int] = defaultdict(lambda: len(numbers))


def into(table: dict[Any, int]) -> Callable[[Any], Any]:
    return lambda x: table[x.word]


@pytest.mark.parametrize(
    "function",
    [
        lambda r: ran.append(r),
        lambda r: r.a if r.b is None else r.b,
        lambda r: r.a or r.b,
        lambda r: r.name.lower(),
        lambda r: (r.a, r.b),
        lambda r: [*r],
        lambda r: 1 in r,
        lambda r: r.a + 1,
        lambda r: 3,
        lambda: 3,
        lambda a, b: a[b],
        into(numbers),
        attrgetter("a", "b"),
        itemgetter(0, 1),
        len,
        str.lower,
        {}.get,
    ],
)
def test_what_does_something_else_has_none(function: Any) -> None:
    assert fields_of(function) == ()
    assert not ran
    assert not numbers
