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
from collections.abc import Callable, Sequence
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


KIDS = 'ar.GetItem("kids")'
REVERSE = "reverse=~False|True~"
START = "~ar.Zeros([3])|ar.Constant([0.5, -0.25, 1.0], trainable=True)~"
TREE = f"({{vector:8}} & {KIDS} >> ar.Map(me >> {{change:8}}) >> ar.Sum()) >> {{join:8}}"
IDS = 'ar.GetItem("ids") >> ar.Map(ar.Scalar("int32")'
OF_ROW = "ar.Function(lambda i: {row})"
SCANNED = "ar.Identity() >> ({join} & ar.GetItem(1) >> ar.Function(lambda b: b * 0.5))"
NARROW = "ar.Function(lambda a: to(a, 3))"
SCORE = "ar.Function(~ops.sum|lambda a: (a * a).mean()~)"
# The case that ends a recursion gives the type.
ENDS_IN = 'ar.OneOf(lambda t: ~not t["kids"]|t["j"] == 2~, {{True: {{vector:8}}, False: {}}})'

Production = tuple[str, ...]
CHANGE: Production = ("change", "ar.Function(lambda a: {f a})")
LOOKED_UP: Production = (
    "vector",
    "{integer} >> ar.Function(lambda i: {row})",
    "{integer} >> {embedding}",
    "({integer} & {vector}) >> ar.Function(lambda i, a: {f i a} + {row})",
    "({integer} & {vector}) >> ar.Function(lambda i, a: {f i a})",
)
PRODUCTIONS: tuple[Production, ...] = (
    ("vector", "{vector} >> {change}"),
    ("vector", "({vector} & {vector.b}) >> {join}"),
    LOOKED_UP,
    CHANGE,
    (
        "vector",
        "{sequence} >> {reduction}",
        "{sequence} >> ar.Fold({join}, ar.Zeros([3]))",
        f"{{sequence}} >> ar.RNN({{join}}, {START}, {REVERSE}) >> ~ar.GetItem(1)|ar.GetItem(0) >> ar.Sum()~",
        "{sequence} >> ar.~Sum()|Max(default=0.5)|Mean(default=0.25)|Min(default=1)~",
        f"{{sequence}} >> ar.RNN({{cell}}, {REVERSE}) >> ar.GetItem(1) >> ar.GetItem(0)",
        "{sequence} >> ar.Reduce({join}, default=ar.Zeros([3]))",
    ),
    (  # over the object and all objects in it
        "vector",
        f"ar.fix(lambda me: {ENDS_IN.format(TREE)})",
        'ar.fix(lambda me: ({vector:8} & ar.GetItem("next") >> ar.Optional(me, ar.Zeros([3]))) >> {join:8})',
        f"ar.fix(lambda me, b: ({ENDS_IN.format(TREE.replace('me', 'b'))}, {TREE}))[0]",
        f"ar.fix(lambda me: ar.shared({ENDS_IN.format(TREE)}))",
    ),
    (  # what a block makes of the objects inside, or a sequence that is changed
        "sequence",
        f"{KIDS} >> ar.Map({{vector}})",
        "{sequence} >> ar.Map({change})",
        "{sequence} >> {elements}",
        f"{IDS}~ >> {OF_ROW})|) >> {OF_ROW}~",
        "({sequence} & {vector} >> ar.Broadcast()) >> ar.ZipWith({join})",
        f"({{sequence}} & {{vector}}) >> ar.Scan({SCANNED}, initial_state_from_input=True) >> ar.GetItem(0)",
        "{sequence} >> ar.RNN({join}, ar.Zeros([3])) >> ar.GetItem(0)",
        "({sequence} & {sequence.b}) >> ar.ZipWith({join}, strict=False)",
    ),
    ("join", "ar.Function(lambda a, b: {f a b})"),
    (
        "reduction",
        "ar.Function(lambda a: ops.segment_sum({f a}))",
        "ar.Function(lambda a: ops.segment_sum(a * ops.segment_softmax({f a})))",
        "ar.Function(lambda a: (lambda a: {f a})(ops.segment_sum(a)))",
        "ar.Function(lambda a: (lambda b: {f b})(ops.segment_sum({f a})))",
        "ar.Function(lambda a: ops.segment_sum(ops.segment_attention(a, {f a}, a, 3, True)))",
    ),
    LOOKED_UP,
    (  # a function of a sequence beside another, or beside a vector, that uses tables at both levels
        "vector",
        *(
            f"({{sequence}} & {other}) >> ar.Function(lambda a, b: {text})"
            for other, whole in (("{vector}", "{f b}"), ("{sequence.b}", "ops.segment_sum({f b})"))
            for text in (
                f"ops.segment_sum({{f a}}) + {whole}",
                f"{whole} * ops.segment_sum({{f a}} * ops.segment_softmax(a))",
            )
        ),
        "({sequence} & {vector}) >> ar.Function(lambda a, b: ops.segment_sum({f a} * {f b}))",
    ),
    (  # over objects, which are read inside of its step
        "vector",
        f"{KIDS} >> ar.Fold((ar.GetItem(0) & ar.GetItem(1) >> {{vector:8}}) >> {{join:8}}, ar.Zeros([3]))",
    ),
    (  # layers, which are shared as soon as they are picked twice
        "change",
        "ar.~FC(3, activation=ops.tanh)|FC(3, bias=False)|LayerNorm(0.25)|FC(3, weight_norm=True)~",
        f"ar.Dropout({HARDLY})",
    ),
    (  # arrow notation: one object, and one result, read several times
        "vector",
        "ar.arrow(lambda t: {join}({vector}(t), {vector.b}(t)))",
        "ar.arrow(lambda t: (lambda u: {join}({change}(u), {join}(u, {vector.b}(t))))({vector}(t)))",
        "ar.arrow(lambda t: (lambda u: {join}({change}(u), {change}(u)))({vector}(t)))",
    ),
    CHANGE,
    (  # an embedding as a layer inside of a function, twice: as models of pairs of words do
        "vector",
        *(
            f"({{integer}} & {{vector}}) >> ar.Function(lambda i, a: {text})"
            for text in (
                "{embedding}(i) * {embedding}(number(a))",
                "ops.dot({embedding}(i), {embedding}(number(a))) * a",
                "{embedding}(i) * a",
            )
        ),
    ),
    (
        "change",
        "ar.Function(lambda a: ~{layer}({layer}(a) * 0.5)|{layer}(a) * a|{layer}(a) + {layer}(-a)~)",
    ),
    (
        "elements",
        "ar.Function(lambda a: {f a})",
        "ar.MultiHeadAttention(~3|1, causal=True, bias=False~)",
        'ar.Conv1d(3, ~2, padding="causal"|3, padding="same", activation=ops.tanh~)',
        "ar.Shift(~1|-1, default=0.5~)",
    ),
    ("vector", "({sequence} & {integer}) >> ar.At(default=0.25)"),  # perhaps beyond its end
    (
        "join",
        "ar.Concat() >> ar.FC(3, activation=ops.tanh)",
        "(ar.GetItem(0) >> {change} & ar.GetItem(1) >> {change}) >> {join}",
        "ar.GRUCell(3~|, reset_after=True~)",
        "({join} & ar.GetItem(0) >> {change}) >> {join}",
    ),
    (
        "vector",
        "ar.Constant([0.5, -0.25, 1.0], trainable=True)",
        "ar.Constant([1.0, 0.5, -1.0])",
        "ar.Zeros([3])",
    ),
    (
        "integer",
        'ar.GetItem("j") >> ar.Scalar("int32")',
        "{vector} >> ar.Function(number)",
        f"{IDS}) >> ar.Max(default=0)",
    ),
    (
        "vector",
        'ar.OneOf(lambda t: t["j"] > 0, {False: {vector}, True: {vector.b}})',
        'ar.GetItem("next") >> ar.Optional({vector}, ar.Constant([0.5, 1.0, -1.0]))',
        'ar.OneOf(lambda t: len(t["xs"]), {0: {vector}, 1: {vector.b}, 2: {vector}, 3: {vector.b}})',
    ),
    ("vector", f"ar.fix(lambda me: ({{vector:8}} & {KIDS} >> ar.Map(me)) >> {{tree}}) >> ar.GetItem(0)"),
    (
        "sequence",
        f"{{sequence}} >> ar.Bidirectional({{cell}}, {{cell}}) >> ar.GetItem(0) >> ar.Map({NARROW})",
    ),
    (
        "vector",
        f'{{vector}} >> (ar.Identity() & {SCORE} >> ar.Metric("~m|n~")) >> ar.GetItem(0)',
    ),
    ("change", "{change} >> {change.b}"),
)
"""What is drawn, some more often than others: the kind of a statement, and the texts that it may have."""

