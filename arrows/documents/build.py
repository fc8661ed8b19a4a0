"""Builds a block of decisions, and writes the Python text of the same block: one walk does both.

A row of the decisions is a call of a function of `blocks.py`: its kind says which one, and the rest are its
arguments.  Nothing is imported or run by a name from the decisions, which may come from a file.
"""

from __future__ import annotations

import keyword
import re
import textwrap
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import arrows as ar
from arrows.combinators import AnyBlock
from arrows.documents import blocks
from arrows.documents.schema import ROOT, below
from arrows.typesys import InputError, printable, quoted

Row = dict[str, Any]
"""How values are read: a kind, what this kind wants to know, and why."""
Rows = dict[str, Row]
"""Decisions: by path, a row; where values are of several types, a row for each, such as `x (text)`."""

LEFT_OUT = "left out"
_KINDS: Mapping[str, Callable[..., AnyBlock]] = {
    "array": blocks.array,
    "boolean": blocks.boolean,
    "category": blocks.category,
    "date": blocks.date,
    "map": blocks.mapping,
    "mixed": blocks.mixed,
    "number": blocks.number,
    "object": blocks.record,
    "text": blocks.text,
    "vector": blocks.vector,
}
_UNNAMED = {blocks.boolean, blocks.date, blocks.number, blocks.vector}  # they have no layers
# What a row has beside the arguments of its kind as they are.
_OTHER = {"kind", "because", "null", "recursive", "width", "wide", "fields", "cases"}
_RESERVED = frozenset({*keyword.kwlist, *keyword.softkwlist, "ar", "document"})


class Code(NamedTuple):
    """A block, and the Python text that makes it."""

    block: Any
    text: str


def build(decisions: object, title: str = "A block that reads documents.") -> tuple[AnyBlock, str]:
    """The block of decisions, and the text of a Python module whose last name is this block.

    Args:
        decisions: as `infer_block` makes them.
        title: the module's docstring.

    Raises:
        InputError: they say nothing that can be built; the message names the path.
    """
    try:
        width = decisions[ROOT]["width"]  # type: ignore[index]
        if type(width) is not int or width < 1:
            raise InputError(f"the decisions on a block want a width from 1, not {width!r:.60}")
        builder = _Builder(decisions, width)  # type: ignore[arg-type]
        block = builder.document()
        return block, "\n".join([f'"""{title}"""\n\nimport arrows as ar\n', *builder.body])
    except (AttributeError, KeyError, TypeError) as error:
        raise InputError(f"these are no decisions on a block: {error!r:.200}") from error
    except RecursionError as error:
        raise InputError("these are no decisions on a block: they are nested too deeply") from error


def read_as(row: Row) -> str:
    """How values are read, in one or two words."""
    if row["kind"] == "again":
        return f"again {row['path']}"
    return f"{row['kind']}, {row['pooling']}" if "pooling" in row else str(row["kind"])


