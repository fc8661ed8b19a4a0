"""Draws the curves of a run, by Matplotlib (`arrows[plot]`)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from arrows.files import replacing, require_path, require_replaceable
from arrows.training.callbacks import Log
from arrows.training.progress import Epoch
from arrows.typesys import ArrowValueError
from arrows.typesys.errors import MissingExtraError


class CurvePlot(Log):
    """Draws loss, learning rate and figures by step, anew after each epoch; of a resumed run what came since.

    Args:
        path: the picture, in a folder that exists; the suffix says which format: `.png`, `.svg`, `.pdf`.
        every: of the steps, only each so-manieth is drawn.

    Raises:
        ArrowValueError: Matplotlib does not write such pictures.
        MissingExtraError: Matplotlib is missing: pip install 'arrows[plot]'.
        OSError: the picture cannot be written.

    >>> CurvePlot("/nowhere/curves.png")
    Traceback (most recent call last):
    ...
    FileNotFoundError: [Errno 2] no such folder: '/nowhere'
    """

    def __init__(self, path: str | Path, *, every: int = 1) -> None:
        super().__init__(every=every)
        self.path = require_path("CurvePlot: path", path)
        require_replaceable(self.path)
        formats = _figure()().canvas.get_supported_filetypes()  # better known now than after an epoch
        if self._format not in formats:
            raise ArrowValueError(
                f"CurvePlot: {self.path} should end in the name of a format of pictures, such as .png; there "
                f"are {', '.join(sorted(formats))}"
            )
        self.curves: dict[str, list[tuple[int, float]]] = {}

    @property
    def _format(self) -> str:
        return self.path.suffix.lstrip(".").lower() or "png"

    def write(self, step: int, numbers: Mapping[str, float], /) -> None:
        for name, number in numbers.items():
            self.curves.setdefault(name, []).append((step, number))

    def after_epoch(self, epoch: Epoch, /) -> None:
        super().after_epoch(epoch)
        self.draw()

    def draw(self) -> None:
        """Draws what is known so far."""
        evaluations = [name for name in self.curves if name.startswith("evaluation/")]
        panels = [["loss", "epoch/loss"], evaluations, ["learning_rate"]]
        shown = [[name for name in panel if self.curves.get(name)] for panel in panels]
        shown = [panel for panel in shown if panel]
        figure = _figure()(figsize=(7.0, 2.4 * max(len(shown), 1)), layout="constrained")
        all_axes = list(figure.subplots(len(shown), 1, sharex=True, squeeze=False).flat) if shown else []
        for axes, panel in zip(all_axes, shown, strict=True):
            for name in panel:
                steps = [step for step, _ in self.curves[name]]
                numbers = [number for _, number in self.curves[name]]
                axes.plot(steps, numbers, label=name, linewidth=1.2, marker="." if len(steps) < 50 else "")
            axes.legend(frameon=False)
            axes.grid(alpha=0.3)
            axes.set_xlabel("steps" if axes is all_axes[-1] else "")
        with replacing(self.path) as file:
            figure.savefig(file, format=self._format)


def _figure() -> Any:
    """Matplotlib's class of figures, which needs no window."""
    try:
        from matplotlib.figure import Figure
    except ModuleNotFoundError as error:
        raise MissingExtraError("curves are drawn by Matplotlib", "plot", error.name) from None
    return Figure
