"""Each table of inference has a row for each core form."""

from arrows.combinators import CORE_FORMS
from arrows.inference.forms import CONSTRAINTS, FINAL_CHECKS


def test_every_core_form_has_constraints():
    assert set(CONSTRAINTS) == set(CORE_FORMS)


def test_every_final_check_is_of_a_core_form():
    assert set(FINAL_CHECKS) <= set(CORE_FORMS)