class _Builder:
    """The state of the walk.

    Attributes:
        rows: the decisions.
        width: of the vectors.
        body: the statements of the block that is being built.
        references: what stands for a recursive block within it, by its path.
        taken: names that are taken.
    """

    def __init__(self, rows: Rows, width: int) -> None:
        self.rows, self.width = rows, width
        self.body: list[str] = []
        self.references: dict[str, Code] = {}
        self.taken = set(_RESERVED)

    def document(self) -> AnyBlock:
        """The block of all."""
        row, block = self.rows[ROOT], self.vector(ROOT)
        if row["kind"] not in ("object", "mixed"):
            block = self.call(blocks.sized, "document vector", {"block": block, **_wide(row)})
        block = self.optional(ROOT, block)
        self.body += [f"document = {block.text}\n"] * (block.text != "document")
        built: AnyBlock = block.block
        return built

    def is_read(self, path: str) -> bool:
        """Whether anything at a path is read."""
        return path in self.rows and self.rows[path]["kind"] != LEFT_OUT

    def vector(self, path: str) -> Code:
        """A block that reads what is at a path as a vector of any length; it has a name in the module."""
        row = self.rows[path]
        kind = row["kind"]
        try:
            if kind == "again":
                return self.references[row["path"]]
            if kind not in _KINDS:
                raise InputError(f"{path}: there is no kind {kind!r:.60}; there are {', '.join(_KINDS)}")
            name = "document" if path == ROOT else self.free(path)
            block = self.recursive(row, path, name) if row.get("recursive") else self.made(row, path, name)
        except InputError:
            raise
        except (AttributeError, KeyError, OverflowError, TypeError, ValueError) as error:
            lacks = f"it has no {error}" if isinstance(error, KeyError) else str(error)
            raise InputError(f"{path} cannot be read as {quoted(str(kind))}: {lacks}") from error
        about = f"{'the document' if path == ROOT else path}: {read_as(row)}, {row.get('because', '')}"
        comment = "".join(f"# {line}\n" for line in textwrap.wrap(printable(about), 86))
        self.body.append(
            f"{comment}{block.text}" if row.get("recursive") else f"{comment}{name} = {block.text}\n"
        )
        return Code(block.block, name)

    def made(self, row: Row, path: str, name: str) -> Code:
        """What the function of a kind makes of a row."""
        base = path.removesuffix(" (array)").removesuffix(" (object)")
        arguments = {key: value for key, value in row.items() if key not in _OTHER}
        match row["kind"]:
            case "array" | "map":
                element = self.vector(f"{base}[]")
                if self.rows[f"{base}[]"]["kind"] == "number":
                    # A number alone would make of the mean all that is known of an array.
                    element = self.call(blocks.sized, self.free(f"{base}[]"), {"block": element})
                arguments = {"element": self.optional(f"{base}[]", element), **arguments}
            case "object":
                paths = {key: below(base, key) for key in row["fields"]}
                arguments["fields"] = {
                    key: self.vector(inner) for key, inner in paths.items() if self.is_read(inner)
                }
                arguments |= {} if row.get("recursive") else _wide(row)
            case "mixed":
                paths = {case: f"{path} ({case})" for case in row["cases"]}
                arguments["cases"] = {
                    case: self.vector(inner) if self.is_read(inner) else Code(None, "None")
                    for case, inner in paths.items()
                }
        return self.call(_KINDS[row["kind"]], name, arguments)

    def recursive(self, row: Row, path: str, name: str) -> Code:
        """A block that may stand within itself, and its definition."""
        me = self.free("me")
        outer, self.body = self.body, []

        def define(reference: AnyBlock) -> AnyBlock:
            self.references[path] = Code(reference, me)
            made = self.made(row, path, name)
            self.body.append(f"return {made.text}\n")
            built: AnyBlock = made.block
            return built

        define.__name__ = name
        block = ar.fix(define)
        lines = textwrap.indent("\n".join(self.body), "    ")
        self.body = outer
        return Code(block, f"@ar.fix\ndef {name}({me}):\n{lines}\n")

    def call(self, function: Callable[..., AnyBlock], name: str, arguments: dict[str, Any]) -> Code:
        """What a function makes of blocks and literals."""
        if function not in _UNNAMED:
            arguments = {**arguments, "width": self.width, "name": name}
        values, texts = {}, []
        for key, value in arguments.items():
            if isinstance(value, Code):
                values[key], shown = value
            elif isinstance(value, dict):
                values[key] = {inner: code.block for inner, code in value.items()}
                lines = "".join(f"    {inner!r}: {code.text},\n" for inner, code in value.items())
                shown = f"{{\n{lines}}}"
            else:
                values[key], shown = value, repr(value)
            texts.append(f"{key}={shown}")
        return Code(function(**values), f"ar.documents.{function.__name__}({', '.join(texts)})")

    def optional(self, path: str, code: Code) -> Code:
        """A block that gives zeros for null, where there may be one."""
        if not self.rows[path].get("null"):
            return code
        return Code(ar.Optional(code.block), f"ar.Optional({code.text})")

    def free(self, path: str) -> str:
        """A Python name for a path that is not taken, and is from now on."""
        words = path.replace("$", "value", path.startswith(ROOT)).replace("[]", "_element")
        plain = re.sub(r"[^a-z0-9]+", "_", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", words).lower()).strip("_")
        plain = plain[:40].rstrip("_")
        if not re.match(r"[\W_]*[a-zA-Z]", words):  # so that 名_score is not called score
            plain = f"field_{plain}".rstrip("_")
        own, number = plain or "field", 2
        while own in self.taken:
            own, number = f"{plain or 'field'}_{number}", number + 1
        self.taken.add(own)
        return own


def _wide(row: Row) -> dict[str, Any]:
    return {"wide": True} if row.get("wide") else {}
