"""Each table of inference has a row for each core form."""

from arrows.combinators import CORE_FORMS
from arrows.inference.constraints import CONSTRAINTS


def test_every_core_form_has_constraints():
    assert set(CONSTRAINTS) == set(CORE_FORMS)
