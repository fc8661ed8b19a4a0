"""`arrows check`: the types, sizes and type errors of the blocks of a file.

Exit status: 0 if all blocks are well-typed, 1 if one is not, 2 if the request was wrong: there is no such
file or name, or the file cannot be imported.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

import arrows as ar
from arrows.cli.option_types import block_type
from arrows.cli.user_file import NamedBlock, Unreadable, block_named, blocks_of, load, split, user_lines
from arrows.combinators import AnyBlock, Apply, InferredZeros
from arrows.engine.planning import named_parameters
from arrows.inference import Typed, typed_tree
from arrows.typesys import ArrowTypeError, ArrowValueError, SourceLine
from arrows.typesys import types as T
from arrows.typesys.quoting import printable_lines


def add_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options of `arrows check` to a parser."""
    parser.add_argument(
        "file", metavar="FILE.py[:NAME]", help="a file, or one block in it; a name may have dots"
    )
    parser.add_argument(
        "--input",
        type=block_type,
        metavar="TYPE",
        help="assume this type for the input, such as float32[300]",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON document, for editors and CI")


@dataclass(frozen=True, slots=True)
class Finding:
    """The result for one block.

    Attributes:
        named: the block and its name.
        typed: the typed expression; None if there is none.
        error: the block's error; None if it has none.
        note: without an error, why the block has no types of its own; with one, what might help; or empty.
    """

    named: NamedBlock
    typed: Typed | None = None
    error: ArrowTypeError | ArrowValueError | None = None
    note: str = ""


def run(options: argparse.Namespace) -> int:
    """Checks a file, prints the report, and returns the exit status."""
    path, name = split(options.file)
    findings: list[Finding] = []
    failure: ArrowTypeError | ArrowValueError | None = None
    try:
        try:
            module = load(path)
        except Unreadable:
            raise
        except (ArrowTypeError, ArrowValueError) as error:  # raised by blocks that do not fit together
            failure = error
        else:
            named = blocks_of(module) if name is None else [block_named(module, name, path)]
            findings = examine(named, module, options.input, asked=name is not None)
    except (ArrowValueError, OSError) as error:
        if options.json:
            print(json.dumps(_document(path, [], error), indent=1))
        raise
    if options.json:
        print(json.dumps(_document(path, findings, failure), indent=1))
    else:
        print(printable_lines("\n".join(_report(path, findings, failure))))
    return int(failure is not None or any(finding.error is not None for finding in findings))


def examine(
    wanted: Iterable[NamedBlock], module: ModuleType, input: T.Type | None, *, asked: bool
) -> list[Finding]:
    """Infers the types of blocks.

    The types of a block that is part of another block may depend on its place there. If that is the only
    problem, its finding has a note instead of an error. The same holds for a single layer or function.

    If the user asked for the blocks by name, an error stays an error.
    """
    findings = []
    for named in wanted:
        try:
            typed = ar.infer(named.block, input)
            _counts(typed)
            findings.append(Finding(named, typed))
        except (ArrowTypeError, ArrowValueError) as error:
            findings.append(Finding(named, error=error))
    if input is not None:
        return findings
    private = [value for name, value in vars(module).items() if name.startswith("_")]
    around = [*(each.block for each in blocks_of(module)), *(v for v in private if isinstance(v, ar.Block))]
    for place, finding in enumerate(findings):
        block = finding.named.block
        if finding.error is None or not _is_open(block):
            continue
        if not asked and (isinstance(block, Apply) or _is_part(block, around)):
            findings[place] = Finding(finding.named, note=_note(block, findings))
        else:
            words = "it may be well-typed with another input; try one with --input TYPE"
            findings[place] = replace(finding, note=words)
    return findings


def _is_open(block: AnyBlock) -> bool:
    """Whether the only problem of a block is that its input type is not known."""
    try:
        ar.infer(InferredZeros() >> block)
    except ArrowTypeError as error:
        return error.unresolved
    return True


def _is_part(block: AnyBlock, around: Iterable[AnyBlock]) -> bool:
    """Whether a block is part of another; of a chain in a longer one, only the steps are."""
    inside: set[int] = set()
    stack, steps = [other for other in around if other is not block], block.parts
    while stack:
        other = stack.pop()
        row, definition = other.parts, getattr(other, "definition", None)
        starts = [place for place, part in enumerate(row) if steps and part is steps[0]]
        if len(row) > len(steps) and any(row[place : place + len(steps)] == steps for place in starts):
            return True
        parts = [*row, *([] if definition is None else [definition])]
        stack.extend(part for part in parts if id(part) not in inside)
        inside.update(map(id, parts))
    return id(block) in inside


def _note(block: AnyBlock, findings: Iterable[Finding]) -> str:
    for finding in findings:
        for occurrence in finding.typed.walk() if finding.typed is not None else ():
            if occurrence.form is block:
                types = f"{occurrence.input} -> {occurrence.output}"
                return f"its types depend on its use: {types} in {finding.named.name}"
    return "its types depend on its use, which this file does not show; assume an input with --input TYPE"


def _counts(typed: Typed) -> dict[str, Any]:
    """The size of a block's model, counted without making its parameters; refuses two layers of one name."""
    parameters = named_parameters(typed)
    sizes = {name: math.prod(parameter.shape) for name, parameter in parameters.items()}
    traces = [occurrence.trace for occurrence in typed.walk() if occurrence.trace is not None]
    distinct = {trace.key(): len(trace.equations) for trace in traces}
    return {
        "parameters": [
            {"name": name, "shape": list(p.shape), "dtype": p.dtype} for name, p in parameters.items()
        ],
        "numbers": sum(sizes.values()),
        "bytes": sum(sizes[name] * np.dtype(p.dtype).itemsize for name, p in parameters.items()),
        "operations": len(distinct),
        "places": len(traces),
        "primitives": sum(distinct.values()),
    }


# The report


def _report(
    path: Path, findings: list[Finding], failure: ArrowTypeError | ArrowValueError | None
) -> list[str]:
    if failure is not None:
        error = f"{type(failure).__name__}: {failure}"
        return [f"{path.name}: a block cannot be built\n{error}", "".join(user_lines(failure)).rstrip()]
    if not findings:
        hint = "to check a block that a function returns, give it a name in the file"
        return [f"{path.name}: no blocks among its public names; {hint}"]
    ill = [finding.named.name for finding in findings if finding.error is not None]
    notes = sum(1 for finding in findings if finding.error is None and finding.note)
    well = len(findings) - len(ill) - notes
    words = [
        "well-typed" if well == len(findings) else f"{well:,} well-typed" if well else "",
        f"{notes:,} depend on their use" if notes > 1 else "1 depends on its use" if notes else "",
        f"{len(ill):,} ill-typed: {', '.join(ill)}" if ill else "",
    ]
    summary = "ill-typed" if len(findings) == len(ill) == 1 else ", ".join(filter(None, words))
    return [*(f"{_block(finding)}\n" for finding in findings), f"{_many(len(findings), 'block')}: {summary}"]


def _block(finding: Finding) -> str:
    named = finding.named
    also = f", also {', '.join(named.also)}" if named.also else ""
    head = f"{named.name}{also}  {named.block.site}"
    note = f"\n  note: {finding.note}" if finding.note else ""
    if finding.error is not None:
        error = f"{type(finding.error).__name__}: {finding.error}"
        return f"{head}  ill-typed\n{_indented(error)}{note}"
    if finding.typed is None:
        return f"{head}{note}"
    counts = _counts(finding.typed)
    return (
        f"{head}\n{_indented(typed_tree(finding.typed))}\n"
        f"  {_many(len(counts['parameters']), 'parameter')}, {_many(counts['numbers'], 'number')}, "
        f"{_memory(counts['bytes'])}\n"
        f"  {_many(counts['operations'], 'operation')} (distinct traces) in "
        f"{_many(counts['places'], 'place')}, of {_many(counts['primitives'], 'primitive')}"
    )


def _indented(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.split("\n"))


def _many(count: int, word: str) -> str:
    return f"{count:,} {word}{'' if count == 1 else 's'}"


def _memory(count: int) -> str:
    if count < 1000:
        return _many(count, "byte")
    power = 1 if count < 1000**2 else 2 if count < 1000**3 else 3
    return f"{count / 1000**power:,.1f} {' kMG'[power]}B"


# The document


def _document(path: Path, findings: list[Finding], failure: Exception | None) -> dict[str, Any]:
    return {
        "arrows": ar.__version__,
        "file": str(path),
        "ok": failure is None and all(finding.error is None for finding in findings),
        "error": _problem(failure),
        "blocks": [_record(finding) for finding in findings],
    }


def _record(finding: Finding) -> dict[str, Any]:
    named, typed = finding.named, finding.typed
    record = {
        "name": named.name,
        "also": list(named.also),
        **_place(named.block.site),
        "status": "error" if finding.error is not None else "note" if finding.note else "ok",
        "note": finding.note or None,
        "error": _problem(finding.error),
    }
    if typed is None:
        return record
    types = {"input": str(typed.input), "output": str(typed.output)}
    return record | types | _counts(typed) | {"tree": typed_tree(typed)}


def _problem(error: Exception | None) -> dict[str, Any] | None:
    if not isinstance(error, (ArrowTypeError, ArrowValueError)):
        return None if error is None else {"type": type(error).__name__, "message": str(error)}
    details = error.details
    own = error.__traceback__ is not None and not isinstance(error, Unreadable)
    return {
        "type": type(error).__name__,
        "message": str(error),
        "attempt": details.attempt,
        "sides": [{"name": side.name, "type": side.type, **_place(side.site)} for side in details.sides],
        "path": details.at,
        "reason": details.reason,
        "hint": details.hint,
        "traceback": user_lines(error) if own else [],
    }


def _place(site: SourceLine | None) -> dict[str, Any]:
    return {"file": None, "line": None} if site is None else {"file": site.file, "line": site.line or None}
