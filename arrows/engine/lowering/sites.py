"""The places of an expression that make nodes: what stands there, what feeds it, what it gives.

A *site* is a place in the typed expression where an operation stands, an input is read, or a constant is
made.  At lowering each visit of a site is one *node* with ``width`` value ids (see `Plan`); a *port* is one
tensor operand of it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from arrows.engine.lowering.flow import FlowGraph
from arrows.inference import Typed
from arrows.ops import Trace
from arrows.typesys import types as T


@dataclass(frozen=True, slots=True)
class Port:
    """One tensor operand of a site.

    Attributes:
        leaf: which tensor leaf of the operation's input it is, depth first.
        place: the place of `FlowGraph` that feeds it.
        domain: None for one row a node; ``k`` for the elements of the k-th sequence of the operation's input.
    """

    leaf: int
    place: int
    domain: int | None = None


@dataclass(eq=False, slots=True)
class Site:
    """One place that makes nodes.

    Attributes:
        index: the site's number, in the order of the expression.
        typed: the occurrence that stands here (None for a constant).
        kind: ``"apply"``, ``"read"``, ``"constant"``, or ``"element"``: the rows that an operation with a
            result of unknown length gives, as nodes that can be fed on.
        outputs: the types of the tensors one node gives.
        ports: the operands that vary; those of one row first, then those of each sequence.
        constants: the operands that are the same constant at every visit, as (leaf, constant).
        parent: of an ``"element"`` site, the site whose rows these are.
        domain: of an ``"element"`` site, the sequence whose length the rows have.
    """

    index: int
    kind: str
    outputs: tuple[T.Tensor, ...]
    typed: Typed | None = None
    ports: tuple[Port, ...] = ()
    constants: tuple[tuple[int, int], ...] = ()
    parent: int = -1
    domain: int = -1
    first_producer: int = -1

    @property
    def trace(self) -> Trace:
        """The trace of the operation that stands here."""
        assert self.typed is not None and self.typed.trace is not None
        return self.typed.trace

    @property
    def domains(self) -> tuple[int, ...]:
        """The sequences among the varying operands, ascending."""
        return tuple(sorted({port.domain for port in self.ports if port.domain is not None}))


@dataclass(eq=False, slots=True)
class Sites:
    """All sites of an expression, with the flow between them, as lowering finds them."""

    flow: FlowGraph = field(default_factory=FlowGraph)
    sites: list[Site] = field(default_factory=list)
    producers: list[tuple[int, int]] = field(default_factory=list)
    constants: list[np.ndarray] = field(default_factory=list)
    _constant_numbers: dict[tuple[str, tuple[int, ...], bytes], int] = field(default_factory=dict)
    _constant_places: list[int] = field(default_factory=list)

    def add(self, kind: str, outputs: tuple[T.Tensor, ...], **more: Any) -> Site:
        """Adds a site and its producers."""
        site = Site(len(self.sites), kind, outputs, first_producer=len(self.producers), **more)
        self.sites.append(site)
        self.producers.extend((site.index, k) for k in range(len(outputs)))
        return site

    def place(self, site: Site, output: int) -> int:
        """Returns a new place that holds output ``output`` of ``site``."""
        return self.flow.produce(site.first_producer + output)

    def constant(self, of: T.Tensor, value: np.ndarray | None) -> tuple[int, int]:
        """Returns the number and the place of a constant; equal constants are one."""
        array = np.zeros(of.shape, of.dtype) if value is None else np.asarray(value, of.dtype)
        key = (of.dtype, of.shape, array.tobytes())
        number = self._constant_numbers.get(key)
        if number is None:
            number = self._constant_numbers[key] = len(self.constants)
            self.constants.append(array)
            site = self.add("constant", (of,), domain=number)
            self._constant_places.append(self.place(site, 0))
        return number, self._constant_places[number]
