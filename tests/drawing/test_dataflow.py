"""Call sites as a picture: strata downwards, cycles as ways back, nothing overlaps."""

from __future__ import annotations

import random

import pytest

from arrows.drawing import CHARACTERS, PIXELS, draw_dataflow, lay_out
from arrows.drawing.dataflow import CALLS, flow_scene
from arrows.onthefly.dataflow import Dataflow, ObservedCall
from tests.drawing.geometry import check, parse_svg


def called(label, line, output, stratum):
    return ObservedCall(label=label, line=line, output=output, stratum=stratum)


RECURRENT = Dataflow(
    (
        called("values", "", "int32", 0),
        called("Embedding(9, 4)", "model.py:3", "float32[4]", 1),
        called("LSTMCell(4)", "model.py:5", "(float32[4], float32[4])", 2),
        called("FC(2)", "model.py:6", "float32[2]", 3),
    ),
    ((0, 1), (1, 2), (2, 2), (2, 3)),
)


def test_a_cycle_is_a_way_back_in_a_frame():
    scene = flow_scene(RECURRENT)
    (frame,) = [box for box in scene.boxes if box.scene is not None]
    assert frame.text == "stratum 2, step by step"
    entrance, cell, end = frame.scene.boxes
    assert entrance.is_dot and end.is_dot
    assert cell.text == "LSTMCell(4)  model.py:5" and cell.knot == frame.scene.knot
    assert frame.scene.wires == [(0, 1), (1, 2)]
    assert scene.wires == [(0, 1), (1, 2), (2, 3)]


def test_calls_of_one_stratum_stand_in_one_frame():
    calls = [called("a", "m.py:1", "float32", 0), *(called("f", f"m.py:{n}", "float32", 1) for n in (2, 3))]
    scene = flow_scene(
        Dataflow((*calls, called("add", "m.py:4", "float32", 2)), ((0, 1), (0, 2), (1, 3), (2, 3)))
    )
    frame = scene.boxes[1]
    assert frame.text == "stratum 1" and frame.scene.knot is None
    assert frame.scene.wires == [(0, 1), (0, 2), (1, 3), (2, 3)]


def test_no_program_is_drawn_too():
    assert "nothing has been computed yet" in draw_dataflow(Dataflow((), ()))
    assert "nothing has been computed yet" in draw_dataflow(Dataflow((), ()), "svg")


def test_what_is_too_large_is_folded_up():
    calls = tuple(called("f", "m.py:1", "float32", n) for n in range(CALLS + 1234))
    wires = tuple((n, n + 1) for n in range(len(calls) - 1))
    assert flow_scene(Dataflow(calls, wires)).boxes[-1].text == "... 1,234 more"


def test_svg_escapes_and_says_more():
    drawn = parse_svg(draw_dataflow(Dataflow((called("<b> & \x1b", "m.py:1", "float32", 0),), ()), "svg"))
    assert "<b> & \\x1b  m.py:1" in [text for text, _ in drawn.texts]


@pytest.mark.parametrize("seed", range(20))
def test_nothing_overlaps(seed):
    rng = random.Random(seed)
    count = rng.randrange(1, 20)
    strata = sorted(rng.randrange(8) for _ in range(count))
    calls = tuple(
        called("f" * rng.randrange(1, 50), f"m.py:{n}", "float32[4]", s) for n, s in enumerate(strata)
    )
    wires = {(rng.randrange(count), rng.randrange(count)) for _ in range(2 * count)}
    flow = Dataflow(calls, tuple(sorted((a, b) for a, b in wires if strata[a] <= strata[b])))
    scene = flow_scene(flow)
    for measures in (PIXELS, CHARACTERS):
        check(lay_out(scene, measures))
    for inner in (box.scene for box in scene.boxes if box.scene is not None):  # no dot stands alone
        wired = {place for wire in inner.wires for place in wire}
        assert wired >= {place for place, box in enumerate(inner.boxes) if box.is_dot}
