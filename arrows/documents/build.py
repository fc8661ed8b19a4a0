"""Builds a block of decisions, and writes the Python text of the same block: one walk does both.

Each step makes `Code`, a value together with the text that makes it, so the two cannot say different things.
Nothing is imported or run by a name from the decisions, which may come from a file.
"""

from __future__ import annotations

import builtins
import functools
import keyword
import math
import operator
import re
import textwrap
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import arrows as ar
from arrows.combinators import AnyBlock
from arrows.documents import readers
from arrows.documents.schema import ROOT, below
from arrows.typesys import InputError
from arrows.typesys.quoting import printable, quoted

Row = dict[str, Any]
"""How values are read: a kind, what this kind wants to know, and why."""
Rows = dict[str, Row]
"""Decisions: by path, a row; where values are of several types, a row for each, such as `x (text)`."""

LEFT_OUT = "left out"
_RESERVED = frozenset({*dir(readers), *keyword.kwlist, *keyword.softkwlist, *dir(builtins), "ar", "document"})


class Code(NamedTuple):
    """A value, and the Python text that makes it."""

    value: Any
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
        return builder.document(), builder.module(title)
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
        imported: readers that the statements use.
        references: what stands for a recursive block within it, by its path.
        variables, layers: the names that are taken.
    """

    def __init__(self, rows: Rows, width: int) -> None:
        self.rows, self.width = rows, width
        self.body: list[str] = []
        self.imported: set[str] = set()
        self.references: dict[str, Code] = {}
        self.variables, self.layers = set(_RESERVED), {"document"}

    def document(self) -> AnyBlock:
        """The block of all."""
        block = self.optional(ROOT, self.sized(ROOT))
        if block.text != "document":
            self.body.append(f"document = {block.text}\n")
        built: AnyBlock = block.value
        return built

    def module(self, title: str) -> str:
        """The text of the module."""
        imported = f"from arrows.documents import {', '.join(sorted(self.imported))}\n" * bool(self.imported)
        statements = "\n".join(self.body)
        return f'"""{title}"""\n\nimport arrows as ar\n{imported}\n{statements}'

    def is_read(self, path: str) -> bool:
        """Whether anything at a path is read."""
        return path in self.rows and self.rows[path]["kind"] != LEFT_OUT

    def vector(self, path: str) -> Code:
        """A block that reads what is at a path as a vector of any length; it has a name in the module."""
        row = self.rows[path]
        kind = row["kind"]
        if not isinstance(kind, str) or kind not in _KINDS:
            raise InputError(f"{path}: there is no kind {kind!r:.60}; there are {', '.join(sorted(_KINDS))}")
        try:
            if kind == "again":
                return self.references[row["path"]]
            name = "document" if path == ROOT else _free(path, self.variables)
            if row.get("recursive"):
                return self.recursive(row, path, name)
            block = _KINDS[kind](self, row, path)
        except InputError:
            raise
        except (AttributeError, KeyError, OverflowError, TypeError, ValueError) as error:
            lacks = f"it has no {error}" if isinstance(error, KeyError) else str(error)
            raise InputError(f"{path} cannot be read as {quoted(kind)}: {lacks}") from error
        self.body.append(f"{self.comment(path)}{name} = {block.text}\n")
        return Code(block.value, name)

    def recursive(self, row: Row, path: str, name: str) -> Code:
        """A block that may stand within itself."""
        me = _free("me", self.variables)
        outer, self.body = self.body, []

        def define(reference: AnyBlock) -> AnyBlock:
            self.references[path] = Code(reference, me)
            block = _KINDS[row["kind"]](self, row, path)
            self.body.append(f"return {block.text}\n")
            built: AnyBlock = block.value
            return built

        define.__name__ = name
        value = ar.fix(define)
        lines = textwrap.indent("\n".join(self.body), "    ")
        self.body = [*outer, f"\n{self.comment(path)}@ar.fix\ndef {name}({me}):\n{lines}\n"]
        return Code(value, name)

    def comment(self, path: str) -> str:
        """The lines that say what the block after them reads, and why so."""
        row = self.rows[path]
        paths = [below(_base(path), key) for key in row.get("fields", ())]
        left_out = ", ".join(each for each in paths if not self.is_read(each))
        about = f"{'the document' if path == ROOT else path}: {read_as(row)}, {row.get('because', '')}"
        text = printable(f"{about}; left out: {left_out}" if left_out else about)
        return "".join(f"# {line}\n" for line in textwrap.wrap(text, 86))

    def sized(self, path: str) -> Code:
        """As `vector`, of `width` numbers."""
        block, row = self.vector(path), self.rows[path]
        return block if row["kind"] in _SIZED or row.get("recursive") else _chain(block, self.layer(path))

    def layer(self, path: str) -> Code:
        """A layer that gives `width` numbers."""
        name = "document" if path == ROOT else _free(path, self.layers)
        return self.call(ar.FC, self.width, ar.ops.tanh, name=name)

    def optional(self, path: str, block: Code) -> Code:
        """A block that gives zeros for null, where there may be one."""
        return self.call(ar.Optional, block) if self.rows[path].get("null") else block

    def embedded(self, words: Sequence[str], path: str) -> tuple[Code, Code]:
        """Blocks that read one of several words as a vector."""
        vocabulary = self.call(ar.Vocabulary, [*words])
        size = min(self.width, len(words) + 1)
        table = self.call(ar.Embedding, len(vocabulary.value), size, name=_free(path, self.layers))
        return Code(vocabulary.value.block(), f"{vocabulary.text}.block()"), table

    def pooled(self, pooling: str, path: str) -> list[Code]:
        """Blocks that make one vector of a sequence of vectors."""
        if pooling == "sequence":
            cell = self.call(ar.GRUCell, self.width, name=_free(path, self.layers))
            return [self.call(ar.RNN, cell), self.call(ar.GetItem, 1)]
        mean = self.call(ar.Mean, default=0.0)
        match pooling:
            case "mean":
                parts = [mean]
            case "pooled":
                parts = [self.call(ar.Sum), mean, self.call(ar.Max, default=0.0)]
            case "attention":
                score = self.call(ar.FC, 1, name=_free(f"{path}_score", self.layers))
                parts = [self.call(ar.Attention, score, default=0.0)]
            case _:
                raise ValueError(f"there is no pooling {pooling!r:.60}")
        return [self.call(ar.AllOf, *parts, self.call(readers.log_length)), self.call(ar.Concat)]

    def call(self, function: Any, *arguments: object, **keywords: object) -> Code:
        """The result of a function."""
        unnamed = [*map(self.code, arguments)]
        named = {key: self.code(value) for key, value in keywords.items()}
        texts = [code.text for code in unnamed] + [f"{key}={code.text}" for key, code in named.items()]
        values = {key: code.value for key, code in named.items()}
        value = function(*(code.value for code in unnamed), **values)
        return Code(value, f"{self.code(function).text}({', '.join(texts)})")

    def code(self, value: Any) -> Code:
        """A value with its text; functions and classes are those of this package and of Python."""
        if isinstance(value, Code):
            return value
        if not callable(value):
            return Code(value, _literal(value))
        name = value.__name__
        modules = (("ar.", ar), ("ar.ops.", ar.ops), ("", readers), ("", builtins))
        start, module = next(each for each in modules if getattr(each[1], name, None) is value)
        self.imported |= {name} if module is readers else set()
        return Code(value, f"{start}{name}")


def _number(b: _Builder, row: Row, path: str) -> Code:
    log = {"log": True} if row.get("log") else {}
    read = b.call(readers.number, row["mean"], row["deviation"], **log)
    return _chain(b.call(ar.InputTransform, float), read) if row.get("written") else read


def _category(b: _Builder, row: Row, path: str) -> Code:
    read = () if row.get("texts", True) else (b.call(ar.InputTransform, readers.category),)
    return _chain(*read, *b.embedded(row["words"], path))


def _text(b: _Builder, row: Row, path: str) -> Code:
    hashed = readers.hashed_words if row["of"] == "words" else readers.hashed_characters
    table = b.call(ar.Embedding, row["buckets"], b.width, name=_free(path, b.layers))
    vectors = b.call(ar.Map, _chain(b.call(ar.Scalar, "int32"), table))
    return _lines(b.call(hashed, row["buckets"]), vectors, *b.pooled("attention", path))


def _characters(b: _Builder, row: Row, path: str) -> Code:
    vectors = b.call(ar.Map, _chain(*b.embedded(row["letters"], path)))
    return _lines(b.call(ar.InputTransform, readers.characters), vectors, *b.pooled("sequence", path))


def _array(b: _Builder, row: Row, path: str) -> Code:
    element = f"{_base(path)}[]"
    # A number alone would make of the mean all that is known of an array.
    make = b.sized if b.rows[element]["kind"] == "number" else b.vector
    vectors = b.call(ar.Map, b.optional(element, make(element)))
    read = b.call(ar.InputTransform, readers.entries) if row["kind"] == "map" else b.call(ar.Input, list)
    layer = [b.layer(path)] if row.get("recursive") else []
    return _lines(read, vectors, *b.pooled(row["pooling"], path), *layer)


def _object(b: _Builder, row: Row, path: str) -> Code:
    fields = [
        _chain(b.call(ar.GetItem, key, default=None), b.call(ar.Optional, b.vector(own)))
        for key in row["fields"]
        if b.is_read(own := below(_base(path), key))
    ]
    inside = textwrap.indent("".join(f"{field.text},\n" for field in fields), "    ")
    record = Code(ar.AllOf(*(field.value for field in fields)), f"ar.AllOf(\n{inside})")
    return _lines(record, b.call(ar.Concat), b.layer(path))


def _mixed(b: _Builder, row: Row, path: str) -> Code:
    own = {kind: f"{path} ({kind})" for kind in row["cases"]}
    zeros = b.call(ar.Zeros, [b.width])
    cases = {kind: b.sized(own[kind]) if b.is_read(own[kind]) else zeros for kind in own}
    items = ", ".join(f"{_literal(kind)}: {case.text}" for kind, case in cases.items())
    by_type = Code({kind: case.value for kind, case in cases.items()}, f"{{{items}}}")
    return b.call(ar.OneOf, readers.json_type, by_type)


_KINDS: Mapping[str, Callable[[_Builder, Row, str], Code]] = {
    "again": lambda b, row, path: b.references[row["path"]],
    "array": _array,
    "boolean": lambda b, row, path: b.call(readers.boolean),
    "category": _category,
    "characters": _characters,
    "date": lambda b, row, path: b.call(readers.date, row["mean"], row["deviation"]),
    "map": _array,
    "mixed": _mixed,
    "number": _number,
    "object": _object,
    "text": _text,
    "vector": lambda b, row, path: b.call(readers.numbers, [*row["means"]], [*row["deviations"]]),
}
_SIZED = {"object", "again", "mixed"}  # kinds that end with vectors of the width; so does what is recursive


def _base(path: str) -> str:
    """The path of which a row tells one type of values."""
    return path.removesuffix(" (array)").removesuffix(" (object)")


def _chain(*blocks: Code) -> Code:
    """Blocks one after the other, on one line."""
    value = functools.reduce(operator.rshift, (block.value for block in blocks))
    return Code(value, " >> ".join(block.text for block in blocks))


def _lines(*blocks: Code) -> Code:
    """The same, on a line for each."""
    inner = textwrap.indent("\n>> ".join(block.text for block in blocks), "    ")
    return Code(_chain(*blocks).value, f"(\n{inner}\n)")


def _literal(value: object) -> str:
    """A text, a number, None or a list in Python; texts in double quotes where this is simple."""
    if isinstance(value, list):
        return f"[{', '.join(map(_literal, value))}]"
    text = repr(value)
    simple = isinstance(value, str) and text[0] == "'" and not {'"', "\\"}.intersection(text)
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{value} is not finite")
    return f'"{text[1:-1]}"' if simple else text


def _free(path: str, taken: set[str]) -> str:
    """A Python name for a path that is not taken, and is from now on."""
    words = path.replace(ROOT, "value", path.startswith(ROOT)).replace("[]", "_element")
    plain = re.sub(r"[^a-z0-9]+", "_", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", words).lower()).strip("_")
    plain = plain[:40].rstrip("_") or "field"
    if not re.match(r"[\W_]*[a-zA-Z]", words):  # so that 名_score is not called score
        plain = f"field_{plain}".removesuffix("_field")
    own, number = plain, 2
    while own in taken:
        own, number = f"{plain}_{number}", number + 1
    taken.add(own)
    return own
