"""What came of a run, as a value, and as text for a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from arrows.cli.fit.task import Miss, figure_text
from arrows.metrics import ConfusionMatrix
from arrows.training import Epoch
from arrows.typesys.quoting import printable, shortened

SNIPPET = 200  # characters of a document that a report shows
_WIDEST = 20  # classes that a terminal shows
_MOST_CONFUSIONS = 20  # pairs of classes, where a matrix of all would be too wide
_CELL = 100  # characters of a cell of a table

Figures = Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What came of a run.

    Attributes:
        data: the name of the file.
        label: the field that is predicted.
        task: what it is, in words.
        warnings: what makes the figures doubtful.
        settings: the options of the run and its seed, by name.
        counts: how many examples each part has.
        figures: by part: of the model, and of the best guess that reads no document.
        spread: the standard deviations of the figures over folds, by part.
        part: that to which matrix and misses belong.
        matrix: of classes.
        misses: the worst predictions, the worst first.
        decisions: how each path is read.
        epochs: of the run.
        best: the number of the epoch whose model was kept.
    """

    data: str
    label: str
    task: str
    warnings: Sequence[str]
    settings: Mapping[str, str]
    counts: Mapping[str, int]
    figures: Mapping[str, tuple[Figures, Figures]]
    spread: Mapping[str, Figures]
    part: str
    matrix: ConfusionMatrix | None
    misses: Sequence[Miss]
    decisions: Sequence[tuple[str, str, str]]
    epochs: Sequence[Epoch]
    best: int


def text_report(report: Report) -> str:
    """A report for the terminal; control characters of documents are escaped."""
    parts = [*report.warnings, _figures(report)]
    if report.matrix is not None:
        header, *rows = class_rows(report.matrix)
        parts.append(f"By class ({report.part}):\n{aligned([header, *rows[:_WIDEST]])}")
        if len(rows) > _WIDEST:
            parts[-1] += f"\n  and {len(rows) - _WIDEST:,} classes of fewer examples, in report.html"
        if len(rows) <= _WIDEST:
            rows = matrix_rows(report.matrix)
            parts.append(f"Correct classes (lines) and predicted ones ({report.part}):\n{aligned(rows)}")
        else:
            rows = confusion_rows(report.matrix)
            parts.append(f"Most frequent confusions ({report.part}):\n{aligned(rows)}")
    if report.misses:
        lines = [
            f"{printable(miss.example.place)}: {printable(str(miss.example.label)[:60])}, predicted "
            f"{printable(miss.predicted[:60])} ({miss.wrong:.3g})\n    {printable(snippet(miss))}"
            for miss in report.misses[:10]
        ]
        parts.append(f"The most wrong examples ({report.part}):\n" + "\n".join(lines))
    rows = [("path", "read as", "because the samples have")]
    rows += report.decisions
    parts.append("How documents are read:\n" + aligned(rows, right=False))
    return "\n\n".join(parts)


def _figures(report: Report) -> str:
    rows = aligned(figure_rows(report))
    return f"Figures; {figures_are(report)}:\n{rows}"


def figures_are(report: Report) -> str:
    """What the figures are beside those of the model."""
    spread = ", ± is the standard deviation over the folds" if report.spread else ""
    return f"the baseline is the best guess that reads no document{spread}"


def figure_rows(report: Report) -> list[tuple[str, ...]]:
    """Each figure of each part, of the model and of the best guess."""
    rows: list[tuple[str, ...]] = [("", "model", "baseline")]
    for part, (model, baseline) in report.figures.items():
        spread = report.spread.get(part, {})
        rows += [
            (
                f"{part} {name}",
                figure_text(value) + (f" ± {spread[name]:.2g}" if name in spread else ""),
                figure_text(baseline[name]),
            )
            for name, value in model.items()
        ]
    return rows


def class_rows(matrix: ConfusionMatrix) -> list[tuple[str, ...]]:
    """Precision, recall and F1 of each class, and how many examples it has.

    Many classes stand in the order of their examples.
    """
    rows: list[tuple[str, ...]] = [("class", "precision", "recall", "F1", "examples")]
    precision, recall, f1 = matrix.precision(), matrix.recall(), matrix.f1()
    counts = [*zip(matrix.names, matrix.counts.sum(axis=1).tolist(), strict=True)]
    if len(counts) > _WIDEST:
        counts.sort(key=lambda pair: -pair[1])
    for name, count in counts:
        numbers = (share_text(values[name]) for values in (precision, recall, f1))
        rows.append((name, *numbers, f"{count:,}"))
    return rows


def matrix_rows(matrix: ConfusionMatrix) -> list[tuple[str, ...]]:
    """How often each class is taken for each."""
    rows: list[tuple[str, ...]] = [("", *matrix.names)]
    counts = matrix.counts.tolist()
    return [*rows, *((name, *map(str, row)) for name, row in zip(matrix.names, counts, strict=True))]


def confusion_rows(matrix: ConfusionMatrix) -> list[tuple[str, ...]]:
    """Which class is taken for which other one most often."""
    wrong = matrix.counts - np.diag(np.diag(matrix.counts))
    pairs = [(int(wrong[row, column]), row, column) for row, column in zip(*np.nonzero(wrong), strict=True)]
    pairs.sort(key=lambda pair: (-pair[0], pair[1:]))
    rows = [(matrix.names[row], matrix.names[column], f"{count:,}") for count, row, column in pairs]
    return [("correct", "predicted", "examples"), *rows[:_MOST_CONFUSIONS]]


def share_text(value: float) -> str:
    """A share; nothing where it is one of no examples."""
    return f"{value:.3f}" if value == value else "-"


def snippet(miss: Miss) -> str:
    """The beginning of a document, as JSON."""
    return shortened(miss.example.text, SNIPPET)


def aligned(rows: Sequence[Sequence[str]], *, right: bool = True) -> str:
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
