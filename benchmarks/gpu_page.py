"""Writes what `python -m benchmarks gpu` has measured as the section "On a GPU" of a page.

`python -m benchmarks.gpu_page RESULTS.jsonl [PAGE.md]`: without a page, it prints the section.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.report import duration

TITLE = "## On a GPU"
COLUMNS = ("model", "mode", "state", "batch")
OTHERS = ("torch-hand", "torch-compile", "arrows-equal")
_FACTS = ("device", "gpu", "driver", "cupy", "torch")


def section(lines: Sequence[str]) -> str:
    """The section, from the lines of the results.

    >>> machine = {"machine": {"device": "cuda", "gpu": "H100", "driver": 12040, "cupy": "14.0"}}
    >>> config = {"model": "iclr", "mode": "inference", "state": 8, "batch": 1}
    >>> results = [
    ...     {"config": config, "system": name, "median_s": seconds}
    ...     for name, seconds in (("arrows", 0.002), ("torch-hand", 0.003))
    ... ]
    >>> print(section([json.dumps(line) for line in (machine, *results)]).splitlines()[-1])
    | iclr | inference | 8 | 1 | 2.0 ms | 1.50 |  |  |
    """
    machine, *results = (json.loads(line) for line in lines)
    tasks: dict[tuple[object, ...], dict[str, float]] = {}
    for result in results:
        task = tuple(result["config"][name] for name in COLUMNS)
        tasks.setdefault(task, {})[result["system"]] = result["median_s"]
    head = [*COLUMNS, "arrows", *OTHERS]
    rows = [head, ["---"] * len(head)]
    for task, medians in tasks.items():
        ours = medians["arrows"]
        ratios = [f"{medians[name] / ours:.2f}" if name in medians else "" for name in OTHERS]
        rows.append([*map(str, task), duration(ours).strip(), *ratios])
    table = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    return f"{TITLE}\n\n{_introduction(machine['machine'])}\n\n{table}\n"


def _introduction(machine: Mapping[str, Any]) -> str:
    place = ", ".join(f"{name} {machine[name]}" for name in _FACTS if name in machine)
    return (
        f"`make gpu` ({place}): medians of interleaved runs, float32.\n"
        "`torch-hand` is PyTorch, eager, batched by hand; `torch-compile` the same with its cells through\n"
        "`torch.compile`; `arrows-equal` is `arrows` on trees of one shape, as PyTorch's are in `iclr`.\n"
        "A ratio is the other system's time over that of `arrows`: above 1, `arrows` is faster."
    )


def replaced(page: str, text: str) -> str:
    """The page with its last section, "On a GPU", replaced.

    >>> replaced("# A\\n\\n## On a GPU\\n\\nold\\n", "## On a GPU\\n\\nnew\\n")
    '# A\\n\\n## On a GPU\\n\\nnew\\n'

    Raises:
        ValueError: the page has no such section.
    """
    return page[: page.index(f"{TITLE}\n")] + text


def main(results: str, page: str | None = None) -> None:
    """Writes the section of the results into the page, or prints it."""
    lines = Path(results).read_text(encoding="utf-8").splitlines()
    text = section(lines)
    if page is None:
        print(text, end="")
        return
    path = Path(page)
    path.write_text(replaced(path.read_text(encoding="utf-8"), text), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
