"""An exception at any line of the package, as Ctrl-C or a timeout raises it, leaves a network whole."""

from __future__ import annotations

import linecache
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import arrows as ar
from tests.interrupts import interrupted, lines_of
from tests.profile import draws

EMBED, CELL, SCORE = ar.Embedding(6, 3, name="embed"), ar.LSTMCell(4, name="cell"), ar.FC(2)


def program(net: Any, *, whole: bool = True) -> list[float]:
    """The loss and what each gradient sums up to; a part of the program, or the whole of it."""
    with net.batch() as g:
        losses = []
        for words in ([1, 2], [4]):
            state = g.zeros(CELL.state)
            for word in words:
                state = CELL(EMBED(word), state)
            scores = SCORE(state[0])
            if whole:
                scores = ar.ops.tanh(scores * 2.0) + SCORE(CELL(EMBED(1), state)[0]) * g.tensor([1.0, 3.0])
            losses.append(ar.ops.sum(scores * scores))
        float(losses[0])
        loss, gradients = g.value_and_grad(g.mean(losses) + ar.Max()([losses[0], losses[1]]))
        dense = [
            each.to_dense(np) if hasattr(each, "to_dense") else each for _, each in sorted(gradients.items())
        ]
        return [float(loss), *(float(np.abs(each).sum()) for each in dense)]


def begun() -> Any:
    """A network that has run a part of the program: what is new in the whole is added to something."""
    net = ar.OnTheFly(seed=1)
    program(net, whole=False)
    return net


EXPECTED = program(ar.OnTheFly(seed=1))
LINES: list[Any] = []


@draws(5, 4000)
@given(st.data())
def test_a_network_goes_on_with_right_numbers_after_an_interrupt_at_any_line(data: st.DataObject) -> None:
    if not LINES:
        net = begun()
        LINES.extend(lines_of(lambda: program(net)))
        # Most lines are the engine's, most of what lasts is recorded here.
        LINES.extend(5 * [line for line in LINES if "onthefly" in line.code.co_filename])
    line = data.draw(st.sampled_from(LINES))
    visit = data.draw(st.integers(1, line.visits))
    net = begun()
    interrupted(lambda: program(net), line, visit)
    for _ in range(2):
        np.testing.assert_allclose(program(net), EXPECTED, rtol=1e-4)


def test_a_batch_whose_recording_was_interrupted_says_so() -> None:
    net = ar.OnTheFly()
    with net.batch() as g:
        x = g.tensor([1.0, 2.0])
        y = x * 2.0
        (line,) = [
            each
            for each in lines_of(lambda: ar.ops.tanh(x))
            if each.code.co_qualname == "LazyCalls._node" and "start.append" in source(each)
        ]
        interrupted(lambda: ar.ops.exp(x), line, 1)
        with pytest.raises(ar.ArrowValueError, match="interrupted while it recorded a call"):
            y.numpy()


def source(line: Any) -> str:
    """The text of a line."""
    return linecache.getline(line.code.co_filename, line.line)
