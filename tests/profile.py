"""How many random examples a test draws, and from which seed.

`HYPOTHESIS_PROFILE=nightly` draws many. Seeds are fixed by the names of the tests; `ARROWS_TEST_SEED=7` gives
other examples.
"""

from __future__ import annotations

import os
import random
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import hypothesis
import pytest

NIGHTLY = os.environ.get("HYPOTHESIS_PROFILE") == "nightly"
SEED = os.environ.get("ARROWS_TEST_SEED", "0")

Test = Callable[..., None]


def draws(ci: int, nightly: int, *names: str) -> Callable[[Test], Test]:
    """A decorator above `@given`: so many examples, from a seed that belongs to these names.

    Args:
        ci: number of examples in `make test`.
        nightly: number of examples in the nightly profile.
        names: what tells this use from the others of the same function.
    """

    def decorate(test: Test) -> Test:
        number = zlib.crc32("/".join((SEED, test.__qualname__, *names)).encode())
        seeded = hypothesis.seed(number)(test)
        return hypothesis.settings(max_examples=nightly if NIGHTLY else ci)(seeded)

    return decorate


@dataclass
class Count:
    """What a test compared.

    Attributes:
        pairs: models with a batch.
        examples: examples in these batches.
    """

    pairs: int = 0
    examples: int = 0


@contextmanager
def counted(record: Callable[[str, object], None], at_least: int) -> Iterator[Count]:
    """Counts what a test compares, for the summary of the run; it must be enough.

    Args:
        record: pytest's `record_property`.
        at_least: the smallest number of pairs.
    """
    count = Count()
    yield count
    record("pairs", count.pairs)
    record("examples", count.examples)
    assert count.pairs >= at_least


def sampled(cases: Iterable[Any], most: int) -> list[Any]:
    """The cases of a large cross: some by day, which the seed and the calling file pick; the others at night.

    Args:
        cases: values for `pytest.mark.parametrize`, which may be `pytest.param`s.
        most: how many run in `make test`.
    """
    listed = list(cases)
    caller = os.path.basename(sys._getframe(1).f_code.co_filename)
    number = zlib.crc32(f"{SEED}/{caller}/{len(listed)}".encode())
    chosen = set(random.Random(number).sample(range(len(listed)), min(most, len(listed))))
    return [case if place in chosen else at_night(case) for place, case in enumerate(listed)]


def at_night(case: Any) -> Any:
    """A case of a parametrized test, marked `nightly`; a tuple holds one value for each argument."""
    if not isinstance(case, type(pytest.param())):
        case = pytest.param(*(case if isinstance(case, tuple) else (case,)))
    return pytest.param(*case.values, marks=[*case.marks, pytest.mark.nightly], id=case.id)
