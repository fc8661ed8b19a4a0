"""An exception at any line of the package, as Ctrl-C or a timeout raises it, leaves a network whole."""

from __future__ import annotations

import gc
from functools import partial
from typing import Any

import numpy as np
from hypothesis import given, strategies as st

import arrows as ar
from arrows.ops.context import in_own_context
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


@draws(5, 1000)
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


def test_values_enter_after_an_interrupt_of_the_first_of_their_type() -> None:
    for line in lines_of(partial(program, begun())):
        for visit in range(1, 1 + line.visits * (line.code.co_name in ("entrance", "_add"))):
            net = begun()
            assert interrupted(partial(program, net), line, visit)
            np.testing.assert_allclose(program(net), EXPECTED, rtol=1e-4)


def test_a_batch_goes_on_after_an_interrupt_at_any_line_that_records() -> None:
    ar.ops.tanh(np.ones(2))
    with ar.OnTheFly().batch() as g:
        x = g.tensor([1.0, 2.0])

        def call() -> Any:
            one, other = [CELL(y, g.zeros(CELL.state))[0] for y in (ar.ops.exp(x), x * x)]
            return ar.Sum()([one, ar.ops.tanh(other)])

        expected = call().numpy()
        for line in lines_of(call):
            interrupted(call, line, 1)
            np.testing.assert_array_equal(call().numpy(), expected)


def test_the_collector_is_as_before_after_an_interrupt_at_any_line() -> None:
    @in_own_context
    def batch() -> None:
        with ar.OnTheFly().batch() as g:
            float(g.tensor(1.0))

    before = gc.get_threshold()
    for line in lines_of(batch):
        if (line.code.co_name, line.line) != ("__exit__", line.code.co_firstlineno + 1):  # nothing has run
            assert interrupted(batch, line, 1) and gc.get_threshold() == before, line


def test_the_collector_is_rare_until_the_last_batch_is_over() -> None:
    gc.collect()  # a batch that was interrupted at the first line of `__exit__` counts as open
    net, before = ar.OnTheFly(), gc.get_threshold()
    try:
        for thresholds in (before, (7, 5, 3), (0, 10, 10), (5_000_000, 9, 9)):
            gc.set_threshold(*thresholds)
            found = gc.get_threshold()
            with net.batch():
                with net.batch():
                    pass
                assert gc.get_threshold()[0] >= 1_000_000 or found[0] == 0
            assert gc.get_threshold() == found
    finally:
        gc.set_threshold(*before)
