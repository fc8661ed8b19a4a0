"""Draws random programs: Python source that computes on the values of one example, or of several.

A program is text, so that every call stands on a line of its own, as in a user's file; loops, comprehensions
and helper functions give lines that are visited often.  It is run twice: with a batch on the fly, and with an
`Eager` in its place.
"""

from __future__ import annotations

import itertools
import linecache
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st

import arrows as ar
from arrows import ops

NUMBERS = st.one_of(st.sampled_from([0.0, -0.0, 1.0]), st.integers(-31, 31).map(lambda n: n * 0.0625))
_TREES = st.recursive(st.integers(0, 5), lambda tree: st.tuples(tree, tree), max_leaves=4)
EXAMPLES = st.fixed_dictionaries(
    {
        "v2": st.lists(NUMBERS, min_size=2, max_size=2),
        "v3": st.lists(NUMBERS, min_size=3, max_size=3),
        "k": NUMBERS,
        "i": st.integers(0, 5),
        "ints": st.lists(st.integers(0, 5), min_size=1, max_size=4),
        "rows": st.lists(st.lists(NUMBERS, min_size=3, max_size=3), min_size=1, max_size=3),
        "tree": _TREES,
    }
)


def pool() -> dict[str, Any]:
    """Fresh blocks, by the names that programs call them by."""
    e3, f33, g33 = ar.Embedding(6, 3), ar.FC(3, activation=ops.tanh), ar.FC(3)
    step = ar.Function(lambda h, x: ops.tanh(g33(h) + x))
    leaf = ar.Scalar("int32") >> e3

    @ar.fix
    def tree(me: Any) -> Any:
        pair = (ar.GetItem(0) >> me & ar.GetItem(1) >> me) >> ar.Function(lambda a, b: ops.tanh(f33(a) - b))
        return ar.OneOf(lambda t: isinstance(t, int)).case(True, leaf).case(False, pair)

    return {
        # layers
        "e3": e3,
        "e2": ar.Embedding(6, 2),
        "f23": ar.FC(3),
        "f32": ar.FC(2, activation=ops.sigmoid),
        "f33": f33,
        "g33": g33,
        "lstm": ar.LSTMCell(3),
        "gru": ar.GRUCell(3),
        "cell": ar.TreeLSTM(3, children=2),
        "drop": ar.Dropout(0.4),
        "lstm_drop": ar.LSTMCell(3, dropout=0.3),
        "xent": ar.SoftmaxCrossEntropy(),
        "squared": ar.SquaredError(),
        # functions of rows
        "mlp": ar.Function(lambda a, b: ops.tanh(g33(a) * b)),
        "pair": ar.Function(lambda a, b: {"p": a + b, "q": (a * b, a)}),
        "two_drops": ar.Function(lambda a: ops.dropout(a, 0.3) + ops.dropout(a, 0.6)),
        # functions of sequences
        "attend": ar.Function(lambda q, xs: ops.segment_sum(ops.segment_softmax(ops.sum(xs * q)) * xs)),
        "spread": ar.Function(lambda q, xs: ops.tanh(f33(xs) + q)),
        "split": ar.Function(lambda xs: (xs * 0.5, ops.segment_mean(xs))),
        "zipped": ar.Function(lambda ab: (ops.tanh(ab[0] * 0.5 + ab[1]), ab[1])),
        "two": ar.Function(lambda xs, ys: (ops.segment_sum(xs) - ops.segment_mean(ys), ops.tanh(ys))),
        "numbered": ar.Function(lambda xs: xs * (0.25 * ops.cast(ops.segment_position(xs), xs.dtype))),
        "heads": ar.MultiHeadAttention(3),
        "seen": ar.Function(lambda xs: ops.segment_attention(xs, ops.tanh(xs), xs, causal=True)),
        "shifted": ar.Function(lambda xs: ops.segment_shift(xs, 1) - 0.5 * ops.segment_shift(xs, -2)),
        "noisy": ar.Function(lambda a, b: a * ops.uniform_like(a, 0.5, 1.5) + b * ops.tanh(ops.normal([3]))),
        "noisy_drop": ar.Function(lambda a: ops.dropout(a, 0.5) + ops.normal_like(a)),
        "noisy_rows": ar.Function(lambda xs: ops.segment_sum(xs * ops.uniform_like(xs))),
        "drop_rows": ar.Function(lambda xs: ops.segment_sum(ops.dropout(xs, 0.5))),
        "total": ar.Sum(),
        "average": ar.Mean(),
        # blocks
        "map33": ar.Map(f33),
        "mapped_sum": ar.Map(f33) >> ar.Sum(),
        "fan": ar.Map(g33) & ar.Sum(),
        "folded": ar.Fold(step, ar.Zeros([3])),
        "noisy_fold": ar.Fold(ar.Function(lambda h, x: ops.tanh(h + x * ops.normal_like(x))), ar.Zeros([3])),
        "read_rows": ar.Map(ar.Vector(3)),
        "read_sum": ar.Map(ar.Vector(3)) >> ar.Map(f33) >> ar.Sum(),
        "read_fold": ar.Map(leaf) >> ar.Fold(step, ar.Zeros([3])),
        "read_tree": tree,
        "read_scaled": (ar.Vector(3) & ar.Constant([0.5, -1.0, 2.0], trainable=True))
        >> ar.Function(lambda x, scale: ops.tanh(x * scale)),
    }


