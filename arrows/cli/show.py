"""`arrows show`: draws a block, or the schedule of a batch, or prints programs."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import arrows as ar
from arrows.cli.exit_codes import LINE
from arrows.cli.option_types import block_type, count
from arrows.cli.outputs import require_output
from arrows.cli.user_modules import (
    NamedBlock,
    Unreadable,
    attribute,
    block_named,
    blocks_of,
    load,
    split,
    user_lines,
)
from arrows.drawing import (
    CHARACTERS,
    Scene,
    lay_out,
    scene_of,
    shorten,
    timeline_svg,
    timeline_text,
    to_mermaid,
    to_page,
    to_svg,
    to_text,
)
from arrows.engine.planning import SCHEDULES
from arrows.engine.scheduling import Timeline
from arrows.files import replacing, require_replaceable
from arrows.inference import Typed, typed_tree
from arrows.typesys import ArrowTypeError, ArrowValueError
from arrows.typesys.quoting import printable, printable_lines, shortened

FORMATS = ("text", "mermaid", "svg", "html")
ENDINGS = {
    ".txt": "text",
    ".mmd": "mermaid",
    ".md": "mermaid",
    ".svg": "svg",
    ".html": "html",
    ".htm": "html",
}


def add_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options of `arrows show` to a parser."""
    parser.add_argument("file", metavar="FILE.py:NAME", help="a block in a file; a name may have dots")
    parser.add_argument("--format", choices=FORMATS, help="default: by the ending of --output, or text")
    parser.add_argument(
        "--input",
        type=block_type,
        metavar="TYPE",
        help="assume this type for the input, such as float32[300]",
    )
    parser.add_argument(
        "--output",
        type=Path,
        metavar="FILE",
        help="write to this file instead of standard output; without --format, its ending decides the "
        f"format: {', '.join(ENDINGS)}, or none for text",
    )
    parser.add_argument(
        "--schedule",
        metavar="EXAMPLES",
        help="draw the schedule of a batch of these examples instead: the name of a list in the file, or a "
        ".json or .jsonl file",
    )
    parser.add_argument(
        "--program",
        action="store_true",
        help="print the programs of the block's operations instead: those that compute gradients, if the "
        "result is a number or a Metric is named loss",
    )
    parser.add_argument(
        "--batch",
        metavar="N|EXAMPLES",
        help="with --schedule: how many examples (default: 64); with --program: examples, named as for "
        "--schedule, whose rows and steps are counted",
    )
    parser.add_argument("--how", choices=SCHEDULES, help="with --schedule: which schedule (default: strata)")


def run(options: argparse.Namespace) -> int:
    """Draws a block; an ill-typed one is drawn without types.

    Returns the exit status: 1 if the block is ill-typed; then the error is printed, and no schedule is drawn.
    """
    if options.output is not None:
        require_replaceable(options.output)
        require_output(options.output, split(options.file)[0])
    _check_options(options)
    if options.schedule is not None:
        _batch_size(options.batch)
    format = options.format or _format_of(options.output)
    named, module = _named(options.file)
    if options.program:
        return _show_program(named, module, options)
    if options.schedule is not None:
        return _show_schedule(named, module, options, format)
    typed: Typed | None = None
    error = ""
    try:
        typed = ar.infer(named.block, options.input)
    except (ArrowTypeError, ArrowValueError) as refused:
        error = f"{type(refused).__name__}: {refused}"
    text = _drawn(named, typed, error, format)
    _write(text, options.output)
    if error:
        print(
            f"arrows show: {named.name} is ill-typed, and drawn without types\n{printable_lines(error)}",
            file=sys.stderr,
        )
    return 1 if error else 0


def _show_schedule(named: NamedBlock, module: ModuleType, options: argparse.Namespace, format: str) -> int:
    model = _compiled(named, "schedule", schedule=options.how or "strata")
    if model is None:
        return 1
    examples = examples_from(options.schedule, module, split(options.file)[0])[: _batch_size(options.batch)]
    _write(_scheduled(named, model.timeline(examples), format), options.output)
    return 0


def _batch_size(text: str | None) -> int:
    """How many examples a schedule is of."""
    try:
        return 64 if text is None else count(text)
    except argparse.ArgumentTypeError as error:
        raise ArrowValueError(f"argument --batch: {error}") from None


def _show_program(named: NamedBlock, module: ModuleType, options: argparse.Namespace) -> int:
    model = _compiled(named, "program")
    if model is None:
        return 1
    if "loss" in model.metrics:
        model = ar.compile(named.block, loss="loss", jit=False)
    examples = None
    if options.batch is not None:
        examples = examples_from(options.batch, module, split(options.file)[0])
    _write(f"{model.program(examples=examples)}\n", options.output)
    return 0


def _compiled(named: NamedBlock, drawn: str, **arguments: Any) -> ar.Model | None:
    """The model of a block; None, and the reason on standard error, where its types do not fit."""
    try:
        return ar.compile(named.block, jit=False, **arguments)
    except ArrowTypeError as refused:
        details = refused.details
        reason = shortened(" ".join(f"{details.attempt}: {details.reason}".split()), LINE).rstrip(": ")
        print(f"arrows show: {named.name} has no {drawn}: {printable(reason)}", file=sys.stderr)
        return None


