"""The call sites that a program has shown so far, with their signatures, and which of them feed which.

A *call site* is a place in the user's code that calls an operation, together with the types of the operands.
It is to a program on the fly what a site is to a block: it is traced once, and each visit makes a node.

An interrupt may come between any two lines.  So what is known lies in a few collections, each of which
changes by one call; everything else is found out from these, and is found out again where an interrupt came
before it was kept.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from arrows import combinators as core
from arrows.arrays import HostArray
from arrows.engine.lowering import (
    Lowered,
    Port,
    Site,
    SiteKind,
    observed_sites,
)
from arrows.engine.planning import GrowingParams
from arrows.inference import Typed, infer
from arrows.onthefly.tensor import OUTPUT_BITS
from arrows.typesys import ArrowTypeError, ArrowValueError, SourceLine, message, types as T


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class CallSite:
    """What happens at each visit of a call site.

    Attributes:
        number: the number of its site.
        output: the type of its result.
        kinds: the kinds of its outputs.
        flat: 1 if the result is one tensor, 2 if it is a tuple of two without keys, as is frequent; else 0.
        results: for each tensor of the result the sequence whose rows it has (-1: none), its place among the
            outputs or among those of a row, and its kind.
        element_sites: for each sequence whose elements get rows, the site of these rows.
        widths: for each sequence that it reads, how many tensors an element has.
        random: whether it is random: 0 never, 1 in training, since it has dropout, 2 always.
        learns: whether it has parameters.
        line: the line of the call.
    """

    number: int
    output: T.Type
    kinds: tuple[int, ...]
    flat: int
    results: tuple[tuple[int, int, int], ...]
    element_sites: dict[int, int]
    widths: Counter[int]
    random: int
    learns: bool
    line: SourceLine


@dataclass(frozen=True, slots=True)
class ValueTable:
    """Arrays that look up properties of many sites and outputs at a time.

    Attributes:
        first_place: the place of each site's first port.
        first_producer: the number of each site's first output, among those of all sites.
        kind: the kind of each output.
        is_read: whether data enter at each site.
        takes_sequences: whether there are sequences among the operands of each site.
        observed: by place and output, whether the output has been seen to reach the place.
    """

    first_place: HostArray
    first_producer: HostArray
    kind: HostArray
    is_read: HostArray
    takes_sequences: HostArray
    observed: HostArray


class CallSites:
    """The call sites of a program, as they are observed; several threads may record at a time.

    Args:
        params: gets the parameters of layers when they are first called.
        float_type: the element type of all floats; None leaves them as they are.

    Attributes:
        sites: the sites.
        types: the types of tensors that were seen; the *kind* of a tensor is its type's place here.
        constants: the constants that operations are specialised to.
        calls: what identifies a call -> its call site: see `LazyBatch`.
    """

    def __init__(self, params: GrowingParams, float_type: str | None) -> None:
        self.params, self.float_type = params, float_type
        self.sites: list[Site] = []
        self.constants: list[HostArray] = []
        self.calls: dict[Hashable, CallSite] = {}
        self.types: list[T.Tensor] = []
        self._flow: dict[tuple[int, int, int], None] = {}  # place, site and output, in the order of sight
        # What follows only finds again what is above.
        self._constants: dict[Hashable, int] = {}
        self._kinds: dict[T.Tensor, int] = {}
        self._entrances: dict[tuple[str, int], int] = {}
        self._table: ValueTable | None = None

    @property
    def version(self) -> tuple[int, int, int]:
        """Changes whenever there is more than before."""
        return len(self.sites), len(self.constants), len(self._flow)

    # ------------------------------------------------------------------------------------------------------
    # types, constants, reads

    def kind(self, type: T.Tensor) -> int:
        """The number that stands for a type in signatures."""
        known = self._kinds.get(type)
        if known is None:
            with self.params.lock.mutex:
                if type not in self.types:
                    self.types.append(type)
                known = self._kinds[type] = self.types.index(type)
        return known

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

    def type_of(self, kind: int) -> T.Tensor:
        """The type of a tensor, or of a constant, whose kind is -1 - number."""
        if kind >= 0:
            return self.types[kind]
        array = self.constants[-1 - kind]
        return T.Tensor(array.shape, array.dtype.name)

    def entrance(self, of: SiteKind, kind: int) -> int:
        """The number of the site at which values of a type enter a run: data, or values of earlier runs."""
        if (of, kind) not in self._entrances:
            output = self.types[kind]
            typed = Typed(form=core.Tensor(output.shape, output.dtype), input=T.Input(), output=output)
            with self.params.lock.mutex:
                sites, number = self.sites, len(self.sites)
                alike = [site.index for site in sites if site.kind == of and site.outputs == (output,)]
                if not alike:
                    sites.append(Site(number, of, (output,), typed if of == "read" else None))
                self._entrances[of, kind] = alike[0] if alike else number
        return self._entrances[of, kind]

    def entrances(self, sites: HostArray, outputs: HostArray) -> HostArray:
        """The sites at which some outputs of sites, which earlier runs have computed, enter a run."""
        kinds = self.table.kind[self.table.first_producer[sites] + outputs]
        entrances = np.zeros(len(kinds), np.int64)
        for kind in dict.fromkeys(kinds.tolist()):
            entrances[kinds == kind] = self.entrance("carried", kind)
        return entrances

    # ------------------------------------------------------------------------------------------------------
    # calls

    def infer_call(
        self, block: core.AnyBlock, input: T.Type, signature: Sequence[Any], key: Hashable, attempt: str = ""
    ) -> CallSite:
        """The call site of a function or a layer on the user's innermost line.

        Args:
            block: what is called.
            input: the type of its operands.
            signature: their kinds and nesting.
            key: identifies the place. Calls there of blocks that compute the same are one call site.
            attempt: what messages say was attempted; by default, to call the block.

        Raises:
            ArrowTypeError: the block does not take these operands.
        """
        line = SourceLine.here()
        try:
            typed = infer(block, input, float_type=self.float_type)
            assert typed.trace is not None
            same = typed.trace.key, block.label, str(typed.output), tuple(signature), key
            with self.params.lock.mutex:
                site = self.calls.get(same)
                if site is None:
                    kinds = [kind for kind in signature if kind.__class__ is int]
                    site = self.calls[same] = self.add_typed(typed, kinds, line)
                return site
        except (ArrowTypeError, ArrowValueError) as error:
            raise refused(attempt or f"call {block.label} on {input}", line, error) from None

    def add_typed(self, typed: Typed, kinds: Sequence[int], line: SourceLine) -> CallSite:
        """Adds a call whose types have been inferred; `kinds` are those of its operands of one row."""
        trace = typed.trace
        assert trace is not None
        for owner, spec, _ in trace.parameters:
            self.params.ensure(owner, spec)
        of_one_row = [leaf for leaf, var in enumerate(trace.inputs) if var.rows < 0]
        constants = {leaf: -1 - kind for leaf, kind in zip(of_one_row, kinds, strict=True) if kind < 0}
        ports = [
            (leaf, var.rows if var.rows >= 0 else None)
            for leaf, var in enumerate(trace.inputs)
            if leaf not in constants
        ]
        ports.sort(key=lambda port: (port[1] is not None, port[1] or 0))  # those of one row first
        outputs = tuple(var.type for var in trace.results if var.rows < 0)
        if len(outputs) > 1 << OUTPUT_BITS:
            raise ArrowValueError(
                f"{typed.form.label} gives {len(outputs):,} tensors; at most 1,024 are possible"
            )
        number, first = len(self.sites), self._next_place()
        site = Site(
            index=number,
            kind="apply",
            outputs=outputs,
            occurrence=typed,
            ports=tuple(Port(leaf, first + n, domain) for n, (leaf, domain) in enumerate(ports)),
            constants=tuple(constants.items()),
        )
        elements = []
        for n, domain in enumerate(sorted({var.rows for var in trace.results if var.rows >= 0}), number + 1):
            types = tuple(var.type for var in trace.results if var.rows == domain)
            elements.append(Site(n, "element", types, parent=number, domain=domain))
        self.sites += [site, *elements]
        results: list[tuple[int, int, int]] = []
        counts = Counter[int]()
        for var in trace.results:
            rows = max(var.rows, -1)
            results.append((rows, counts[rows], self.kind(var.type)))
            counts[rows] += 1
        pair = (isinstance(typed.output, T.Tuple) and not typed.output.labels and typed.output.items) or ()
        return CallSite(
            number=number,
            output=typed.output,
            kinds=tuple(map(self.kind, outputs)),
            flat=int(isinstance(typed.output, T.Tensor))
            or 2 * (len(pair) == 2 and all(isinstance(item, T.Tensor) for item in pair)),
            results=tuple(results),
            element_sites={each.domain: each.index for each in elements},
            widths=Counter(domain for _, domain in ports if domain is not None),
            random=2 if trace.draws else int(trace.dropout_key is not None),
            learns=bool(trace.parameters),
            line=line,
        )

    def _next_place(self) -> int:
        """The place after those of the ports of all sites."""
        applied = (site for site in reversed(self.sites) if site.ports)
        last = next(applied, None)
        return 0 if last is None else last.ports[-1].place + 1

    # ------------------------------------------------------------------------------------------------------
    # flow

    @property
    def table(self) -> ValueTable:
        """The sites as arrays."""
        if self._table is None or len(self._table.is_read) != len(self.sites):
            self._table = self._make_table()
        return self._table

    def _make_table(self) -> ValueTable:
        places = np.cumsum([0, *(len(site.ports) for site in self.sites)])
        producers = np.cumsum([0, *(len(site.outputs) for site in self.sites)])
        kinds = [self.kind(type) for site in self.sites for type in site.outputs]
        observed = np.zeros((places[-1], len(kinds)), bool)
        if self._flow:
            place, site, output = np.array(list(self._flow)).T
            observed[place, producers[site] + output] = True
        return ValueTable(
            first_place=places[:-1],
            first_producer=producers[:-1],
            kind=np.array(kinds or [0], np.int64),
            is_read=np.array([site.kind == "read" for site in self.sites], bool),
            takes_sequences=np.array([any(p.domain is not None for p in s.ports) for s in self.sites], bool),
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
        reads = [site.outputs[0] for site in self.sites if site.kind == "read"]
        return observed_sites(list(self.sites), list(self.constants), reads, reaching)


def refused(attempt: str, line: SourceLine, error: ArrowTypeError | ArrowValueError) -> ArrowTypeError:
    """The error for a call that does not fit: what was attempted on which line, and the reason."""
    details = error.details
    text = message(f"cannot {attempt} at {line}", reason=details.reason or str(error), hint=details.hint)
    return ArrowTypeError(text)