@dataclass(eq=False)
class Program:
    """A program.

    Attributes:
        source: its text: `example(b, x, shared, losses, seen)` and `prelude(b)`.
        generator: whether `example` is a generator.
        chancy: whether it has dropout.
    """

    source: str
    generator: bool = False
    chancy: bool = False

    def __repr__(self) -> str:
        return f"\n{self.source}"

    def load(self, blocks: dict[str, Any], call: Callable[..., Any] | None) -> dict[str, Any]:
        """Its functions; ``call`` is what calls a block that is no `ops`, None: the block itself."""
        name = f"<program {zlib.crc32(self.source.encode()):08x}>"
        linecache.cache[name] = (len(self.source), None, self.source.splitlines(True), name)
        scope: dict[str, Any] = {"ops": ops, "np": np, "ar": ar, "blocks": blocks}
        for key, block in blocks.items():
            scope[key] = block if call is None else _caller(call, block)
        exec(compile(self.source, name, "exec"), scope)
        return scope


def _caller(call: Callable[..., Any], block: Any) -> Callable[..., Any]:
    return lambda *arguments: call(block, *arguments)


# By what they are about: the type of a value, or several, and how it is computed. `{v3}` is a vector of three
# that is there, `{v3_2}` another one, `{v2}`, `{s}`, `{i}` and `{L}` (a list of vectors) likewise; `{a}` and
# `{c}` are values of the type that results, `{n}` is a number.
STATEMENTS: dict[str, tuple[tuple[str, str], ...]] = {
    "read": (
        ("s", "b.tensor(x['k'])"),
        ("i", "b.tensor(x['i'])"),
        ("i", "b.tensor(x['ints'][0])"),
        ("i", "b.tensor(np.int32(x['i']))"),
        ("v3", "ops.where(b.tensor([True, False, x['i'] > 2]), {v3}, {v3_2})"),
        ("v2", "b.tensor(x['v2'])"),
        ("v3", "b.tensor(x['v3'])"),
        ("v2", "b.tensor(np.array(x['v2'], 'float32'))"),
        ("v3", "b.tensor(np.array(x['v3'], 'float32'))"),
    ),
    "operate": tuple(
        ("v3 v2 s", text)
        for text in (
            "ops.tanh({a} * {c})",
            "{a} + {c}",
            "{a} - {c} * {c}",
            "ops.sigmoid({a})",
            "ops.maximum({a}, {c} + 0.0371)",
            "ops.where({a} > {c} + 0.0371, {a}, ops.tanh({c}))",
            "ops.exp(-({a} * {a}))",
            "{a} / (1 + {c} * {c})",
            "np.tanh({a})",
            "-{a}",
        )
    ),
    # numbers that stay the same, and numbers that change from visit to visit
    "with a number": (
        ("v3 v2 s", "{a} * {n}"),
        ("v3 v2 s", "{n} - {a}"),
        ("v3 v2 s", "{a} * x['k']"),
        ("v3 v2 s", "x['i'] * {a}"),
        ("v3 v2 s", "ops.tanh({a} + len(x['ints']))"),
        ("v3 v2 s", "ops.where({a} > 0.1, {a}, {n})"),
        ("v3 v2 s", "ops.clip({a}, -0.7, 1.1)"),
        ("s", "ops.where(b.tensor(x['i'] > 2), {s}, {s} * 0.5)"),
        ("v3 v2", "ops.tanh({a} ** 2)"),
    ),
    "with an array": (
        ("v3", "{a} * np.array([0.5, -1, 2], 'float32')"),
        ("v3", "np.array(x['v3'], 'float32') - {a}"),
        ("v3", "ops.add(np.float32(0.3), {a})"),
        ("v3", "{a} * np.float32(x['k'])"),
        ("v3", "np.array([0.5, -1, 2], 'float32') - {a}"),
        ("v3", "ops.add(np.array(x['v3'], 'float32'), {a})"),
        ("v3", "np.float32(0.3) - {a}"),
    ),
    "reshape": (
        ("s", "{v3}[1]"),
        ("s", "ops.sum({v3})"),
        ("s", "ops.mean({v2})"),
        ("v2", "{v3}[1:]"),
        ("v2", "ops.stack([{s}, {s_2}])"),
        ("v3", "ops.concat([{v2}, {v3}])[2:]"),
        ("v3", "ops.stack([{v3}, {v3_2}])[0]"),
        ("v3", "ops.stack([{v3}, {v3_2}])[1]"),
        ("v3", "{v3} * {s}"),
        ("v3", "ops.concat([{v2}, ops.reshape({s}, (1,))])"),
        ("v3", "ops.tanh(ops.outer({v2}, {v3})[0])"),
        ("s", "ops.dot({v3}, {v3_2}) * 0.1"),
        ("v3", "ops.softmax({v3})"),
        ("s", "ops.max({v3} + np.array([0.0, 0.0213, 0.0457], 'float32'))"),
    ),
    "layer": (
        ("v3", "f23({v2})"),
        ("v2", "f32({v3})"),
        ("v3", "f33({v3})"),
        ("v3", "g33({v3})"),
        ("v3", "mlp({v3}, {v3_2})"),
        ("v3", "g33(f33({v3}))"),
        ("s", "squared({v3}, {v3_2})"),
    ),
    "integers": (
        ("v3", "e3({i})"),
        ("v2", "e2({i})"),
        ("v3", "e3(x['i'])"),
        ("v3", "e3(0)"),
        ("v3", "e3(5)"),
        ("v2", "e2(x['ints'][-1])"),
        ("i", "ops.argmax({v3} * np.array([1.0, 1.0213, 0.9457], 'float32')).cast('int32')"),
        ("i", "ops.minimum({i} + 1, 5)"),
        ("i", "ops.where({s} > 0.3, {i}, 1)"),
        ("s", "ops.pick({v3}, ops.minimum({i}, 2))"),
    ),
    # a list of vectors, of another length for every example
    "listing": (
        ("L", "[e3(j) for j in x['ints']]"),
        ("L", "[b.tensor(row) for row in x['rows']]"),
        ("L", "[f33(e3(j)) * {v3} for j in x['ints']]"),
        ("L", "[{v3}, {v3_2}]"),
        ("L", "[{v3}]"),
        ("L", "[f({v3}) for f in (f33, g33, f33)]"),
        ("L", "[b.zeros([3]), {v3}]"),
        ("L", "[{v3}] * 2"),
    ),
    "of a list": (
        ("L", "{L} + {L_2}"),
        ("L", "{L}[::-1]"),
        ("v3", "b.sum({L})"),
        ("v3", "b.mean({L})"),
        ("v3", "total({L})"),
        ("v3", "average({L})"),
        ("v3", "attend({v3}, {L})"),
        ("L", "spread({v3}, {L})"),
        ("v3", "split({L})[1]"),
        ("L", "split({L})[0]"),
        ("L", "zipped([(a, {v3}) for a in {L}])[0]"),
        ("L", "zipped([(a, b.zeros([3])) for a in {L}])[1]"),
        ("v3", "total([(a, {v3}) for a in {L}])[0]"),
        ("v3", "two({L}, {L_2})[0]"),
        ("L", "two({L}, {L_2})[1]"),
        ("L", "numbered({L})"),
        ("v3", "{L}[-1]"),
        ("L", "map33({L})"),
    ),
    "tuples": (
        ("v3", "pair({v3}, {v3_2})['p']"),
        ("v3", "ops.tanh(pair({v3}, {v3_2})['q'][0])"),
        ("v3", "pair({v3}, {v3})['q'][1]"),
    ),
    "cells": (
        ("v3", "lstm({v3}, (b.zeros([3]), b.zeros([3])))[0]"),
        ("v3", "lstm({v3}, ({v3_2}, {v3_3}))[1]"),
        ("v3", "lstm({v3}, lstm({v3_2}, (b.zeros([3]), b.zeros([3]))))[0]"),
        ("v3", "lstm(b.zeros([3]), ({v3}, {v3_2}))[0]"),
        ("v3", "gru({v2}, {v3})"),
        ("v3", "gru({v2}, b.zeros([3]))"),
        ("v3", "cell({v2}, (({v3}, {v3_2}), (b.zeros([3]), {v3})))[0]"),
    ),
    # a block inside: on values, and on a part of the example
    "block": (
        ("L", "b(blocks['map33'], {L})"),
        ("v3", "b(blocks['mapped_sum'], {L})"),
        ("v3", "b(blocks['fan'], {L})[1]"),
        ("L", "b(blocks['fan'], {L})[0]"),
        ("v3", "b(blocks['folded'], {L})"),
        ("v3", "b(blocks['mlp'], {v3}, {v3_2})"),
        ("v3", "b(blocks['f33'], {v3})"),
    ),
    "on the example": (
        ("L", "b(blocks['read_rows'], x['rows'])"),
        ("v3", "b(blocks['read_sum'], x['rows'])"),
        ("v3", "b(blocks['read_fold'], x['ints'])"),
        ("v3", "b(blocks['read_tree'], x['tree'])"),
        ("v3", "b(blocks['read_scaled'], x['v3'])"),
    ),
    "constants": (
        ("v3", "b.zeros([3])"),
        ("s", "b.zeros([])"),
        ("v3", "b.constant(np.array([0.5, 0.0, -2.0], 'float32'))"),
        ("v3", "f33(b.zeros([3]))"),
        ("v3", "ops.tanh(b.zeros([3]) + 0.5)"),
        ("i", "b.zeros(ar.types.Tensor([], 'int32'))"),
    ),
    # random numbers, in prediction too
    "noise": (
        ("v3", "ops.normal_like({v3})"),
        ("v3", "noisy({v3}, {v3_2})"),
        ("v3", "{v3} * ops.uniform_like({v3}, -1.0, 1.0)"),
        ("v3", "noisy_drop({v3})"),
        ("v3", "noisy_rows({L})"),
        ("v3", "b(blocks['noisy_fold'], {L})"),
    ),
    "loss": tuple(
        ("", text)
        for text in (
            "xent({v3}, ops.minimum({i}, 2))",
            "xent({v3}, x['i'] % 3)",
            "ops.sum({v3} * {v3})",
            "ops.sum({v3} * 0.5)",
            "{s} * {s}",
            "squared({v3}, b.zeros([3]))",
        )
    ),
}
DROPOUT = (
    ("v3", "drop({v3})"),
    ("v3", "ops.dropout({v3}, 0.5)"),
    ("v3", "ops.dropout({v3}, 0.25)"),
    ("v3", "two_drops({v3})"),
    ("v3", "drop_rows({L})"),
    ("v3", "lstm_drop({v3}, ({v3_2}, {v3_3}))[0]"),
)


