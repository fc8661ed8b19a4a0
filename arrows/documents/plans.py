"""What reads each path of a document, as data: one class for each way to read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
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
    def kind(self) -> str:
        """The name of the class, in words."""
        return type(self).__name__.lower()


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut(Plan):
    """Values that are not read."""

    @property
    def kind(self) -> str:
        return "left out"


@dataclass(frozen=True, slots=True, kw_only=True)
class Boolean(Plan):
    """True or false."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Number(Plan):
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
class Numbers(Plan):
    """An array of a fixed number of numbers.

    Attributes:
        means, deviations: by position.
    """

    means: Sequence[float]
    deviations: Sequence[float]

    @property
    def kind(self) -> str:
        return "vector"


@dataclass(frozen=True, slots=True, kw_only=True)
class Date(Plan):
    """A date as text.

    Attributes:
        mean, deviation: of the days since 1970.
    """

    mean: float
    deviation: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Category(Plan):
    """One of several names.

    Attributes:
        words: the names, frequent ones first; all others are unknown.
        texts: whether all are texts; numbers and truth values are named by what they look like.
    """

    words: Sequence[str]
    texts: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Text(Plan):
    """Free text, read as a set of n-grams.

    Attributes:
        of_words: whether these are of words, or else of characters.
        buckets: how many hashes they have.
    """

    of_words: bool
    buckets: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Characters(Plan):
    """Text that is read character by character, in order.

    Attributes:
        letters: the characters that occur.
    """

    letters: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Array(Plan):
    """An array of any length.

    Attributes:
        element: how its elements are read.
        pooling: "attention", "mean" or "sequence".
        keyed: whether it is the fields of an object whose keys are data.
        recursive: whether an `Again` within repeats it.
    """

    element: Plan
    pooling: str
    keyed: bool = False
    recursive: bool = False

    @property
    def kind(self) -> str:
        return f"{'map' if self.keyed else 'array'}, {self.pooling}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Object(Plan):
    """An object.

    Attributes:
        fields: how each is read, by key.
        recursive: whether an `Again` within repeats it.
    """

    fields: Mapping[str, Plan]
    recursive: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Mixed(Plan):
    """Values of several JSON types.

    Attributes:
        cases: how each is read, by its JSON type.
    """

    cases: Mapping[str, Plan]


@dataclass(frozen=True, slots=True, kw_only=True)
class Again(Plan):
    """What a plan above reads, once more.

    Attributes:
        head: the path of that plan.
        array: whether it is an array's, or else an object's.
    """

    head: str
    array: bool

    @property
    def kind(self) -> str:
        return f"again {self.head}"


def parts(plan: Plan) -> Sequence[Plan]:
    """The plans right below a plan."""
    if isinstance(plan, Object):
        return [*plan.fields.values()]
    if isinstance(plan, Mixed):
        return [*plan.cases.values()]
    return [plan.element] if isinstance(plan, Array) else []
