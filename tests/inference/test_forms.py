from arrows.combinators import CORE_FORMS
from arrows.inference.rules import CHECKS


def test_every_check_is_of_a_core_form():
    assert set(CHECKS) <= set(CORE_FORMS)
