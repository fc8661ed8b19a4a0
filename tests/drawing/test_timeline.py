"""A batch's schedule as a picture."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import arrows as ar
from arrows.drawing import draw_timeline
from arrows.engine.scheduling import Timeline

TREES = [{"xs": [1, 2, 3]}, {"xs": []}, {"xs": [4, 5]}]


def model(schedule="strata"):
    add = ar.Function(lambda total, x: total + x, name="a & <b>")
    sums = ar.GetItem("xs") >> ar.Map(ar.Scalar()) >> ar.Fold(add, ar.Zeros([]))
    return ar.compile(sums >> ar.Function(lambda x: x * x, name="square"), schedule=schedule)


def test_the_timeline_is_the_schedule():
    found = model().timeline(TREES)
    assert found == Timeline("strata", 3, ("a & <b>", "square"), ((0, 2), (0, 2), (0, 1), (1, 3)))
    assert found.rows == 8
    assert model("none").timeline(TREES).steps == ((0, 1),) * 3 + ((1, 1),) * 2 + ((0, 1),) * 2 + ((1, 1),)
    assert model().timeline([]).steps == ()


def test_text():
    lines = draw_timeline(model().timeline(TREES)).splitlines()
    assert str(model().timeline(TREES)).splitlines() == lines  # so `print` draws it
    assert lines[0] == "strata: 3 examples, 4 steps, 8 rows"
    assert lines[2] == "a & <b>  ▆▆▃     3 steps, 5 rows"
    assert lines[3] == "square      █    1 step, 3 rows"
    assert draw_timeline(model().timeline([])).startswith("strata: 0 examples, 0 steps, 0 rows")


def test_long_schedules_share_columns():
    long = Timeline("depth", 1, ("a",), ((0, 1),) * 1001)
    lines = draw_timeline(long).splitlines()
    assert max(map(len, lines)) < 130 and lines[-1] == "a column stands for 11 steps"


def test_svg_has_a_box_a_step_inside_the_picture():
    for schedule in (model().timeline(TREES), Timeline("depth", 1, ("a", "b"), ((0, 1), (1, 9)) * 1000)):
        assert schedule._repr_svg_() == draw_timeline(schedule, "svg")  # so a notebook shows it
        root = ET.fromstring(draw_timeline(schedule, "svg"))
        width, height = float(root.get("width")), float(root.get("height"))
        boxes = [e for e in root.iter() if e.get("class") == "box layer"]
        assert len(boxes) == len(schedule.steps)
        right = -1.0
        for box, (_, rows) in zip(boxes, schedule.steps, strict=True):
            x, y, w, h = (float(box.get(k)) for k in ("x", "y", "width", "height"))
            assert right <= x and x + w <= width and y >= 0 and y + h <= height
            right = x + w - 0.1
            assert re.search(rf"{rows} rows?$", box[0].text)
    empty = ET.fromstring(draw_timeline(Timeline("strata", 0, (), ()), "svg"))
    assert float(empty.get("width")) > 0
