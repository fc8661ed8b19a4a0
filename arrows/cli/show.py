"""`arrows show`: draws a block, or the schedule of a batch."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import arrows as ar
from arrows.cli.option_types import block_type
from arrows.cli.outputs import require_output
from arrows.cli.user_file import (
    Unreadable,
    attribute,
    block_named,
    blocks_of,
    load,
    split,
    user_lines,
)
from arrows.combinators import AnyBlock
from arrows.data import read_json_lines
from arrows.drawing import draw, draw_timeline
from arrows.engine.planning import SCHEDULES
from arrows.inference import Typed
from arrows.storage import replacing, require_replaceable
from arrows.typesys import ArrowTypeError, ArrowValueError, printable_lines

MOST = 64  # examples in the schedule of a batch
FORMATS = {"text": ("", ".txt"), "svg": (".svg",)}
"""The endings of files by format."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options of `arrows show` to a parser."""
    add = parser.add_argument
    add("file", metavar="FILE.py:NAME", help="a block in a file; a name may have dots")
    schedule = "draw the schedule of a batch: of the first 64 of a list in the file, or of a .jsonl file"
    add("--schedule", metavar="EXAMPLES", help=schedule)
    add("--how", choices=SCHEDULES, default="strata", help="with --schedule: which (default: strata)")
    add("--input", type=block_type, metavar="TYPE", help="assume this type for the input: float32[300]")
    add("--format", choices=FORMATS, help="default: by the ending of --output, or text")
    endings = ", ".join(ending for endings in FORMATS.values() for ending in endings if ending)
    add("--output", type=Path, metavar="FILE", help=f"write to a file: {endings}, or any with --format")


def run(options: argparse.Namespace) -> int:
    """Draws a block; an ill-typed one is drawn without types.

    Returns the exit status: 1 if the block is ill-typed; then the error is printed, and there is no
    schedule.
    """
    path, name = split(options.file)
    if options.output is not None:
        require_replaceable(options.output)
        require_output(options.output, path)
    format = options.format or _format_of(options.output)
    try:
        module = load(path)
    except ArrowTypeError as error:
        raise Unreadable(f"cannot import {path.name}: {error}\n{''.join(user_lines(error))}") from error
    name, block = _only_block(module, path) if name is None else (name, block_named(module, name, path))
    ill, text = "", ""
    try:
        if options.schedule:
            examples = _examples(options.schedule, module, path)[:MOST]
            text = _schedule(block, examples, options.how, format)
        else:
            text = _shown(name, ar.infer(block, options.input), format)
    except ArrowTypeError as error:
        ill = f"{type(error).__name__}: {error}"
        text = "" if options.schedule else _shown(name, block, format)
        print(f"arrows show: {name} is ill-typed\n{printable_lines(ill)}", file=sys.stderr)
    if options.output is None:
        print(text, end="")
    elif text:
        with replacing(options.output) as file:
            file.write(text.encode())
    return 1 if ill else 0


def _format_of(output: Path | None) -> str:
    """The format that belongs to the ending of a file."""
    suffix = "" if output is None else output.suffix.lower()
    for format, endings in FORMATS.items():
        if suffix in endings:
            return format
    listed = ", ".join(f"{endings[-1]} ({format})" for format, endings in FORMATS.items())
    raise ArrowValueError(f"--output {output}: no format has the ending {suffix}; use {listed}, or --format")


def _only_block(module: ModuleType, path: Path) -> tuple[str, AnyBlock]:
    blocks = [*blocks_of(module).items()]
    if len(blocks) == 1:
        return blocks[0]
    names = ", ".join(name for name, _ in blocks[:10]) or "none"
    raise ArrowValueError(f"say which block of {path.name} to show, as {path}:NAME; there are {names}")


def _examples(source: str, module: ModuleType, path: Path) -> list[Any]:
    """The examples of a `.jsonl` file, or those that a name in the user's module stands for."""
    is_file = source.endswith(".jsonl")
    examples = read_json_lines(source).to_list() if is_file else attribute(module, source, path)
    if not isinstance(examples, (list, tuple)):
        raise ArrowValueError(f"{source} must be a list of examples, not {type(examples).__name__}")
    return list(examples)


def _schedule(block: AnyBlock, examples: list[Any], how: str, format: Any) -> str:
    timeline = ar.compile(block, jit=False, schedule=how).timeline(examples)
    return draw_timeline(timeline, format)


def _shown(name: str, block: AnyBlock | Typed, format: Any) -> str:
    """The picture of a block; as text, its typed tree."""
    if format != "text":
        return draw(block, name=name)
    return f"{printable_lines(str(block))}\n"
