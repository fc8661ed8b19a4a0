"""The call sites that a program has shown so far, with their signatures, and which of them feed which.

A *call site* is a place in the user's code that calls an operation, together with the types of the operands.
It is to a program on the fly what a site is to a block: it is traced once, and each visit makes a node.
A call of the same operation on what comes from the same call sites counts as a visit wherever it stands: so
the place is looked at only where that is new, or where a message may have to name the line.

An interrupt may come between any two lines.  So what is known lies in a few collections, each of which
changes by one call; everything else is found out from these, and is found out again where an interrupt came
before it was kept.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any, NamedTuple

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
from arrows.engine.reading import index_of
from arrows.engine.values import build
from arrows.inference import Typed, infer
from arrows.onthefly.operands import Nesting
from arrows.onthefly.tensor import OUTPUT, OUTPUT_BITS
from arrows.ops import Equation, Trace
from arrows.typesys import ArrowTypeError, ArrowValueError, SourceLine, message, types as T

_MOST_KNOWN = 100_000  # operands of a call may come from several places each, so there are many combinations


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class CallSite:
    """What happens at each visit of a call site.

    Attributes:
        number: the number of its site.
        mark: what its nodes begin with: see `Recording.nodes`.
        output: the type of its result.
        origins: those of its outputs: see `CallSites`.
        flat: 1 if the result is one tensor, 2 if it is a tuple of two without keys, as is frequent; else 0.
        nesting: the result with the place of each tensor in its stead; None if it has sequences.
        results: for each tensor of the result the sequence whose rows it has (-1: none), its place among the
            outputs or among those of a row, and its origin.
        element_sites: for each sequence whose elements get rows, the site of these rows.
        first_place: the place of its first operand, among those of all sites.
        widths: for each sequence that it reads, how many tensors an element has.
        random: whether it is random: 0 never, 1 in training, since it has dropout, 2 always.
        refuses: whether it may refuse its operands when it runs, such as an index that is out of range.
        limit: it refuses no integer below as its last operand, if it is not negative.
        learns: whether it has parameters.
        line: the line of the call.
    """

    number: int
    mark: int
    output: T.Type
    origins: tuple[int, ...]
    flat: int
    nesting: Nesting | None
    results: tuple[tuple[int, int, int], ...]
    element_sites: dict[int, int]
    first_place: int
    widths: Counter[int]
    random: int
    refuses: bool
    limit: int
    learns: bool
    line: SourceLine

    @property
    def simple(self) -> bool:
        """Whether it may be part of a chain: it is on tensors, draws nothing and refuses nothing."""
        return not (self.random or self.refuses or self.widths or self.element_sites)


class Chain(NamedTuple):
    """Call sites that are visited one after another, and the call site that stands for all of them.

    Attributes:
        sites: their sites.
        operands: of all of them in turn, which of the sites gives it and which output of that it is; or -1,
            and which operand of the chain it is.
        kept: of each site, the place of its first output among those of the chain; -1 if they are not kept.
        call: the call site that stands for them.
    """

    sites: tuple[int, ...]
    operands: tuple[tuple[int, int], ...]
    kept: tuple[int, ...]
    call: CallSite


class CallSites:
    """The call sites of a program, as they are observed; several threads may record at a time.

    Args:
        params: gets the parameters of layers when they are first called.
        float_type: the element type of all floats; None leaves them as they are.

    Attributes:
        sites: the sites.
        types: by *origin*, which is the number of an output among those of all sites, its type.
        outputs: by origin, its site and which output of that it is.
        constants: the constants that operations are specialised to.
        chains: the chains that were learnt.
        learns: whether a batch may show more of them.
        calls: what identifies a call site -> the call site: see `LazyBatch`.
        known: what is called and the origins of its operands -> the call site, found without a look at the
            line. Where the call may be refused as it runs, the line follows, since the message names it.
        fast: while a batch trains, and while it does not: what is called -> the origin of its first operand
            -> ... -> None -> the call site. It finds what loops call most without a tuple, and nothing that
            is random then. `int` stands for an integer that is not refused.
    """

    def __init__(self, params: GrowingParams, float_type: str | None) -> None:
        self.params, self.float_type = params, float_type
        self.sites: list[Site] = []
        self.types: list[T.Tensor] = []
        self.constants: list[HostArray] = []
        self.calls: dict[Hashable, CallSite] = {}
        self.known: dict[tuple[Any, ...], CallSite] = {}
        self.fast: tuple[dict[Any, Any], dict[Any, Any]] = {}, {}
        self.outputs: list[tuple[int, int]] = []
        self.chains: list[Chain] = []
        self.learns = True
        self.learnt: object = None  # the version at which chains were looked for
        self._places = 0
        self._flow: dict[tuple[int, int], None] = {}  # place and origin, in the order of sight
        # What follows only finds again what is above.
        self._constants: dict[Hashable, int] = {}
        self._entrances: dict[tuple[str, T.Tensor], tuple[int, int]] = {}

    @property
    def version(self) -> tuple[int, int, int]:
        """Changes whenever there is more than before."""
        return len(self.sites), len(self.constants), len(self._flow)

    # ------------------------------------------------------------------------------------------------------
    # constants, reads

    def typed(self, signature: Iterable[Any]) -> tuple[Any, ...]:
        """The signature of a call with the types of its operands in place of their origins."""
        return tuple(
            frozenset(map(self.typed, x))
            if x.__class__ is frozenset
            else self.types[x]
            if x.__class__ is int and x >= 0
            else x
            for x in signature
        )

    def constant(self, array: HostArray) -> int:
        """The number of a constant; equal constants share one."""
        key = (array.dtype.str, array.shape, array.tobytes())
        with self.params.lock.mutex:
            if key not in self._constants:
                number = len(self.constants)
                self.constants.append(array.copy())
                self._constants[key] = number
            return self._constants[key]

    def entrance(self, of: SiteKind, type: T.Tensor) -> tuple[int, int]:
        """The site at which values of a type enter a run, data or values of earlier runs; and its origin."""
        known = self._entrances.get((of, type))
        if known is None:
            typed = Typed(form=core.Tensor(type.shape, type.dtype), input=T.Input(), output=type)
            with self.params.lock.mutex:
                number = len(self.sites)
                (origin,) = self._add(Site(number, of, (type,), typed if of == "read" else None))
                known = self._entrances[of, type] = number, origin
        return known

    def entrances(self, sites: HostArray, outputs: HostArray) -> HostArray:
        """The sites at which some outputs of sites, which earlier runs have computed, enter a run."""
        kinds, kind_of = np.unique(sites << OUTPUT_BITS | outputs, return_inverse=True)
        entrances = [
            self.entrance("carried", self.sites[kind >> OUTPUT_BITS].outputs[kind & OUTPUT])[0]
            for kind in kinds.tolist()
        ]
        return np.array(entrances, np.int64)[kind_of]

    def _add(self, *sites: Site) -> list[int]:
        """Adds sites; the origins of their outputs."""
        outputs = [(site.index, n) for site in sites for n in range(len(site.outputs))]
        first = len(self.outputs)
        self.types[first:] = [type for site in sites for type in site.outputs]
        self.outputs += outputs
        self.sites += sites
        return list(range(first, first + len(outputs)))

    # ------------------------------------------------------------------------------------------------------
    # calls

    def infer_call(
        self, block: core.AnyBlock, input: T.Type, signature: Sequence[Any], key: Hashable, attempt: str = ""
    ) -> CallSite:
        """The call site of a function or a layer on the user's innermost line.

        Args:
            block: what is called.
            input: the type of its operands.
            signature: their origins, and the values and nesting that the call is specialised to.
            key: identifies the line and the types. Calls there of blocks that compute the same are one call
                site.
            attempt: what messages say was attempted; by default, to call the block.

        Raises:
            ArrowTypeError: the block does not take these operands.
        """
        line = SourceLine.here()
        try:
            typed = infer(block, input, float_type=self.float_type)
            assert typed.trace is not None
            same = typed.trace.key, block.label, str(typed.output), key
            with self.params.lock.mutex:
                site = self.calls.get(same)
                if site is None:
                    site = self.calls[same] = self.add_typed(typed, signature, line)
                return site
        except (ArrowTypeError, ArrowValueError) as error:
            raise refused(attempt or f"call {block.label} on {input}", line, error) from None

    def add_typed(self, typed: Typed, signature: Sequence[Any], line: SourceLine) -> CallSite:
        """Adds a call whose types have been inferred."""
        trace = typed.trace
        assert trace is not None
        for owner, spec, _ in trace.parameters:
            self.params.ensure(owner, spec)
        of_one_row = [leaf for leaf, var in enumerate(trace.inputs) if var.rows < 0]
        origins = [origin for origin in signature if origin.__class__ is int]
        constants = {leaf: -1 - n for leaf, n in zip(of_one_row, origins, strict=True) if n < 0}
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
        number, first = len(self.sites), self._places
        self._places += len(ports)
        site = Site(
            index=number,
            kind="apply",
            outputs=outputs,
            occurrence=typed,
            ports=tuple(Port(leaf, first + n, domain) for n, (leaf, domain) in enumerate(ports)),
            constants=tuple(constants.items()),
        )
        rows = [max(var.rows, -1) for var in trace.results]
        elements = []
        for n, domain in enumerate(sorted({*rows} - {-1}), number + 1):
            types = tuple(var.type for var in trace.results if var.rows == domain)
            elements.append(Site(n, "element", types, parent=number, domain=domain))
        order = sorted(range(len(rows)), key=rows.__getitem__)
        origin_of = dict(zip(order, self._add(site, *elements), strict=True))
        start = {rows[n]: origin_of[n] for n in reversed(order)}
        places = count()
        nesting = None if elements else build(typed.output, lambda _: next(places), lambda _: None, True)
        return CallSite(
            number=number,
            mark=-1 - number,
            output=typed.output,
            origins=tuple(origin_of[n] for n in order[: len(outputs)]),
            flat=1 if nesting == 0 else 2 * (nesting.__class__ is tuple and nesting == (0, 1)),
            nesting=nesting,
            results=tuple((rows[n], origin_of[n] - start[rows[n]], origin_of[n]) for n in range(len(rows))),
            element_sites={each.domain: each.index for each in elements},
            first_place=first,
            widths=Counter(domain for _, domain in ports if domain is not None),
            random=2 if trace.draws else int(trace.dropout_key is not None),
            refuses=any(map(_refuses, trace.equations)),
            limit=_limit(trace),
            learns=bool(trace.parameters),
            line=line,
        )

    # ------------------------------------------------------------------------------------------------------
    # flow

    def observe(self, site: CallSite, call: tuple[Any, ...], place: tuple[int, ...] | None) -> None:
        """Records that the operands of a call come from the origins in its signature.

        Args:
            site: the call site.
            call: what is called, and the signature.
            place: the line, which a message must name if the call is refused when it runs; None: the call
                site is not to be known by what is called, which may soon be gone.
        """
        signature = call[1:]
        origins = [origin for origin in signature if origin.__class__ is int and origin >= 0]
        flow = list(enumerate(origins, site.first_place))
        first = site.first_place + len(origins)
        elements = [each for each in signature if each.__class__ is frozenset]
        for domain, of_elements in enumerate(elements):
            for element in of_elements:
                flow += enumerate([origin for origin in element if origin.__class__ is int], first)
            first += site.widths[domain]
        self._flow.update(dict.fromkeys(flow))
        if len(self.known) >= _MOST_KNOWN:
            for known in (self.known, *self.fast):
                known.clear()  # they are found again
        if place is not None:
            self.known[(*call, *place) if site.refuses else call] = site
            if not site.refuses:
                self.shorten(site, call)

    def shorten(self, site: CallSite, call: tuple[Any, ...]) -> None:
        """Makes a call that gives no sequence known in `fast`; one key is a pair at its end, or two pairs."""
        if site.nesting is not None:
            if call[2:3] == ("(",) and call[5:] == (")",):
                call = *call[:2], call[3:5]
            elif call[1:2] + call[4:6] + call[8:] == ("(", ")", "(", ")"):
                call = call[0], call[2:4] + call[6:8]
            for after in self.fast[site.random :]:
                for key in call:
                    after = after.setdefault(key, {})
                after[None] = site

    def meet(
        self, call: tuple[Any, ...], identity: Hashable, place: tuple[int, ...], make: Callable[[], CallSite]
    ) -> CallSite:
        """The call site of a call that is not known by the origins of its operands; it is from now on.

        Args:
            call, place: see `observe`.
            identity: what is called, and the line and the types that it is called on.
            make: makes the call site if it is new.
        """
        site = self.calls.get(identity)
        if site is None:
            site = self.calls[identity] = make()
        self.observe(site, call, place)
        return site

    def lowered(self) -> Lowered:
        """The observed sites and flow, in the form in which lowering returns those of a block."""
        outputs, places = dict[Any, Any](), dict[int, int]()  # those of chains that stand for others
        for chain in self.chains:
            operands = iter(chain.operands)
            for site, kept in zip(chain.sites, chain.kept, strict=True):
                for port in self.sites[site].ports:
                    call, number = next(operands)
                    if call < 0:
                        places[port.place] = chain.call.first_place + number
                if kept >= 0:
                    for n in range(len(self.sites[site].outputs)):
                        outputs[site, n] = chain.call.number, kept + n
        flow: list[dict[tuple[int, int], None]] = [{} for _ in range(self._places)]
        for place, origin in list(self._flow):  # other threads record meanwhile
            output = self.outputs[origin]
            reaching = dict.fromkeys([output, outputs.get(output, output)])
            flow[place].update(reaching)
            flow[places.get(place, place)].update(reaching)
        reads = list(dict.fromkeys(site.outputs[0] for site in self.sites if site.kind == "read"))
        return observed_sites(list(self.sites), list(self.constants), reads, list(map(list, flow)))


def _refuses(equation: Equation) -> bool:
    """Whether a kernel refuses some operands of the right types: an index, or no rows without a default."""
    indices = not all(operand.type.floating for operand in equation.operands)
    return ("default", None) in equation.attributes or (indices and not equation.primitive.elementwise)


def _limit(trace: Trace) -> int:
    """What the last operand must be below where nothing else can be refused; 0: something else can."""
    uses = [index_of(equation) for equation in trace.equations if _refuses(equation)]
    if any(use is None or use[1] is None or use[0] != trace.inputs[-1] for use in uses):
        return 0
    return min((use[1] for use in uses if use and use[1] is not None), default=1 << 31)


def refused(attempt: str, line: SourceLine, error: ArrowTypeError | ArrowValueError) -> ArrowTypeError:
    """The error for a call that does not fit: what was attempted on which line, and the reason."""
    details = error.details
    text = message(f"cannot {attempt} at {line}", reason=details.reason or str(error), hint=details.hint)
    return ArrowTypeError(text)
