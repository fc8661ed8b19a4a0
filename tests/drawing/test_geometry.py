"""Nothing overlaps and nothing sticks out, with types and without."""

from __future__ import annotations

import pytest
from hypothesis import given

from arrows.drawing import draw
from arrows.drawing.blocks import piece_of, untyped
from arrows.drawing.svg import to_svg
from tests import generate
from tests.drawing import examples
from tests.drawing.geometry import check_svg
from tests.profile import draws


@pytest.mark.parametrize("name", examples.MODELS)
def test_models(name):
    block = examples.MODELS[name]()
    check_svg(draw(block))
    check_svg(to_svg(piece_of(untyped(block))))


@draws(20, 1000)
@given(generate.cases())
def test_random_blocks(case):
    check_svg(draw(case.block))
    check_svg(to_svg(piece_of(untyped(case.block))))
