"""Each table of inference has a row for each core form."""

from arrows.combinators import CORE_FORMS
from arrows.inference.forms import CHECKS, RULES


def test_every_core_form_has_a_rule():
    assert set(RULES) == set(CORE_FORMS)


def test_every_check_is_of_a_core_form():
    assert set(CHECKS) <= set(CORE_FORMS)
