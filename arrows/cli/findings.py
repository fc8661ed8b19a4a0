"""What `arrows check` finds out about a block: types, parameters and operations, or what is wrong with it."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np

import arrows as ar
from arrows.cli.user_modules import NamedBlock
from arrows.combinators import AndFan, AnyBlock, Apply, InferredZeros, Pipe
from arrows.engine.planning import named_parameters
from arrows.inference import Typed, typed_tree
from arrows.ops import Parameter
from arrows.typesys import types as T
from arrows.typesys.errors import ArrowTypeError, ArrowValueError


@dataclass(frozen=True, slots=True)
class Counts:
    """How large a model of the block would be; nothing is allocated to know it.

    Attributes:
        parameters: by name, as `model.params` has them.
        operations: distinct traces of functions and layers; each is one batched operation.
        places: where they stand in the expression.
        primitives: what the operations are made of, such as one matrix product or one addition.
    """

    parameters: dict[str, Parameter]
    operations: int
    places: int
    primitives: int

    @property
    def numbers(self) -> int:
        """How many numbers the parameters are."""
        return sum(_size(p) for p in self.parameters.values())

    @property
    def bytes(self) -> int:
        """How much memory they take."""
        return sum(_size(p) * np.dtype(p.dtype).itemsize for p in self.parameters.values())

    @classmethod
    def of(cls, typed: Typed) -> Counts:
        """Counts of a typed expression.

        Raises:
            ArrowTypeError: two layers have one name.

        >>> counts = Counts.of(ar.infer(ar.Vector(3) >> ar.FC(2)))
        >>> counts.numbers, counts.bytes, counts.operations, counts.primitives
        (8, 32, 1, 2)
        """
        traces: dict[Hashable, int] = {}
        places = 0
        for occurrence in typed.walk():
            if occurrence.trace is not None:
                places += 1
                traces[occurrence.trace.key()] = len(occurrence.trace.equations)
        return cls(named_parameters(typed), len(traces), places, sum(traces.values()))


def _size(parameter: Parameter) -> int:
    size = 1
    for n in parameter.shape:
        size *= n
    return size


@dataclass(frozen=True, slots=True)
class Finding:
    """What is known of one block.

    Attributes:
        named: the block and its name.
        typed: the typed expression; None if there is none.
        counts: what it counts; None with `typed`.
        error: what is wrong with it; None if nothing is.
        note: without an error, why it has no types by itself; with one, what might mend it; or empty.
    """

    named: NamedBlock
    typed: Typed | None = None
    counts: Counts | None = None
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
    """Infers blocks.

    A block that is part of another one may be open by itself: it takes what it is given there. If that is all
    that is wrong with it, there is a note instead of an error; and for a lone layer or function likewise.

    Args:
        wanted: the blocks.
        around: all blocks of the module.
        input: the type of their input, if one is assumed.
        asked: the blocks were asked for by name: then there are no notes.

    >>> classify = ar.FC(5, name="classify")
    >>> model = ar.Vector(3) >> classify
    >>> found = examine(
    ...     [NamedBlock("classify", classify), NamedBlock("model", model)],
    ...     [classify, model],
    ...     None,
    ...     asked=False,
    ... )
    >>> [(finding.status, finding.note) for finding in found]
    [('note', 'takes what it is given: float32[3] -> float32[5] in model'), ('ok', '')]
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
                finding, note="nothing is wrong if it is given another input; assume one by --input TYPE"
            )
        else:
            findings[place] = Finding(finding.named, note=_note(finding.named, findings))
    return findings


def _infer(named: NamedBlock, input: T.Type | None) -> Finding:
    try:
        typed = ar.infer(named.block, input)
        return Finding(named, typed, Counts.of(typed))
    except (ArrowTypeError, ArrowValueError) as error:
        return Finding(named, error=error)


def _open(block: AnyBlock) -> bool:
    """Whether nothing is wrong with a block but that its input is not known."""
    try:
        ar.infer(InferredZeros() >> block)
    except ArrowTypeError as error:
        return error.unresolved
    return True


class _Parts:
    """Which blocks stand inside others."""

    def __init__(self, blocks: Iterable[AnyBlock]) -> None:
        self.inside: set[int] = set()
        self.rows: dict[int, list[tuple[tuple[AnyBlock, ...], int]]] = {}
        seen: set[int] = set()
        todo = list(blocks)
        while todo:
            block = todo.pop()
            if id(block) in seen:
                continue
            seen.add(id(block))
            definition = getattr(block, "definition", None)
            parts = (*block.parts, *([] if definition is None else [definition]))
            self.inside.update(id(part) for part in parts)
            if isinstance(block, (Pipe, AndFan)):
                for place, part in enumerate(block.parts):
                    self.rows.setdefault(id(part), []).append((block.parts, place))
            todo.extend(parts)

    def is_one(self, block: AnyBlock) -> bool:
        """Whether a block is a part of others, or a lone layer or function, which is for nothing else."""
        if id(block) in self.inside or isinstance(block, Apply):
            return True
        steps = block.parts  # of a chain that went up in a longer one, the steps are left
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
        return f"takes what it is given: {occurrence.input} -> {occurrence.output} in {where}"
    return "takes what it is given, which is not known here; assume a type by --input TYPE"


def _occurrences(block: AnyBlock, findings: Iterable[Finding]) -> Iterator[tuple[str, Typed]]:
    for finding in findings:
        for occurrence in finding.typed.walk() if finding.typed is not None else ():
            if occurrence.form is block:
                yield finding.named.name, occurrence
