"""What is drawn: boxes, frames, types on the wires, the way back of a recursion, and what is folded up."""

from __future__ import annotations

import re
import sys
import time

import pytest

import arrows as ar
from arrows.drawing import CHARACTERS, lay_out, scene_of, to_ascii, to_mermaid, to_page, to_svg, to_text
from tests.drawing import examples
from tests.drawing.geometry import parse_svg


def every_scene(block):
    found = [scene_of(block)]
    for scene in found:
        found.extend(box.scene for box in scene.boxes if box.scene is not None)
    return found


def words(block):
    return [box.text for scene in every_scene(block) for box in scene.boxes if box.text]


def texts(block):
    return [text for text, _ in parse_svg(to_svg(lay_out(scene_of(block)))).texts]


class Unheard(ar.Block):
    """A form that drawing does not know."""

    def __init__(self, *parts):
        self._parts = parts


def test_a_form_that_drawing_does_not_know_is_a_plain_box_or_a_frame_around_its_parts():
    assert words(Unheard() >> ar.Scalar()) == ["Unheard()", "Scalar('float32')"]
    found = words(Unheard(ar.Map(ar.Vector(3) >> ar.FC(2)), ar.FC(2)))
    assert {"Unheard", "Map", "Vector(3)", "FC(2)"} <= set(found)


TABLE = ar.Embedding(5, 3, name="table")
VECTORS = ar.Map(ar.Vector(3))


@pytest.mark.parametrize(
    ("block", "said"),
    [
        (VECTORS >> ar.Conv1d(2, 3, padding=1), {"Conv1d(2, 3, padding=1)"}),
        (ar.Vector(3) >> TABLE.attend, {"table.attend"}),
        (ar.GetItem("x", default=0) >> ar.Scalar(), {"GetItem('x', default=0)"}),
        (ar.Optional(ar.Scalar(), ar.Constant(1.0)), {"Optional(Scalar('float32'))"}),
        ((VECTORS & ar.Vector(3)) >> ar.Fold(ar.GetItem(1), initial_state_from_input=True), {"Fold"}),
        (
            (ar.Vector(3) & ar.Scalar("int32")) >> ar.SoftmaxCrossEntropy(label_smoothing=0.1, name="loss"),
            {"loss"},
        ),
    ],
    ids=lambda x: next(iter(x)) if isinstance(x, set) else "",
)
def test_what_blocks_are_called(block, said):
    """A block is drawn with what it was made of, typed or not, as a picture and as characters."""
    for each in (block, ar.infer(block)):
        found = " ".join(texts(each)) + to_text(lay_out(scene_of(each), CHARACTERS)) + " ".join(words(each))
        assert all(word in found for word in said), found


def test_types_stand_at_the_wires_and_in_the_frames():
    found = texts(ar.infer(ar.Map(ar.Vector(3) >> ar.FC(2))))
    assert found.count("Input") == 2  # what flows in, and an element of it
    assert {"Map", "Vector(3)", "FC(2)", "float32[3]", "float32[2]", "Sequence(float32[2])"} <= set(found)


def test_an_untyped_drawing_has_the_same_boxes():
    for name in ("sentiment", "tagger", "mutual", "crossing", "even", "declared", "composed"):
        block = examples.MODELS[name]()
        both = [
            [box.text for scene in every_scene(x) for box in scene.boxes if box.style != "port"]
            for x in (block, ar.infer(block))
        ]
        assert both[0] == both[1]


def test_a_recursion_is_a_cycle():
    tree = ar.infer(examples.MODELS["sentiment"]())
    scene = scene_of(tree)
    loops = [box for inner in every_scene(tree) for box in inner.boxes if box.knot is not None]
    assert [box.text for box in loops] == ["tree", "tree"]
    lines = [line for line in lay_out(scene).lines if line.loop]
    assert sum(line.arrow for line in lines) == 1
    assert to_mermaid(scene).count("-.->") == 2


def test_ways_back_join_up_to_where_the_recursion_begins():
    for name in ("sentiment", "mutual"):
        drawing = lay_out(scene_of(ar.infer(examples.MODELS[name]())))
        loops = [line for line in drawing.lines if line.loop]
        starts = {line.points[0] for line in loops}
        corners = {point for line in loops for point in line.points}
        for line in loops:  # each ends at a port, or touches another way
            x, y = line.points[-1]
            touches = any(
                min(a, c) <= x <= max(a, c) and min(b, d) <= y <= max(b, d)
                for other in loops
                if other is not line
                for (a, b), (c, d) in zip(other.points, other.points[1:], strict=False)
            )
            assert line.arrow or touches or (x, y) in starts | corners - {line.points[-1]}


def test_mutual_recursion_goes_back_to_both():
    assert "lambda" not in words(ar.infer(examples.mutual))
    mermaid = to_mermaid(scene_of(ar.infer(examples.mutual)))
    assert len(set(re.findall(r"-\.->\|\"again\"\| (n\d+)", mermaid))) == 2


def test_a_composition_is_one_frame():
    whole = ar.infer(examples.composed())
    assert [word for word in words(whole) if word in ("whole", "Composition")] == ["whole"]
    assert "Composition" not in str(whole)


