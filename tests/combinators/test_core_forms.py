from itertools import permutations

import arrows as ar
from arrows.combinators import CORE_FORMS, core_form


def test_no_core_form_derives_from_another():
    assert not [pair for pair in permutations(CORE_FORMS, 2) if issubclass(*pair)]


def test_a_core_form_is_the_class_that_a_block_derives_from():
    assert core_form(ar.Zeros([3])) is ar.Constant
    assert core_form(ar.GetItem(0) >> ar.Scalar()) is ar.Pipe
    assert core_form(ar.FC(3)) is ar.combinators.Apply
