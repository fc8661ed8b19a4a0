"""`arrows check`: the types, sizes and type errors of the blocks of a file.

Exit status: 0 if all blocks are well-typed, 1 if one is not, 2 if the request was wrong: there is no such
file or name, or the file cannot be imported.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterable

import numpy as np

import arrows as ar
from arrows.cli.option_types import block_type
from arrows.cli.user_file import Unreadable, block_named, blocks_of, load, split, user_lines
from arrows.combinators import AnyBlock, Apply, InferredZeros
from arrows.engine.planning import named_parameters
from arrows.inference import Typed, typed_tree
from arrows.typesys import ArrowTypeError, ArrowValueError, counted, printable_lines, types as T


def add_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options of `arrows check` to a parser."""
    add = parser.add_argument
    add("file", metavar="FILE.py[:NAME]", help="a file, or one block in it; a name may have dots")
    add("--input", type=block_type, metavar="TYPE", help="assume this type for the input: float32[300]")


def run(options: argparse.Namespace) -> int:
    """Checks a file, prints the report, and returns the exit status."""
    path, name = split(options.file)
    try:
        module = load(path)
    except Unreadable:
        raise
    except (ArrowTypeError, ArrowValueError) as error:  # raised by blocks that do not fit together
        lines = "".join(user_lines(error)).rstrip()
        _print(f"{path.name}: a block cannot be built\n{type(error).__name__}: {error}\n{lines}")
        return 1
    blocks = blocks_of(module) if name is None else {name: block_named(module, name, path)}
    if not blocks:
        hint = "to check a block that a function returns, give it a name in the file"
        _print(f"{path.name}: no blocks among its public names; {hint}")
        return 0
    found = {each: _typed(block, options.input) for each, block in blocks.items()}
    well = [typed for typed in found.values() if isinstance(typed, Typed)]
    ill: list[str] = []
    for each, typed in found.items():
        block, hint = blocks[each], ""
        head = f"{each}  {block.site}"
        if isinstance(typed, Typed):
            _print(f"{head}\n{_indented(typed_tree(typed))}\n{_sizes(typed)}\n")
            continue
        if options.input is None and _is_open(block):
            if name is None and (isinstance(block, Apply) or _is_used(block, well)):
                _print(f"{head}\n  note: its types depend on its use; assume an input with --input TYPE\n")
                continue
            hint = "\n  note: it may be well-typed with another input; try one with --input TYPE"
        ill.append(each)
        _print(f"{head}  ill-typed\n{_indented(f'{type(typed).__name__}: {typed}')}{hint}\n")
    notes = len(found) - len(well) - len(ill)
    words = [
        f"{len(well):,} well-typed" if well else "",
        f"{notes:,} depend{'s on its' if notes == 1 else ' on their'} use" if notes else "",
        f"{len(ill):,} ill-typed: {', '.join(ill)}" if ill else "",
    ]
    summary = ", ".join(filter(None, words))
    _print(f"{counted(len(found), 'block')}: {summary.removeprefix('1 ') if len(found) == 1 else summary}")
    return 1 if ill else 0


def _print(text: str) -> None:
    print(printable_lines(text))


def _typed(block: AnyBlock, input: T.Type | None) -> Typed | ArrowTypeError | ArrowValueError:
    """The typed expression of a block, or its error."""
    try:
        typed = ar.infer(block, input)
        named_parameters(typed)  # refuses two layers of one name
        return typed
    except (ArrowTypeError, ArrowValueError) as error:
        return error


def _is_open(block: AnyBlock) -> bool:
    """Whether the only problem of a block is that its input type is not known."""
    try:
        ar.infer(InferredZeros() >> block)
    except ArrowTypeError as error:
        return error.unresolved
    return True


def _is_used(block: AnyBlock, well: Iterable[Typed]) -> bool:
    """Whether a block is a part of others; of a chain in a longer one, the steps are."""
    steps = block.parts or (block,)
    rows = [occurrence.form.parts for typed in well for occurrence in typed.walk()]
    return any(
        block in row or (len(steps) < len(row) and row[k : k + len(steps)] == steps)
        for row in rows
        for k in range(len(row))
    )


def _sizes(typed: Typed) -> str:
    """The size of a block's model, counted without making its parameters."""
    parameters = named_parameters(typed).values()
    sizes = [math.prod(each.shape) for each in parameters]
    size = sum(count * np.dtype(each.dtype).itemsize for count, each in zip(sizes, parameters, strict=True))
    return f"  {counted(len(sizes), 'parameter')}, {counted(sum(sizes), 'number')}, {_memory(size)}"


def _indented(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.split("\n"))


def _memory(count: int) -> str:
    power = min(3, max(0, len(str(count)) - 1) // 3)
    return f"{count / 1000**power:,.1f} {' kMG'[power]}B" if power else counted(count, "byte")
