"""Measures where the time of a batch goes, by kind of work, by operation and by instruction.

A profiled model runs the same programs with a clock between their instructions.  On a device the clock waits
for what has been started, so that each piece gets its own time, and the whole takes longer than it would.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

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
from arrows.engine.program.program import Program
from arrows.engine.scheduling import Merged
from arrows.ops import Equation
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
_GATHERS = {"lookup", "pick", "gather"}

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
        steps = sum(line.steps for line in self.operations)
        total = _milliseconds(self.seconds).strip()
        examples = "1 example" if self.examples == 1 else f"{self.examples:,} examples"
        head = f"{self.mode} of {examples}: {total} ms in {steps} steps (mean of {self.runs})"
        lines = [head, ""]
        width = max([len(line.name) for line in self.operations] + [9])
        columns = [part for part in shown if any(line.seconds.get(part) for line in self.operations)]
        lines.append(
            "  ".join(["ms".ljust(width), "steps", "   rows", *(f"{part:>9}" for part in ["all", *columns])])
        )
        for line in self.operations:
            cells = [
                _milliseconds(line.total),
                *(_milliseconds(line.seconds.get(part, 0)) for part in columns),
            ]
            lines.append("  ".join([line.name.ljust(width), f"{line.steps:5}", f"{line.rows:7,}", *cells]))
        lines.append("")
        for part in shown:
            share = self.parts[part] / self.seconds if self.seconds else 0.0
            bar = "■" * round(30 * share)
            lines.append(f"{part:<13}{_milliseconds(self.parts[part])}  {share:4.0%}  {bar}".rstrip())
        return "\n".join([*lines, *self._slowest(width)])

    def _slowest(self, width: int) -> list[str]:
        """The instructions that take most of the time."""
        timed = [(each, line.name) for line in self.operations for each in line.instructions]
        timed.sort(key=lambda pair: -pair[0].seconds)
        lines = ["", "slowest instructions"] if timed else []
        for each, name in timed[:_SLOWEST]:
            lines.append(f"{_milliseconds(each.seconds)}  {name.ljust(width)}  {each.region:<9}  {each.text}")
        return lines


def _milliseconds(seconds: float) -> str:
    return f"{seconds * 1e3:9.2f}" if seconds else " " * 9


@dataclass(eq=False, slots=True)
class Clock:
    """Adds up the time between its ticks.

    Attributes:
        synchronize: waits for the device.
        spent: seconds by operation (None: no operation's) and part.
        instructions: seconds by operation, program, region and position in the region.
        counts: steps and rows by operation.
    """

    synchronize: Callable[[], None]
    spent: dict[tuple[int | None, str], float] = field(default_factory=dict)
    instructions: dict[tuple[int, Program, str, int], float] = field(default_factory=dict)
    counts: dict[int, tuple[int, int]] = field(default_factory=dict)
    _last: float = 0.0

    def start(self) -> None:
        """Starts measuring."""
        self.synchronize()
        self._last = time.perf_counter()

    def tick(self, part: str, operation: int | None = None) -> None:
        """Counts the time since the last tick as spent on ``part`` of ``operation``."""
        self.synchronize()
        now = time.perf_counter()
        key = (operation, part)
        self.spent[key] = self.spent.get(key, 0.0) + now - self._last
        self._last = time.perf_counter()

    def tick_instruction(self, operation: int, program: Program, region: str, position: int) -> None:
        """Counts the time since the last tick as spent on one instruction of an operation."""
        part = part_of(program.region(region)[position])
        before = self.spent.get((operation, part), 0.0)
        self.tick(part, operation)
        key = (operation, program, region, position)
        spent = self.spent[operation, part] - before
        self.instructions[key] = self.instructions.get(key, 0.0) + spent

    def count(self, merged: Merged) -> None:
        """Counts the steps and rows of a merged batch."""
        for o, _ in merged.steps:
            steps, rows = self.counts.get(o, (0, 0))
            self.counts[o] = steps + 1, rows
        for o in {o for o, _ in merged.steps}:
            steps, rows = self.counts[o]
            self.counts[o] = steps, rows + merged.operations[o].count


def part_of(instruction: Instruction) -> str:
    """The part that an instruction's time goes to."""
    match instruction:
        case Gather():
            return "gather"
        case Scatter() | Pull():
            return "scatter"
        case SumRows():
            return "sums"
        case Equation(primitive) if is_product(instruction):
            return "matmul"
        case Equation(primitive) if primitive.name in _GATHERS:
            return "gather"
        case Equation(primitive) if primitive.segmented:
            return "segment"
        case Equation(primitive) if primitive.elementwise or primitive.view or is_join(instruction):
            return "element-wise"
        case Equation():
            return "other"
        case _:
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
    clock.instructions.clear()
    clock.counts.clear()
    start = time.perf_counter()
    for _ in range(runs):
        clock.start()
        call()
        clock.tick("host")
    seconds = (time.perf_counter() - start) / runs
    lines = [
        OperationTimes(
            name=plan.operations[o].name,
            steps=steps // runs,
            rows=rows // runs,
            seconds={part: s / runs for (operation, part), s in clock.spent.items() if operation == o},
            instructions=_instruction_times(clock, o, layer, runs),
        )
        for o, (steps, rows) in clock.counts.items()
    ]
    lines.sort(key=lambda line: -line.total)
    return Profile(
        mode=mode,
        examples=examples,
        runs=runs,
        seconds=seconds,
        parts={part: sum(s for (_, p), s in clock.spent.items() if p == part) / runs for part in PARTS},
        operations=tuple(lines),
    )


def _instruction_times(
    clock: Clock, operation: int, layer: OwnerName, runs: int
) -> tuple[InstructionTime, ...]:
    timed = [
        InstructionTime(region, program.line(region, position, layer), seconds / runs)
        for (o, program, region, position), seconds in clock.instructions.items()
        if o == operation
    ]
    return tuple(sorted(timed, key=lambda line: -line.seconds))
