"""Write docs/program.md: the program of a Tree-LSTM's cell, explained line by line.

python docs/make_program.py
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

import arrows as ar
from arrows.engine.program.instructions import (
    Accumulate,
    Gather,
    Instruction,
    LoadConstant,
    LoadKeys,
    LoadParameter,
    Pull,
    RowMap,
    Scatter,
    Store,
    SumRows,
    format_instruction,
    is_elementwise,
    is_join,
    is_product,
    is_view,
)
from arrows.engine.program.pipeline import checked_passes
from arrows.engine.program.program import (
    REGIONS,
    Memory,
    Place,
    Program,
    RangeOf,
)
from arrows.models import sentiment
from arrows.ops import INVARIANT, Equation, Var

PAGE = Path(__file__).with_name("program.md")

HEAD = """\
# A program, line by line

<!-- Written by docs/make_program.py from the code; change that. -->

Sites of a block that do the same thing form one *operation*, whose nodes run together: a few of them in
each step of a batch. What an operation does is a *program*: data, made once by a list of passes
(`arrows/engine/program/pipeline.py`), and then turned into Python that works on NumPy arrays. This page
shows the program that one operation of a Tree-LSTM runs when it is trained.

```python
import arrows as ar
from arrows.models import sentiment

words = ar.Vocabulary(["not", "good"])
model = ar.compile(sentiment(words, size=4, embedding=3).learn, loss="loss", jit=False)
```

`sentiment` reads binary trees of words. One layer, `ar.TreeLSTM(4, children=2, name="cell")`, stands at its
leaves and at its pairs. These are two operations, since a leaf has a word and no children, and a pair two
children and no word. The layer computes, for a pair whose children have the states `(h1, c1)` and `(h2,
c2)`,

```
u, i, o, f1, f2 = split(concat(x, h1, h2) @ weight + bias)
c = sigmoid(i) * tanh(u) + sigmoid(f1) * c1 + sigmoid(f2) * c2
h = sigmoid(o) * tanh(c)
```

where `x` is zeros at a pair. `print(model.program("cell"))` shows the programs of both operations,
`print(model.program())` those of all.
This is the program of a pair:

"""

READING = """\
A value, such as `%4`, is made once. Behind it stand the type of one row, and what counts its rows: `row` is
a row for each node, `elements 0` one for each element of a sequence, and nothing stands where all nodes
share the value. Then follows where it lies. (Without `jit=False`, and with numba, element-wise lines
that follow one another become a block `map`, one compiled loop.)

| memory | what it is |
| --- | --- |
| `scratch 0` | memory for one step, which the next one uses again |
| `result 0` | the rows of the operation in the slab of its first result, where other operations read them |
| `gathered 0`, `kept 0` | memory for all rows of the batch, since the way back reads them |
| `scatter 0` | where gradients wait for the rows that were gathered |
| `RANGE` | a range of another value, which is so put together without a copy |

"""

OPERANDS = """\
The operands are `h1`, `c1`, `h2` and `c2`. All `h` lie in one slab and all `c` in another, whatever
operation has computed them; a gather reads the rows that the nodes of a step want. *Differentiated* says
that gradients flow back to these rows.

"""

SECTIONS = {
    "once": """\
Once a batch, before all else: what is the same for all nodes. `x` is zeros at a pair, so the rows of the
weight that would meet it are cut off before anything is multiplied.""",
    "early": "All rows of a component of the batch, before its first step.",
    "step": "One step: all pairs of the batch whose children have just been computed.",
    "step_back": """\
The same steps in reverse order, when the loss is known. `dh` and `dc` are the gradients of the loss by `h`
and `c`. Derivatives are computed of values that the steps forward have kept: `tanh(u)`, the gates,
`tanh(c)`.""",
    "late": "All rows of a component of the batch, after its last step backwards.",
    "deferred": """\
Once a batch, over the rows of all its steps together: gradients of parameters. No step waits for them.""",
}
PASSES = """\
## How it came about

`build` writes the program down as the layer's function was traced. Each pass after it changes some lines:
`-` takes one out, `+` puts one in. It is a function of its name in `arrows/engine/program/passes/`, whose
docstring says what it gains.