class Picks(dict[str, str]):
    """What stands for the names in a statement: values that are there, or numbers."""

    def __init__(self, writer: Writer, type: str) -> None:
        super().__init__()
        self.writer, self.type = writer, type

    def __missing__(self, name: str) -> str:
        type = self.type if name in ("a", "c") else name.partition("_")[0]
        self[name] = self.writer.number() if type == "n" else self.writer.pick(type)
        return self[name]


class Writer:
    """Writes a program, line by line, from random choices."""

    def __init__(self, draw: Callable[..., Any], *, generator: bool, chancy: bool) -> None:
        self.draw, self.generator, self.may_drop = draw, generator, chancy
        self.chancy = False
        self.lines: list[str] = []
        self.helpers: list[str] = []
        self.indent = 1
        self.values: dict[str, list[str]] = {}
        self.names = itertools.count()
        self.helper_names: dict[str, list[str]] = {}

    def one_of(self, *options: Any) -> Any:
        return self.draw(st.sampled_from(options))

    def pick(self, type: str) -> str:
        """A value of a type: the last ones are likelier, so that chains grow."""
        if type not in self.values:
            self.write(STATEMENTS["listing"])
        names = self.values[type]
        back = self.draw(st.integers(0, len(names) - 1))
        return names[-1 - back]

    def line(self, text: str) -> None:
        self.lines.append("    " * self.indent + text)

    def let(self, type: str, text: str) -> str:
        name = f"{type}_{next(self.names)}"
        self.line(f"{name} = {text}")
        self.values.setdefault(type, []).append(name)
        if type != "L" and self.draw(st.integers(0, 3)) == 0:
            self.line(f"b.peek(seen, {name})")
        return name

    def number(self) -> str:
        return repr(self.one_of(0.5, -1.5, 2, 0.0, -0.0, True, 3))

    # -------------------------------------------------------------------------------------- statements

    def statement(self, depth: int = 0) -> None:
        options: list[Callable[[], Any]] = [
            *(lambda about=about: self.write(about) for about in STATEMENTS.values()),
            self.helper,
        ]
        if depth < 2:
            options += [lambda: self.loop(depth), lambda: self.branch(depth)]
        if self.generator:
            options += [self.wait, self.wait, lambda: self.waiting_loop(depth)]
        if self.may_drop:
            options += [self.dropout]
        self.one_of(*options)()

    def write(self, about: tuple[tuple[str, str], ...]) -> None:
        """One of several statements: a value, or a loss."""
        types, template = self.one_of(*about)
        type = self.one_of(*types.split()) if types else ""
        text = template.format_map(Picks(self, type))
        self.let(type, text) if type else self.line(f"losses.append({text})")

    def dropout(self) -> None:
        self.chancy = True
        self.write(DROPOUT)

    def helper(self) -> None:
        """A function of the program that many lines call: its lines are visited with what they give it."""
        kind = self.one_of("v3", "v2")
        names = self.helper_names.setdefault(kind, [])
        if not names or self.one_of(True, False, False):
            name = f"helper_{len(self.helpers)}"
            body = self.one_of(
                "ops.tanh(a * c + 0.5)",
                "f33(a) * c" if kind == "v3" else "f32(f23(a) - f23(c))",
                f"a * {self.number()} - c",
                "b.sum([a, c, a])",
                "ops.sigmoid(a) + c",
            )
            self.helpers.append(f"def {name}(b, a, c):\n    return {body}\n")
            names.append(name)
        name = self.one_of(*names)
        self.let(kind, f"{name}(b, {self.pick(kind)}, {self.pick(kind)})")

    # ---------------------------------------------------------------------------- control of the program

    def loop(self, depth: int) -> None:
        """A loop over a part of the example, which carries a vector."""
        name = self.let("v3", self.pick("v3"))
        kind, over = self.one_of(("int", "x['ints']"), ("row", "x['rows']"))
        item = f"item_{next(self.names)}"
        self.line(f"for {item} in {over}:")
        inside = {key: list(names) for key, names in self.values.items()}
        self.values, outside = inside, self.values
        self.indent += 1
        self.let("v3", f"e3({item})" if kind == "int" else f"b.tensor({item})")
        for _ in range(self.draw(st.integers(0, 2))):
            self.statement(depth + 1)
        update = self.pick("v3")
        self.line(
            f"{name} = "
            + self.one_of(
                f"ops.tanh({name} + {update})", f"lstm({update}, ({name}, {name}))[0]", f"f33({name})"
            )
        )
        self.indent -= 1
        self.values = outside

    def branch(self, depth: int) -> None:
        """Examples take one of two ways, by what is known of them."""
        name = self.let("v3", self.pick("v3"))
        test = self.one_of("x['k'] > 0", "len(x['ints']) > 2", "x['i'] % 2", "isinstance(x['tree'], int)")
        self._ways(name, test, depth)

    def _ways(self, name: str, test: str, depth: int) -> None:
        for words in (f"if {test}:", "else:"):
            self.line(words)
            outside, self.values = self.values, {key: list(names) for key, names in self.values.items()}
            self.indent += 1
            for _ in range(self.draw(st.integers(0, 2))):
                self.statement(depth + 1)
            self.line(f"{name} = {self.pick('v3')}")
            self.indent -= 1
            self.values = outside

    # ----------------------------------------------------------------------------------- generators

    def wait(self) -> None:
        """Asks for values, and goes on by what they are."""
        v3, s = self.pick("v3"), self.pick("s")
        got = f"got_{next(self.names)}"
        wanted, test = self.one_of(
            (v3, f"{got}[0] > 0.0173"),
            (s, f"{got} < 0.0173"),
            (f"({v3}, {s})", f"{got}[0].sum() > {got}[1] + 0.0173"),
            (f"[{v3}]", f"{got}[0].max() > 0.0173"),
            (f"{{'a': {v3}, 'b': ({s}, [{s}])}}", f"{got}['b'][1][0] > 0.0173 + {got}['a'][1]"),
            (self.pick("i"), f"{got} > 1"),
            ("b.zeros([3])", f"{got}[0] == 0"),
        )
        self.line(f"{got} = yield {wanted}")
        if self.one_of(True, True, False):
            name = self.let("v3", self.pick("v3"))
            self._ways(name, test, 1)
        else:
            self.let("v3", f"e3(int({test}))")

    def waiting_loop(self, depth: int) -> None:
        """A loop that ends when a value says so, like decoding."""
        name, count, got = self.let("v3", self.pick("v3")), f"n_{next(self.names)}", f"got_{next(self.names)}"
        self.line(f"{count} = 0")
        limit = self.one_of(1, 3, "len(x['ints']) + 1", "x['i']")
        self.line(f"while {count} < {limit}:")
        self.indent += 1
        outside, self.values = self.values, {key: list(names) for key, names in self.values.items()}
        self.line(f"{count} += 1")
        for _ in range(self.draw(st.integers(0, 2))):
            self.statement(depth + 1)
        self.line(
            f"{name} = "
            + self.one_of(f"f33({name}) + {self.pick('v3')}", f"lstm({self.pick('v3')}, ({name}, {name}))[1]")
        )
        self.line(f"{got} = yield {name}")
        self.line(f"{name} = {name} + e3(int({got}.argmax()))")
        self.line(f"if {got}[0] > {self.one_of(0.2117, -0.3117)}:")
        self.line("    break")
        self.indent -= 1
        self.values = outside
        self.line(f"counts.append({count})")


