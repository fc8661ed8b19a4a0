"""A report as one HTML page, without scripts and without anything from the net.

Examples are foreign text: all of it goes through `_cell` or `escape`.  The page has no times and no paths of
this machine, so equal runs write equal pages.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path

from arrows.cli.fit.report import (
    Report,
    class_rows,
    confusion_rows,
    figure_rows,
    figures_are,
    matrix_rows,
    snippet,
)
from arrows.cli.fit.task import figure_text
from arrows.metrics import ConfusionMatrix
from arrows.training import Epoch
from arrows.typesys.quoting import printable

_STYLE = """
body { font: 15px/1.45 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2rem; }
table { border-collapse: collapse; } th, td { padding: .2rem .6rem; border-bottom: 1px solid #ddd; }
th { text-align: left; font-weight: 600; } td.n { text-align: right; font-variant-numeric: tabular-nums; }
code { font-size: .85rem; overflow-wrap: anywhere; } .scroll { overflow-x: auto; }
svg { background: #fafafa; border: 1px solid #ddd; }
"""
_CURVE = (640, 200)  # width and height of the drawing, in pixels
_MARGIN = 10
_WIDEST = 100  # classes whose confusion matrix is shown


def page(report: Report) -> str:
    """The text of the page."""
    counts = ", ".join(f"{count:,} {name}" for name, count in report.counts.items())
    about = (
        f"Predicts {_text(report.task)}. Examples: {_text(counts)}. The model is that of epoch {report.best} "
        f"of {len(report.epochs)}."
    )
    sections = [
        f"<h1>{_text(report.label)} of {_text(report.data)}</h1>",
        f"<p>{about}</p>",
        *(f"<p><strong>{_text(warning)}</strong></p>" for warning in report.warnings),
        f"<h2>Figures</h2><p>{_text(figures_are(report).capitalize())}.</p>",
        _table(figure_rows(report)),
    ]
    if report.matrix is not None:
        sections += [
            f"<h2>By class ({_text(report.part)})</h2>",
            _table(class_rows(report.matrix)),
        ]
        sections += (
            [
                f"<h2>Correct classes (lines) and predicted ones ({_text(report.part)})</h2>",
                _shaded(report.matrix),
            ]
            if len(report.matrix.names) <= _WIDEST
            else [
                f"<h2>Most frequent confusions ({_text(report.part)})</h2>",
                _table(confusion_rows(report.matrix), numbers=(2,)),
            ]
        )
    if report.misses:
        rows = [("where", "label", "predicted", _wrong(report), "document")]
        rows += [
            (
                Path(miss.example.place).name,
                str(miss.example.label),
                miss.predicted,
                f"{miss.wrong:.3g}",
                snippet(miss),
            )
            for miss in report.misses
        ]
        sections += [
            f"<h2>The most wrong examples ({_text(report.part)})</h2>",
            _table(rows, code=4, numbers=(3,)),
        ]
    sections += ["<h2>How documents are read</h2>"]
    decisions = [("path", "read as", "because the samples have"), *report.decisions]
    sections += [_table(decisions, code=0, numbers=()), "<h2>Epochs</h2>", _curves(report.epochs)]
    sections.append(_table(_epoch_rows(report.epochs)))
    settings = [("option", "value"), *report.settings.items()]
    sections += ["<h2>Settings</h2>", _table(settings, numbers=())]
    title = _text(f"{report.label} of {report.data}")
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>{title}</title>\n'
        f"<style>{_STYLE}</style>\n</head>\n<body>\n" + "\n".join(sections) + "\n</body>\n</html>\n"
    )


def _wrong(report: Report) -> str:
    return "probability" if report.matrix is not None else "distance"


def _epoch_rows(epochs: Sequence[Epoch]) -> list[tuple[str, ...]]:
    names = list(dict.fromkeys(name for epoch in epochs for name in epoch.figures))
    rows: list[tuple[str, ...]] = [("epoch", "loss", *names)]
    for epoch in epochs:
        figures = (figure_text(epoch.figures[name]) if name in epoch.figures else "" for name in names)
        rows.append((str(epoch.number), f"{epoch.loss:.4g}", *figures))
    return rows


def _table(
    rows: Sequence[Sequence[str]], *, code: int | None = None, numbers: Iterable[int] | None = None
) -> str:
    """A table; all columns but the first hold numbers unless `numbers` says which do."""
    aligned = set(range(1, len(rows[0])) if numbers is None else numbers)
    lines = ["<tr>" + "".join(f"<th>{_text(cell)}</th>" for cell in rows[0]) + "</tr>"]
    for row in rows[1:]:
        cells = []
        for number, cell in enumerate(row):
            inner = f"<code>{_text(cell)}</code>" if number == code else _text(cell)
            cells.append(f'<td class="n">{inner}</td>' if number in aligned else f"<td>{inner}</td>")
        lines.append(f"<tr>{''.join(cells)}</tr>")
    return '<div class="scroll"><table>\n' + "\n".join(lines) + "\n</table></div>"


def _shaded(matrix: ConfusionMatrix) -> str:
    """The confusion matrix; a cell is the darker, the more of its line it has."""
    header, *rows = matrix_rows(matrix)
    lines = ["<tr>" + "".join(f"<th>{_text(cell)}</th>" for cell in header) + "</tr>"]
    for (name, *cells), counts in zip(rows, matrix.counts.tolist(), strict=True):
        total = sum(counts) or 1
        shades = (
            f'<td class="n" style="background: rgba(40, 110, 200, {0.6 * count / total:.2f})">{cell}</td>'
            for cell, count in zip(cells, counts, strict=True)
        )
        lines.append(f"<tr><th>{_text(name)}</th>{''.join(shades)}</tr>")
    return '<div class="scroll"><table>\n' + "\n".join(lines) + "\n</table></div>"


def _curves(epochs: Sequence[Epoch]) -> str:
    """The loss and the figures over the epochs, each between its own least and most."""
    series = {"loss": [epoch.loss for epoch in epochs]}
    for name in dict.fromkeys(name for epoch in epochs for name in epoch.figures):
        series[name] = [epoch.figures.get(name, float("nan")) for epoch in epochs]
    colours = ("#c33", "#26c", "#292", "#a3a", "#880")
    width, height = _CURVE
    lines, legend = [], []
    for (name, values), colour in zip(series.items(), colours, strict=False):
        finite = [value for value in values if value == value]
        if len(finite) < 2:
            continue
        least, span = min(finite), (max(finite) - min(finite)) or 1.0
        step = (width - 2 * _MARGIN) / (len(values) - 1)
        points = " ".join(
            f"{_MARGIN + step * place:.1f},"
            f"{height - _MARGIN - (height - 2 * _MARGIN) * (value - least) / span:.1f}"
            for place, value in enumerate(values)
            if value == value
        )
        lines.append(f'<polyline fill="none" stroke="{colour}" stroke-width="2" points="{points}"/>')
        legend.append(
            f'<span style="color: {colour}">{_text(name)}</span> {min(finite):.4g} to {max(finite):.4g}'
        )
    if not lines:
        return ""
    return (
        f'<svg width="{width}" height="{height}" role="img" aria-label="curves">{"".join(lines)}</svg>'
        f"<p>{'; '.join(legend)}</p>"
    )


def _text(text: str) -> str:
    """Foreign text for a page."""
    return escape(printable(text))
