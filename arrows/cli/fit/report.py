"""What came of a run: tables, as text for a terminal, and as one HTML page.

The page has no scripts, and nothing from the net.  It has no times and no paths of this machine either, so
equal runs write equal pages.  Examples are foreign text: all of it goes through `printable`, and `escape`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path

import numpy as np

from arrows.cli.fit.models import Result
from arrows.cli.fit.task import Classes, Task, figure_text
from arrows.training import Epoch
from arrows.typesys.quoting import printable, shortened

_CELL = 100  # characters of a cell in a terminal
_SNIPPET = 200  # characters of a document
_FEW, _WIDEST = 20, 100  # classes of a confusion matrix that a terminal shows, and a page
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
    """

    title: str
    rows: Sequence[Row]
    numbers: bool = True
    most: int = 2000
    shades: Sequence[Sequence[float]] = field(default=())


@dataclass(frozen=True, slots=True)
class Report:
    """What came of a run.

    Attributes:
        title: what is predicted, of which file.
        about: the task, the examples and the model, in words.
        warnings: what makes the figures doubtful.
        tables: the figures, and where they come from.
        epochs: of the run.
    """

    title: str
    about: str
    warnings: Sequence[str]
    tables: Sequence[Table]
    epochs: Sequence[Epoch]


def figure_table(results: Mapping[str, Result], spreads: Mapping[str, Mapping[str, float]]) -> Table:
    """Each figure of each part, of the model and of the best guess; and its deviation over folds."""
    rows: list[Row] = [("", "model", "baseline")]
    for part, result in results.items():
        spread = spreads.get(part, {})
        for name, value in result.figures.items():
            more = f" ± {spread[name]:.2g}" if name in spread else ""
            rows.append((f"{part} {name}", figure_text(value) + more, figure_text(result.baseline[name])))
    folds = ", ± is the standard deviation over the folds" if spreads else ""
    return Table(f"Figures; the baseline is the best guess that reads no document{folds}", rows)


def class_tables(task: Classes, part: str, result: Result) -> Iterator[Table]:
    """Precision, recall and F1 of each class, and which is taken for which."""
    matrix = task.matrix(result.scores, result.examples)
    names, counts = matrix.names, matrix.counts
    sizes = counts.sum(axis=1)
    measures = [matrix.precision(), matrix.recall(), matrix.f1()]
    rows: list[Row] = [("class", "precision", "recall", "F1", "examples")]
    # Many classes stand in the order of their examples.
    for number in np.argsort(-sizes, kind="stable") if len(names) > _FEW else range(len(names)):
        name = names[number]
        shares = (f"{each[name]:.3f}" if each[name] == each[name] else "-" for each in measures)
        rows.append((name, *shares, f"{sizes[number]:,}"))
    yield Table(f"By class ({part})", rows, most=_FEW)
    if len(names) <= _WIDEST:
        lines = [(name, *map(str, row)) for name, row in zip(names, counts.tolist(), strict=True)]
        shades = (counts / np.maximum(sizes, 1)[:, None]).tolist()
        title = f"Correct classes (lines) and predicted ones ({part})"
        most = _FEW if len(names) <= _FEW else 0
        yield Table(title, [("", *names), *lines], most=most, shades=shades)
    if len(names) > _FEW:
        wrong = counts - np.diag(np.diag(counts))
        pairs = sorted((-int(wrong[pair]), *map(int, pair)) for pair in zip(*np.nonzero(wrong), strict=True))
        lines = [(names[row], names[column], f"{-count:,}") for count, row, column in pairs[:_MOST]]
        yield Table(f"Most frequent confusions ({part})", [("correct", "predicted", "examples"), *lines])


def miss_table(task: Task, part: str, result: Result) -> Table:
    """The wrong predictions, the worst first."""
    wrong = "probability" if isinstance(task, Classes) else "distance"
    rows: list[Row] = [("where", "label", "predicted", wrong, "document")]
    for miss in task.misses(result.scores, result.examples)[:_MOST]:
        place, label = Path(miss.example.place).name, str(miss.example.label)
        text = shortened(miss.example.text, _SNIPPET)
        rows.append((place, label, miss.predicted, f"{miss.wrong:.3g}", text))
    return Table(f"The most wrong examples ({part})", rows, numbers=False, most=10)


