"""What is drawn: boxes, frames, types on the wires, the way back of a recursion, and what is folded up."""

from __future__ import annotations

import sys
import time

import pytest

import arrows as ar
from arrows.drawing import draw
from arrows.drawing.blocks import BOXES, piece_of, untyped as untyped_tree
from arrows.drawing.svg import to_svg
from tests.drawing import examples
from tests.drawing.geometry import feeds, overlap, parse_svg


def untyped(block):
    return to_svg(piece_of(untyped_tree(block)))


def words(svg):
    return [text for text, _ in parse_svg(svg).texts]


class Unheard(ar.Block):
    """A form that drawing does not know."""

    def __init__(self, *parts):
        self._parts = parts


TABLE = ar.Embedding(5, 3, name="table")
VECTORS = ar.Map(ar.Vector(3))


@pytest.mark.parametrize(
    ("block", "said"),
    [
        (Unheard() >> ar.Scalar(), {"Unheard()", "Scalar('float32')"}),
        (Unheard(ar.Map(ar.Vector(3) >> ar.FC(2)), ar.FC(2)), {"Unheard", "Map", "Vector(3)", "FC(2)"}),
        (VECTORS >> ar.Conv1d(2, 3, padding=1), {"Map(Vector(3))", "Conv1d(2, 3, padding=1)"}),
        (ar.Vector(3) >> TABLE.attend, {"table.attend"}),
        (ar.GetItem("x", default=0) >> ar.Scalar(), {"GetItem('x', default=0)"}),
        (ar.Optional(ar.Scalar(), ar.Constant(1.0)), {"Optional(Scalar('float32'))"}),
        ((VECTORS & ar.Vector(3)) >> ar.Fold(ar.GetItem(1), initial_state_from_input=True), {"Fold"}),
        (
            (ar.Vector(3) & ar.Scalar("int32")) >> ar.SoftmaxCrossEntropy(label_smoothing=0.1, name="loss"),
            {"loss"},
        ),
        (examples.crossing, {"crossing(a, b)", "a", "b", "first", "second", "both"}),
        (
            examples.MODELS["cases"](),
            {"case 0", "key", "chooses the case", "... 30 more", "case 39", "GetItem(39)"},
        ),
        (examples.chain(299), {"step 20", "... 277 more", "step 298"}),
        (examples.MODELS["wide"](), {"'field 9'", "... 89 more", "'field 99'", "number 99"}),
        (ar.Scalar(name="\u6728\u306e\u8449"), {"\u6728\u306e\u8449"}),
    ],
    ids=lambda x: min(x) if isinstance(x, set) else "",
)
def test_what_blocks_are_called(block, said):
    """A block is drawn with what it was made of, typed or not."""
    assert set(words(draw(block))) >= said <= set(words(untyped(block)))


def test_types_stand_at_the_wires_and_in_the_frames():
    found = words(draw(ar.Map(ar.Vector(3) >> ar.FC(2))))
    assert found.count("Input") == 2  # what flows in, and an element of it
    assert {"Map", "Vector(3)", "FC(2)", "float32[3]", "float32[2]", "Sequence(float32[2])"} <= set(found)


def test_an_untyped_drawing_has_the_same_boxes():
    for name in ("sentiment", "tagger", "mutual", "crossing", "even", "declared", "composed"):
        block = examples.MODELS[name]()
        assert set(words(untyped(block))) <= set(words(draw(block)))


@pytest.mark.parametrize(("name", "knots"), [("sentiment", 1), ("mutual", 2), ("declared", 1)])
def test_a_recursion_leads_back_to_where_it_begins(name, knots):
    svg = draw(examples.MODELS[name]())
    picture = parse_svg(svg)
    again = [rect for style, rect in picture.shapes if style == "box again"]
    ways = [way for style, way in picture.ways if style == "loop"]
    assert svg.count('<polygon class="back"') == knots
    for (x, y), *_ in ways:  # each begins at a reference, or where another way goes on
        near = (x - 1, y - 1, 2, 2)
        ends = [other[-1] for other in ways]
        touched = [rect for rect in again if overlap(type(rect)(*near), rect)]
        assert touched or any(abs(x - ex) < 1 and abs(y - ey) < 1 for ex, ey in ends)


