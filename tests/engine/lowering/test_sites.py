"""One block in several places: in one model or several, none of which changes another."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import arrows as ar

# ------------------------------------------------------------------------------------------ models apart


def block_and_parts() -> tuple[Any, list[Any]]:
    """A block that has all kinds of parts, and these."""
    read = ar.Vector(2)
    layer = ar.FC(2, activation=ar.ops.tanh)
    state = ar.GetItem("x") >> read >> layer

    @ar.fix
    def tree(me: Any) -> Any:
        below = ar.GetItem("below") >> ar.Map(me) >> ar.Sum()
        return ar.OneOf(lambda t: "x" in t).case(True, state).case(False, below)

    total = ar.Function(lambda h: (h * h).sum())
    whole = tree >> layer >> total
    return whole, [read, layer, state, tree, tree >> total, whole, tree & tree, ar.Map(tree)]


EXAMPLES = [{"x": [1.0, 2.0]}, {"below": [{"x": [0.5, 0.5]}, {"below": []}, {"x": [1.0, -1.0]}]}]


@pytest.mark.parametrize("schedule", ["strata", "depth", "none"])
def test_compiling_and_evaluating_parts_changes_no_model(schedule: str) -> None:
    whole, parts = block_and_parts()
    text = repr(whole)
    model = ar.compile(whole, schedule=schedule)
    prepared = model.prepare(EXAMPLES)
    values = ar.to_numpy(model(prepared))
    loss, grads = model.value_and_grad(prepared)
    names = list(model.params)
    for part in parts:
        for options in ({}, {"seed": 9}, {"float_type": "float64"}, {"schedule": "none"}):
            try:
                other = ar.compile(part, **options)  # type: ignore[arg-type]
            except ar.ArrowTypeError:  # a layer alone takes no Python object
                assert part is parts[1]
                continue
            example: Any = {0: [1.0, 2.0], 7: EXAMPLES}.get(parts.index(part), EXAMPLES[1])
            if part is parts[2]:
                example = EXAMPLES[0]
            other([example])
            other.eval(example)
            part.eval(example)
            for name in other.params:
                other.params[name][...] = 100.0
    assert repr(whole) == text and list(model.params) == names
    assert np.array_equal(ar.to_numpy(model(prepared)), values)
    assert np.array_equal(ar.to_numpy(model(EXAMPLES)), values)
    again, grads_again = model.value_and_grad(prepared)
    assert float(again) == float(loss)
    assert all(np.array_equal(grads[name], grads_again[name]) for name in names)
    # ... and a model made afterwards is the model that was made before
    assert np.array_equal(ar.to_numpy(ar.compile(whole, schedule=schedule)(EXAMPLES)), values)


def test_models_of_one_block_are_made_by_threads_at_once() -> None:
    whole, _ = block_and_parts()
    wanted = ar.to_numpy(ar.compile(whole)(EXAMPLES))
    found: list[Any] = []

    def work() -> None:
        found.extend(ar.to_numpy(ar.compile(whole)(EXAMPLES)) for _ in range(3))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 12 and all(np.array_equal(one, wanted) for one in found)
