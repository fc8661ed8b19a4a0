"""Results of benchmarks: one JSON object a line for machines, a table with bars for people."""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

BAR = 30  # characters of the longest bar


@dataclass(frozen=True, slots=True)
class Result:
    """What one system took for one task.

    Attributes:
        bench: the benchmark's name.
        config: what was measured; results with equal configs are compared.
        system: the name of what ran; this package is `arrows`.
        runs: seconds of each run.
        figures: further figures, such as trees a second.

    >>> Result("treelstm", {"batch": 64}, "arrows", [0.3, 0.1, 0.2]).median
    0.2
    """

    bench: str
    config: Mapping[str, object]
    system: str
    runs: list[float]
    figures: Mapping[str, float] = field(default_factory=dict)

    @property
    def median(self) -> float:
        """Median of the runs, seconds."""
        return statistics.median(self.runs)

    @property
    def task(self) -> str:
        """What is compared with other results of the same task."""
        return ", ".join([self.bench, *(f"{key} {value}" for key, value in self.config.items())])


def with_ratios(results: Iterable[Result]) -> Iterator[tuple[Result, float]]:
    """Each result, as soon as it comes, with its median time over that of `arrows` for the same task.

    Above 1, `arrows` is faster. The result of `arrows` comes first, as in all benchmarks here.

    >>> [
    ...     ratio
    ...     for _, ratio in with_ratios(
    ...         [Result("b", {}, "arrows", [2.0]), Result("b", {}, "one-by-one", [6.0])]
    ...     )
    ... ]
    [1.0, 3.0]
    """
    ours: dict[str, float] = {}
    for result in results:
        yield result, result.median / ours.setdefault(result.task, result.median)


def json_line(result: Result, ratio: float) -> str:
    """A result as a JSON object.

    >>> print(json_line(Result("b", {"batch": 1}, "arrows", [2.0], {"trees/s": 5.0}), 1.0))
    {"bench": "b", "config": {"batch": 1}, "system": "arrows", "median_s": 2.0, "runs": [2.0],
    "ratio_to_arrows": 1.0, "trees/s": 5.0}
    """
    facts = {"bench": result.bench, "config": result.config, "system": result.system}
    times = {"median_s": result.median, "runs": result.runs, "ratio_to_arrows": ratio}
    return json.dumps({**facts, **times, **result.figures}, ensure_ascii=False)


def table(results: Iterable[Result]) -> str:
    """A block for each task: a line for each system with its median, ratio to `arrows`, bar and figures.

    >>> print(
    ...     table(
    ...         [Result("b", {"batch": 1}, "arrows", [0.5]), Result("b", {"batch": 1}, "one-by-one", [2.0])]
    ...     )
    ... )
    b, batch 1
      arrows          500 ms   1.00 x  ■■■■■■■■
      one-by-one    2.000 s    4.00 x  ■■■■■■■■■■■■■■■■■■■■■■■■■■■■■■
    """
    blocks: dict[str, list[tuple[Result, float]]] = {}
    for result, ratio in with_ratios(results):
        blocks.setdefault(result.task, []).append((result, ratio))
    lines: list[str] = []
    for title, block in blocks.items():
        lines.append(title)
        longest = max(result.median for result, _ in block)
        for result, ratio in block:
            bar = "■" * max(1, round(BAR * result.median / longest)) if len(block) > 1 else ""
            figures = "  ".join(f"{name} {_number(value)}" for name, value in result.figures.items())
            start = f"  {result.system:<12} {duration(result.median):>9} {ratio:5.2f} x"
            lines.append(f"{start}  {bar} {figures}".rstrip())
    return "\n".join(lines)


def duration(seconds: float) -> str:
    """Seconds in the unit that suits them.

    >>> [duration(s) for s in (2.5, 0.0314, 4.2e-5)]
    ['2.500 s ', '31.4 ms', '42.0 µs']
    """
    if seconds >= 1:
        return f"{seconds:.3f} s "
    unit, value = ("ms", seconds * 1e3) if seconds >= 1e-3 else ("µs", seconds * 1e6)
    return f"{value:.0f} {unit}" if value >= 100 else f"{value:.1f} {unit}"


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 or value == int(value) else f"{value:.3g}"
