"""What `arrows check` reports of a block: types, parameters and operations, or its type error."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np

import arrows as ar
from arrows.cli.user_modules import NamedBlock
from arrows.combinators import AndFan, AnyBlock, Apply, InferredZeros, Pipe
from arrows.engine.planning import named_parameters
from arrows.inference import Typed, typed_tree
from arrows.ops import Parameter
from arrows.typesys import ArrowTypeError, ArrowValueError
from arrows.typesys import types as T


@dataclass(frozen=True, slots=True)
class ExpressionCounts:
    """The size of a block's model, counted without allocating its parameters.

    Attributes:
        parameters: by name, as `model.params` has them.
        operations: distinct traces of functions and layers; each is one batched operation.
        places: how many places in the expression they take.
        primitives: how many primitives the operations consist of, such as a matrix product or an addition.
    """

    parameters: dict[str, Parameter]
    operations: int
    places: int
    primitives: int

    @property
    def numbers(self) -> int:
        """How many numbers the parameters hold."""
        return sum(_size(p) for p in self.parameters.values())

    @property
    def bytes(self) -> int:
        """How many bytes of memory they take."""
        return sum(_size(p) * np.dtype(p.dtype).itemsize for p in self.parameters.values())

    @classmethod
    def of(cls, typed: Typed) -> ExpressionCounts:
        """The counts of a typed expression; refuses two layers of one name."""
        traces: dict[Hashable, int] = {}
        places = 0
        for occurrence in typed.walk():
            if occurrence.trace is not None:
                places += 1
                traces[occurrence.trace.key()] = len(occurrence.trace.equations)
        return cls(
            parameters=named_parameters(typed),
            operations=len(traces),
            places=places,
            primitives=sum(traces.values()),
        )


def _size(parameter: Parameter) -> int:
    return math.prod(parameter.shape)


@dataclass(frozen=True, slots=True)
class Finding:
    """The result for one block.

    Attributes:
        named: the block and its name.
        typed: the typed expression; None if there is none.
        counts: the counts of `typed`; None without it.
        error: the block's error; None if it has none.
        note: without an error, why the block has no types of its own; with one, what might help; or empty.
    """

    named: NamedBlock
    typed: Typed | None = None
    counts: ExpressionCounts | None = None
    error: ArrowTypeError | ArrowValueError | None = None
    note: str = ""

    @property
    def status(self) -> str:
        """`error`, `note` or `ok`."""
        return "error" if self.error is not None else "note" if self.note else "ok"

    @property
    def tree(self) -> str:
        """The expression as a tree with types; empty if there are none."""
        return typed_tree(self.typed) if self.typed is not None else ""


def examine(
    wanted: Iterable[NamedBlock], around: Iterable[AnyBlock], input: T.Type | None, *, asked: bool
) -> list[Finding]:
    """Infers the types of blocks.

    The types of a block that is part of another block may depend on its place there. If that is the only
    problem, its finding has a note instead of an error. The same holds for a single layer or function.

    If the user asked for the blocks by name, an error stays an error. `around` are all blocks of the module.
    """
    findings = [_infer(named, input) for named in wanted]
    if input is not None:
        return findings
    parts = _Parts(around)
    for place, finding in enumerate(findings):
        if finding.error is None or not _open(finding.named.block):
            continue
        if asked or not parts.is_one(finding.named.block):
            findings[place] = replace(
                finding, note="it may be well-typed with another input; try one with --input TYPE"
            )
        else:
            findings[place] = Finding(finding.named, note=_note(finding.named, findings))
    return findings


def _infer(named: NamedBlock, input: T.Type | None) -> Finding:
    try:
        typed = ar.infer(named.block, input)
        return Finding(named, typed, ExpressionCounts.of(typed))
    except (ArrowTypeError, ArrowValueError) as error:
        return Finding(named, error=error)


def _open(block: AnyBlock) -> bool:
    """Whether the only problem of a block is that its input type is not known."""
    try:
        ar.infer(InferredZeros() >> block)
    except ArrowTypeError as error:
        return error.unresolved
    return True


class _Parts:
    """The blocks that are parts of other blocks."""

    def __init__(self, blocks: Iterable[AnyBlock]) -> None:
        self.inside: set[int] = set()
        # Block -> the chains and fan-outs that it is a step of, with its position there.
        self.rows: dict[int, list[tuple[tuple[AnyBlock, ...], int]]] = {}
        seen: set[int] = set()
        stack = list(blocks)
        while stack:
            block = stack.pop()
            if id(block) in seen:
                continue
            seen.add(id(block))
            definition = getattr(block, "definition", None)
            parts = (*block.parts, *([] if definition is None else [definition]))
            self.inside.update(id(part) for part in parts)
            if isinstance(block, (Pipe, AndFan)):
                for place, part in enumerate(block.parts):
                    self.rows.setdefault(id(part), []).append((block.parts, place))
            stack.extend(parts)

    def is_one(self, block: AnyBlock) -> bool:
        """Whether a block is part of another; a single layer or function counts as one, wherever it is."""
        if id(block) in self.inside or isinstance(block, Apply):
            return True
        steps = block.parts  # a chain inside a longer chain is flattened: only its steps remain
        return (
            isinstance(block, (Pipe, AndFan))
            and bool(steps)
            and any(
                len(row) > len(steps) and row[place : place + len(steps)] == steps
                for row, place in self.rows.get(id(steps[0]), ())
            )
        )


def _note(named: NamedBlock, findings: Iterable[Finding]) -> str:
    for where, occurrence in _occurrences(named.block, findings):
        return f"its types depend on its use: {occurrence.input} -> {occurrence.output} in {where}"
    return "its types depend on its use, which this file does not show; assume an input with --input TYPE"


def _occurrences(block: AnyBlock, findings: Iterable[Finding]) -> Iterator[tuple[str, Typed]]:
    for finding in findings:
        for occurrence in finding.typed.walk() if finding.typed is not None else ():
            if occurrence.form is block:
                yield finding.named.name, occurrence
