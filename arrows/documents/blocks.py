"""From plans to the program of a block: one walk, from which the block and its source are both made."""

from __future__ import annotations

import builtins
import keyword
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from arrows.documents.expressions import (
    READERS,
    Assignment,
    BlockProgram,
    Chain,
    Expression,
    FunctionCall,
    Literal,
    NamedValue,
    Plain,
    Recursion,
    Statement,
    Table,
    Words,
)
from arrows.documents.plans import (
    ArrayPlan,
    BooleanPlan,
    CategoryPlan,
    CharactersPlan,
    DatePlan,
    LeftOutPlan,
    MixedPlan,
    NumberPlan,
    ObjectPlan,
    PathPlan,
    Pooling,
    RepeatPlan,
    TextPlan,
    VectorPlan,
)
from arrows.documents.schema import ROOT

DOCUMENT = "document"  # what the block of a document and its layer are called
HEADS = ("classify", "estimate")  # layers of `arrows.models` that come after the block
_RESERVED = frozenset({*READERS, *keyword.kwlist, *keyword.softkwlist, *dir(builtins), "ar", DOCUMENT})


def program_of(plan: PathPlan, width: int) -> BlockProgram:
    """The program of the block that reads documents as a plan says, and gives float32[width]."""
    writer = Writer(width)
    if _ends_sized(plan) and not plan.nullable:
        writer.vector(plan, "")
    else:
        block = writer.vector(plan, "value")
        sized = block if _ends_sized(plan) else _chain(block, writer.layer(""))
        writer.assigned("", writer.optional(sized, plan), plan)
    return BlockProgram((*writer.vocabularies, *writer.body))


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

    def vector(self, plan: PathPlan, name: str) -> Expression:
        """A block that reads what a plan says, and gives a vector of any length."""
        return WRITERS[type(plan)](self, plan, name)

    def sized(self, plan: PathPlan, name: str) -> Expression:
        """As `vector`, of `width` numbers."""
        block = self.vector(plan, name)
        return block if _ends_sized(plan) else _chain(block, self.layer(name))

    def layer(self, name: str, size: int | None = None) -> Expression:
        """A layer that gives `width` numbers, or `size`."""
        own = _free(name, self.layers)
        if size is not None:
            return _call("ar.FC", size, name=own)
        return _call("ar.FC", self.width, NamedValue("ar.ops.tanh"), name=own)

    def optional(self, block: Expression, plan: PathPlan) -> Expression:
        """A block that gives zeros for null, where there may be one."""
        return _call("ar.Optional", block) if plan.nullable else block

    def assigned(self, name: str, value: Expression, plan: PathPlan) -> Expression:
        """Gives a block a name in the program."""
        own = _free(name, self.variables)
        self.body.append(Assignment(own, value, _about(plan)))
        return NamedValue(own)

    def recursive(
        self, plan: ObjectPlan | ArrayPlan, name: str, write: Callable[[], Expression]
    ) -> Expression:
        """Writes the definition of a block that stands within itself."""
        own, me = _free(name, self.variables), _free("me", self.variables)
        outer, self.body = self.body, []
        self.references[plan.path, isinstance(plan, ArrayPlan)] = me
        self.body.append(Assignment(own, write()))
        outer.append(Recursion(own, me, tuple(self.body), _about(plan)))
        self.body = outer
        return NamedValue(own)

    def embedded(self, words: Sequence[str], name: str, *, texts: bool = True) -> tuple[Expression, ...]:
        """Blocks that read one of several words as a vector."""
        vocabulary = _free(f"{name or DOCUMENT}_vocabulary", self.variables)
        self.vocabularies.append(Assignment(vocabulary, _call("ar.Vocabulary", Words(tuple(words)))))
        size = min(self.width, len(words) + 1)
        rows = _call("len", NamedValue(vocabulary))
        table = _call("ar.Embedding", rows, size, name=_free(name, self.layers))
        named = () if texts else (_call("ar.InputTransform", NamedValue("category")),)
        return (*named, _call(f"{vocabulary}.block"), table)

    def pooled(self, pooling: Pooling, name: str) -> tuple[Expression, ...]:
        """Blocks that make one vector of a sequence of vectors."""
        if pooling == "sequence":
            cell = _call("ar.GRUCell", self.width, name=_free(name, self.layers))
            return (_call("ar.RNN", cell), _call("ar.GetItem", 1))
        if pooling == "attention":
            parts = [_call("ar.Attention", self.layer(f"{name or DOCUMENT}_score", 1), default=0.0)]
        else:
            parts = [_call("ar.Mean", default=0.0)]
        if pooling == "pooled":
            parts = [_call("ar.Sum"), *parts, _call("ar.Max", default=0.0)]
        return (_call("ar.AllOf", *parts, _call("log_length")), _call("ar.Concat"))


def _call(function: str, *arguments: Expression | Plain, **keywords: Expression | Plain) -> FunctionCall:
    """A call; plain values among its arguments are literals."""
    return FunctionCall(
        function,
        tuple(map(_expression, arguments)),
        tuple((name, _expression(value)) for name, value in keywords.items()),
    )


def _expression(value: Expression | Plain) -> Expression:
    return Literal(value) if value is None or isinstance(value, (str, int, float)) else value


def _left_out(writer: Writer, plan: LeftOutPlan, name: str) -> Expression:
    return _call("ar.Zeros", Literal((writer.width,)))


def _boolean(writer: Writer, plan: BooleanPlan, name: str) -> Expression:
    return _call("boolean")


