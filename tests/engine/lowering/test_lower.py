"""The table of core forms is complete."""

from arrows.combinators import CORE_FORMS
from arrows.engine.lowering.lower import EMITTERS


def test_every_core_form_has_an_emitter():
    assert set(EMITTERS) == set(CORE_FORMS)
