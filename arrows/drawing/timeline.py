"""A batch's schedule as a picture: steps go across, operations down, and a bar's height shows its rows.

The picture tells why a model batches well or badly: a few tall bars are good; a long comb of low ones is one
small operation after another.
"""

from __future__ import annotations

from typing import Protocol
from xml.sax.saxutils import escape

from arrows.drawing.svg import STYLE
from arrows.drawing.views import shorten

BARS = "▁▂▃▄▅▆▇█"
MOST = 100  # columns of the text at most; in a longer schedule several steps share a column
# Sizes of the SVG in pixels.
LANE = 46  # the height of an operation's lane
WIDEST, PICTURE = 14, 900  # the greatest width of one step, and of all steps together
NAME, FIGURES, EDGE = 150, 130, 14  # the widths of the names at least, of the figures, and of the margin
LETTER = 7.3  # the width of a character


class Schedule(Protocol):
    """The schedule to draw: see `arrows.engine.scheduling.timeline.Timeline`."""

    @property
    def schedule(self) -> str: ...
    @property
    def examples(self) -> int | None: ...
    @property
    def operations(self) -> tuple[str, ...]: ...
    @property
    def steps(self) -> tuple[tuple[int, int], ...]: ...


def heading(schedule: Schedule) -> str:
    """Summarizes the schedule in a line.

    >>> from arrows.engine.scheduling import Timeline
    >>> heading(Timeline("strata", 2, ("a", "b"), ((0, 3), (1, 2))))
    'strata: 2 examples, 2 steps, 5 rows'
    """
    rows = sum(rows for _, rows in schedule.steps)
    examples = [] if schedule.examples is None else [_count(schedule.examples, "example")]
    counts = [*examples, _count(len(schedule.steps), "step"), _count(rows, "row")]
    return f"{schedule.schedule}: {', '.join(counts)}"


def timeline_text(schedule: Schedule) -> str:
    """Draws the schedule as text; the height of a bar shows the number of rows.

    Example:
        >>> from arrows.engine.scheduling import Timeline
        >>> print(timeline_text(Timeline("depth", 2, ("cell", "loss"), ((0, 8), (1, 1), (0, 4), (1, 1)))))
        depth: 2 examples, 4 steps, 14 rows
        <BLANKLINE>
        cell  █ ▄     2 steps, 12 rows
        loss   ▁ ▁    2 steps, 2 rows
    """
    steps = schedule.steps
    share = -(-len(steps) // MOST) or 1
    columns = -(-len(steps) // share)
    sums = [[0] * columns for _ in schedule.operations]
    for place, (operation, rows) in enumerate(steps):
        sums[operation][place // share] += rows
    most = max((rows for line in sums for rows in line), default=1)
    width = max((len(name) for name in map(shorten, schedule.operations)), default=0)
    lines = [heading(schedule), ""]
    for number, (name, line) in enumerate(zip(schedule.operations, sums, strict=True)):
        bars = "".join(BARS[-(-rows * len(BARS) // most) - 1] if rows else " " for rows in line)
        lines.append(f"{shorten(name):<{width}}  {bars}    {', '.join(_figures(schedule, number))}")
    if share > 1:
        lines += ["", f"a column stands for {share} steps"]
    return "\n".join(lines) + "\n"


def timeline_svg(schedule: Schedule) -> str:
    """Draws the schedule as an SVG document.

    Example:
        >>> from arrows.engine.scheduling import Timeline
        >>> timeline_svg(Timeline("strata", 1, ("a",), ((0, 3),))).startswith("<svg ")
        True
    """
    steps = schedule.steps
    step = min(WIDEST, PICTURE / max(len(steps), 1))
    names = max((len(shorten(name)) for name in schedule.operations), default=0)
    left = EDGE + max(NAME, names * LETTER + EDGE)
    right = left + step * len(steps)
    width = round(max(right + FIGURES, left + len(heading(schedule)) * LETTER) + EDGE)
    top = 2 * EDGE + 20
    height = top + LANE * len(schedule.operations) + EDGE
    most = max((rows for _, rows in steps), default=1)
    size = f'width="{width}" height="{height}"'
    view = f'viewBox="0 0 {width} {height}" role="img" aria-label="{escape(heading(schedule))}"'
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="arrows-drawing" {size} {view}>',
        f"<style>{STYLE}</style>",
        f'<rect class="ground" {size} rx="8"/>',
        f'<text class="title" x="{EDGE}" y="{EDGE + 12}">{escape(heading(schedule))}</text>',
    ]
    for number, name in enumerate(schedule.operations):
        floor = top + LANE * (number + 1) - 6
        out.append(f'<line class="wire" x1="{left:g}" x2="{right:g}" y1="{floor + 0.5}" y2="{floor + 0.5}"/>')
        out.append(
            f'<text x="{EDGE}" y="{floor - 12}"><title>{escape(name)}</title>{escape(shorten(name))}</text>'
        )
        for line, words in enumerate(_figures(schedule, number)):
            out.append(f'<text class="type" x="{right + 8:g}" y="{floor - 17 + 14 * line}">{words}</text>')
    for place, (operation, rows) in enumerate(steps):
        tall = max((LANE - 12) * rows / most, 1.0)
        y = top + LANE * (operation + 1) - 6 - tall
        where = (
            f'x="{left + place * step + 0.5:g}" y="{y:g}" width="{max(step - 1, 0.5):g}" height="{tall:g}"'
        )
        hint = f"step {place + 1}: {schedule.operations[operation]}, {_count(rows, 'row')}"
        out.append(f'<rect class="box layer" {where}><title>{escape(hint)}</title></rect>')
    out.append("</svg>")
    return "\n".join(out) + "\n"


def _figures(schedule: Schedule, number: int) -> list[str]:
    rows = [rows for operation, rows in schedule.steps if operation == number]
    return [_count(len(rows), "step"), _count(sum(rows), "row")]


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
