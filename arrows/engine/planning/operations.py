"""The operations of a model: sites that do the same thing, so that their nodes run together."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property

from arrows.arrays import HostArray
from arrows.combinators import AnyBlock
from arrows.engine.lowering import Composed, Site, SiteKind
from arrows.inference import Typed
from arrows.ops import Trace
from arrows.typesys import types as T


@dataclass(frozen=True, slots=True)
class PlannedPort:
    """A varying operand of an operation: its input leaf, the slab it gathers from, the sequence it spans."""

    leaf: int
    slab: int
    domain: int | None


@dataclass(frozen=True, eq=False, kw_only=True)
class Operation:
    """The work that several sites share, so that their nodes run together.

    Attributes:
        index: the operation's number.
        site: the first of its sites.
        slabs: for each output, the slab that holds it.
        ports: of what computes, the varying operands, those of one row first, then those of each sequence.
        constants: of what computes, operands that are always the same constant: (input leaf, value).
        early: the ports whose rows are all there before the first step of the operation in a component.
        stream: of what exists before anything is computed, the number of the raw stream that holds it; of
            values of earlier runs, that of their ids.
        owner: the operation that gives its rows: itself; of rows for the elements of a sequence, the one that
            takes the sequence.
    """

    index: int
    site: Site
    slabs: tuple[int, ...]
    ports: tuple[PlannedPort, ...] = ()
    constants: tuple[tuple[int, HostArray], ...] = ()
    early: tuple[int, ...] = ()
    stream: int = 0
    owner: int

    @property
    def kind(self) -> SiteKind:
        """What stands at its sites."""
        return self.site.kind

    @property
    def computes(self) -> bool:
        """Whether its rows are computed by a program of its own."""
        return self.site.kind == "apply"

    @property
    def outputs(self) -> tuple[T.Tensor, ...]:
        """The type of each tensor that a node gives."""
        return self.site.outputs

    @property
    def typed(self) -> Typed:
        """The occurrence at its first site."""
        return self.site.typed

    @cached_property
    def trace(self) -> Trace:
        """What it computes."""
        return self.site.trace

    @cached_property
    def domains(self) -> tuple[int, ...]:
        """The sequences among the ports, ascending."""
        return self.site.domains

    @cached_property
    def widths(self) -> tuple[int, ...]:
        """For each of `domains`, how many tensors an element of the sequence has."""
        spans = [port.domain for port in self.ports]
        return tuple(map(spans.count, self.domains))

    @cached_property
    def name(self) -> str:
        """The blocks that stand at its sites, for messages and tables."""
        match self.site:
            case Site(occurrence=Composed(steps=steps)):
                return " >> ".join(_form_name(step.form) for step in steps)
            case Site(occurrence=Typed(form=form)):
                return _form_name(form)
        return self.kind


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
    match site.kind:
        case "apply":
            return site.trace.key, tuple((port.leaf, port.domain) for port in site.ports), site.constants
        case "element":
            return operation[site.parent], site.domain
        case _:
            return site.kind, site.outputs, site.constants


def _form_name(form: AnyBlock) -> str:
    return form.name or getattr(form, "kind", None) or type(form).__name__
