"""The operations of a model: sites that do the same thing, so that their nodes run together."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field

from arrows.combinators import AnyBlock
from arrows.engine.lowering import ApplySite, CarriedSite, Composed, ConstantSite, ElementSite, ReadSite, Site
from arrows.inference import Typed
from arrows.ops import Trace
from arrows.ops.arrays import HostArray
from arrows.typesys import types as T


@dataclass(frozen=True, slots=True)
class PlannedPort:
    """A varying operand of an operation: its input leaf, the slab it gathers from, the sequence it spans."""

    leaf: int
    slab: int
    domain: int | None


@dataclass(frozen=True, eq=False, slots=True)
class Operation:
    """The work that several sites share, so that their nodes run together; of no other class, a constant.

    Attributes:
        index: the operation's number.
        name: the blocks that stand at its sites, for messages and tables.
        outputs: type of each tensor that a node gives.
        slabs: for each output, the slab that holds it.
    """

    index: int
    name: str
    outputs: tuple[T.Tensor, ...]
    slabs: tuple[int, ...]


@dataclass(frozen=True, eq=False, slots=True)
class ApplyOperation(Operation):
    """An operation that computes.

    Attributes:
        typed: the occurrence at its first site.
        trace: what it computes.
        ports: the varying operands, those of one row first, then those of each sequence.
        constants: operands that are always the same constant: (input leaf, value).
        early: the ports whose rows are all there before the first step of the operation in a component.
        domains: the sequences among the ports, ascending.
        widths: for each of `domains`, how many tensors an element of the sequence has.
    """

    typed: Typed
    trace: Trace
    ports: tuple[PlannedPort, ...]
    constants: tuple[tuple[int, HostArray], ...]
    early: tuple[int, ...]
    domains: tuple[int, ...] = field(init=False)
    widths: tuple[int, ...] = field(init=False)

    def __post_init__(self) -> None:
        spans = [port.domain for port in self.ports if port.domain is not None]
        domains = tuple(sorted(set(spans)))
        object.__setattr__(self, "domains", domains)
        object.__setattr__(self, "widths", tuple(map(spans.count, domains)))


@dataclass(frozen=True, eq=False, slots=True)
class StreamOperation(Operation):
    """Values of one tensor type that exist before anything is computed.

    Attributes:
        stream: the number of the raw stream that holds them.
    """

    stream: int


@dataclass(frozen=True, eq=False, slots=True)
class ReadOperation(StreamOperation):
    """Inputs that are read from examples.

    Attributes:
        typed: the occurrence at its first site.
    """

    typed: Typed


@dataclass(frozen=True, eq=False, slots=True)
class CarriedOperation(StreamOperation):
    """Values that earlier runs computed; the stream holds their ids."""


@dataclass(frozen=True, eq=False, slots=True)
class ElementOperation(Operation):
    """The rows that an operation gives for the elements of a sequence.

    Attributes:
        parent: the operation that gives them.
        domain: the sequence whose length they have.
    """

    parent: int
    domain: int


@dataclass(frozen=True, slots=True)
class SiteGroups:
    """The sites grouped by the work that they do.

    Attributes:
        operation: the operation of each site.
        firsts: the first site of each operation.
    """

    operation: list[int]
    firsts: list[Site]


def group_sites(sites: Sequence[Site]) -> SiteGroups:
    """Groups sites that do the same thing: of the same trace, parameters and constants.

    A layer that is used in five places is one operation, so its nodes run together wherever they stand.
    """
    numbers: dict[Hashable, int] = {}
    firsts: list[Site] = []
    operation: list[int] = []
    for site in sites:
        number = numbers.setdefault(_work(site, operation), len(firsts))
        if number == len(firsts):
            firsts.append(site)
        operation.append(number)
    return SiteGroups(operation, firsts)


def _work(site: Site, operation: Sequence[int]) -> Hashable:
    """A key that is equal for sites that do the same thing."""
    match site:
        case ApplySite():
            return site.trace.key(), tuple((port.leaf, port.domain) for port in site.ports), site.constants
        case ReadSite(outputs=(output,)) | CarriedSite(outputs=(output,)):
            return type(site), output
        case ElementSite(parent=parent, domain=domain):
            return operation[parent], domain
        case ConstantSite(constant=constant):
            return constant
        case _:
            raise AssertionError("an operation of no kind")


def operation_name(site: Site) -> str:
    """Returns the name of a site's operation for messages and tables."""
    match site:
        case ApplySite(typed=Composed(steps=steps)):
            return " >> ".join(_form_name(step.form) for step in steps)
        case ApplySite(typed=typed) | ReadSite(typed=typed):
            return _form_name(typed.form)
        case ElementSite():
            return "element"
        case CarriedSite():
            return "carried"
        case _:
            return "constant"


def _form_name(form: AnyBlock) -> str:
    return form.name or getattr(form, "kind", None) or type(form).__name__
