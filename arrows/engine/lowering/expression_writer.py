"""Writes the code of a typed expression, occurrence by occurrence.

This file holds what all core forms share: the walk, and what has been written so far.  The code of each form
is written by a function in the file of its family; `arrows.engine.lowering.forms` has the table.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from typing import TypeAlias

from arrows.combinators import AnyBlock, Constant, Metric, core_form
from arrows.engine.lowering.merge_chains import Compositions
from arrows.engine.lowering.sites import SiteList
from arrows.engine.lowering.source_writer import SourceWriter
from arrows.engine.lowering.streams import StreamList
from arrows.engine.lowering.symbols import Symbol, bare
from arrows.engine.values import Recursion
from arrows.inference import Typed
from arrows.typesys import types as T

# Python compiles only 20 nested blocks in a function.  A form opens at most two before it walks its parts, so
# a body that starts a function of its own beyond this depth stays well under the limit.
DEEPEST_NESTING = 8

Walk: TypeAlias = Recursion[Symbol]
"""Writes code and returns the symbol of the result; the walks of its parts are what it yields."""


class ExpressionWriter(SourceWriter):
    """What has been written of an expression.

    Args:
        emitters: for each core form, the function that writes its code.
        root: the expression.

    Attributes:
        sites: the sites that the code makes nodes of.
        streams: the streams that the code appends to.
        compositions: which functions of the expression become one operation.
        recursions: by recursion, its function, and the patterns of what it takes and gives.
        memos: by shared block and type, its function and the pattern of what it gives.
    """

    def __init__(self, emitters: Mapping[type[AnyBlock], Emitter], root: Typed) -> None:
        self.sites = SiteList()
        super().__init__(self.sites.flow)
        metrics = ((typed.form, typed.input) for typed in root.walk())
        labelled = {
            form.metric for form, type in metrics if isinstance(form, Metric) and isinstance(type, T.Tuple)
        }
        self.streams = StreamList(self.sites.flow, labelled)
        self.compositions = Compositions(root)
        self.recursions: dict[int, tuple[str, Symbol, Symbol]] = {}
        self.memos: dict[tuple[int, T.Type], tuple[str, Symbol]] = {}
        self._emitters = emitters
        self._written: dict[int, Symbol] = {}  # by occurrence, where it stands at several places

    def walk(self, typed: Typed, symbol: Symbol) -> Walk:
        """Writes the code of ``typed`` on the value ``symbol``; returns the result's symbol.

        What stands at several places is written at the first of them, in the function and in the block of
        code where the others are too: what starts a block of its own stands at one place.
        """
        if typed.places > 1 and (written := self._written.get(id(typed))) is not None:
            return written
        if self.body.nesting > DEEPEST_NESTING:
            outlined: Symbol = yield self._outlined(typed, symbol)
            return outlined
        if not isinstance(typed.form, Constant):
            symbol = self.coerced(symbol, typed.input)
        emitted = self._emitters[core_form(typed.form)](self, typed, symbol)
        result = (yield emitted) if isinstance(emitted, Generator) else emitted
        result = self.coerced(result, typed.output)
        if typed.places > 1:
            self._written[id(typed)] = result
        return result

    def _outlined(self, typed: Typed, symbol: Symbol) -> Walk:
        """Writes ``typed`` as a function of its own and calls it, so that nesting stays shallow."""
        name = self.fresh("part")
        with self.function(name):
            result = yield self.walk(typed, self.unpacked("x", bare(symbol)))
            self.put(f"return {self.pack(result)}")
        return self.call(f"{name}({self.pack(symbol)})", bare(result))


Emitter: TypeAlias = Callable[[ExpressionWriter, Typed, Symbol], Symbol | Walk]
"""Writes the code of one form on a value: at once, or as a walk over its parts."""
