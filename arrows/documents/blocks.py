"""From plans to the program of a block: one walk, from which the block and its source are both made."""

from __future__ import annotations

import builtins
import keyword
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from arrows.documents.expressions import (
    LEAVES,
    Assignment,
    Call,
    Chain,
    Expression,
    Literal,
    Name,
    Program,
    Recursion,
    Statement,
    Table,
    Words,
)
from arrows.documents.plans import (
    Again,
    Array,
    Boolean,
    Category,
    Characters,
    Date,
    LeftOut,
    Mixed,
    Number,
    Numbers,
    Object,
    Plan,
    Text,
)
from arrows.documents.schema import ROOT

DOCUMENT = "document"  # what the block of a document and its layer are called
HEADS = ("classify", "estimate")  # layers of `arrows.models` that come after the block
_RESERVED = frozenset({*LEAVES, *keyword.kwlist, *keyword.softkwlist, *dir(builtins), "ar", DOCUMENT})


def program_of(plan: Plan, width: int) -> Program:
    """The program of the block that reads documents as a plan says, and gives float32[width]."""
    writer = Writer(width)
    if _ends_sized(plan) and not plan.nullable:
        writer.vector(plan, "")
    else:
        block = writer.vector(plan, "value")
        sized = block if _ends_sized(plan) else _chain(block, writer.layer(""))
        writer.assigned("", writer.optional(sized, plan), plan)
    return Program((*writer.vocabularies, *writer.body))


@dataclass(slots=True)
class Writer:
    """Writes the statements of plans.

    Attributes:
        width: of the vectors.
        vocabularies: statements that stand first.
        body: the statements of the block that is being written.
        references: the name that stands for a recursive block within it, by its path and whether it reads
            arrays.
        variables, layers: the names that are taken.
    """

    width: int
    vocabularies: list[Statement] = field(default_factory=list)
    body: list[Statement] = field(default_factory=list)
    references: dict[tuple[str, bool], str] = field(default_factory=dict)
    variables: set[str] = field(default_factory=lambda: set(_RESERVED))
    layers: set[str] = field(default_factory=lambda: {DOCUMENT, *HEADS})

    def vector(self, plan: Plan, name: str) -> Expression:
        """A block that reads what a plan says, and gives a vector of any length."""
        write: Callable[[Writer, Any, str], Expression] = WRITERS[type(plan)]
        return write(self, plan, name)

    def sized(self, plan: Plan, name: str) -> Expression:
        """As `vector`, of `width` numbers."""
        block = self.vector(plan, name)
        return block if _ends_sized(plan) else _chain(block, self.layer(name))

    def layer(self, name: str, size: int | None = None) -> Expression:
        """A layer that gives `width` numbers, or `size`."""
        own = Literal(_free(name, self.layers))
        if size is not None:
            return Call("ar.FC", (Literal(size),), (("name", own),))
        return Call("ar.FC", (Literal(self.width), Name("ar.ops.tanh")), (("name", own),))

    def optional(self, block: Expression, plan: Plan) -> Expression:
        """A block that gives zeros for null, where there may be one."""
        return Call("ar.Optional", (block,)) if plan.nullable else block

    def assigned(self, name: str, value: Expression, plan: Plan) -> Expression:
        """Gives a block a name in the program."""
        own = _free(name, self.variables)
        self.body.append(Assignment(own, value, _about(plan)))
        return Name(own)

    def recursive(self, plan: Object | Array, name: str, write: Callable[[], Expression]) -> Expression:
        """Writes the definition of a block that stands within itself."""
        own, me = _free(name, self.variables), _free("me", self.variables)
        outer, self.body = self.body, []
        self.references[plan.path, isinstance(plan, Array)] = me
        self.body.append(Assignment(own, write()))
        outer.append(Recursion(own, me, tuple(self.body), _about(plan)))
        self.body = outer
        return Name(own)

    def embedded(self, words: Sequence[str], name: str, *, texts: bool = True) -> tuple[Expression, ...]:
        """Blocks that read one of several words as a vector."""
        vocabulary = _free(f"{name or DOCUMENT}_vocabulary", self.variables)
        self.vocabularies.append(Assignment(vocabulary, Call("ar.Vocabulary", (Words(tuple(words)),))))
        size = min(self.width, len(words) + 1)
        table = Call(
            "ar.Embedding",
            (Call("len", (Name(vocabulary),)), Literal(size)),
            (("name", Literal(_free(name, self.layers))),),
        )
        named = () if texts else (Call("ar.InputTransform", (Name("category"),)),)
        return (*named, Call(f"{vocabulary}.block"), table)

    def pooled(self, pooling: str, name: str) -> tuple[Expression, ...]:
        """Blocks that make one vector of a sequence of vectors."""
        if pooling == "sequence":
            cell = Call("ar.GRUCell", (Literal(self.width),), (("name", Literal(_free(name, self.layers))),))
            return (Call("ar.RNN", (cell,)), Call("ar.GetItem", (Literal(1),)))
        default = (("default", Literal(0.0)),)
        if pooling == "mean":
            mean = Call("ar.Mean", (), default)
        else:
            mean = Call("ar.Attention", (self.layer(f"{name or DOCUMENT}_score", 1),), default)
        return (Call("ar.AllOf", (mean, Call("log_length"))), Call("ar.Concat"))


def _left_out(writer: Writer, plan: LeftOut, name: str) -> Expression:
    return Call("ar.Zeros", (Literal((writer.width,)),))


def _boolean(writer: Writer, plan: Boolean, name: str) -> Expression:
    return Call("boolean")


def _number(writer: Writer, plan: Number, name: str) -> Expression:
    logs = (("log", Literal(True)),) if plan.log else ()
    read = Call("number", (Literal(plan.mean), Literal(plan.deviation)), logs)
    return _chain(Call("ar.InputTransform", (Name("float"),)), read) if plan.written else read