"""
OPERAND_NAMES = "h1", "c1", "h2", "c2"
RESULT_NAMES = "h", "c"
GATES = "u", "i", "o", "f1", "f2"
SIGNS = {"add": ("+", 0), "subtract": ("-", 0), "multiply": ("*", 1)}
LONG = 36  # characters: a longer expression is not written again where its value is read


def cell_programs() -> dict[str, Program]:
    """The program of the pairs of a Tree-LSTM in training, after each pass."""
    words = ar.Vocabulary(["not", "good"])
    after: dict[str, Program] = {}

    def note(program: Program, name: str) -> None:
        if program.name == "cell" and len(program.operands) == len(OPERAND_NAMES):
            after[name] = program

    with checked_passes(note):
        model = ar.compile(sentiment(words, size=4, embedding=3).learn, loss="loss", jit=False)
        model.program("cell")
    return after


def lines_of(program: Program) -> dict[str, list[str]]:
    """The lines of each region, and those before the first."""
    lines: dict[str, list[str]] = {"": []}
    for line in str(program).splitlines():
        if line in REGIONS:
            lines[line] = []
        else:
            lines[next(reversed(lines))].append(line)
    return lines


def changes(before: Program, after: Program) -> str:
    """The lines of a program that a pass takes out and puts in, by region."""
    old, new = lines_of(before), lines_of(after)
    lines: list[str] = []
    for region in ("", *REGIONS):
        was, now = old.get(region, []), new.get(region, [])
        changed = [f"-{line}" for line in was if line not in now] + [
            f"+{line}" for line in now if line not in was
        ]
        lines += [f" {region}"] * bool(region and changed) + changed
    return "\n".join(lines)


def passes(after: Mapping[str, Program]) -> Iterator[str]:
    """The section of the passes."""
    yield PASSES
    for (_, before), (name, program) in pairwise(after.items()):
        changed = changes(before, program)
        text = f"```diff\n{changed}\n```" if changed else "Changes nothing here."
        if name == "allocate":
            text = "Says where each value lies, which gives the program at the top of this page."
        yield f"### `{name}`\n\n{text}\n\n"


def first_range(program: Program) -> str:
    """A value that lies in a range of another."""
    return next(str(memory) for memory in program.memory.values() if isinstance(memory, RangeOf))


def page() -> str:
    """The text of docs/program.md."""
    after = cell_programs()
    program = after["allocate"]
    symbols = Symbols(program)
    parts = [
        HEAD,
        f"```\n{program}\n```\n\n",
        "## How to read it\n\n",
        READING.replace("RANGE", first_range(program)),
        OPERANDS,
    ]
    for region in REGIONS:
        if program.region(region):
            parts.append(f"## `{region}`\n\n{SECTIONS[region]}\n\n")
            parts.append("| line | in symbols | how it runs |\n| --- | --- | --- |\n")
            parts += (f"| {' | '.join(columns)} |\n" for columns in Explainer(program, region, symbols))
            parts.append("\n")
    return "".join([*parts, *passes(after)]).rstrip("\n") + "\n"


@dataclass(frozen=True, slots=True)
class Part:
    """Some columns of a value, as an expression.

    Attributes:
        width: how many.
        text: the expression.
        binding: of its operator: 0 of a sum, 1 of a product, 2 of what needs no brackets.
    """

    width: int
    text: str
    binding: int = 2

    def bound(self, binding: int) -> str:
        """The expression as an operand."""
        return self.text if self.binding >= binding else f"({self.text})"


def listed(parts: Sequence[Part]) -> str:
    """All parts of a value."""
    return ", ".join(part.text for part in parts)


def joined(parts: Sequence[Part]) -> str:
    """A value as an operand of a product of matrices."""
    return f"concat({listed(parts)})" if len(parts) > 1 else parts[0].bound(2)


class Symbols:
    """The values of the program in the symbols of the cell's equations."""

    def __init__(self, program: Program) -> None:
        self.parts: dict[Var, tuple[Part, ...]] = {}
        self.lines: dict[Instruction, str] = {}
        stored = {made.operand: RESULT_NAMES[made.number] for _, made in program if isinstance(made, Store)}
        for _, made in program:
            if isinstance(made, Scatter):
                gradients = ", ".join(f"d{OPERAND_NAMES[number]}" for number in made.operands)
                self.lines[made] = f"`{gradients}`"
            for var in made.writes:
                parts = self.expression(made, var)
                text = listed(parts)
                names: tuple[str, ...] = ()
                if is_elementwise(made) and "bias" in text:
                    names = GATES
                elif is_join(made) and len(parts) == len(GATES):
                    names = tuple(f"d{gate}" for gate in GATES)
                elif var in stored:
                    names = (stored[var],)
                if names:
                    size = sum(part.width for part in parts) // len(names)
                    parts = tuple(Part(size, name) for name in names)
                    text = f"{listed(parts)} = {text}"
                if text != f"%{var.id}":
                    self.lines[made] = f"`{text}`"
                self.parts[var] = tuple(self.short(var, parts))

    def short(self, var: Var, parts: tuple[Part, ...]) -> Iterator[Part]:
        """The parts, with reference to the value instead of long expressions."""
        start = 0
        for part in parts:
            columns = f"[{start}:{start + part.width}]" if len(parts) > 1 else ""
            yield part if len(part.text) <= LONG else Part(part.width, f"%{var.id}{columns}")
            start += part.width

    def expression(self, made: Instruction, var: Var) -> tuple[Part, ...]:
        """A value in symbols, else by its number."""
        width = var.type.shape[-1] if var.type.shape else 1
        plain = (Part(width, f"%{var.id}"),)
        match made:
            case LoadParameter():
                return (Part(width, made.spec.name),)
            case LoadConstant() if made.array.size == 1:
                return (Part(1, f"{made.array.item():g}"),)
            case Gather():
                size = width // len(made.operands)
                return tuple(Part(size, OPERAND_NAMES[number]) for number in made.operands)
            case Pull():
                return (Part(width, f"d{RESULT_NAMES[made.number]}"),)
            case SumRows(summed=Var() as var):
                return (Part(width, f"sum of {listed(self.parts[var])} over all rows"),)
            case SumRows(summed=Equation(operands=(left, right))):
                return (Part(width, f"{joined(self.parts[left])}.T @ {joined(self.parts[right])}"),)
            case Equation(primitive):
                operands = [self.parts[operand] for operand in made.operands]
                return self.computed(primitive.name, operands, dict(made.attributes), width) or plain
            case _:
                return plain

    def computed(
        self, name: str, operands: list[tuple[Part, ...]], attributes: dict[str, Any], width: int
    ) -> tuple[Part, ...] | None:
        """What an equation gives of its operands; None where there are no words for it."""
        first = operands[0]
        match name:
            case "concat":
                return tuple(part for parts in operands for part in parts)
            case "index":
                start, stop, _ = attributes["key"][0]
                if len(first) == 1:
                    return (Part(width, f"{first[0].bound(2)}[{start}:{stop}]"),)
                ends = list(accumulate(part.width for part in first))
                inside = [p for p, end in zip(first, ends, strict=True) if start < end <= stop]
                return tuple(inside) if sum(part.width for part in inside) == stop - start else None
            case "transpose":
                return (Part(width, f"{first[0].bound(2)}.T"),)
            case "matmul":
                return (Part(width, f"{joined(first)} @ {joined(operands[1])}", 1),)
            case "square":
                return tuple(Part(part.width, f"{part.bound(2)}**2", 2) for part in first)
            case "tanh" | "sigmoid":
                return tuple(Part(part.width, f"{name}({part.text})") for part in first)
        if name not in SIGNS:
            return None
        sign, binding = SIGNS[name]
        count = max(map(len, operands))
        left, right = (parts * count if len(parts) == 1 else parts for parts in operands)
        after = binding + (name == "subtract")
        return tuple(
            Part(max(a.width, b.width), f"{a.bound(binding)} {sign} {b.bound(after)}", binding)
            for a, b in zip(left, right, strict=True)
        )