def epoch_table(epochs: Sequence[Epoch]) -> Table:
    """The loss and the figures of each epoch."""
    series = _series(epochs)
    columns = [map(figure_text, values) for values in series.values()]
    rows = zip((str(epoch.number) for epoch in epochs), *columns, strict=True)
    return Table("Epochs", [("epoch", *series), *rows], most=0)


def text_report(report: Report) -> str:
    """A report for the terminal."""
    parts = [*report.warnings]
    for table in report.tables:
        if table.most and len(table.rows) > 1:
            left = len(table.rows) - 1 - table.most
            more = f"\n  and {left:,} more, in report.html" if left > 0 else ""
            parts.append(f"{table.title}:\n{aligned(table.rows[: table.most + 1], table.numbers)}{more}")
    return "\n\n".join(parts)


def page(report: Report) -> str:
    """A report as the text of a page."""
    title = _text(report.title)
    sections = [f"<h1>{title}</h1><p>{_text(report.about)}</p>"]
    sections += [f"<p><strong>{_text(warning)}</strong></p>" for warning in report.warnings]
    for table in report.tables:
        if len(table.rows) > 1:
            curves = _curves(report.epochs) if table.title == "Epochs" else ""
            sections.append(f"<h2>{_text(table.title)}</h2>{curves}\n{_html_table(table)}")
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>{title}</title>\n'
        f"<style>{_STYLE}</style>\n</head>\n<body>\n" + "\n".join(sections) + "\n</body>\n</html>\n"
    )


def aligned(rows: Sequence[Row], right: bool) -> str:
    """Rows as a table in text; all columns but the first stand to the right, or none."""
    cells = [[printable(shortened(cell, _CELL)) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = []
    for row in cells:
        first, *rest = (
            cell.rjust(width) if right and number else cell.ljust(width)
            for number, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        lines.append("  ".join(["", first, *rest]).rstrip())
    return "\n".join(lines)


def _html_table(table: Table) -> str:
    header, *rows = table.rows
    lines = ["".join(f"<th>{_text(cell)}</th>" for cell in header)]
    for number, row in enumerate(rows):
        cells = []
        for place, cell in enumerate(row):
            kind = ' class="n"' if table.numbers and place else ""
            if table.shades and place:
                kind += (
                    f' style="background: rgba(40, 110, 200, {0.6 * table.shades[number][place - 1]:.2f})"'
                )
            cells.append(f"<td{kind}>{_text(cell)}</td>")
        lines.append("".join(cells))
    body = "\n".join(f"<tr>{line}</tr>" for line in lines)
    return f'<div class="scroll"><table>\n{body}\n</table></div>'


def _series(epochs: Sequence[Epoch]) -> dict[str, list[float]]:
    """The loss and the figures over the epochs; NaN where one is missing."""
    names = dict.fromkeys(name for epoch in epochs for name in epoch.figures)
    figures = {name: [epoch.figures.get(name, float("nan")) for epoch in epochs] for name in names}
    return {"loss": [epoch.loss for epoch in epochs], **figures}


def _curves(epochs: Sequence[Epoch]) -> str:
    """The loss and the figures over the epochs, each between its own least and most."""
    width, height, margin = 640, 200, 10
    lines, legend = [], []
    colours = ("#c33", "#26c", "#292", "#a3a", "#880")
    for (name, values), colour in zip(_series(epochs).items(), colours, strict=False):
        points = [(place, value) for place, value in enumerate(values) if value == value]
        if len(points) < 2:
            continue
        least, most = min(value for _, value in points), max(value for _, value in points)
        across, up = (width - 2 * margin) / (len(values) - 1), (height - 2 * margin) / ((most - least) or 1.0)
        places = " ".join(
            f"{margin + across * x:.1f},{height - margin - up * (y - least):.1f}" for x, y in points
        )
        lines.append(f'<polyline fill="none" stroke="{colour}" stroke-width="2" points="{places}"/>')
        legend.append(f'<span style="color: {colour}">{_text(name)}</span> {least:.4g} to {most:.4g}')
    drawing = f'<svg width="{width}" height="{height}" role="img" aria-label="curves">{"".join(lines)}</svg>'
    return f"{drawing}<p>{'; '.join(legend)}</p>" if lines else ""


def _text(text: str) -> str:
    """Foreign text for a page."""
    return escape(printable(text))
