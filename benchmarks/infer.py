"""What type inference costs a block, on expressions of 100 to 100,000 blocks of several kinds.

A block is an occurrence in the typed tree.  What is timed is `arrows.infer` as a program calls it, with the
garbage collector on, and the young generation collected before the clock stops, so that no work is left for
later.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from pathlib import Path

from benchmarks.expressions import EXPRESSIONS, count
from benchmarks.report import Result
from benchmarks.tasks import inference_of_types
from benchmarks.timing import interleaved

NAME = "infer"
SIZES = (100, 1_000, 10_000, 100_000)


def run(
    *, quick: bool = False, data: Path | None = None, sizes: tuple[int, ...] | None = None
) -> Iterator[Result]:
    """Measures every kind of expression at about these sizes, in growing order.

    Figures are microseconds a block, and `growth`: these over those at the first size.
    """
    sizes = sizes or (SIZES[:-1] if quick else SIZES)
    for name, expression in EXPRESSIONS.items():
        blocks = {str(size): expression(size) for size in sizes}
        counts = {size: count(block) for size, block in blocks.items()}
        tasks = {size: inference_of_types(block) for size, block in blocks.items()}
        first = 0.0
        for size, seconds in interleaved(tasks, 3 if quick else 5).items():
            config = {"mode": name, "blocks": counts[size]}
            micros = statistics.median(seconds) / counts[size] * 1e6
            first = first or micros
            yield Result(NAME, config, "arrows", seconds, {"µs/block": micros, "growth": micros / first})
