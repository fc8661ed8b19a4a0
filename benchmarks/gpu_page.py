"""Writes what `python -m benchmarks gpu` has measured as the section "On a GPU" of a page.

`python -m benchmarks.gpu_page RESULTS.jsonl [PAGE.md]`: without a page, it prints the section.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.report import duration

TITLE = "## On a GPU"
COLUMNS = ("model", "mode", "state", "batch")
OTHERS = ("torch", "torch-compile", "arrows-equal")
_FACTS = {"gpu": "{}", "driver": "driver for CUDA {}", "cupy": "CuPy {}", "torch": "PyTorch {}"}


def section(lines: Sequence[str]) -> str:
    """The section, from the lines of the results.

    >>> machine = {"machine": {"device": "cuda", "gpu": "H100", "driver": 12040, "cupy": "14.0"}}
    >>> config = {"model": "iclr", "mode": "inference", "state": 8, "batch": 1}
    >>> results = [
    ...     {"config": config, "system": name, "median_s": seconds}
    ...     for name, seconds in (("arrows", 0.002), ("torch", 0.003))
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
    facts = dict(machine)
    if "driver" in facts:
        facts["driver"] = f"{facts['driver'] // 1000}.{facts['driver'] % 1000 // 10}"
    known = [words.format(facts[name]) for name, words in _FACTS.items() if name in facts]
    place = ", ".join([f'device="{facts["device"]}"', *known])
    return (
        f"`make gpu` ({place}): medians of interleaved runs, float32.\n"
        "`torch` is PyTorch, eager, batched by hand; `torch-compile` the same with its cells through\n"
        "`torch.compile`; `arrows-equal` is `arrows` on trees of one shape, as PyTorch's are in `iclr`.\n"
        "A ratio is the other system's time over that of `arrows`: above 1, `arrows` is faster."
    )


def replaced(page: str, text: str) -> str:
    """The page with its section "On a GPU" replaced.

    >>> replaced("# A\\n\\n## On a GPU\\n\\nold\\n\\n## B\\n", "## On a GPU\\n\\nnew\\n")
    '# A\\n\\n## On a GPU\\n\\nnew\\n\\n## B\\n'

    Raises:
        ValueError: the page has no such section.
    """
    pattern = re.compile(rf"^{re.escape(TITLE)}\n.*?(?=^## |\Z)", re.MULTILINE | re.DOTALL)
    found = pattern.search(page)
    if found is None:
        raise ValueError(f"the page has no section {TITLE!r}")
    rest = page[found.end() :]
    return page[: found.start()] + text + ("\n" if rest else "") + rest


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