@st.composite
def programs(draw: Any, *, generator: bool = False, chancy: bool = False, most: int = 9) -> Program:
    """Random programs."""
    writer = Writer(draw, generator=generator, chancy=chancy)
    writer.line("s_first, v3_first = shared")
    writer.values = {"s": ["s_first"], "v3": ["v3_first"]}
    for kind, text in (
        ("s", "b.tensor(x['k'])"),
        ("i", "b.tensor(x['i'])"),
        ("v2", "b.tensor(x['v2'])"),
        ("v3", "b.tensor(x['v3'])"),
    ):
        writer.let(kind, text)
    for _ in range(draw(st.integers(1, most))):
        writer.statement()
    writer.write(STATEMENTS["loss"])
    writer.line("return counts")
    if generator:
        writer.line("yield")
    shared = draw(
        st.sampled_from(
            ["f23(b.tensor([0.5, -0.25]))", "b.tensor([0.5, 0.25, 1.0])", "b.zeros([3])", "e3(2) * 0.5"]
        )
    )
    prelude = f"def prelude(b):\n    return b.tensor(0.5), {shared}\n"
    head = "def example(b, x, shared, losses, seen):\n    counts = []"
    source = "\n".join([*writer.helpers, prelude, head, *writer.lines, ""])
    return Program(source, generator, writer.chancy)