def _numbers(writer: Writer, plan: Numbers, name: str) -> Expression:
    return Call("numbers", (Literal(tuple(plan.means)), Literal(tuple(plan.deviations))))


def _date(writer: Writer, plan: Date, name: str) -> Expression:
    return Call("date", (Literal(plan.mean), Literal(plan.deviation)))


def _category(writer: Writer, plan: Category, name: str) -> Expression:
    return _chain(*writer.embedded(plan.words, name, texts=plan.texts))


def _text(writer: Writer, plan: Text, name: str) -> Expression:
    read = Call("hashed_words" if plan.of_words else "hashed_characters", (Literal(plan.buckets),))
    table = Call(
        "ar.Embedding",
        (Literal(plan.buckets), Literal(writer.width)),
        (("name", Literal(_free(name, writer.layers))),),
    )
    vectors = Call("ar.Map", (_chain(Call("ar.Scalar", (Literal("int32"),)), table),))
    return writer.assigned(name, _chain(read, vectors, *writer.pooled("attention", name)), plan)


def _characters(writer: Writer, plan: Characters, name: str) -> Expression:
    vectors = Call("ar.Map", (_chain(*writer.embedded(plan.letters, name)),))
    split = Call("ar.InputTransform", (Name("characters"),))
    return writer.assigned(name, _chain(split, vectors, *writer.pooled("sequence", name)), plan)


def _array(writer: Writer, plan: Array, name: str) -> Expression:
    def write() -> Expression:
        element = plan.element
        nested = isinstance(element, (Object, Array, Mixed))
        own = f"{name}_element" if nested and name else "element" if nested else name
        # A number alone would make of the mean all that is known of an array.
        block = writer.sized(element, own) if isinstance(element, Number) else writer.vector(element, own)
        vectors = Call("ar.Map", (writer.optional(block, element),))
        read = (
            Call("ar.InputTransform", (Name("entries"),)) if plan.keyed else Call("ar.Input", (Name("list"),))
        )
        pooled = _chain(read, vectors, *writer.pooled(plan.pooling, name))
        return _chain(pooled, writer.layer(name)) if plan.recursive else pooled

    return writer.recursive(plan, name, write) if plan.recursive else writer.assigned(name, write(), plan)


def _object(writer: Writer, plan: Object, name: str) -> Expression:
    def write() -> Expression:
        comments, blocks = [], []
        for key, part in plan.fields.items():
            if isinstance(part, LeftOut):
                continue
            block = writer.vector(part, f"{name}_{key}" if name else key or "field")
            item = Call("ar.GetItem", (Literal(key),), (("default", Literal(None)),))
            blocks.append(_chain(item, Call("ar.Optional", (block,))))
            comments.append("" if isinstance(block, Name) else _about(part))
        fields = Call("ar.AllOf", tuple(blocks), (), tuple(comments))
        return _chain(fields, Call("ar.Concat"), writer.layer(name))

    return writer.recursive(plan, name, write) if plan.recursive else writer.assigned(name, write(), plan)


def _mixed(writer: Writer, plan: Mixed, name: str) -> Expression:
    cases = []
    for kind, part in plan.cases.items():
        own = f"{name}_{kind}" if name else kind
        block = _left_out(writer, part, own) if isinstance(part, LeftOut) else writer.sized(part, own)
        short = isinstance(block, Name) or isinstance(part, LeftOut)
        cases.append((kind, block if short else writer.assigned(own, block, part)))
    choice = Call("ar.OneOf", (Name("json_type"), Table(tuple(cases))))
    return writer.assigned(name, choice, plan)


def _again(writer: Writer, plan: Again, name: str) -> Expression:
    return Name(writer.references[plan.head, plan.array])


WRITERS: Mapping[type[Plan], Callable[..., Expression]] = {
    Again: _again,
    Array: _array,
    Boolean: _boolean,
    Category: _category,
    Characters: _characters,
    Date: _date,
    LeftOut: _left_out,
    Mixed: _mixed,
    Number: _number,
    Numbers: _numbers,
    Object: _object,
    Text: _text,
}


def _ends_sized(plan: Plan) -> bool:
    """Whether the block of a plan ends with a layer that gives vectors of the width."""
    return isinstance(plan, (Object, Again, Mixed)) or (isinstance(plan, Array) and plan.recursive)


def _chain(*blocks: Expression) -> Expression:
    """Blocks one after the other; chains among them become part of this one."""
    flat = [part for block in blocks for part in (block.blocks if isinstance(block, Chain) else (block,))]
    return flat[0] if len(flat) == 1 else Chain(tuple(flat))


def _about(plan: Plan) -> str:
    """What a comment says about the block of a plan."""
    left_out = []
    if isinstance(plan, Object):
        left_out = [part.path for part in plan.fields.values() if isinstance(part, LeftOut)]
    words = f"; left out: {', '.join(left_out)}" if left_out else ""
    return f"{'the document' if plan.path == ROOT else plan.path}: {plan.kind}, {plan.reason}{words}"


def _free(name: str, taken: set[str]) -> str:
    """A Python name that is not taken, and is from now on; that of the document if there is none."""
    if not name:
        return DOCUMENT
    plain = re.sub(r"[^a-z0-9]+", "_", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()).strip("_")
    plain = plain[:40].rstrip("_") or "field"
    if plain != "field" and not re.match(r"[a-zA-Z]", name):  # so that 名_score is not called score
        plain = f"field_{plain}"
    own = base = plain
    number = 2
    while own in taken:
        own, number = f"{base}_{number}", number + 1
    taken.add(own)
    return own
