"""Measures where the time of a batch goes, by kind of work, by operation and by instruction.

A profiled model runs the same programs with a clock between their instructions.  On a device the clock waits
for what has been started, so that each piece gets its own time, and the whole takes longer than it would.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

from arrows.engine.planning import Plan
from arrows.engine.program.format import OwnerName
from arrows.engine.program.instructions import (
    Gather,
    Instruction,
    Pull,
    Scatter,
    SumRows,
    is_join,
    is_product,
)
from arrows.engine.program.program import Program, RowCounts, row_counts
from arrows.engine.scheduling import Merged
from arrows.ops import Equation, Primitive
from arrows.typesys import ArrowValueError

PARTS = (
    "prepare",
    "merge",
    "gather",
    "matmul",
    "element-wise",
    "segment",
    "other",
    "scatter",
    "sums",
    "update",
    "host",
)

# So many instructions are printed below the table of operations.
_SLOWEST = 8


@dataclass(frozen=True, slots=True)
class InstructionTime:
    """One instruction of a profile.

    Attributes:
        region: where it stands in the program.
        text: the instruction, as the program prints it.
        seconds: its time in one run.
    """

    region: str
    text: str
    seconds: float


@dataclass(frozen=True, slots=True)
class OperationTimes:
    """One operation of a profile.

    Attributes:
        name: the block that stands there.
        steps: how many steps it ran in.
        rows: how many rows.
        seconds: time by part.
        instructions: time by instruction, most of it first.
    """

    name: str
    steps: int
    rows: int
    seconds: dict[str, float]
    instructions: tuple[InstructionTime, ...]

    @property
    def total(self) -> float:
        """All its seconds."""
        return sum(self.seconds.values())


@dataclass(frozen=True, slots=True)
class Profile:
    """Where a step's time went; printed, a table.

    Attributes:
        mode: `training`, `gradients` or `inference`.
        examples: how many were in the batch.
        runs: how many times it ran; times are means.
        seconds: time of one run.
        parts: time by part: `prepare` (lowering), `merge` (with scheduling), `gather`, `matmul`,
            `element-wise`, `segment` (over sequences), `other` (further primitives), `scatter` (of
            gradients), `sums` (of parameters' gradients), `update`, and `host`: what Python does between.
        operations: time by operation, most of it first.
    """

    mode: str
    examples: int
    runs: int
    seconds: float
    parts: dict[str, float]
    operations: tuple[OperationTimes, ...]

    def __str__(self) -> str:
        shown = [part for part in PARTS if self.parts.get(part)]
        columns = [part for part in shown if any(line.seconds.get(part) for line in self.operations)]
        width = max(9, *(len(line.name) for line in self.operations)) if self.operations else 9
        examples = "1 example" if self.examples == 1 else f"{self.examples:,} examples"
        total, steps = _milliseconds(self.seconds).strip(), sum(line.steps for line in self.operations)
        lines = [f"{self.mode} of {examples}: {total} ms in {steps} steps (mean of {self.runs})", ""]
        rows = [("ms", "steps", "rows", ["all", *columns])]
        for line in self.operations:
            seconds = [line.total, *(line.seconds.get(part, 0.0) for part in columns)]
            rows.append((line.name, str(line.steps), f"{line.rows:,}", list(map(_milliseconds, seconds))))
        for name, count, size, cells in rows:
            cells = [f"{cell:>9}" for cell in cells]
            lines.append("  ".join([f"{name:<{width}}", f"{count:>5}", f"{size:>7}", *cells]))
        lines.append("")
        for part in shown:
            share = self.parts[part] / self.seconds if self.seconds else 0.0
            bar = "■" * round(30 * share)
            lines.append(f"{part:<13}{_milliseconds(self.parts[part])}  {share:4.0%}  {bar}".rstrip())
        timed = [(each, line.name) for line in self.operations for each in line.instructions]
        lines += ["", "slowest instructions"] if timed else []
        for each, name in sorted(timed, key=lambda pair: -pair[0].seconds)[:_SLOWEST]:
            lines.append(f"{_milliseconds(each.seconds)}  {name:<{width}}  {each.region:<9}  {each.text}")
        return "\n".join(lines)


def _milliseconds(seconds: float) -> str:
    return f"{seconds * 1e3:9.2f}" if seconds else " " * 9


Instructed: TypeAlias = tuple[Program, str, int]
"""An instruction: its program, its region, and its position there."""


@dataclass(eq=False, slots=True)
class Clock:
    """Adds up the time between its ticks.

    Attributes:
        synchronize: waits for the device.
        spent: seconds by part, by operation (None: no operation's), and by its instruction, if it is one's.
        counts: of each run of a batch.
    """

    synchronize: Callable[[], None]
    spent: defaultdict[tuple[str, int | None, Instructed | None], float] = field(
        default_factory=lambda: defaultdict(float)
    )
    counts: list[RowCounts] = field(default_factory=list)
    _last: float = 0.0

    def start(self) -> None:
        """Starts measuring."""
        self.synchronize()
        self._last = time.perf_counter()

    def tick(self, part: str, operation: int | None = None, where: Instructed | None = None) -> None:
        """Counts the time since the last tick as spent on ``part`` of ``operation``."""
        self.synchronize()
        self.spent[part, operation, where] += time.perf_counter() - self._last
        self._last = time.perf_counter()

    def tick_instruction(self, operation: int, program: Program, region: str, position: int) -> None:
        """Counts the time since the last tick as spent on one instruction of an operation."""
        self.tick(_part_of(program.region(region)[position]), operation, (program, region, position))

    def count(self, merged: Merged) -> None:
        """Counts the steps and rows of a merged batch."""
        self.counts.append(row_counts(merged))


def _part_of(instruction: Instruction) -> str:
    """The part that an instruction's time goes to."""
    match instruction:
        case Gather() | Equation(primitive=Primitive(name="lookup")):
            return "gather"
        case Scatter() | Pull():
            return "scatter"
        case SumRows():
            return "sums"
        case Equation() if is_product(instruction):
            return "matmul"
        case Equation(primitive) if primitive.segmented:
            return "segment"
        case Equation(primitive) if not (primitive.elementwise or primitive.view or is_join(instruction)):
            return "other"
    return "element-wise"


def profile(
    mode: str,
    call: Callable[[], object],
    clock: Clock,
    plan: Plan,
    layer: OwnerName,
    examples: int,
    runs: int,
) -> Profile:
    """Calls a model under its clock, once to warm up and then ``runs`` times.

    Args:
        mode: what is done, as `Profile.mode`.
        call: runs the batch.
        clock: that of the model's executors.
        plan: the model's plan.
        layer: names layers as the model does.
        examples: how many are in the batch.
        runs: how often it runs.

    Raises:
        ArrowValueError: there are no runs.
    """
    if isinstance(runs, bool) or not isinstance(runs, int) or runs < 1:
        raise ArrowValueError(f"profile: the number of runs must be at least 1, not {runs!r}")
    call()  # warms up: writes the programs and takes the memory
    clock.spent.clear()
    clock.counts.clear()
    start = time.perf_counter()
    for _ in range(runs):
        clock.start()
        call()
        clock.tick("host")
    seconds = (time.perf_counter() - start) / runs
    parts: dict[str, float] = dict.fromkeys(PARTS, 0.0)
    by_operation: dict[int | None, dict[str, float]] = {}
    timed: dict[int | None, list[InstructionTime]] = {}
    for (part, o, where), spent in clock.spent.items():
        own = by_operation.setdefault(o, {})
        parts[part] += spent / runs
        own[part] = own.get(part, 0.0) + spent / runs
        if where is not None:
            program, region, position = where
            text = program.line(region, position, layer)
            timed.setdefault(o, []).append(InstructionTime(region, text, spent / runs))
    lines = []
    for number, operation in enumerate(plan.operations):
        if number in by_operation:  # others read examples
            counts = zip(*(each[number] for each in clock.counts), strict=True)
            steps, rows = (sum(each) // runs for each in counts)
            instructions = sorted(timed.get(number, ()), key=lambda line: -line.seconds)
            own = by_operation[number]
            lines.append(OperationTimes(operation.name, steps, rows, own, tuple(instructions)))
    lines.sort(key=lambda line: -line.total)
    return Profile(mode, examples, runs, seconds, parts, tuple(lines))
