"""`arrows check`: the types, sizes and type errors of the blocks of a file.

Exit status: 0 if all blocks are well-typed, 1 if one is not, 2 if the request was wrong: there is no such
file or name, or the file cannot be imported.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TypeAlias

import arrows as ar
from arrows.cli.findings import Finding, examine
from arrows.cli.option_types import block_type
from arrows.cli.user_modules import (
    Unreadable,
    block_named,
    blocks_of,
    every_block,
    load,
    split,
    user_lines,
)
from arrows.inference import Typed, tree_lines
from arrows.typesys import ArrowTypeError, ArrowValueError, SourceLine
from arrows.typesys import types as T
from arrows.typesys.quoting import printable_lines

WHOLE = 400  # characters after which a type in the JSON tree is cut short


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


def run(options: argparse.Namespace) -> int:
    """Checks a file, prints the report, and returns the exit status."""
    path, name = split(options.file)
    if not options.json:
        return _report(path, *_look(path, name, options.input))
    try:
        findings, failure = _look(path, name, options.input)
    except (ArrowValueError, OSError) as error:
        print(json.dumps(_document(path, [], _problem(error)), indent=1))
        raise
    problem = _problem(failure) if failure is not None else None
    print(json.dumps(_document(path, findings, problem), indent=1))
    return _status(findings, failure)


Failure: TypeAlias = ArrowTypeError | ArrowValueError


def _look(path: Path, name: str | None, input: T.Type | None) -> tuple[list[Finding], Failure | None]:
    """The findings of a file, or the error that the file raises while it puts its blocks together."""
    try:
        module = load(path)
    except Unreadable:
        raise
    except (ArrowTypeError, ArrowValueError) as error:
        return [], error
    named = blocks_of(module) if name is None else [block_named(module, name, path)]
    return examine(named, every_block(module), input, asked=name is not None), None


def _status(findings: list[Finding], failure: Failure | None) -> int:
    return int(failure is not None or any(finding.error is not None for finding in findings))


# The report


def _report(path: Path, findings: list[Finding], failure: Failure | None) -> int:
    if failure is not None:
        _say(f"{path.name}: a block cannot be built\n{_error(failure)}")
        _say("".join(user_lines(failure)).rstrip())
        return 1
    if not findings:
        _say(
            f"{path.name}: no blocks among its public names; to check a block that a function returns, give "
            "it a name in the file"
        )
    for finding in findings:
        _say(f"{_block(finding)}\n")
    if findings:
        _say(_summary(findings))
    return _status(findings, failure)


def _say(text: str) -> None:
    print(printable_lines(text))  # it quotes names of the user, which may hold control characters


def _block(finding: Finding) -> str:
    named = finding.named
    also = f", also {', '.join(named.also)}" if named.also else ""
    head = f"{named.name}{also}  {named.block.site}"
    if finding.error is not None:
        note = f"\n  note: {finding.note}" if finding.note else ""
        return f"{head}  ill-typed\n{_indented(_error(finding.error))}{note}"
    if finding.note:
        return f"{head}\n  note: {finding.note}"
    counts = finding.counts
    assert counts is not None
    parameters = _many(len(counts.parameters), "parameter")
    size = f"{_many(counts.numbers, 'number')}, {_memory(counts.bytes)}"
    places = _many(counts.places, "place")
    operations = f"{_many(counts.operations, 'operation')} (distinct traces) in {places}"
    primitives = f"of {_many(counts.primitives, 'primitive')}"
    tree = _indented(finding.tree)
    return f"{head}\n{tree}\n  {parameters}, {size}\n  {operations}, {primitives}"


def _summary(findings: list[Finding]) -> str:
    ill = [finding.named.name for finding in findings if finding.error is not None]
    notes = sum(1 for finding in findings if finding.status == "note")
    well = len(findings) - len(ill) - notes
    words = [
        "well-typed" if well == len(findings) else f"{well:,} well-typed" if well else "",
        f"{notes:,} depend on their use" if notes > 1 else "1 depends on its use" if notes else "",
        f"{len(ill):,} ill-typed: {', '.join(ill)}" if ill else "",
    ]
    if len(findings) == len(ill) == 1:
        words = ["ill-typed"]
    return f"{_many(len(findings), 'block')}: {', '.join(filter(None, words))}"


def _error(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


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


def _document(path: Path, findings: list[Finding], problem: dict[str, object] | None) -> dict[str, object]:
    return {
        "arrows": ar.__version__,
        "file": str(path),
        "ok": problem is None and all(finding.error is None for finding in findings),
        "error": problem,
        "blocks": [_record(finding) for finding in findings],
    }


def _record(finding: Finding) -> dict[str, object]:
    named, typed, counts = finding.named, finding.typed, finding.counts
    record: dict[str, object] = {
        "name": named.name,
        "also": list(named.also),
        **_place(named.block.site),
        "status": finding.status,
        "note": finding.note or None,
        "error": _problem(finding.error) if finding.error is not None else None,
    }
    if typed is None or counts is None:
        return record
    return record | {
        "input": str(typed.input),
        "output": str(typed.output),
        "parameters": [
            {"name": name, "shape": list(p.shape), "dtype": p.dtype} for name, p in counts.parameters.items()
        ],
        "numbers": counts.numbers,
        "bytes": counts.bytes,
        "operations": counts.operations,
        "places": counts.places,
        "primitives": counts.primitives,
        "tree": _tree(typed),
    }


def _tree(root: Typed) -> list[dict[str, object]]:
    """Every occurrence of a block, in the printed tree's order; flat, since JSON readers limit the depth."""
    return [
        {
            "depth": line.depth,
            "role": line.role,
            "block": line.title.removesuffix(" (again)"),
            "input": T.notation(line.typed.input, WHOLE),
            "output": T.notation(line.typed.output, WHOLE),
            **_place(line.typed.form.site),
        }
        for line in tree_lines(root)
    ]


def _problem(error: Exception) -> dict[str, object]:
    if not isinstance(error, (ArrowTypeError, ArrowValueError)):
        return {"type": type(error).__name__, "message": str(error)}
    details = error.details
    lines = user_lines(error) if error.__traceback__ is not None else []
    return {
        "type": "Unreadable" if isinstance(error, Unreadable) else _kind(error),
        "message": str(error),
        "attempt": details.attempt,
        "sides": [{"name": side.name, "type": side.type, **_place(side.site)} for side in details.sides],
        "path": details.at,
        "reason": details.reason,
        "hint": details.hint,
        "traceback": [] if isinstance(error, Unreadable) else lines,
    }


def _kind(error: Exception) -> str:
    return "ArrowTypeError" if isinstance(error, ArrowTypeError) else "ArrowValueError"


def _place(site: SourceLine | None) -> dict[str, object]:
    return {"file": None, "line": None} if site is None else {"file": site.file, "line": site.line or None}
