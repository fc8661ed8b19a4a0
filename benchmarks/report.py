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


def ratios(results: list[Result]) -> list[float | None]:
    """For each result, its median time over that of `arrows` for the same task: above 1, `arrows` is faster.

    None where `arrows` did not run.

    >>> ratios([Result("b", {}, "arrows", [2.0]), Result("b", {}, "one-by-one", [6.0])])
    [1.0, 3.0]
    """
    ours = {_task(result): result.median for result in results if result.system == "arrows"}
    return [result.median / ours[_task(result)] if ours.get(_task(result)) else None for result in results]


def json_lines(machine: Mapping[str, object], results: Iterable[Result]) -> Iterator[str]:
    """The machine on a line of its own, then a line for each result, as soon as the result comes.

    A line has the ratio to `arrows` only if the result of `arrows` came earlier, as in all benchmarks here.

    >>> print(
    ...     "\\n".join(
    ...         json_lines({"cores": 2}, [Result("b", {"batch": 1}, "arrows", [2.0], {"trees_per_s": 5.0})])
    ...     )
    ... )
    {"machine": {"cores": 2}}
    {"bench": "b", "config": {"batch": 1}, "system": "arrows", "median_s": 2.0, "runs": [2.0],
    "ratio_to_arrows": 1.0, "trees_per_s": 5.0}
    """
    yield json.dumps({"machine": machine}, ensure_ascii=False)
    ours: dict[str, float] = {}
    for result in results:
        task = _task(result)
        if result.system == "arrows":
            ours[task] = result.median
        yield json.dumps(
            {
                "bench": result.bench,
                "config": result.config,
                "system": result.system,
                "median_s": result.median,
                "runs": result.runs,
                "ratio_to_arrows": result.median / ours[task] if ours.get(task) else None,
                **result.figures,
            },
            ensure_ascii=False,
        )


def table(results: list[Result]) -> str:
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
    lines: list[str] = []
    for title, here in tasks(results).items():
        lines.append(title)
        longest = max(result.median for result, _ in here)
        for result, share in here:
            ratio = f"{share:5.2f} x" if share is not None else " " * 7
            bar = "■" * max(1, round(BAR * result.median / longest)) if longest and len(here) > 1 else ""
            figures = "  ".join(f"{name} {_number(value)}" for name, value in result.figures.items())
            lines.append(
                f"  {result.system:<12} {duration(result.median):>9} {ratio}  {bar} {figures}".rstrip()
            )
    return "\n".join(lines)


def tasks(results: list[Result]) -> dict[str, list[tuple[Result, float | None]]]:
    """A description of each task -> the task's results, with their ratios to `arrows`.

    >>> list(tasks([Result("b", {"batch": 1}, "arrows", [0.5])]))
    ['b, batch 1']
    """
    grouped: dict[str, list[tuple[Result, float | None]]] = {}
    for result, ratio in zip(results, ratios(results), strict=True):
        title = ", ".join([result.bench, *(f"{key} {value}" for key, value in result.config.items())])
        grouped.setdefault(title, []).append((result, ratio))
    return grouped


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


def _task(result: Result) -> str:
    return result.bench + json.dumps(result.config, sort_keys=True)