def _check_options(options: argparse.Namespace) -> None:
    """Refuses options that would have no effect."""
    if options.program:
        for name in ("schedule", "format", "input", "how"):
            if getattr(options, name) is not None:
                raise ArrowValueError(f"--{name} has no effect on programs; leave it out")
        return
    if options.schedule is not None and options.input is not None:
        raise ArrowValueError("--input has no effect on a schedule: the examples are its input; leave it out")
    for name in ("batch", "how"):
        if options.schedule is None and getattr(options, name) is not None:
            raise ArrowValueError(f"--{name} has an effect only on a schedule: add --schedule EXAMPLES")


def _format_of(output: Path | None) -> str:
    """The format that belongs to the ending of a file."""
    if output is None or not output.suffix:
        return "text"
    if output.suffix.lower() not in ENDINGS:
        listed = ", ".join(f"{ending} ({format})" for ending, format in ENDINGS.items())
        raise ArrowValueError(
            f"--output {output}: no format has the ending {output.suffix}; use {listed}, or --format"
        )
    return ENDINGS[output.suffix.lower()]


def _named(text: str) -> tuple[NamedBlock, ModuleType]:
    path, name = split(text)
    try:
        module = load(path)
    except ArrowTypeError as error:
        raise Unreadable(f"cannot import {path.name}: {error}", "".join(user_lines(error))) from error
    if name is not None:
        return block_named(module, name, path), module
    blocks = blocks_of(module)
    if len(blocks) == 1:
        return blocks[0], module
    names = ", ".join(named.name for named in blocks[:10]) or "none"
    raise ArrowValueError(
        f"say which block of {path.name} to show, as {path}:NAME; there {'are' if blocks else 'is'} {names}"
    )


def _drawn(named: NamedBlock, typed: Typed | None, error: str, format: str) -> str:
    scene: Scene = scene_of(typed if typed is not None else named.block)
    if format == "mermaid":
        return to_mermaid(scene)
    if format == "text":
        ascii_only = not _can_write("│▼●┈")
        return to_text(lay_out(scene, CHARACTERS), ascii_only=ascii_only)
    drawing = lay_out(scene)
    svg = to_svg(drawing, shorten(named.name))
    if format == "svg":
        return svg
    tree = typed_tree(typed) if typed is not None else ""
    return to_page(named.name, svg, drawing.width, tree, error)


def _scheduled(named: NamedBlock, schedule: Timeline, format: str) -> str:
    if format == "mermaid":
        raise ArrowValueError("a schedule is drawn as text, svg or html, not as mermaid")
    if format == "text":
        return timeline_text(schedule)
    svg = timeline_svg(schedule)
    return svg if format == "svg" else to_page(f"{named.name}, a batch's schedule", svg, 600)


def _write(text: str, output: Path | None) -> None:
    if output is None:
        _print(text)
    else:
        with replacing(output) as file:
            file.write(text.encode("utf-8"))


def _can_write(text: str) -> bool:
    try:
        text.encode(getattr(sys.stdout, "encoding", None) or "utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _print(text: str) -> None:
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    sys.stdout.write(text.encode(encoding, "backslashreplace").decode(encoding))


def examples_from(source: str, module: ModuleType, path: Path) -> list[Any]:
    """The examples that `source` names.

    `source` is a file that ends in `.json` (a list) or `.jsonl` (one example a line), or the name of a list
    in the user's module; the name may have dots. `path` is the module's file, which messages name.

    Raises:
        ArrowValueError: there is no such list.
        FileNotFoundError: there is no such file.
    """
    if source.endswith((".json", ".jsonl")):
        if not Path(source).is_file():
            raise FileNotFoundError(f"no such file: {source}")
        data = Path(source).read_bytes()
        examples = _json_lines(data, source) if source.endswith(".jsonl") else _json_value(data, source, 1)
    else:
        examples = attribute(module, source, path)
    if not isinstance(examples, (list, tuple)):
        raise ArrowValueError(f"{source} must be a list of examples, not {type(examples).__name__}")
    return list(examples)


def _json_lines(data: bytes, source: str) -> list[Any]:
    """The values of JSON Lines; only a line feed ends a line, and blank lines are skipped."""
    return [
        _json_value(line, f"{source}:{number}", number)
        for number, line in enumerate(data.split(b"\n"), start=1)
        if line.strip()
    ]


def _json_value(data: bytes, where: str, line: int) -> Any:
    """The value of a JSON text in UTF-8; a byte-order mark at its beginning is skipped."""
    try:
        return json.loads(data.decode("utf-8-sig" if line == 1 else "utf-8"))
    except RecursionError as error:
        raise ArrowValueError(f"{where} is nested deeper than Python reads JSON") from error
    except ValueError as error:
        raise ArrowValueError(f"{where} is not JSON: {error}") from error
