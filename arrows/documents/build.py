"""Builds a block of decisions, and writes the Python text of the same block: one walk does both.

Each step makes a `Term`, a value together with the text that makes it, so the two cannot say different
things.  Nothing is imported or run by a name from the decisions, which may come from a file.
"""

from __future__ import annotations

import builtins
import functools
import keyword
import math
import operator
import re
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import arrows as ar
from arrows.combinators import AnyBlock
from arrows.documents import readers
from arrows.documents.schema import ROOT, below
from arrows.typesys import InputError
from arrows.typesys.quoting import printable, quoted

Decisions = Mapping[str, Any]
"""How the values at a path are read: its kind, what this kind wants to know, and the decisions below it."""

LEFT_OUT = "left out"
DOCUMENT = "document"  # what the block of a document and its layer are called
CLASSIFY, ESTIMATE = "classify", "estimate"  # layers on the block: no field takes their names
_RESERVED = frozenset({*dir(readers), *keyword.kwlist, *keyword.softkwlist, *dir(builtins), "ar", DOCUMENT})


class Term(NamedTuple):
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
        width = decisions["width"]  # type: ignore[index]
        if type(width) is not int or width < 1:
            raise InputError(f"the decisions on a block want a width from 1, not {width!r:.60}")
        builder = _Builder(width)
        block = builder.document(decisions)  # type: ignore[arg-type]
    except (AttributeError, KeyError, TypeError) as error:
        raise InputError(f"these are no decisions on a block: {error!r:.200}") from error
    except RecursionError as error:
        raise InputError("these are no decisions on a block: they are nested too deeply") from error
    return block.value, builder.module(title)


def table(decisions: Decisions, path: str = ROOT) -> Iterator[tuple[str, str, str]]:
    """The path, how it is read, and why, of decisions and of all below them."""
    yield path, read_as(decisions), decisions.get("because", "")
    for name, inner in decisions.get("cases", {}).items():
        first, *rest = table(inner, path)
        yield from [(f"{path} ({name})", *first[1:]), *rest]
    for key, inner in decisions.get("fields", {}).items():
        yield from table(inner, below(path, key))
    if "element" in decisions:
        yield from table(decisions["element"], f"{path}[]")


def read_as(decisions: Decisions) -> str:
    """How values are read, in one or two words."""
    if decisions["kind"] == "again":
        return f"again {decisions['path']}"
    return (
        f"{decisions['kind']}, {decisions['pooling']}" if "pooling" in decisions else str(decisions["kind"])
    )


