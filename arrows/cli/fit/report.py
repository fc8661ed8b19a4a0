"""What came of a run: tables, as text for a terminal, and as one HTML page.

The page has no scripts, and nothing from the net.  It has no times and no paths of this machine either, so
equal runs write equal pages.  Examples are foreign text: all of it goes through `printable`, and `escape`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

import numpy as np

from arrows.cli.fit.task import Classes, Result, Task, figure_text
from arrows.training import Epoch
from arrows.typesys import printable, shortened

_CELL = 100  # characters of a cell in a terminal
_SNIPPET = 200  # characters of a document
_FEW, _WIDEST = 20, 100  # classes of a confusion matrix that a terminal shows, and a page
_BAR = 40  # signs of the longest bar
_MOST = 20  # wrong predictions, and pairs of classes, of which there are many
_STYLE = """
body { font: 15px/1.45 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2rem; }
table { border-collapse: collapse; } th, td { padding: .2rem .6rem; border-bottom: 1px solid #ddd; }
th { text-align: left; font-weight: 600; } td.n { text-align: right; font-variant-numeric: tabular-nums; }
td { overflow-wrap: anywhere; } .scroll { overflow-x: auto; }
svg { background: #fafafa; border: 1px solid #ddd; }
"""

Row = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """A table of a report.

    Attributes:
        title: what stands above it.
        rows: of texts, the names of the columns first.
        numbers: whether all columns but the first stand to the right.
        most: how many rows a terminal shows; 0 leaves the table to the page.
        shades: how dark each cell is, from 0 to 1, of all rows but the first and columns but the first.
        picture: HTML that stands above it on the page.
    """

    title: str
    rows: Sequence[Row]
    numbers: bool = True
    most: int = 2000
    shades: Sequence[Sequence[float]] = ()
    picture: str = ""


def figure_table(results: Mapping[str, Result]) -> Table:
    """Each figure of each part, of the model and of the best guess; and its deviation over folds."""
    rows: list[Row] = [("", "model", "baseline")]
    for part, result in results.items():
        for name, value in result.figures.items():
            spread = f" ± {result.spread[name]:.2g}" if name in result.spread else ""
            baseline = figure_text(result.baseline[name])
            rows.append((f"{part} {name}", figure_text(value) + spread, baseline))
    folds = ", ± is the standard deviation over the folds" * any(each.spread for each in results.values())
    return Table(f"Figures; the baseline is the best guess that reads no document{folds}", rows)


def class_tables(task: Classes, part: str, result: Result) -> Iterator[Table]:
    """Precision, recall and F1 of each class, and which is taken for which."""
    matrix = task.matrix(result.scores, result.examples)
    names, counts = matrix.names, matrix.counts
    sizes, many = counts.sum(axis=1), len(names) > _FEW
    measures = [matrix.precision(), matrix.recall(), matrix.f1()]
    rows: list[Row] = [("class", "precision", "recall", "F1", "examples")]
    # Many classes stand in the order of their examples.
    for number in np.argsort(-sizes, kind="stable") if many else range(len(names)):
        shares = [each[names[number]] for each in measures]
        texts = (f"{share:.3f}" if share == share else "-" for share in shares)
        rows.append((names[number], *texts, f"{sizes[number]:,}"))
    yield Table(f"By class ({part})", rows, most=_FEW)
    if len(names) <= _WIDEST:
        lines = [(name, *map(str, row)) for name, row in zip(names, counts.tolist(), strict=True)]
        shades = (counts / np.maximum(sizes, 1)[:, None]).tolist()
        title = f"Correct classes (lines) and predicted ones ({part})"
        yield Table(title, [("", *names), *lines], most=0 if many else _FEW, shades=shades)
    if many:
        wrong = counts - np.diag(np.diag(counts))
        pairs = sorted((-int(wrong[pair]), *map(int, pair)) for pair in zip(*np.nonzero(wrong), strict=True))
        lines = [(names[row], names[column], f"{-count:,}") for count, row, column in pairs[:_MOST]]
        yield Table(f"Most frequent confusions ({part})", [("correct", "predicted", "examples"), *lines])


def miss_table(task: Task, part: str, result: Result) -> Table:
    """The wrong predictions, the worst first."""
    wrong = "probability" if isinstance(task, Classes) else "distance"
    rows: list[Row] = [("where", "label", "predicted", wrong, "document")]
    for example, predicted, how in task.misses(result.scores, result.examples)[:_MOST]:
        text = shortened(example.text, _SNIPPET)
        rows.append((Path(example.place).name, str(example.label), predicted, f"{how:.3g}", text))
    return Table(f"The most wrong examples ({part})", rows, numbers=False, most=10)


def field_table(losses: Mapping[str, float]) -> Table:
    """How much each field matters, that which matters most first, with bars."""
    usual, *fields = losses.items()
    fields.sort(key=lambda item: -item[1])
    most = max((loss - usual[1] for _, loss in fields), default=0.0)
    rows: list[Row] = [("field", "loss", "more")]
    for path, loss in fields:
        bar = "█" * round(_BAR * (loss - usual[1]) / most) if most > 0 else ""
        rows.append((path, f"{loss:.4g}", bar))
    title = f"Which fields matter: the loss, {usual[1]:.4g}, when a field is exchanged among the documents"
    return Table(f"{title} that validate", rows, numbers=False, most=_FEW)


def epoch_table(epochs: Sequence[Epoch]) -> Table:
    """The loss and the figures of each epoch, and their curves."""
    names = dict.fromkeys(name for epoch in epochs for name in epoch.figures)
    series = {"loss": [epoch.loss for epoch in epochs]}
    series |= {name: [epoch.figures.get(name, float("nan")) for epoch in epochs] for name in names}
    columns = [map(figure_text, values) for values in series.values()]
    rows = zip((str(epoch.number) for epoch in epochs), *columns, strict=True)
    return Table("Epochs", [("epoch", *series), *rows], most=0, picture=_curves(series))


def text_report(warnings: Sequence[str], tables: Sequence[Table]) -> str:
    """A report for the terminal."""
    parts = [*warnings]
    for table in tables:
        if table.most and len(table.rows) > 1:
            left = len(table.rows) - 1 - table.most
            more = f"\n  and {left:,} more, in report.html" if left > 0 else ""
            parts.append(f"{table.title}:\n{aligned(table.rows[: table.most + 1], table.numbers)}{more}")
    return "\n\n".join(parts)


def page(title: str, about: str, warnings: Sequence[str], tables: Sequence[Table]) -> str:
    """A report as the text of a page."""
    sections = [f"<h1>{_text(title)}</h1><p>{_text(about)}</p>"]
    sections += [f"<p><strong>{_text(warning)}</strong></p>" for warning in warnings]
    sections += [
        f"<h2>{_text(table.title)}</h2>{table.picture}\n{_html_table(table)}"
        for table in tables
        if len(table.rows) > 1
    ]
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>{_text(title)}</title>\n'
        f"<style>{_STYLE}</style>\n</head>\n<body>\n" + "\n".join(sections) + "\n</body>\n</html>\n"
    )


def aligned(rows: Sequence[Row], right: bool) -> str:
    """Rows as a table in text; all columns but the first stand to the right, or none."""
    cells = [[printable(shortened(cell, _CELL)) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    signs = ["<", *(">" if right else "<" for _ in widths[1:])]
    lines = (
        "  ".join(f"{cell:{sign}{width}}" for cell, sign, width in zip(row, signs, widths, strict=True))
        for row in cells
    )
    return "\n".join(f"  {line}".rstrip() for line in lines)


def _html_table(table: Table) -> str:
    header, *rows = table.rows
    lines = ["".join(f"<th>{_text(cell)}</th>" for cell in header)]
    kind = ' class="n"' if table.numbers else ""
    for number, (first, *rest) in enumerate(rows):
        shades = table.shades[number] if table.shades else ()
        styles = [f' style="background: rgba(40, 110, 200, {0.6 * shade:.2f})"' for shade in shades]
        cells = zip(rest, styles or [""] * len(rest), strict=True)
        lines.append(f"<td>{_text(first)}</td>")
        lines[-1] += "".join(f"<td{kind}{style}>{_text(cell)}</td>" for cell, style in cells)
    body = "\n".join(f"<tr>{line}</tr>" for line in lines)
    return f'<div class="scroll"><table>\n{body}\n</table></div>'


def _curves(series: Mapping[str, Sequence[float]]) -> str:
    """Numbers over the epochs, each series between its own least and most."""
    lines, legend = [], []
    for (name, values), colour in zip(series.items(), ("#c33", "#26c", "#292", "#a3a", "#880"), strict=False):
        points = [(place, value) for place, value in enumerate(values) if value == value]
        if len(points) > 1:
            least, most = min(value for _, value in points), max(value for _, value in points)
            across, up = 620 / (len(values) - 1), 180 / ((most - least) or 1.0)
            places = " ".join(f"{10 + across * x:.1f},{190 - up * (y - least):.1f}" for x, y in points)
            lines.append(f'<polyline fill="none" stroke="{colour}" stroke-width="2" points="{places}"/>')
            legend.append(f'<span style="color: {colour}">{_text(name)}</span> {least:.4g} to {most:.4g}')
    drawing = f'<svg width="640" height="200" role="img" aria-label="curves">{"".join(lines)}</svg>'
    return f"{drawing}<p>{'; '.join(legend)}</p>" if lines else ""


def _text(text: str) -> str:
    """Foreign text for a page."""
    return escape(printable(text))
