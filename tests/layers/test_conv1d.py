"""Names of a convolution's parameters; its numbers are tested beside windows."""

from __future__ import annotations

import arrows as ar


def test_its_parameters_go_by_its_kind():
    block = ar.Map(ar.Vector(2)) >> ar.Conv1d(3, 2) >> ar.Conv1d(3, 2, name="second")
    assert set(ar.compile(block).params) == {
        "Conv1d_1/weight", "Conv1d_1/bias", "second/weight", "second/bias",
    }  # fmt: skip