class _Builder:
    """The state of the walk.

    Attributes:
        width: of the vectors.
        vocabularies: statements that stand first.
        body: the statements of the block that is being built.
        imported: readers that the statements use.
        references: what stands for a recursive block within it, by its path and whether it reads arrays.
        variables, layers: the names that are taken.
    """

    def __init__(self, width: int) -> None:
        self.width = width
        self.vocabularies: list[str] = []
        self.body: list[str] = []
        self.imported: set[str] = set()
        self.references: dict[tuple[str, bool], Term] = {}
        self.variables, self.layers = set(_RESERVED), {DOCUMENT, CLASSIFY, ESTIMATE}

    def document(self, decisions: Decisions) -> Term:
        """The block of all."""
        if _ends_sized(decisions) and not decisions.get("null"):
            return self.vector(decisions, ROOT, "")
        block = self.vector(decisions, ROOT, "value")
        sized = block if _ends_sized(decisions) else _chain(block, self.layer(""))
        return self.assigned("", self.optional(sized, decisions), decisions, ROOT)

    def module(self, title: str) -> str:
        """The text of the module."""
        imported = f"from arrows.documents import {', '.join(sorted(self.imported))}\n" * bool(self.imported)
        statements = "\n".join([*self.vocabularies, *self.body])
        return f'"""{title}"""\n\nimport arrows as ar\n{imported}\n{statements}'

    def vector(self, decisions: Decisions, path: str, name: str) -> Term:
        """A block that gives a vector of any length."""
        kind = decisions["kind"]
        if not isinstance(kind, str) or kind not in _BLOCKS:
            raise InputError(f"{path}: there is no kind {kind!r:.60}; there are {', '.join(sorted(_BLOCKS))}")
        try:
            return _BLOCKS[kind](self, decisions, path, name)
        except InputError:
            raise
        except (AttributeError, KeyError, OverflowError, TypeError, ValueError) as error:
            lacks = f"it has no {error}" if isinstance(error, KeyError) else str(error)
            raise InputError(f"{path} cannot be read as {quoted(kind)}: {lacks}") from error

    def sized(self, decisions: Decisions, path: str, name: str) -> Term:
        """As `vector`, of `width` numbers."""
        block = self.vector(decisions, path, name)
        return block if _ends_sized(decisions) else _chain(block, self.layer(name))

    def layer(self, name: str) -> Term:
        """A layer that gives `width` numbers."""
        return self.call("ar.FC", self.width, self.named("ar.ops.tanh"), name=_free(name, self.layers))

    def optional(self, block: Term, decisions: Decisions) -> Term:
        """A block that gives zeros for null, where there may be one."""
        return self.call("ar.Optional", block) if decisions.get("null") else block

    def named(self, name: str) -> Term:
        """What a name means in the module."""
        if name.startswith("ar."):
            return Term(operator.attrgetter(name[3:])(ar), name)
        if hasattr(readers, name):
            self.imported.add(name)
            return Term(getattr(readers, name), name)
        return Term(getattr(builtins, name), name)

    def call(self, function: str, *arguments: object, **keywords: object) -> Term:
        """The result of a function; arguments that are no terms are literals."""
        terms = [each if isinstance(each, Term) else Term(each, _literal(each)) for each in arguments]
        named = {key: Term(value, f"{key}={_literal(value)}") for key, value in keywords.items()}
        value = self.named(function).value(
            *(each.value for each in terms), **{key: each.value for key, each in named.items()}
        )
        return Term(value, f"{function}({', '.join(each.text for each in [*terms, *named.values()])})")

    def read(self, function: str) -> Term:
        """A block that applies a function to what it reads."""
        return self.call("ar.InputTransform", self.named(function))

    def assigned(self, name: str, value: Term, decisions: Decisions, path: str) -> Term:
        """Gives a block a name in the module."""
        own = _free(name, self.variables)
        self.body.append(f"{_comment(decisions, path)}{own} = {value.text}\n")
        return Term(value.value, own)

    def recursive(
        self, decisions: Decisions, path: str, name: str, write: Callable[[], Term], *, array: bool
    ) -> Term:
        """A block that may stand within itself."""
        if not decisions.get("recursive"):
            return self.assigned(name, write(), decisions, path)
        own, me = _free(name, self.variables), _free("me", self.variables)
        outer, self.body = self.body, []

        def define(reference: AnyBlock) -> AnyBlock:
            self.references[path, array] = Term(reference, me)
            block = write()
            self.body.append(f"return {block.text}\n")
            built: AnyBlock = block.value
            return built

        define.__name__ = own
        value = ar.fix(define)
        lines = textwrap.indent("\n".join(self.body), "    ")
        self.body = [*outer, f"\n{_comment(decisions, path)}@ar.fix\ndef {own}({me}):\n{lines}\n"]
        return Term(value, own)

    def embedded(self, words: Sequence[str], name: str) -> tuple[Term, Term]:
        """Blocks that read one of several words as a vector."""
        own = _free(f"{name or DOCUMENT}_vocabulary", self.variables)
        vocabulary = ar.Vocabulary(words)
        some = [", ".join(map(_literal, words[first : first + 8])) for first in range(0, len(words), 8)]
        inner = some[0] if len(some) == 1 else "".join(f"\n    {line}," for line in some) + "\n"
        self.vocabularies.append(f"{own} = ar.Vocabulary([{inner}])\n")
        rows, size = Term(len(vocabulary), f"len({own})"), min(self.width, len(words) + 1)
        table = self.call("ar.Embedding", rows, size, name=_free(name, self.layers))
        return Term(vocabulary.block(), f"{own}.block()"), table

    def pooled(self, pooling: str, name: str) -> list[Term]:
        """Blocks that make one vector of a sequence of vectors."""
        if pooling == "sequence":
            cell = self.call("ar.GRUCell", self.width, name=_free(name, self.layers))
            return [self.call("ar.RNN", cell), self.call("ar.GetItem", 1)]
        mean = self.call("ar.Mean", default=0.0)
        match pooling:
            case "mean":
                parts = [mean]
            case "pooled":
                parts = [self.call("ar.Sum"), mean, self.call("ar.Max", default=0.0)]
            case "attention":
                score = self.call("ar.FC", 1, name=_free(f"{name or DOCUMENT}_score", self.layers))
                parts = [self.call("ar.Attention", score, default=0.0)]
            case _:
                raise ValueError(f"there is no pooling {pooling!r:.60}")
        return [self.call("ar.AllOf", *parts, self.call("log_length")), self.call("ar.Concat")]


