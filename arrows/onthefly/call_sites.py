"""The call sites that a program has shown so far, with their signatures, and which of them feed which.

A *call site* is a place in the user's code that calls an operation, together with the types of the operands.
It is to a program on the fly what a site is to a block: it is traced once, and each visit makes a node.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from arrows import combinators as core
from arrows.engine.lowering import (
    ApplySite,
    CarriedSite,
    ElementSite,
    Lowered,
    ObservedFlow,
    Port,
    ReadSite,
    Site,
    observed_sites,
)
from arrows.engine.planning import GrowingParams
from arrows.engine.reading import index_limit
from arrows.inference import Typed, infer
from arrows.onthefly.results import Pattern, pattern_of
from arrows.onthefly.tensor import OUTPUT_BITS
from arrows.ops import Trace
from arrows.ops.arrays import HostArray
from arrows.typesys import ArrowTypeError, ArrowValueError, SourceLine
from arrows.typesys import types as T
from arrows.typesys.errors import message


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class CallSite:
    """What happens at each visit of a call site.

    Attributes:
        number: the number of its site.
        outputs: the types of its outputs.
        pattern: how the results are nested.
        simple: how many outputs there are, if the result is one tensor or a plain tuple of tensors; else 0.
        element_sites: for each domain whose elements get rows, the site of these rows and their types.
        limits: place of an operand that is used as an index -> the number of rows that it may select from.
        random: whether it has dropout, or draws random numbers.
        draws: whether it draws random numbers, in prediction too.
        line: the line of the call.
    """

    number: int
    outputs: tuple[T.Tensor, ...]
    pattern: Pattern
    simple: int
    element_sites: dict[int, tuple[int, tuple[T.Tensor, ...]]]
    limits: Mapping[int, int]
    random: bool
    draws: bool
    line: SourceLine


@dataclass(frozen=True, slots=True)
class ValueTable:
    """Arrays that look up properties of many sites and outputs at a time.

    Attributes:
        first_place: the place of each site's first port.
        first_producer: the number of each site's first output, among those of all sites.
        type: the number of each output's type.
        is_read: whether data enter at each site.
    """

    first_place: HostArray
    first_producer: HostArray
    type: HostArray
    is_read: HostArray


class CallSites:
    """The call sites of a program, as they are observed; several threads may record at a time.

    Args:
        params: gets the parameters of layers when they are first called.
        float_type: the element type of all floats; None leaves them as they are.

    Attributes:
        sites: the sites.
        constants: the constants that operations are specialised to.
        types: the types of tensors, in the order in which they came.
    """

    def __init__(self, params: GrowingParams, float_type: str | None) -> None:
        self.params, self.float_type = params, float_type
        self.sites: list[Site] = []
        self.constants: list[HostArray] = []
        self.types: dict[T.Tensor, int] = {}
        self.version = 0
        self._interned: list[T.Tensor] = []
        self._constants: dict[Hashable, int] = {}
        self._reads: dict[T.Tensor, int] = {}
        self._carried: dict[int, int] = {}
        self._first_place: list[int] = []
        self._places = 0
        self._reaching: list[list[tuple[int, int]]] = []
        self._observed = np.zeros((0, 0), bool)

    # ------------------------------------------------------------------------------------------------------
    # types, constants, reads

    def intern(self, type: T.Tensor) -> T.Tensor:
        """The one object for each type, so that the keys of calls compare types by identity."""
        if type not in self.types:
            with self.params.lock.mutex:
                if type not in self.types:
                    self._interned.append(type)
                    self.types[type] = len(self._interned) - 1
        return self._interned[self.types[type]]

    def constant(self, array: HostArray) -> int:
        """The number of a constant; equal constants share one."""
        key = (array.dtype.str, array.shape, array.tobytes())
        if key not in self._constants:
            with self.params.lock.mutex:
                if key not in self._constants:
                    self.constants.append(array.copy())
                    self._constants[key] = len(self.constants) - 1
                    self._changed()
        return self._constants[key]

    def read_site(self, type: T.Tensor) -> int:
        """The number of the site at which data of a type enter."""
        if type not in self._reads:
            form = core.Tensor(type.shape, type.dtype)
            typed = Typed(form=form, input=T.Input(), output=type)
            with self.params.lock.mutex:
                if type not in self._reads:
                    self._reads[type] = self._add(ReadSite(len(self.sites), (self.intern(type),), typed))
        return self._reads[type]

    def carried_site(self, type_number: int) -> int:
        """The number of the site at which values of a type that an earlier run computed enter a run."""
        if type_number not in self._carried:
            type = self._interned[type_number]
            self._carried[type_number] = self._add(CarriedSite(len(self.sites), (type,)))
        return self._carried[type_number]

    @property
    def carried_types(self) -> list[int]:
        """The numbers of the types that have a `carried_site`, in the order of these sites."""
        return list(self._carried)

    @property
    def read_types(self) -> list[T.Tensor]:
        """The types of the data that enter, in the order of their sites."""
        return list(self._reads)

    # ------------------------------------------------------------------------------------------------------
    # calls

    def add_call(
        self,
        block: core.AnyBlock,
        input: T.Type,
        constants: Sequence[tuple[int, int]],
        line: SourceLine,
    ) -> CallSite:
        """Adds a call of a function or a layer.

        Args:
            block: what is called.
            input: the type of its input.
            constants: the leaves of the input that are constants, with the numbers of the constants.
            line: the line of the call.

        Raises:
            ArrowTypeError: the block does not take that input.
        """
        try:
            typed = infer(block, input, float_type=self.float_type)
            with self.params.lock.mutex:
                return self.add_typed(typed, constants, line)
        except (ArrowTypeError, ArrowValueError) as error:
            raise refused(block, input, line, error) from None

    def add_typed(self, typed: Typed, constants: Sequence[tuple[int, int]], line: SourceLine) -> CallSite:
        """Adds a call whose types have been inferred; otherwise as `add_call`."""
        trace = typed.trace
        assert trace is not None
        for owner, spec, _ in trace.parameters:
            self.params.ensure(owner, spec)
        is_constant = dict(constants)
        ports = [
            (leaf, var.rows if var.rows >= 0 else None)
            for leaf, var in enumerate(trace.inputs)
            if leaf not in is_constant
        ]
        ports.sort(key=lambda port: (port[1] is not None, port[1] or 0))  # those of one row first
        first = self._places
        outputs = tuple(self.intern(var.type) for var in trace.results if var.rows < 0)
        if len(outputs) > 1 << OUTPUT_BITS:
            raise ArrowValueError(
                f"{typed.form.label} gives {len(outputs):,} tensors; at most 1,024 are possible"
            )
        site = ApplySite(
            index=len(self.sites),
            outputs=outputs,
            typed=typed,
            ports=tuple(Port(leaf, first + n, domain) for n, (leaf, domain) in enumerate(ports)),
            constants=tuple(constants),
        )
        number = self._add(site, len(ports))
        element_sites = {}
        for domain in sorted({var.rows for var in trace.results if var.rows >= 0}):
            types = tuple(self.intern(var.type) for var in trace.results if var.rows == domain)
            element = self._add(ElementSite(len(self.sites), types, number, domain))
            element_sites[domain] = element, types
        limits = [
            (place, index_limit(trace, leaf)) for place, (leaf, domain) in enumerate(ports) if domain is None
        ]
        return CallSite(
            number=number,
            outputs=outputs,
            pattern=pattern_of(trace),
            simple=_simple(trace),
            element_sites=element_sites,
            limits={place: limit for place, limit in limits if limit is not None},
            random=trace.dropout_key is not None,
            draws=trace.draws,
            line=line,
        )

    def _add(self, site: Site, ports: int = 0) -> int:
        self.sites.append(site)
        self._first_place.append(self._places)
        self._places += ports
        self._reaching += [[] for _ in range(ports)]
        self._changed()
        return site.index

    def _changed(self) -> None:
        self.version += 1
        self.__dict__.pop("table", None)

    # ------------------------------------------------------------------------------------------------------
    # flow

    @cached_property
    def table(self) -> ValueTable:
        """The sites as arrays."""
        widths = [len(site.outputs) for site in self.sites]
        producers = np.concatenate(([0], np.cumsum(widths))).astype(np.int64)
        types = [self.types[type] for site in self.sites for type in site.outputs]
        observed = np.zeros((self._places, len(types)), bool)
        rows, columns = self._observed.shape
        observed[:rows, :columns] = self._observed
        self._observed = observed
        return ValueTable(
            first_place=np.array(self._first_place, np.int64),
            first_producer=producers[:-1],
            type=np.array(types or [0], np.int64),
            is_read=np.array([isinstance(site, ReadSite) for site in self.sites], bool),
        )

    def observe(self, places: HostArray, sites: HostArray, outputs: HostArray) -> None:
        """Records that outputs of sites have reached places: they are a flow of the program."""
        table = self.table
        producers = table.first_producer[sites] + outputs
        fresh = ~self._observed[places, producers]
        if not fresh.any():
            return
        self._observed[places[fresh], producers[fresh]] = True
        for place, site, output in zip(
            places[fresh].tolist(), sites[fresh].tolist(), outputs[fresh].tolist(), strict=True
        ):
            if (site, output) not in self._reaching[place]:
                self._reaching[place].append((site, output))
        self.version += 1

    def lowered(self) -> Lowered:
        """The observed sites and flow, in the form in which lowering returns those of a block."""
        flow = ObservedFlow([list(producers) for producers in self._reaching])
        return observed_sites(list(self.sites), list(self.constants), self.read_types, flow)


def refused(block: core.AnyBlock, input: T.Type, line: SourceLine, error: Exception) -> ArrowTypeError:
    """The error for a call that does not fit: it names block, input and line, and gives the reason."""
    details = error.details if isinstance(error, (ArrowTypeError, ArrowValueError)) else None
    reason, hint = str(error), ""
    if details is not None and details.reason:
        reason, hint = details.reason, details.hint
    return ArrowTypeError(
        message(f"cannot call {block.label} on {input} at {line}", reason=reason, hint=hint)
    )


def _simple(trace: Trace) -> int:
    """How many outputs there are, if the result is one tensor or a plain tuple of several; else 0."""
    output = trace.output
    if isinstance(output, T.Tensor):
        return 1
    plain = isinstance(output, T.Tuple) and output.labels is None and len(output.items) > 1
    if plain and all(isinstance(item, T.Tensor) for item in output.children):
        return len(trace.results)
    return 0