class Explainer:
    """For each line of a region: the line, what it computes, how it runs."""

    def __init__(self, program: Program, region: str, symbols: Symbols) -> None:
        self.program, self.region, self.symbols = program, region, symbols
        self.home = {var: name for name, made in program for var in made.writes}
        self.readers: dict[Var, set[str]] = {}
        for name, made in program:
            for var in made.reads:
                self.readers.setdefault(var, set()).add(name)

    def __iter__(self) -> Iterator[tuple[str, str, str]]:
        slots = self.program.scratch.get(self.region, ())
        if slots:
            lines = "<br>".join(f"`scratch {number}: {slot}`" for number, slot in enumerate(slots))
            yield lines, "", "Memory for the values of one step, large enough for the longest."
        for made in self.program.region(self.region):
            lines = format_instruction(made, self.program.format_value, lambda owner: str(owner.name))
            sentences = [self.meaning(made), *(self.place(var, made) for var in made.writes)]
            line = "<br>".join(f"`{line.strip()}`" for line in lines)
            yield line, self.symbols.lines.get(made, ""), " ".join(filter(None, sentences))

    def meaning(self, made: Instruction) -> str:
        """What an instruction does."""
        match made:
            case LoadConstant():
                return "A number that derivatives need." if made.array.size == 1 else "Numbers of the model."
            case LoadParameter():
                return f"The array of the parameter `{made.owner.name}/{made.spec.name}` itself."
            case LoadKeys():
                return "The number of each node that its dropout masks depend on."
            case Gather(operands=(number,)):
                return f"The rows that operand {number} reads: by number, or as a range."
            case Gather():
                numbers = " and ".join(map(str, made.operands))
                return f"The rows of operands {numbers}, side by side: a `concat` for free."
            case Pull():
                return f"What the readers of result {made.number} have left for it."
            case Store():
                return f"Result {made.number}: it lies where other operations read it."
            case Scatter():
                return "Leaves it for the gathered rows, which take it when their step runs backwards."
            case SumRows(summed=Equation()):
                return "Summed over all rows of the batch: one product of two matrices."
            case SumRows():
                return "Summed over all rows of the batch."
            case Accumulate(region=None):
                return "Part of the parameter's gradient: rows with their numbers."
            case Accumulate():
                return "Goes there, where other operations add theirs."
            case RowMap():
                return "One loop over the rows, compiled: what is between stays in registers."
            case Equation() if is_view(made):
                return "A view: no copy." if self.region != "once" else "A view of the parameter: no copy."
            case Equation() if is_product(made):
                return self.product(made)
            case Equation() if is_join(made):
                return "Parts side by side: what lies in its range already is not copied."
            case Equation() if is_elementwise(made):
                return self.elementwise(made)
            case Equation():
                return f"The primitive `{made.primitive.name}`, by its kernel."

    def product(self, made: Equation) -> str:
        """What a product is of."""
        shared = [var for var in made.reads if var.rows == INVARIANT]
        if shared:
            return f"All rows of the step times the matrix `%{shared[0].id}`: one product."
        return "A product for each row."

    def elementwise(self, made: Equation) -> str:
        """How an element-wise equation runs."""
        result, memory = made.result, self.program.memory
        over = [var for var in made.reads if getattr(memory.get(var), "kind", "") == "scratch"]
        if any(memory[var] == memory.get(result) and var.type == result.type for var in over):
            over = [var for var in over if memory[var] == memory[result]]
            return f"Element by element, over `%{over[0].id}`, which nothing reads any more."
        return "Element by element."

    def place(self, var: Var, made: Instruction) -> str:
        """Why a value lies where it does."""
        memory: Memory | None = self.program.memory.get(var)
        later = self.readers.get(var, set()) - {self.home[var]}
        reading = " and ".join(f"`{name}`" for name in REGIONS if name in later)
        match memory:
            case Place("kept" | "gathered"):
                return f"Kept for all rows: {reading} {'read' if len(later) > 1 else 'reads'} it."
            case RangeOf(whole=whole):
                return f"Written into its range of `%{whole.id}`."
            case Place("result") if later:
                return f"Written where the result goes, and read there by {reading}."
            case Place("result"):
                return "Written where the result goes."
            case Place("scatter"):
                return "Written where it waits."
            case _:
                return ""


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print(f"{PAGE} written")
