"""Draws results with matplotlib: a row of bars for each task, a bar for each system."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

from arrows.typesys.errors import ArrowValueError
from benchmarks.report import Result, duration, tasks

COLOURS = {"arrows": "#1f77b4", "arrows-jit": "#0b3c6f", "bound": "#bbbbbb"}
OTHER = "#e3a857"


def check(file: Path) -> None:
    """Refuses a file that could not be drawn, before anything is measured."""
    if importlib.util.find_spec("matplotlib") is None:
        raise ArrowValueError("--plot needs matplotlib: pip install 'arrows[plot]'")
    if not file.parent.is_dir():
        raise FileNotFoundError(2, "no such folder", str(file.parent))
    formats = sorted(_figure(1).canvas.get_supported_filetypes())
    if file.suffix[1:].lower() not in formats:
        raise ArrowValueError(f"--plot {file}: the file's ending must be one of {', '.join(formats)}")


def plot(results: list[Result], file: Path) -> None:
    """Writes a picture of the medians, with the times and the ratios to `arrows`."""
    grouped = tasks(results)
    figure = _figure(sum(len(here) + 1.5 for here in grouped.values()))
    heights = [len(here) for here in grouped.values()]
    axes = figure.subplots(len(grouped), 1, squeeze=False, gridspec_kw={"height_ratios": heights})
    for axis, (title, here) in zip(axes[:, 0], grouped.items(), strict=True):
        names = [result.system for result, _ in here]
        medians = [result.median for result, _ in here]
        places = range(len(here))
        bars = axis.barh(places, medians, color=[COLOURS.get(name, OTHER) for name in names])
        labels = [
            duration(result.median) + (f"  {ratio:.2f} x" if ratio is not None else "")
            for result, ratio in here
        ]
        axis.bar_label(bars, labels, padding=4, fontsize=8)
        axis.set_yticks(list(places), names)
        axis.invert_yaxis()
        axis.set_xlim(0, 1.25 * max(medians) or 1)
        axis.set_title(title, fontsize=9, loc="left")
        axis.xaxis.set_visible(False)
        axis.spines[["top", "right", "bottom"]].set_visible(False)
    figure.savefig(file)


def _figure(rows: float) -> Any:
    """A figure outside of pyplot, whose global state and windows a library should not touch."""
    from matplotlib.figure import Figure

    return Figure(figsize=(8, 0.6 + 0.32 * rows), layout="constrained")
