"""The call sites that a program has shown so far, with their signatures, and which of them feed which.

A *call site* is a place in the user's code that calls an operation, together with the types of the operands.
It is to a program on the fly what a site is to a block: it is traced once, and each visit makes a node.

An interrupt may come between any two lines.  So what is known lies in a few collections, each of which
changes by one call; everything else is found out from these, and is found out again where an interrupt came
before it was kept.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass

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
        owners: the layers whose parameters it uses.
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
    owners: tuple[object, ...]
    line: SourceLine


@dataclass(frozen=True, slots=True)
class ValueTable:
    """Arrays that look up properties of many sites and outputs at a time.

    Attributes:
        sites: how many sites there were when it was made.
        first_place: the place of each site's first port.
        first_producer: the number of each site's first output, among those of all sites.
        type: the number of each output's type.
        is_read: whether data enter at each site.
        observed: by place and output, whether the output has been seen to reach the place.
    """

    sites: int
    first_place: HostArray
    first_producer: HostArray
    type: HostArray
    is_read: HostArray
    observed: HostArray


class CallSites:
    """The call sites of a program, as they are observed; several threads may record at a time.

    Args:
        params: gets the parameters of layers when they are first called.
        float_type: the element type of all floats; None leaves them as they are.

    Attributes:
        sites: the sites.
        constants: the constants that operations are specialised to.
    """

    def __init__(self, params: GrowingParams, float_type: str | None) -> None:
        self.params, self.float_type = params, float_type
        self.sites: list[Site] = []
        self.constants: list[HostArray] = []
        self._types: dict[T.Tensor, tuple[int, T.Tensor]] = {}
        self._flow: dict[tuple[int, int, int], None] = {}  # place, site and output, in the order of sight
        # What follows only finds again what is above.
        self._constants: dict[Hashable, int] = {}
        self._reads: dict[T.Tensor, int] = {}
        self._carried: dict[int, int] = {}
        self._table: ValueTable | None = None

    @property
    def version(self) -> tuple[int, int, int]:
        """Changes whenever there is more than before."""
        return len(self.sites), len(self.constants), len(self._flow)

    # ------------------------------------------------------------------------------------------------------
    # types, constants, reads

    def intern(self, type: T.Tensor) -> T.Tensor:
        """The one object for each type, so that the keys of calls compare types by identity."""
        known = self._types.get(type)
        if known is None:
            with self.params.lock.mutex:
                known = self._types.setdefault(type, (len(self._types), type))
        return known[1]

    def type_number(self, type: T.Tensor) -> int:
        """The number of a type that has been interned."""
        return self._types[type][0]

    def constant(self, array: HostArray) -> int:
        """The number of a constant; equal constants share one."""
        key = (array.dtype.str, array.shape, array.tobytes())
        if key not in self._constants:
            with self.params.lock.mutex:
                if key not in self._constants:
                    number = len(self.constants)
                    self.constants.append(array.copy())
                    self._constants[key] = number
        return self._constants[key]

    def read_site(self, type: T.Tensor) -> int:
        """The number of the site at which data of a type enter."""
        if type not in self._reads:
            form = core.Tensor(type.shape, type.dtype)
            typed = Typed(form=form, input=T.Input(), output=type)
            self._reads[type] = self._only(
                ReadSite, type, lambda index: ReadSite(index, (self.intern(type),), typed)
            )
        return self._reads[type]

    def carried_site(self, type_number: int) -> int:
        """The number of the site at which values of a type that an earlier run computed enter a run."""
        if type_number not in self._carried:
            type = list(self._types)[type_number]
            self._carried[type_number] = self._only(
                CarriedSite, type, lambda index: CarriedSite(index, (self.intern(type),))
            )
        return self._carried[type_number]

    def _only(self, kind: type[Site], output: T.Tensor, make: Callable[[int], Site]) -> int:
        """The number of the only site of a kind with this output, which is made if there is none."""
        with self.params.lock.mutex:
            for site in self.sites:
                if isinstance(site, kind) and site.outputs == (output,):
                    return site.index
            self.sites.append(make(len(self.sites)))
            return len(self.sites) - 1

    @property
    def carried_types(self) -> list[int]:
        """The numbers of the types that have a `carried_site`, in the order of these sites."""
        return [self.type_number(site.outputs[0]) for site in self.sites if isinstance(site, CarriedSite)]

    @property
    def read_types(self) -> list[T.Tensor]:
        """The types of the data that enter, in the order of their sites."""
        return [site.outputs[0] for site in self.sites if isinstance(site, ReadSite)]

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
        outputs = tuple(self.intern(var.type) for var in trace.results if var.rows < 0)
        if len(outputs) > 1 << OUTPUT_BITS:
            raise ArrowValueError(
                f"{typed.form.label} gives {len(outputs):,} tensors; at most 1,024 are possible"
            )
        number, first = len(self.sites), self._next_place()
        site = ApplySite(
            index=number,
            outputs=outputs,
            typed=typed,
            ports=tuple(Port(leaf, first + n, domain) for n, (leaf, domain) in enumerate(ports)),
            constants=tuple(constants),
        )
        elements = []
        for n, domain in enumerate(sorted({var.rows for var in trace.results if var.rows >= 0}), number + 1):
            types = tuple(self.intern(var.type) for var in trace.results if var.rows == domain)
            elements.append(ElementSite(n, types, number, domain))
        limits = [
            (place, index_limit(trace, leaf)) for place, (leaf, domain) in enumerate(ports) if domain is None
        ]
        self.sites += [site, *elements]
        return CallSite(
            number=number,
            outputs=outputs,
            pattern=pattern_of(trace),
            simple=_simple(trace),
            element_sites={each.domain: (each.index, each.outputs) for each in elements},
            limits={place: limit[0] for place, limit in limits if limit is not None},
            random=trace.dropout_key is not None,
            draws=trace.draws,
            owners=tuple(owner for owner, _, _ in trace.parameters),
            line=line,
        )

    def _next_place(self) -> int:
        """The place after those of the ports of all sites."""
        applied = (site for site in reversed(self.sites) if isinstance(site, ApplySite) and site.ports)
        last = next(applied, None)
        return 0 if last is None else last.ports[-1].place + 1

    # ------------------------------------------------------------------------------------------------------
    # flow

    @property
    def table(self) -> ValueTable:
        """The sites as arrays."""
        if self._table is None or self._table.sites != len(self.sites):
            self._table = self._make_table()
        return self._table

    def _make_table(self) -> ValueTable:
        ports = [len(site.ports) if isinstance(site, ApplySite) else 0 for site in self.sites]
        places = np.cumsum([0, *ports])
        producers = np.cumsum([0, *(len(site.outputs) for site in self.sites)])
        types = [self.type_number(type) for site in self.sites for type in site.outputs]
        observed = np.zeros((places[-1], len(types)), bool)
        if self._flow:
            place, site, output = np.array(list(self._flow)).T
            observed[place, producers[site] + output] = True
        return ValueTable(
            sites=len(self.sites),
            first_place=places[:-1],
            first_producer=producers[:-1],
            type=np.array(types or [0], np.int64),
            is_read=np.array([isinstance(site, ReadSite) for site in self.sites], bool),
            observed=observed,
        )

    def observe(self, places: HostArray, sites: HostArray, outputs: HostArray) -> None:
        """Records that outputs of sites have reached places: they are a flow of the program."""
        table = self.table
        producers = table.first_producer[sites] + outputs
        fresh = ~table.observed[places, producers]
        if not fresh.any():
            return
        columns = [column[fresh].tolist() for column in (places, sites, outputs)]
        self._flow.update(dict.fromkeys(zip(*columns, strict=True)))
        table.observed[places[fresh], producers[fresh]] = True

    def lowered(self) -> Lowered:
        """The observed sites and flow, in the form in which lowering returns those of a block."""
        reaching: list[list[tuple[int, int]]] = [[] for _ in range(self._next_place())]
        for place, site, output in self._flow:
            reaching[place].append((site, output))
        return observed_sites(list(self.sites), list(self.constants), self.read_types, ObservedFlow(reaching))


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
