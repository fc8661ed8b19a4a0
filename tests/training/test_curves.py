"""The picture of a run's curves."""

from __future__ import annotations

import sys

import pytest

import arrows as ar
from arrows.training import SGD, CurvePlot, train
from tests.training.test_loop import Bookkeeper


@pytest.mark.parametrize(("suffix", "start"), [(".png", b"\x89PNG"), (".svg", b"<?xml"), (".pdf", b"%PDF")])
def test_a_picture_after_each_epoch(tmp_path, suffix, start):
    pytest.importorskip("matplotlib")
    plot = CurvePlot(tmp_path / f"curves{suffix}", every=2)
    train(
        Bookkeeper(), [1.0] * 8, SGD(0.1), batch_size=2, evaluate=lambda: {"f": 0.5},
        callbacks=[plot], progress=False,
    )  # fmt: skip
    assert plot.path.read_bytes().startswith(start)
    assert plot.curves["loss"] == [(2, 1.0), (4, 1.0)] and plot.curves["evaluation/f"] == [(4, 0.5)]
    first = plot.path.stat().st_size
    plot.curves.clear()
    plot.draw()  # nothing to draw is an empty picture
    assert 0 < plot.path.stat().st_size < first


def test_a_format_that_is_none_is_refused_at_once(tmp_path):
    pytest.importorskip("matplotlib")
    with pytest.raises(ar.ArrowValueError, match=r"curves\.gof should end .* png"):
        CurvePlot(tmp_path / "curves.gof")
    assert CurvePlot(tmp_path / "curves.PNG") and CurvePlot(tmp_path / "curves")


def test_a_picture_without_matplotlib(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'arrows\[plot\]'"):
        CurvePlot(tmp_path / "curves.png")