def test_definitions_that_refer_to_one_another_are_drawn_once():
    found = words(ar.infer(examples.even))
    assert found.count("fix even") == found.count("fix odd") == 1
    declared = examples.declared()
    assert words(ar.infer(declared)).count("fix expression") == 1
    assert "types" in declared._repr_html_()


def test_cases_fields_and_parameters_are_named():
    found = words(ar.infer(examples.crossing))
    assert found.count("a") == found.count("b") == 1
    assert "{first, second, both}" in found
    assert {"case 0", "key", "chooses the case", "... 30 more", "case 39"} <= set(
        words(ar.infer(examples.MODELS["cases"]()))
    )


def test_what_is_too_large_is_folded_up():
    assert "... 277 more" in words(ar.infer(examples.chain(299)))
    assert "... 89 more" in words(ar.infer(examples.MODELS["wide"]()))
    deep = words(ar.infer(examples.nested(40)))
    assert deep[-1].startswith("Map: ... ") and deep[-1].endswith(" inside")
    assert words(ar.infer(examples.nested(3)))[-1] != deep[-1]


@pytest.mark.parametrize(
    "make",
    [
        lambda: examples.chain(10_000),
        lambda: examples.nested(5_000),
        lambda: examples.fans(1_000),
        lambda: ar.Record({i: ar.Scalar() for i in range(5_000)}),
    ],
    ids=["chain", "nested", "fans", "record"],
)
def test_the_largest_expressions_are_drawn_in_no_time(make):
    block = make()
    start = time.process_time()
    scene = scene_of(block)
    svg, text = to_svg(lay_out(scene)), to_text(lay_out(scene, CHARACTERS))
    assert time.process_time() - start < 10
    assert len(svg) < 1_000_000 and ("more" in text or "inside" in text)


def test_a_block_that_stands_twice_in_one_that_stands_twice():
    block = ar.Scalar()
    for _ in range(200):
        block = (block & block) >> ar.Function(lambda x, y: x + y)
    start = time.process_time()
    to_svg(lay_out(scene_of(block)))
    assert block._repr_html_()
    assert time.process_time() - start < 10


def test_odd_names_are_escaped_everywhere():
    block = examples.MODELS["odd names"]()
    scene = scene_of(ar.infer(block))
    svg = to_svg(lay_out(scene), examples.ODD)
    parse_svg(svg)
    svg.encode("utf-8")
    assert "<b>" not in svg
    page = to_page(examples.ODD, svg, 100, examples.ODD, examples.ODD)
    page.encode("utf-8")
    assert "<b>" not in page and "\x1b" not in page
    for text in (to_text(lay_out(scene, CHARACTERS)), to_mermaid(scene)):
        text.encode("utf-8")
        assert "\x1b" not in text and "\x00" not in text
    to_ascii(to_text(lay_out(scene, CHARACTERS))).encode("ascii")
    for label in re.findall(r'"([^\n]*)"', to_mermaid(scene)):
        assert not set(label) & set('"<>`[]{}|')


def test_mermaid_has_every_box_and_wire():
    scene = scene_of(ar.infer(examples.MODELS["tagger"]()))
    text = to_mermaid(scene)
    names = re.findall(r"^ +(?:subgraph )?(n\d+)[\[(]", text, re.MULTILINE)
    assert (
        len(names)
        == len(set(names))
        == sum(len(s.boxes) for s in every_scene(ar.infer(examples.MODELS["tagger"]())))
    )
    ends = re.findall(r"^ +(n\d+) -[-.]+>.*? (n\d+)$", text, re.MULTILINE)
    assert {end for pair in ends for end in pair} <= set(names)
    assert text.count("subgraph") == len(re.findall(r"^ +end$", text, re.MULTILINE))


def test_texts_stay_in_their_columns():
    text = to_text(lay_out(scene_of(ar.infer(ar.Scalar(name="木の葉") >> ar.Void())), CHARACTERS))
    boxes = [line for line in text.splitlines() if "木" in line]
    assert boxes[0].strip().startswith("│ 木の葉") and boxes[0].endswith("│")


# Notebooks


def picture(html):
    return html[html.index("<svg") : html.index("</svg>") + 6]


def test_a_notebook_shows_drawing_and_tree():
    block = ar.Vector(3) >> ar.FC(2)
    assert parse_svg(picture(block._repr_html_())).texts
    assert "Vector(3) &gt;&gt; FC(2): Input -&gt; float32[2]" in block._repr_html_()


def test_a_notebook_shows_the_error_in_place_of_types():
    block = ar.Vector(3) >> ar.Vector(4)
    html = block._repr_html_()
    assert "ArrowTypeError: cannot compose Vector(3) &gt;&gt; Vector(4)" in html
    assert "Vector(4)</text>" in html and 'class="type"' not in html
    assert parse_svg(picture(html)).texts


def test_a_notebook_never_sees_an_exception(monkeypatch):
    def fail(*_: object) -> None:
        raise RuntimeError

    monkeypatch.setattr(sys.modules["arrows.drawing.draw"], "lay_out", fail)
    assert ar.Scalar()._repr_html_() is None
