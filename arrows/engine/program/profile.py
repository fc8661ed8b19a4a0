"""Measures where the time of a batch goes, by kind of work and by operation.

A profiled model runs the same programs with a clock between their instructions.  On a device the clock waits
for what has been started, so that each piece gets its own time, and the whole takes longer than it would.
"""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field

from arrows.engine.planning import Plan
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
from arrows.engine.scheduling import Merged, checked_count
from arrows.ops import Equation, Primitive

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


@dataclass(frozen=True, slots=True)
class OperationTimes:
    """One operation of a profile.

    Attributes:
        name: the block that stands there.
        steps: how many steps it ran in.
        rows: how many rows.
        seconds: time by part.
    """

    name: str
    steps: int
    rows: int
    seconds: dict[str, float]

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
        width = max([9, *(len(line.name) for line in self.operations)])
        examples = "1 example" if self.examples == 1 else f"{self.examples:,} examples"
        total, steps = _milliseconds(self.seconds).strip(), sum(line.steps for line in self.operations)
        lines = [f"{self.mode} of {examples}: {total} ms in {steps} steps (mean of {self.runs})", ""]
        heads = "".join(f"  {column:>9}" for column in ("all", *columns))
        lines.append(f"{'ms':<{width}}  steps     rows{heads}")
        for line in self.operations:
            cells = map(_milliseconds, (line.total, *(line.seconds.get(part, 0.0) for part in columns)))
            lines.append("  ".join([f"{line.name:<{width}}", f"{line.steps:>5}", f"{line.rows:>7,}", *cells]))
        lines.append("")
        for part in shown:
            share = self.parts[part] / self.seconds if self.seconds else 0.0
            bar = "■" * round(30 * share)
            lines.append(f"{part:<13}{_milliseconds(self.parts[part])}  {share:4.0%}  {bar}".rstrip())
        return "\n".join(lines)


def _milliseconds(seconds: float) -> str:
    return f"{seconds * 1e3:9.2f}" if seconds else " " * 9


@dataclass(eq=False, slots=True)
class Clock:
    """Adds up the time between its ticks.

    Attributes:
        synchronize: waits for the device.
        spent: seconds by part and operation (None: no operation's).
        sizes: the steps and the rows of each operation, of all runs together.
    """

    synchronize: Callable[[], None]
    spent: defaultdict[tuple[str, int | None], float] = field(default_factory=lambda: defaultdict(float))
    sizes: Counter[tuple[str, int]] = field(default_factory=Counter)
    _last: float = 0.0

    def start(self) -> None:
        """Starts measuring."""
        self.synchronize()
        self._last = time.perf_counter()

    def tick(self, part: str, operation: int | None = None) -> None:
        """Counts the time since the last tick as spent on ``part`` of ``operation``."""
        self.synchronize()
        self.spent[part, operation] += time.perf_counter() - self._last
        self._last = time.perf_counter()

    def tick_instruction(self, operation: int, program: Program, region: str, position: int) -> None:
        """Counts the time since the last tick as spent on one instruction of an operation."""
        self.tick(_part_of(program.region(region)[position]), operation)

    def count(self, merged: Merged) -> None:
        """Counts the steps and rows of a merged batch."""
        for number, rows in enumerate(merged.operations):
            self.sizes["steps", number] += len(rows.bounds) - 1
            self.sizes["rows", number] += rows.count


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
    examples: int,
    runs: int,
) -> Profile:
    """Calls a model under its clock, once to warm up and then ``runs`` times.

    Args:
        mode: what is done, as `Profile.mode`.
        call: runs the batch.
        clock: that of the model's executors.
        plan: the model's plan.
        examples: how many are in the batch.
        runs: how often it runs.

    Raises:
        ArrowTypeError, ArrowValueError: that is no number of runs.
    """
    runs = checked_count("profile: runs", runs)
    call()  # warms up: writes the programs and takes the memory
    clock.spent.clear()
    clock.sizes.clear()
    start = time.perf_counter()
    for _ in range(runs):
        clock.start()
        call()
        clock.tick("host")
    seconds = (time.perf_counter() - start) / runs
    parts: dict[str, float] = dict.fromkeys(PARTS, 0.0)
    by_operation: defaultdict[int | None, dict[str, float]] = defaultdict(dict)
    for (part, o), spent in clock.spent.items():
        parts[part] += spent / runs
        by_operation[o][part] = spent / runs
    lines = []
    for number, operation in enumerate(plan.operations):
        if number in by_operation:  # others read examples
            steps, rows = clock.sizes["steps", number] // runs, clock.sizes["rows", number] // runs
            lines.append(OperationTimes(operation.name, steps, rows, by_operation[number]))
    lines.sort(key=lambda line: -line.total)
    return Profile(mode, examples, runs, seconds, parts, tuple(lines))
