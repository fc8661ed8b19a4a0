"""Nothing overlaps and nothing sticks out, in pixels and in characters, with types and without."""

from __future__ import annotations

import pytest
from hypothesis import given

import arrows as ar
from arrows.drawing import CHARACTERS, PIXELS, lay_out, scene_of, to_svg
from tests import generate
from tests.drawing import examples, geometry
from tests.profile import draws


@pytest.mark.parametrize("measures", [PIXELS, CHARACTERS], ids=["pixels", "characters"])
@pytest.mark.parametrize("name", examples.MODELS)
def test_models(name, measures):
    block = examples.MODELS[name]()
    for scene in (scene_of(ar.infer(block)), scene_of(block)):
        drawing = lay_out(scene, measures)
        geometry.check(drawing)
        if measures is PIXELS:
            geometry.check_svg(to_svg(drawing, name))


@draws(20, 1000)
@given(generate.cases())
def test_random_blocks(case):
    for scene in (scene_of(ar.infer(case.block)), scene_of(case.block)):
        drawing = lay_out(scene, PIXELS)
        geometry.check(drawing)
        geometry.check_svg(to_svg(drawing))
        geometry.check(lay_out(scene, CHARACTERS))