def _number(b: _Builder, decisions: Decisions, path: str, name: str) -> Term:
    log = {"log": True} if decisions.get("log") else {}
    read = b.call("number", decisions["mean"], decisions["deviation"], **log)
    return _chain(b.read("float"), read) if decisions.get("written") else read


def _vector(b: _Builder, decisions: Decisions, path: str, name: str) -> Term:
    return b.call("numbers", list(decisions["means"]), list(decisions["deviations"]))


def _date(b: _Builder, decisions: Decisions, path: str, name: str) -> Term:
    return b.call("date", decisions["mean"], decisions["deviation"])


def _category(b: _Builder, decisions: Decisions, path: str, name: str) -> Term:
    read = () if decisions.get("texts", True) else (b.read("category"),)
    return _chain(*read, *b.embedded(decisions["words"], name))


def _text(b: _Builder, decisions: Decisions, path: str, name: str) -> Term:
    buckets = decisions["buckets"]
    read = b.call("hashed_words" if decisions["of"] == "words" else "hashed_characters", buckets)
    table = b.call("ar.Embedding", buckets, b.width, name=_free(name, b.layers))
    vectors = b.call("ar.Map", _chain(b.call("ar.Scalar", "int32"), table))
    return b.assigned(name, _lines(read, vectors, *b.pooled("attention", name)), decisions, path)


def _characters(b: _Builder, decisions: Decisions, path: str, name: str) -> Term:
    vectors = b.call("ar.Map", _chain(*b.embedded(decisions["letters"], name)))
    steps = _lines(b.read("characters"), vectors, *b.pooled("sequence", name))
    return b.assigned(name, steps, decisions, path)


def _array(b: _Builder, decisions: Decisions, path: str, name: str) -> Term:
    def write() -> Term:
        element = decisions["element"]
        nested = element["kind"] in {"array", "map", "object", "mixed"}
        own = f"{name}_element" if nested and name else "element" if nested else name
        # A number alone would make of the mean all that is known of an array.
        make = b.sized if element["kind"] == "number" else b.vector
        vectors = b.call("ar.Map", b.optional(make(element, f"{path}[]", own), element))
        keyed = decisions["kind"] == "map"
        read = b.read("entries") if keyed else b.call("ar.Input", b.named("list"))
        layer = [b.layer(name)] if decisions.get("recursive") else []
        return _lines(read, vectors, *b.pooled(decisions["pooling"], name), *layer)

    return b.recursive(decisions, path, name, write, array=True)


