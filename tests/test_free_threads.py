"""Threads that build, compile, train and call models give the numbers of one thread.

On a free-threaded Python they run at once: `python -X gil=0 -m pytest tests/test_free_threads.py`.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import numpy as np

import arrows as ar
from arrows.training import Adam, train

THREADS = 4
EXAMPLES = [[[float(k % 5)] for k in range(n)] for n in (0, 3, 1, 7, 2, 5)]


def block() -> Any:
    cell = ar.LSTMCell(3, name="cell")
    last = ar.Map(ar.Vector(1) >> ar.FC(2, name="in")) >> ar.RNN(cell) >> ar.GetItem(1)
    return last >> ar.GetItem(0) >> ar.FC(1, name="out") >> ar.Function(lambda y: (y[0] - 1.0) ** 2)


def at_once(work: Any) -> list[Any]:
    start = Barrier(THREADS)

    def one(_: int) -> Any:
        start.wait()
        return work()

    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(one, range(THREADS)))


def test_each_thread_with_a_model_of_its_own() -> None:
    def trained() -> dict[str, bytes]:
        model = ar.compile(block())
        train(model, EXAMPLES, Adam(0.1), epochs=2, batch_size=2, progress=False)
        return {name: array.tobytes() for name, array in model.params.items()}

    assert at_once(trained) == [trained()] * THREADS


def test_all_threads_with_one_model() -> None:
    model = ar.compile(block())
    expected = model.predict(EXAMPLES)
    for result in at_once(lambda: model.predict(EXAMPLES, batch_size=2)):
        np.testing.assert_allclose(result, expected, rtol=1e-5)
    _, gradient = model.value_and_grad(EXAMPLES)
    for _, one in at_once(lambda: model.value_and_grad(EXAMPLES)):
        assert {name: np.array_equal(one[name], gradient[name]) for name in one} == dict.fromkeys(one, True)
