"""What reads each path of a document, as data: one class for each way to read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

Pooling = Literal["attention", "mean", "pooled", "sequence"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PathPlan:
    """How the values at a path are read.

    Attributes:
        path: as the schema names it.
        reason: what the samples have there, in words.
        nullable: whether a null may stand there.
    """

    path: str
    reason: str
    nullable: bool = False

    @property
    def read_as(self) -> str:
        """How the values are read, in one or two words."""
        return type(self).__name__.removesuffix("Plan").lower()


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOutPlan(PathPlan):
    """Values that are not read."""

    @property
    def read_as(self) -> str:
        return "left out"


@dataclass(frozen=True, slots=True, kw_only=True)
class BooleanPlan(PathPlan):
    """True or false."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberPlan(PathPlan):
    """A number.

    Attributes:
        mean, deviation: of the numbers, or of their logarithms.
        log: whether the logarithm is taken.
        written: whether it is a text that has to be read as a number.
    """

    mean: float
    deviation: float
    log: bool = False
    written: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorPlan(PathPlan):
    """An array of a fixed number of numbers.

    Attributes:
        means, deviations: by position.
    """

    means: Sequence[float]
    deviations: Sequence[float]

    @property
    def read_as(self) -> str:
        return "vector"


@dataclass(frozen=True, slots=True, kw_only=True)
class DatePlan(PathPlan):
    """A date as text.

    Attributes:
        mean, deviation: of the days since 1970.
    """

    mean: float
    deviation: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CategoryPlan(PathPlan):
    """One of several names.

    Attributes:
        words: the names, frequent ones first; all others are unknown.
        texts: whether all are texts; numbers and truth values are named by what they look like.
    """

    words: Sequence[str]
    texts: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class TextPlan(PathPlan):
    """Free text, read as a set of n-grams.

    Attributes:
        of_words: whether these are of words, or else of characters.
        buckets: how many hashes they have.
    """

    of_words: bool
    buckets: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CharactersPlan(PathPlan):
    """Text that is read character by character, in order.

    Attributes:
        letters: the characters that occur.
    """

    letters: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class ArrayPlan(PathPlan):
    """An array of any length.

    Attributes:
        element: how its elements are read.
        pooling: how one vector is made of theirs.
        keyed: whether it is the fields of an object whose keys are data.
        recursive: whether a `RepeatPlan` within repeats it.
    """

    element: PathPlan
    pooling: Pooling
    keyed: bool = False
    recursive: bool = False

    @property
    def read_as(self) -> str:
        return f"{'map' if self.keyed else 'array'}, {self.pooling}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectPlan(PathPlan):
    """An object.

    Attributes:
        fields: how each is read, by key.
        recursive: whether a `RepeatPlan` within repeats it.
    """

    fields: Mapping[str, PathPlan]
    recursive: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class MixedPlan(PathPlan):
    """Values of several JSON types.

    Attributes:
        cases: how each is read, by its JSON type.
    """

    cases: Mapping[str, PathPlan]


@dataclass(frozen=True, slots=True, kw_only=True)
class RepeatPlan(PathPlan):
    """What a plan above reads, once more.

    Attributes:
        head: the path of that plan.
        array: whether it is an array's, or else an object's.
    """

    head: str
    array: bool

    @property
    def read_as(self) -> str:
        return f"again {self.head}"


def parts(plan: PathPlan) -> Sequence[PathPlan]:
    """The plans right below a plan."""
    if isinstance(plan, ObjectPlan):
        return [*plan.fields.values()]
    if isinstance(plan, MixedPlan):
        return [*plan.cases.values()]
    return [plan.element] if isinstance(plan, ArrayPlan) else []