def _number(writer: Writer, plan: NumberPlan, name: str) -> Expression:
    log = {"log": True} if plan.log else {}
    read = _call("number", plan.mean, plan.deviation, **log)
    return _chain(_call("ar.InputTransform", NamedValue("float")), read) if plan.written else read


def _numbers(writer: Writer, plan: VectorPlan, name: str) -> Expression:
    return _call("numbers", Literal(tuple(plan.means)), Literal(tuple(plan.deviations)))


def _date(writer: Writer, plan: DatePlan, name: str) -> Expression:
    return _call("date", plan.mean, plan.deviation)


def _category(writer: Writer, plan: CategoryPlan, name: str) -> Expression:
    return _chain(*writer.embedded(plan.words, name, texts=plan.texts))


def _text(writer: Writer, plan: TextPlan, name: str) -> Expression:
    read = _call("hashed_words" if plan.of_words else "hashed_characters", plan.buckets)
    table = _call("ar.Embedding", plan.buckets, writer.width, name=_free(name, writer.layers))
    vectors = _call("ar.Map", _chain(_call("ar.Scalar", "int32"), table))
    return writer.assigned(name, _chain(read, vectors, *writer.pooled("attention", name)), plan)


def _characters(writer: Writer, plan: CharactersPlan, name: str) -> Expression:
    vectors = _call("ar.Map", _chain(*writer.embedded(plan.letters, name)))
    split = _call("ar.InputTransform", NamedValue("characters"))
    return writer.assigned(name, _chain(split, vectors, *writer.pooled("sequence", name)), plan)


def _array(writer: Writer, plan: ArrayPlan, name: str) -> Expression:
    def write() -> Expression:
        element = plan.element
        nested = isinstance(element, (ObjectPlan, ArrayPlan, MixedPlan))
        own = f"{name}_element" if nested and name else "element" if nested else name
        # A number alone would make of the mean all that is known of an array.
        block = writer.sized(element, own) if isinstance(element, NumberPlan) else writer.vector(element, own)
        vectors = _call("ar.Map", writer.optional(block, element))
        entries = _call("ar.InputTransform", NamedValue("entries"))
        read = entries if plan.keyed else _call("ar.Input", NamedValue("list"))
        pooled = _chain(read, vectors, *writer.pooled(plan.pooling, name))
        return _chain(pooled, writer.layer(name)) if plan.recursive else pooled

    return writer.recursive(plan, name, write) if plan.recursive else writer.assigned(name, write(), plan)


def _object(writer: Writer, plan: ObjectPlan, name: str) -> Expression:
    def write() -> Expression:
        comments, blocks = [], []
        for key, part in plan.fields.items():
            if isinstance(part, LeftOutPlan):
                continue
            block = writer.vector(part, f"{name}_{key}" if name else key or "field")
            item = _call("ar.GetItem", key, default=None)
            blocks.append(_chain(item, _call("ar.Optional", block)))
            comments.append("" if isinstance(block, NamedValue) else _about(part))
        fields = FunctionCall("ar.AllOf", tuple(blocks), (), tuple(comments))
        return _chain(fields, _call("ar.Concat"), writer.layer(name))

    return writer.recursive(plan, name, write) if plan.recursive else writer.assigned(name, write(), plan)


def _mixed(writer: Writer, plan: MixedPlan, name: str) -> Expression:
    cases = []
    for kind, part in plan.cases.items():
        own = f"{name}_{kind}" if name else kind
        block = _left_out(writer, part, own) if isinstance(part, LeftOutPlan) else writer.sized(part, own)
        short = isinstance(block, NamedValue) or isinstance(part, LeftOutPlan)
        cases.append((kind, block if short else writer.assigned(own, block, part)))
    choice = _call("ar.OneOf", NamedValue("json_type"), Table(tuple(cases)))
    return writer.assigned(name, choice, plan)


def _again(writer: Writer, plan: RepeatPlan, name: str) -> Expression:
    return NamedValue(writer.references[plan.head, plan.array])


WRITERS: Mapping[type[PathPlan], Callable[..., Expression]] = {
    RepeatPlan: _again,
    ArrayPlan: _array,
    BooleanPlan: _boolean,
    CategoryPlan: _category,
    CharactersPlan: _characters,
    DatePlan: _date,
    LeftOutPlan: _left_out,
    MixedPlan: _mixed,
    NumberPlan: _number,
    VectorPlan: _numbers,
    ObjectPlan: _object,
    TextPlan: _text,
}


def _ends_sized(plan: PathPlan) -> bool:
    """Whether the block of a plan ends with a layer that gives vectors of the width."""
    return isinstance(plan, (ObjectPlan, RepeatPlan, MixedPlan)) or (
        isinstance(plan, ArrayPlan) and plan.recursive
    )


def _chain(*blocks: Expression) -> Expression:
    """Blocks one after the other; chains among them become part of this one."""
    flat = [part for block in blocks for part in (block.blocks if isinstance(block, Chain) else (block,))]
    return flat[0] if len(flat) == 1 else Chain(tuple(flat))


def _about(plan: PathPlan) -> str:
    """What a comment says about the block of a plan."""
    left_out = []
    if isinstance(plan, ObjectPlan):
        left_out = [part.path for part in plan.fields.values() if isinstance(part, LeftOutPlan)]
    words = f"; left out: {', '.join(left_out)}" if left_out else ""
    return f"{'the document' if plan.path == ROOT else plan.path}: {plan.read_as}, {plan.reason}{words}"


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