def _object(b: _Builder, decisions: Decisions, path: str, name: str) -> Term:
    def write() -> Term:
        fields, lines = [], []
        for key, inner in decisions["fields"].items():
            if inner["kind"] == LEFT_OUT:
                continue
            own = below(path, key)
            block = b.vector(inner, own, f"{name}_{key}" if name else key or "field")
            field = _chain(b.call("ar.GetItem", key, default=None), b.call("ar.Optional", block))
            comment = "" if block.text.isidentifier() else _comment(inner, own)
            fields.append(field.value)
            lines.append(f"{comment}{field.text},\n")
        inside = textwrap.indent("".join(lines), "    ")
        record = Term(ar.AllOf(*fields), f"ar.AllOf(\n{inside})")
        return _lines(record, b.call("ar.Concat"), b.layer(name))

    return b.recursive(decisions, path, name, write, array=False)


def _mixed(b: _Builder, decisions: Decisions, path: str, name: str) -> Term:
    cases = {}
    for kind, inner in decisions["cases"].items():
        own = f"{name}_{kind}" if name else kind
        if inner["kind"] == LEFT_OUT:
            cases[kind] = b.call("ar.Zeros", [b.width])
            continue
        block = b.sized(inner, path, own)
        cases[kind] = block if block.text.isidentifier() else b.assigned(own, block, inner, path)
    items = ", ".join(f"{_literal(kind)}: {case.text}" for kind, case in cases.items())
    by_type = Term({kind: case.value for kind, case in cases.items()}, f"{{{items}}}")
    return b.assigned(name, b.call("ar.OneOf", b.named("json_type"), by_type), decisions, path)


_BLOCKS: Mapping[str, Callable[[_Builder, Decisions, str, str], Term]] = {
    "again": lambda b, decisions, path, name: b.references[decisions["path"], decisions["array"]],
    "array": _array,
    "boolean": lambda b, decisions, path, name: b.call("boolean"),
    "category": _category,
    "characters": _characters,
    "date": _date,
    "map": _array,
    "mixed": _mixed,
    "number": _number,
    "object": _object,
    "text": _text,
    "vector": _vector,
}


def _ends_sized(decisions: Decisions) -> bool:
    """Whether the block ends with a layer that gives vectors of the width."""
    recursive = decisions["kind"] in {"array", "map"} and decisions.get("recursive")
    return decisions["kind"] in {"object", "again", "mixed"} or bool(recursive)


def _chain(*blocks: Term) -> Term:
    """Blocks one after the other, on one line."""
    value = functools.reduce(operator.rshift, (block.value for block in blocks))
    return Term(value, " >> ".join(block.text for block in blocks))


def _lines(*blocks: Term) -> Term:
    """The same, on a line for each."""
    inner = textwrap.indent("\n>> ".join(block.text for block in blocks), "    ")
    return Term(_chain(*blocks).value, f"(\n{inner}\n)")


def _comment(decisions: Decisions, path: str) -> str:
    """The lines that say what the block after them reads, and why so."""
    fields = decisions.get("fields", {}).items()
    left_out = ", ".join(below(path, key) for key, inner in fields if inner["kind"] == LEFT_OUT)
    about = (
        f"{'the document' if path == ROOT else path}: {read_as(decisions)}, {decisions.get('because', '')}"
    )
    text = printable(f"{about}; left out: {left_out}" if left_out else about)
    return "".join(f"# {line}\n" for line in textwrap.wrap(text, 86))


def _literal(value: object) -> str:
    """A text, a number, None or a list of numbers in Python; texts in double quotes where this is simple."""
    text = repr(value)
    simple = isinstance(value, str) and text[0] == "'" and not {'"', "\\"}.intersection(text)
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{value} is not finite")
    return f'"{text[1:-1]}"' if simple else text


def _free(name: str, taken: set[str]) -> str:
    """A Python name that is not taken, and is from now on; that of the document if there is none."""
    if not name:
        return DOCUMENT
    plain = re.sub(r"[^a-z0-9]+", "_", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()).strip("_")
    plain = plain[:40].rstrip("_") or "field"
    if plain != "field" and not re.match(r"[a-zA-Z]", name):  # so that 名_score is not called score
        plain = f"field_{plain}"
    own, number = plain, 2
    while own in taken:
        own, number = f"{plain}_{number}", number + 1
    taken.add(own)
    return own
