"""A batch's schedule as a picture: steps go across, operations down, and a bar's height shows its rows.

The picture tells why a model batches well or badly: a few tall bars are good; a long comb of low ones is one
small operation after another.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal
from xml.sax.saxutils import escape

from arrows.drawing.pieces import shorten
from arrows.drawing.svg import document
from arrows.typesys import ArrowValueError, counted

if TYPE_CHECKING:
    from arrows.engine.scheduling import Timeline

BARS = "▁▂▃▄▅▆▇█"
MOST = 100  # columns of the text at most; in a longer schedule several steps share a column
# Sizes of the SVG in pixels.
LANE = 46  # the height of an operation's lane
WIDEST, PICTURE = 14, 900  # the greatest width of one step, and of all steps together
NAME, FIGURES, EDGE = 150, 130, 14  # the widths of the names at least, of the figures, and of the margin
LETTER = 7.3  # the width of a character


def draw_timeline(timeline: Timeline, format: Literal["text", "svg"] = "text") -> str:
    """Draws a batch's schedule: steps across, operations down, rows as height.

    Args:
        timeline: of `model.timeline(examples)`, or one of a batch's `g.timelines` on the fly.
        format: "text" or "svg".

    Raises:
        ArrowValueError: there is no such format.

    Example:
        >>> from arrows.engine.scheduling import Timeline
        >>> print(draw_timeline(Timeline("depth", 2, ("cell", "loss"), ((0, 8), (1, 1), (0, 4), (1, 1)))))
        depth: 2 examples, 4 steps, 14 rows
        <BLANKLINE>
        cell  █ ▄     2 steps, 12 rows
        loss   ▁ ▁    2 steps, 2 rows
        <BLANKLINE>
    """
    counts = [counted(len(timeline.steps), "step"), counted(timeline.rows, "row")]
    if timeline.examples is not None:
        counts.insert(0, counted(timeline.examples, "example"))
    heading = f"{timeline.schedule}: {', '.join(counts)}"
    if format == "text":
        return _text(timeline, heading)
    if format == "svg":
        return _svg(timeline, heading)
    raise ArrowValueError(f"it is drawn as text or svg, not as {format!r}")


def _text(timeline: Timeline, heading: str) -> str:
    steps = timeline.steps
    share = -(-len(steps) // MOST) or 1
    columns = -(-len(steps) // share)
    sums = [[0] * columns for _ in timeline.operations]
    for place, (operation, rows) in enumerate(steps):
        sums[operation][place // share] += rows
    most = max((rows for line in sums for rows in line), default=1)
    names = [shorten(name) for name in timeline.operations]
    width = max(map(len, names), default=0)
    lines = [heading, ""]
    for number, (name, line) in enumerate(zip(names, sums, strict=True)):
        bars = "".join(BARS[-(-rows * len(BARS) // most) - 1] if rows else " " for rows in line)
        lines.append(f"{name:<{width}}  {bars}    {', '.join(_figures(timeline, number))}")
    if share > 1:
        lines += ["", f"a column stands for {share} steps"]
    return "\n".join(lines) + "\n"


def _svg(timeline: Timeline, heading: str) -> str:
    steps = timeline.steps
    step = min(WIDEST, PICTURE / max(len(steps), 1))
    names = max((len(shorten(name)) for name in timeline.operations), default=0)
    left = EDGE + max(NAME, names * LETTER + EDGE)
    right = left + step * len(steps)
    width = round(max(right + FIGURES, left + len(heading) * LETTER) + EDGE)
    top = 2 * EDGE + 20
    most = max((rows for _, rows in steps), default=1)
    out = [f'<text class="title" x="{EDGE}" y="{EDGE + 12}">{escape(heading)}</text>']
    for number, name in enumerate(timeline.operations):
        floor = top + LANE * (number + 1) - 6
        out.append(f'<line class="wire" x1="{left:g}" x2="{right:g}" y1="{floor + 0.5}" y2="{floor + 0.5}"/>')
        words = f"<title>{escape(name)}</title>{escape(shorten(name))}"
        out.append(f'<text x="{EDGE}" y="{floor - 12}">{words}</text>')
        for line, words in enumerate(_figures(timeline, number)):
            out.append(f'<text class="type" x="{right + 8:g}" y="{floor - 17 + 14 * line}">{words}</text>')
    for place, (operation, rows) in enumerate(steps):
        tall = max((LANE - 12) * rows / most, 1.0)
        x, y = left + place * step + 0.5, top + LANE * (operation + 1) - 6 - tall
        where = f'x="{x:g}" y="{y:g}" width="{max(step - 1, 0.5):g}" height="{tall:g}"'
        hint = f"step {place + 1}: {timeline.operations[operation]}, {counted(rows, 'row')}"
        out.append(f'<rect class="box layer" {where}><title>{escape(hint)}</title></rect>')
    return document(out, width, top + LANE * len(timeline.operations) + EDGE, heading)


def _figures(timeline: Timeline, number: int) -> list[str]:
    rows = [rows for operation, rows in timeline.steps if operation == number]
    return [counted(len(rows), "step"), counted(sum(rows), "row")]
