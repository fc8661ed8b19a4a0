"""Wires refuse what they cannot do in words of their own, and answer those who only ask."""

from __future__ import annotations

import copy
import math
import pickle
from typing import Any

import numpy as np
import pytest

import arrows as ar
from arrows import ops
from arrows.typesys import ArrowTypeError

USES = {
    "tanh": ops.tanh,
    "concat": lambda x: ops.concat([x, x]),
    "concat of a tuple": lambda x: ops.concat((x, np.ones(2)), axis=1),
    "stack": lambda x: ops.stack([x, x]),
    "matmul": lambda x: ops.matmul(np.ones((2, 2)), x),
    "softmax": lambda x: ops.softmax(x, axis=0),
    "reshape": lambda x: ops.reshape(x, (1,)),
    "where": lambda x: ops.where(x, x, 0.0),
    "np.tanh": np.tanh,
    "np.concatenate": lambda x: np.concatenate([x, x]),
    "np.sum": np.sum,
    "np.ones * x": lambda x: np.ones(2) * x,
    "np.ones @ x": lambda x: np.ones(2) @ x,
    "np.float32 + x": lambda x: np.float32(2) + x,
    "math.tanh": math.tanh,
    "abs": abs,
    "modulo": lambda x: x % 2,
    "floor": lambda x: 2 // x,
}


@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_what_computes_says_to_make_it_a_block(use: Any) -> None:
    def body(x: Any) -> Any:
        return use(x)

    with pytest.raises(
        ArrowTypeError, match=r"(?s)^cannot calculate with a wire at test_wires\.py:\d+\n.*Function"
    ):
        ar.arrow(body)


def test_attributes_are_asked_for_without_harm() -> None:
    seen = []

    @ar.arrow
    def body(x: Any) -> Any:
        seen.append((hasattr(x, "word"), hasattr(x, "__len__"), getattr(x, "rows", 3), callable(x)))
        with pytest.raises(AttributeError, match=r"x\['word'\]"):
            x.word
        copy.copy(x)
        with pytest.raises(AttributeError):
            ar.Wire.__new__(ar.Wire).key
        return x

    assert seen == [(False, True, 3, False)]
    pickle.dumps(body)