MADE = {
    "cell": "ar.LSTMCell(3)",
    "embedding": "ar.Embedding(3, 3)",
    "elements": CHANGE[1],
    "tree": "ar.TreeLSTM(3, children=None)",
    "layer": "ar.FC(3)",
}
"""What a statement is of which there is none of its kind yet."""

ROW = "to(ops.lookup({}(ops.cast(i, 'float32')), i), 3)"
_SLOT = re.compile(r"\{(f|row|[a-z]+)(?:\.b)?(?::(\d+))?((?: [a-z])*)\}")
_AGAIN = ("ar.Fold(", "ar.RNN(", "ar.Reduce(", "ar.Scan(", "ar.fix(", KIDS)
"""What runs a part more than once."""


@dataclass
class Draft:
    """A program in the making."""

    draw: Draw
    statements: list[Statement] = field(default_factory=lambda: list(READS))
    names: int = 0

    def one_of(self, *choices: Any) -> Any:
        """One of several things; it shrinks to the first."""
        return choices[self.draw(st.integers(0, len(choices) - 1))]

    def add(self, kind: str, text: str, *parts: Statement, shape: Any = (0, 0)) -> Statement:
        """A new statement."""
        self.names += 1
        counts = Counter(re.findall(r"\b[a-z]+[0-9]*\b", text))
        parts = tuple(part for part in dict.fromkeys(parts) if counts[part.name])
        times = 2 if any(word in text for word in _AGAIN) else 1
        weight = 1 + times * sum(counts[part.name] * part.weight for part in parts)
        made = Statement(f"{kind[0]}{self.names}", kind, text, parts, weight, shape)
        self.statements.append(made)
        return made

    def pick(self, kind: str, most: int = LARGEST // 4) -> Statement:
        """A statement of this kind that is there, the latest ones first; of some kinds perhaps a new one."""
        there = [s for s in reversed(self.statements) if s.kind == kind and s.weight <= most]
        return self.one_of(*there) if there else self.write(kind, MADE[kind])

    def write(self, kind: str, text: str) -> Statement:
        """A new statement of a production's text."""
        parts = text.split("~")
        parts[1::2] = [self.one_of(*part.split("|")) for part in parts[1::2]]
        taken: dict[str, Statement] = {}
        named: list[Statement] = []

        def filled(slot: re.Match[str]) -> str:
            word, most, arguments = slot[1], int(slot[2] or LARGEST // 4), slot[3].split()
            if word == "f":
                text, tables = self.function(arguments)
                named.extend(tables)
                return f"({text})"
            if word == "row":
                named.append(self.table())
                return ROW.format(named[-1])
            if slot[0] not in taken:
                taken[slot[0]] = self.layer() if word == "layer" else self.pick(word, most)
                named.append(taken[slot[0]])
            return taken[slot[0]].name

        return self.add(kind, _SLOT.sub(filled, "".join(parts)), *named)

    def layer(self) -> Statement:
        """A layer from vectors to vectors: what is there, or a new one."""
        found = self.pick("change")
        with_parameters = found.text.startswith(("ar.FC", "ar.LayerNorm"))
        return found if with_parameters else self.write("change", MADE["layer"])

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

    def function(self, arguments: Sequence[str]) -> tuple[str, list[Statement]]:
        """A function of one or two vectors, maybe an integer too, that uses tables up to three times."""
        vector, *others = (name for name in arguments if name != "i")
        index = "i" if "i" in arguments else f"number({vector})"
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
    kind, *texts = draft.one_of(*PRODUCTIONS)
    draft.write(kind, draft.one_of(*texts))
    return True


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