def test_wires_lead_from_what_is_read_to_what_reads_it():
    def function(name):
        return ar.Function(lambda u, v: u + v, name=name)

    @ar.arrow
    def body(a, b):
        x, y = ar.Scalar(name="x")(a), ar.Scalar(name="y")(b)
        first = function("first")(y, x)
        both = (ar.GetItem(0) & ar.GetItem(1))(first, x)
        return function("last")(function("second")(first, first), both[0]), y

    found = feeds(draw(body))
    assert found == {
        *[("dot", "frame"), ("dot", "a"), ("dot", "b"), ("a", "x"), ("b", "y"), ("x", "first")],
        *[("y", "first"), ("first", "second"), ("second", "last"), ("first", "( , )"), ("x", "( , )")],
        *[("( , )", "GetItem(0)"), ("( , )", "GetItem(1)"), ("GetItem(0)", "( , )"), ("GetItem(1)", "( , )")],
        *[("GetItem(0)", "last"), ("last", "( , )"), ("y", "( , )"), ("( , )", "dot")],
    }
    assert feeds(draw(examples.MODELS["cases"]())) >= {("case 0", "GetItem(0)"), ("Scalar('float32')", "dot")}
    assert ("chooses the case", "dot") not in feeds(draw(examples.MODELS["cases"]()))
    elements = draw(ar.Map(ar.Vector(3) >> ar.Tap("t")))
    assert len(parse_svg(elements).ways) == 4  # none from the element to the frame
    assert feeds(elements) == {
        *[("dot", "frame"), ("dot", "Vector(3)"), ("Vector(3)", "Tap('t')"), ("frame", "dot")],
    }


def test_what_several_places_share_is_drawn_once():
    for block, word in [
        (examples.even, "fix even"),
        (examples.even, "fix odd"),
        (examples.composed(), "whole"),
    ]:
        assert words(draw(block)).count(word) == 1
    shared = ar.Map(ar.Vector(3) >> ar.FC(2, name="twice"))
    assert "Map (as above)" in words(draw(shared & shared >> ar.Sum()))


def test_what_is_nested_too_deep_is_folded_up():
    assert any(word.endswith(": ... more inside") for word in words(draw(examples.nested(40))))
    assert not any(word.endswith(": ... more inside") for word in words(draw(examples.nested(3))))


@pytest.mark.parametrize(
    "make",
    [
        lambda: examples.chain(10_000),
        lambda: examples.nested(5_000),
        lambda: examples.fans(1_000),
        lambda: ar.Record({i: ar.Scalar() for i in range(5_000)}),
        lambda: examples.doubled(200),
        lambda: examples.bushy(12),
    ],
    ids=["chain", "nested", "fans", "record", "doubled", "bushy"],
)
def test_the_largest_expressions_are_drawn_in_no_time(make):
    block = make()
    start = time.process_time()
    svg = untyped(block)
    assert time.process_time() - start < 10
    assert svg.count('class="box') < 1.2 * BOXES
    assert " more" in svg or "(as above)" in svg


def test_odd_names_are_escaped_everywhere():
    block = examples.MODELS["odd names"]()
    for text in (draw(block), block._repr_html_()):
        text.encode("utf-8")
        assert "<b>" not in text and "\x1b" not in text and "\x00" not in text


# Notebooks


def picture(html):
    return html[html.index("<svg") : html.index("</svg>") + 6]


def test_a_notebook_shows_drawing_and_tree():
    block = ar.Vector(3) >> ar.FC(2)
    assert parse_svg(picture(block._repr_html_())).texts
    assert "Vector(3) &gt;&gt; FC(2): Input -&gt; float32[2]" in block._repr_html_()


def test_a_notebook_shows_the_error_in_place_of_types():
    html = (ar.Vector(3) >> ar.Vector(4))._repr_html_()
    assert "ArrowTypeError: cannot compose Vector(3) &gt;&gt; Vector(4)" in html
    assert "Vector(4)</text>" in html and 'class="type"' not in html
    assert parse_svg(picture(html)).texts


def test_a_notebook_never_sees_an_exception(monkeypatch):
    def fail(*_: object) -> None:
        raise RuntimeError

    monkeypatch.setattr(sys.modules["arrows.drawing.draw"], "piece_of", fail)
    assert ar.Scalar()._repr_html_() is None
