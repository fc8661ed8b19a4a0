"""Random programs that use the same things again.

The productions of `tests/generation` grow a tree: what is drawn stands where it was drawn. Here statements
are drawn, each made of names of earlier ones, so that a layer, a table, a constant, a named input or a whole
block may stand in any number of places. All objects are of one kind (`objects`), so every block fits wherever
an object is read: at the top, in a sequence, in the step of a fold, in a recursion. A program is the text of
a script, so what hypothesis prints of a failure can be run as it is (with `NAMES`).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from hypothesis import strategies as st

import arrows as ar
from arrows import ops
from tests.reuse import uses
from tests.reuse.uses import USES, WIDTH, use

Draw = Callable[[st.SearchStrategy[Any]], Any]

HARDLY = "1e-12"
"""A rate of dropout at which nothing is ever zeroed, and the rest grows by less than any tolerance."""

LARGEST = 60
"""How many blocks may stand in a statement, each counted wherever it stands."""


@dataclass(frozen=True)
class Statement:
    """A definition.

    Attributes:
        name: what it defines.
        kind: what that is: "vector" (a block from an object to a vector), "sequence" (to a sequence of
            vectors), "integer" (to an integer from 0 to 2), "change" (from a vector to a vector), "join"
            (from two), "reduction" (from a sequence of vectors to one), "elements" (from a sequence of
            vectors to one as long), "cell" (of a recurrent network whose state is a pair), "embedding",
            "table".
        text: the expression.
        parts: the statements that it names.
        weight: how many blocks stand in it.
        shape: of a table.
    """

    name: str
    kind: str
    text: str
    parts: tuple[Statement, ...] = ()
    weight: int = 1
    shape: tuple[int, int] = (0, 0)

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, repr=False)
class Program:
    """A script that defines `model`, a block.

    Attributes:
        statements: in order; the last is the model.
        loss: as `compile` takes it.
        inputs: the names of the inputs that are read.
    """

    statements: tuple[Statement, ...]
    loss: Any
    inputs: tuple[str, ...]

    def block(self, rate: float | None = None) -> Any:
        """A new block.

        Args:
            rate: of dropout, which acts in `squash` too; None: as good as nothing is dropped.
        """
        text = self.text
        if rate is not None:
            text = text.replace(HARDLY, str(rate)).replace(SQUASH, f"{SQUASH} >> ar.Dropout({rate})")
        names: dict[str, Any] = dict(NAMES)
        exec(text, names)
        return names["model"]

    @property
    def text(self) -> str:
        return "\n".join(f"{s.name} = {s.text}" for s in self.statements)

    def __repr__(self) -> str:
        return f"\n{self.text}\nloss = {self.loss!r}\n"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """What hypothesis prints."""
        printer.text(repr(self))


NAMES = {
    "ar": ar,
    "ops": ops,
    "np": np,
    "to": uses.to,
    "number": uses.number,
    "times_numbers": uses.times_numbers,
    "Table": uses.Table,
}

SQUASH = "ar.Function(lambda a: ops.tanh(a))"

READS = (
    Statement("x", "vector", 'ar.GetItem("x") >> ar.Vector(3, name="x")'),
    Statement("again", "vector", 'ar.GetItem("x") >> ar.Vector(3, name="x")'),
    Statement("y", "vector", 'ar.GetItem("y") >> ar.Scalar(name="y") >> ar.Function(times_numbers)'),
    Statement("i", "integer", 'ar.GetItem("i") >> ar.Scalar("int32")'),
    Statement("xs", "sequence", 'ar.GetItem("xs") >> ar.Map(ar.Vector(3, name="x"))'),
    Statement("total", "reduction", "ar.Sum()"),
    Statement("plus", "join", "ar.Function(lambda a, b: ops.tanh(a + b * 0.5))"),
    Statement("squash", "change", SQUASH),
)  # fmt: skip


X, _, _, _, XS, TOTAL, _, _ = READS
ENDS: dict[str, tuple[str, tuple[Statement, ...]]] = {
    "change": ("x >> {}", (X,)),
    "join": ("(x & x) >> {}", (X,)),
    "sequence": ("{} >> total", (TOTAL,)),
    "reduction": ("xs >> {}", (XS,)),
    "elements": ("xs >> {} >> total", (XS, TOTAL)),
    "cell": ("(x & (x & x)) >> {} >> ar.GetItem(0)", (X,)),
}
"""How what nobody else reads becomes a vector: the text, and what it names besides."""


@dataclass
class Draft:
    """A program in the making."""

    draw: Draw
    statements: list[Statement] = field(default_factory=lambda: list(READS))
    metrics: set[str] = field(default_factory=set)
    names: int = 0

    def one_of(self, *choices: Any) -> Any:
        """One of several things; it shrinks to the first."""
        return choices[self.draw(st.integers(0, len(choices) - 1))]

    def add(self, kind: str, text: str, *parts: Statement, times: int = 1, shape: Any = (0, 0)) -> Statement:
        """A new statement."""
        self.names += 1
        counts = Counter(re.findall(r"\b[a-z]+[0-9]*\b", text))
        parts = tuple(part for part in dict.fromkeys(parts) if counts[part.name])
        weight = 1 + times * sum(counts[part.name] * part.weight for part in parts)
        made = Statement(f"{kind[0]}{self.names}", kind, text, parts, weight, shape)
        self.statements.append(made)
        return made

    def pick(self, kind: str, most: int = LARGEST // 4) -> Statement:
        """A statement of this kind that is there, the latest ones first."""
        there = [s for s in reversed(self.statements) if s.kind == kind and s.weight <= most]
        return self.one_of(*there)

    def table(self) -> Statement:
        """A table: one that is there, or a new one."""
        there = [s for s in self.statements if s.kind == "table"]
        if there and (len(there) == 2 or self.one_of(True, False)):
            return self.one_of(*there)
        shape = self.one_of((3, 3), (4, 3), (3, 4))
        frozen = self.one_of("", "", "", ", trainable=False")
        text = f'Table({shape[0]}, {shape[1]}, name="t{len(there)}"{frozen})'
        return self.add("table", text, shape=shape)

    def used(self, vector: str, index: str, other: str) -> tuple[str, Statement]:
        """One use of a table."""
        table = self.table()
        kind = self.one_of(*USES)
        return use(kind, f"{table}({vector})", table.shape, vector, index, other), table

    def function(self, arguments: str, vector: str, *others: str) -> tuple[str, list[Statement]]:
        """A function of one or two vectors, maybe an integer too, that uses tables up to three times."""
        index = "i" if "i" in arguments.split(", ") else f"number({vector})"
        other = f"number({others[0] if others else vector})"
        text, tables = vector, []
        for _ in range(self.one_of(0, 1, 1, 2, 2, 3)):
            more, table = self.used(vector, index, other)
            tables.append(table)
            how = self.one_of("+", "*", "of")
            if how == "of":
                # what the first gave is what the second uses
                text, vector = f"{more} + 0.5 * ({text})", f"ops.tanh({more})"
            else:
                text = f"{text} {how} {more}"
        for one in others:
            text = f"({text}) {self.one_of('+', '*')} {one}"
        last = self.one_of("ops.tanh({})", "({}) * 0.25", "ops.sigmoid({})", "ops.relu({})", "{}")
        return last.format(text), list(dict.fromkeys(tables))


@st.composite
def one_more(draw: Draw, draft: Draft) -> bool:
    """Draws a statement, or ends the program; as a draw of its own, it can go when hypothesis shrinks."""
    if not draw(st.integers(0, 12)):
        return False
    draft.one_of(*KINDS)(draft)
    return True


def change(draft: Draft) -> Statement:
    text, tables = draft.function("a", "a")
    return draft.add("change", f"ar.Function(lambda a: {text})", *tables)


def join(draft: Draft) -> Statement:
    text, tables = draft.function("a, b", "a", "b")
    return draft.add("join", f"ar.Function(lambda a, b: {text})", *tables)


def reduction(draft: Draft) -> Statement:
    text, tables = draft.function("a", "a")
    kind = draft.one_of("sum", "softmax", "after", "both", "attention")
    if kind == "sum":
        text = f"ops.segment_sum({text})"
    elif kind == "softmax":
        text = f"ops.segment_sum(a * ops.segment_softmax({text}))"
    elif kind == "attention":
        text = f"ops.segment_sum(ops.segment_attention(a, {text}, a, 3, True))"
    elif kind == "after":
        text = f"(lambda a: {text})(ops.segment_sum(a))"
    else:
        after, more = draft.function("b", "b")
        text = f"(lambda b: {after})(ops.segment_sum({text}))"
        tables = list(dict.fromkeys([*tables, *more]))
    return draft.add("reduction", f"ar.Function(lambda a: {text})", *tables)


def two_levels(draft: Draft) -> Statement:
    """One function of a sequence beside another, or beside a vector, that uses tables at both levels."""
    s, other = draft.pick("sequence"), draft.pick(draft.one_of("vector", "sequence"))
    each, tables = draft.function("a", "a")
    after, more = draft.function("b", "b")
    whole = after if other.kind == "vector" else f"ops.segment_sum({after})"
    text = draft.one_of("ops.segment_sum({0}) + {1}", "{1} * ops.segment_sum({0} * ops.segment_softmax(a))")
    if other.kind == "vector":
        text = draft.one_of(text, "ops.segment_sum({0} * ({1}))")
    block = f"({s} & {other}) >> ar.Function(lambda a, b: {text.format(f'({each})', f'({whole})')})"
    return draft.add("vector", block, s, other, *tables, *more)


def elements(draft: Draft) -> Statement:
    text, tables = draft.function("a", "a")
    return draft.add("elements", f"ar.Function(lambda a: {text})", *tables)


def layer(draft: Draft) -> Statement:
    """A layer from vectors to vectors; it is shared as soon as it is picked twice."""
    text = draft.one_of(
        "ar.FC(3, activation=ops.tanh)",
        "ar.FC(3, bias=False)",
        "ar.LayerNorm(0.25)",
        "ar.FC(3, weight_norm=True)",
        f"ar.Dropout({HARDLY})",
    )
    return draft.add("change", text)


def layer_of_sequences(draft: Draft) -> Statement:
    """A layer from a sequence to one as long; it is shared as soon as it is picked twice."""
    text = draft.one_of(
        "ar.MultiHeadAttention(3)",
        "ar.MultiHeadAttention(1, causal=True, bias=False)",
        'ar.Conv1d(3, 2, padding="causal")',
        'ar.Conv1d(3, 3, padding="same", activation=ops.tanh)',
        "ar.Shift(1)",
        "ar.Shift(-1, default=0.5)",
    )
    return draft.add("elements", text)


def element_at(draft: Draft) -> Statement:
    """The element of a sequence at a computed place, which may lie beyond its end."""
    s, index = draft.pick("sequence"), draft.pick("integer")
    return draft.add("vector", f"({s} & {index}) >> ar.At(default=0.25)", s, index)


def layer_in_function(draft: Draft) -> Statement:
    """A layer inside of a function, once or twice."""
    fc = draft.pick("change")
    if not fc.text.startswith(("ar.FC", "ar.Lin", "ar.Lay")):
        fc = draft.add("change", "ar.FC(3)")
    text = draft.one_of("{f}({f}(a) * 0.5)", "{f}(a) * a", "{f}(a) + {f}(-a)").format(f=fc)
    return draft.add("change", f"ar.Function(lambda a: {text})", fc)


def chained(draft: Draft) -> Statement:
    a, b = draft.pick("change"), draft.pick("change")
    return draft.add("change", f"{a} >> {b}", a, b)


def join_of_layers(draft: Draft) -> Statement:
    kind = draft.one_of("concat", "twice", "gru", "attention")
    if kind == "concat":
        return draft.add("join", "ar.Concat() >> ar.FC(3, activation=ops.tanh)")
    if kind == "gru":
        return draft.add("join", draft.one_of("ar.GRUCell(3)", "ar.GRUCell(3, reset_after=True)"))
    a, b = draft.pick("change"), draft.pick("join")
    if kind == "twice":
        return draft.add("join", f"(ar.GetItem(0) >> {a} & ar.GetItem(1) >> {a}) >> {b}", a, a, b)
    return draft.add("join", f"({b} & ar.GetItem(0) >> {a}) >> {b}", a, b, b)


def constant(draft: Draft) -> Statement:
    text = draft.one_of(
        "ar.Constant([0.5, -0.25, 1.0], trainable=True)", "ar.Constant([1.0, 0.5, -1.0])", "ar.Zeros([3])"
    )
    return draft.add("vector", text)


def looked_up(draft: Draft) -> Statement:
    """What a function or a layer makes of an integer."""
    index = draft.pick("integer")
    kind = draft.one_of("table", "embedding", "both", "with")
    table = draft.table()
    row = f"to(ops.lookup({table}(ops.cast(i, 'float32')), i), 3)"
    if kind == "table":
        return draft.add("vector", f"{index} >> ar.Function(lambda i: {row})", index, table)
    if kind == "embedding":
        there = [s for s in draft.statements if s.kind == "embedding"]
        e = draft.one_of(*there) if there else draft.add("embedding", "ar.Embedding(3, 3)")
        return draft.add("vector", f"{index} >> {e}", index, e)
    vector = draft.pick("vector")
    text, tables = draft.function("i, a", "a")
    if kind == "both":
        text, tables = f"({text}) + {row}", [*tables, table]
    block = f"({index} & {vector}) >> ar.Function(lambda i, a: {text})"
    return draft.add("vector", block, index, vector, *dict.fromkeys(tables))


def embedded_in_function(draft: Draft) -> Statement:
    """An embedding used as a layer inside of a function, twice: as models of pairs of words do."""
    index, vector = draft.pick("integer"), draft.pick("vector")
    there = [s for s in draft.statements if s.kind == "embedding"]
    e = draft.one_of(*there) if there else draft.add("embedding", "ar.Embedding(3, 3)")
    text = draft.one_of("{e}(i) * {e}(number(a))", "ops.dot({e}(i), {e}(number(a))) * a", "{e}(i) * a")
    block = f"({index} & {vector}) >> ar.Function(lambda i, a: {text.format(e=e)})"
    return draft.add("vector", block, index, vector, e)


def other_integer(draft: Draft) -> Statement:
    kind = draft.one_of("j", "number", "sum")
    if kind == "j":
        return draft.add("integer", 'ar.GetItem("j") >> ar.Scalar("int32")')
    if kind == "number":
        vector = draft.pick("vector")
        return draft.add("integer", f"{vector} >> ar.Function(number)", vector)
    text = 'ar.GetItem("ids") >> ar.Map(ar.Scalar("int32")) >> ar.Max(default=0)'
    return draft.add("integer", text)


def changed(draft: Draft) -> Statement:
    a, b = draft.pick("vector"), draft.pick("change")
    return draft.add("vector", f"{a} >> {b}", a, b)


def joined(draft: Draft) -> Statement:
    a, b, j = draft.pick("vector"), draft.pick("vector"), draft.pick("join")
    return draft.add("vector", f"({a} & {b}) >> {j}", a, b, j)


def wired(draft: Draft) -> Statement:
    """Arrow notation: one object, and one result, read several times."""
    a, b = draft.pick("vector"), draft.pick("vector")
    c, j = draft.pick("change"), draft.pick("join")
    last = draft.one_of("{j}({a}(t), {b}(t))", "{j}({c}(u), {j}(u, {b}(t)))", "{j}({c}(u), {c}(u))")
    call = last.format(a=a, b=b, c=c, j=j)
    text = (
        f"ar.arrow(lambda t: (lambda u: {call})({a}(t)))" if "(u" in call else f"ar.arrow(lambda t: {call})"
    )
    return draft.add("vector", text, a, b, c, c, j, j)


def reduced(draft: Draft) -> Statement:
    """A sequence, as one vector."""
    s = draft.pick("sequence")
    kind = draft.one_of("reduction", "fold", "network", "built in", "cell", "pairs")
    if kind == "reduction":
        r = draft.pick("reduction")
        return draft.add("vector", f"{s} >> {r}", s, r)
    if kind == "built in":
        last = draft.one_of(
            "ar.Sum()", "ar.Max(default=0.5)", "ar.Mean(default=0.25)", "ar.Min(default=[0.5, 0.0, 1.0])"
        )
        return draft.add("vector", f"{s} >> {last}", s)
    j = draft.pick("join")
    if kind == "fold":
        return draft.add("vector", f"{s} >> ar.Fold({j}, ar.Zeros([3]))", s, j, times=2)
    reverse = draft.one_of(False, True)
    if kind == "network":
        start = draft.one_of("ar.Zeros([3])", "ar.Constant([0.5, -0.25, 1.0], trainable=True)")
        text = f"{s} >> ar.RNN({j}, {start}, reverse={reverse}) >> ar.GetItem({draft.one_of(1, 0)})"
        return draft.add("vector", text if text.endswith("(1)") else f"{text} >> ar.Sum()", s, j, times=2)
    if kind == "pairs":
        return draft.add("vector", f"{s} >> ar.Reduce({j}, default=ar.Zeros([3]))", s, j, times=2)
    there = [c for c in draft.statements if c.kind == "cell"]
    cell = draft.one_of(*there) if there else draft.add("cell", "ar.LSTMCell(3)")
    text = f"{s} >> ar.RNN({cell}, reverse={reverse}) >> ar.GetItem(1) >> ar.GetItem(0)"
    return draft.add("vector", text, s, cell)


def folded(draft: Draft) -> Statement:
    """A fold over objects, which are read inside of its step."""
    v, j = draft.pick("vector", 8), draft.pick("join", 8)
    text = f'ar.GetItem("kids") >> ar.Fold((ar.GetItem(0) & ar.GetItem(1) >> {v}) >> {j}, ar.Zeros([3]))'
    return draft.add("vector", text, v, j, times=2)


def recursive(draft: Draft) -> Statement:
    """A block over the object and all objects in it."""
    v, j, c = draft.pick("vector", 8), draft.pick("join", 8), draft.pick("change", 8)
    kind = draft.one_of("tree", "chain", "two", "graph")
    if kind == "chain":
        body = f'({v} & ar.GetItem("next") >> ar.Optional(me, ar.Zeros([3]))) >> {j}'
        return draft.add("vector", f"ar.fix(lambda me: {body})", v, j, times=2)
    # the case that ends it gives the type
    key = draft.one_of('lambda t: not t["kids"]', 'lambda t: t["j"] == 2')
    ends = f"ar.OneOf({key}, {{{{True: {v}, False: {{}}}}}})"
    kids = 'ar.GetItem("kids") >> ar.Map({}) >> ar.Sum()'
    if kind == "two":
        first, second = (f"({v} & {kids.format(of)}) >> {j}" for of in (f"b >> {c}", "a"))
        text = f"ar.fix(lambda a, b: ({ends.format(first)}, {second}))[0]"
        return draft.add("vector", text, v, v, v, j, j, c, times=2)
    body = ends.format(f"({v} & {kids.format(f'me >> {c}')}) >> {j}")
    if kind == "graph":
        body = f"ar.shared({body})"
    return draft.add("vector", f"ar.fix(lambda me: {body})", v, j, c, times=2)


def choice(draft: Draft) -> Statement:
    a, b = draft.pick("vector"), draft.pick("vector")
    kind = draft.one_of("cases", "optional", "nth")
    if kind == "cases":
        return draft.add("vector", f'ar.OneOf(lambda t: t["j"] > 0, {{False: {a}, True: {b}}})', a, b)
    if kind == "nth":
        return draft.add(
            "vector", f'ar.OneOf(lambda t: len(t["xs"]), {{0: {a}, 1: {b}, 2: {a}, 3: {b}}})', a, a, b, b
        )
    return draft.add("vector", f'ar.GetItem("next") >> ar.Optional({a}, ar.Constant([0.5, 1.0, -1.0]))', a)


def mapped(draft: Draft) -> Statement:
    """A sequence: of what a block makes of the objects inside, or changed element by element."""
    kind = draft.one_of("kids", "changed", "elements", "ids", "broadcast", "scan", "outputs", "zip")
    if kind == "kids":
        v = draft.pick("vector")
        return draft.add("sequence", f'ar.GetItem("kids") >> ar.Map({v})', v, times=2)
    if kind == "ids":
        table = draft.table()
        row = f"to(ops.lookup({table}(ops.cast(i, 'float32')), i), 3)"
        how = draft.one_of(
            "ar.Map(ar.Scalar('int32') >> ar.Function(lambda i: {}))",
            "ar.Map(ar.Scalar('int32')) >> ar.Function(lambda i: {})",
        )
        return draft.add("sequence", 'ar.GetItem("ids") >> ' + how.format(row), table)
    s = draft.pick("sequence")
    if kind == "changed":
        c = draft.pick("change")
        return draft.add("sequence", f"{s} >> ar.Map({c})", s, c)
    if kind == "elements":
        there = [e for e in draft.statements if e.kind == "elements"]
        e = draft.one_of(*there) if there else elements(draft)
        return draft.add("sequence", f"{s} >> {e}", s, e)
    j = draft.pick("join")
    if kind == "zip":
        other = draft.pick("sequence")
        return draft.add("sequence", f"({s} & {other}) >> ar.ZipWith({j}, strict=False)", s, other, j)
    if kind == "broadcast":
        v = draft.pick("vector")
        return draft.add("sequence", f"({s} & {v} >> ar.Broadcast()) >> ar.ZipWith({j})", s, v, j)
    if kind == "outputs":
        return draft.add("sequence", f"{s} >> ar.RNN({j}, ar.Zeros([3])) >> ar.GetItem(0)", s, j, times=2)
    v = draft.pick("vector")
    step = f"{j} & ar.GetItem(1) >> ar.Function(lambda b: b * 0.5)"
    scan = f"ar.Scan(ar.Identity() >> ({step}), start_from_input=True)"
    return draft.add("sequence", f"({s} & {v}) >> {scan} >> ar.GetItem(0)", s, v, j, times=2)


def cells(draft: Draft) -> Statement:
    """A recursive cell at the leaves and at the nodes of a tree, or two places of a recurrent one."""
    v = draft.pick("vector", 8)
    if draft.one_of(True, False):
        cell = draft.add("tree", "ar.TreeLSTM(3, children=None)")
        text = f'ar.fix(lambda me: ({v} & ar.GetItem("kids") >> ar.Map(me)) >> {cell}) >> ar.GetItem(0)'
        return draft.add("vector", text, v, cell, times=2)
    there = [c for c in draft.statements if c.kind == "cell"]
    cell = draft.one_of(*there) if there else draft.add("cell", "ar.LSTMCell(3)")
    s = draft.pick("sequence")
    text = (
        f"{s} >> ar.Bidirectional({cell}, {cell}) >> ar.GetItem(0) >> ar.Map(ar.Function(lambda a: to(a, 3)))"
    )
    return draft.add("sequence", text, s, cell)


def measured(draft: Draft) -> Statement:
    """A metric on the way."""
    v = draft.pick("vector")
    metric = draft.one_of("m", "n")
    draft.metrics.add(metric)
    score = draft.one_of("ops.sum", "lambda a: (a * a).mean()")
    text = f'(ar.Identity() & ar.Function({score}) >> ar.Metric("{metric}")) >> ar.GetItem(0)'
    return draft.add("vector", f"{v} >> {text}", v)


KINDS: tuple[Callable[[Draft], Statement], ...] = (
    changed,
    joined,
    looked_up,
    change,
    reduced,
    recursive,
    mapped,
    join,
    reduction,
    looked_up,
    two_levels,
    folded,
    layer,
    wired,
    change,
    embedded_in_function,
    layer_in_function,
    layer_of_sequences,
    element_at,
    join_of_layers,
    constant,
    other_integer,
    choice,
    cells,
    measured,
    chained,
)
"""What is drawn, some more often than others."""


@st.composite
def programs(draw: Draw, most: int = 8) -> Program:
    """A random program of up to `most` statements."""
    draft = Draft(draw)
    while len(draft.statements) < len(READS) + most and draw(one_more(draft)):
        pass
    last = ends(draft)
    metrics = {s.text.split('ar.Metric("')[1][0] for s in needed(last) if 'ar.Metric("' in s.text}
    together = " & ".join(s.name for s in last) if len(last) > 1 else last[0].name
    total = "ar.Sum() >> " if len(last) > 1 else ""
    score = draft.one_of("ops.sum", "lambda a: (a * a).mean()", "ops.logsumexp")
    if metrics:
        results = draft.one_of(*(["vector", "sequence"]))
        if results == "sequence":
            s = draft.pick("sequence", LARGEST)
            last, together = [*last, s], f"{together} & {s}"
        kinds = [*sorted(metrics), {name: 0.5 + n for n, name in enumerate(sorted(metrics))}]
        loss = draft.one_of(*kinds)
        # a sequence may fire other metrics; that is as good
        model = Statement(
            "model", "model", together if len(last) > 1 else f"{together} >> ar.Identity()", tuple(last)
        )
    else:
        loss = None
        tail = f"{total}ar.Function({score})"
        model = Statement("model", "model", f"({together}) >> {tail}", tuple(last))
    statements = (*needed(last), model)
    read = " ".join(s.text for s in statements)
    return Program(statements, loss, tuple(n for n in ("x", "y") if f'name="{n}"' in read))


def ends(draft: Draft) -> list[Statement]:
    """Vectors in which all stands that was drawn, up to a limit: what nobody reads is put to use."""
    used = {part.name for s in draft.statements for part in s.parts} | {s.name for s in READS}
    vectors: list[Statement] = []
    for s in reversed(draft.statements):
        if s.name in used or sum(v.weight for v in vectors) + s.weight > LARGEST:
            continue
        if s.kind == "vector":
            vectors.append(s)
        elif s.kind in ENDS:
            text, parts = ENDS[s.kind]
            vectors.append(draft.add("vector", text.format(s), s, *parts))
    return vectors or [READS[0]]


def needed(last: list[Statement]) -> list[Statement]:
    """These statements and what they are made of, each once, what is read first."""
    found: dict[str, Statement] = {}
    for statement in last:
        for part in needed(list(statement.parts)):
            found.setdefault(part.name, part)
        found.setdefault(statement.name, statement)
    return list(found.values())


NUMBERS = np.random.default_rng(5).normal(0, 0.8, (8, 7, WIDTH)).round(3)
"""Where the numbers of objects come from: those of two objects are alike, or not alike anywhere."""


@st.composite
def objects(draw: Draw, depth: int = 2, chain: int = 2) -> dict[str, Any]:
    """An object: numbers, lists of them, objects inside; it shrinks to one in which everything is empty."""
    numbers = NUMBERS[draw(st.integers(0, 7))]
    width = (3 if depth == 2 else 2) if depth > 0 else 0
    kids = draw(st.integers(0, width)) if width else 0
    after = chain > 0 and draw(st.integers(0, 2)) == 2
    count = draw(st.integers(0, 3))
    return {
        "x": numbers[0].tolist(),
        "y": float(numbers[1][0]),
        "i": draw(st.integers(0, 2)),
        "j": draw(st.integers(0, 2)),
        "xs": numbers[2 : 2 + count].tolist(),
        "ids": draw(st.lists(st.integers(0, 2), max_size=3)),
        "kids": [draw(objects(depth - 1, 0)) for _ in range(kids)],
        "next": draw(objects(0, chain - 1)) if after else None,
    }
