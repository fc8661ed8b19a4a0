"""Element-wise work on several threads gives the same numbers, and hands on what goes wrong."""

from __future__ import annotations

import multiprocessing
import threading

import numpy as np
import pytest

import arrows as ar
from arrows.engine import chains, codegen, program
from arrows.engine.threads import Pool, count


@pytest.fixture
def cut(monkeypatch):
    """Cuts every run of element-wise equations by rows, for three threads; gives the ranges' lengths."""
    pool, ranges = Pool(3), []

    def run(work, rows):
        def noted(a, z):
            ranges.append(z - a)
            work(a, z)

        pool.run(noted, rows)

    monkeypatch.setattr(chains, "SMALLEST", 0)
    monkeypatch.setattr(program, "POOL", pool)
    monkeypatch.setattr(codegen, "run_rows", run)
    return ranges


def test_every_row_is_done_once():
    for threads in (1, 2, 3, 8):
        pool = Pool(threads)
        for rows in (0, 1, 2, 7, 8, 100):
            done = np.zeros(rows, int)

            def work(a, z, done=done):
                done[a:z] += 1

            pool.run(work, rows)
            assert (done == 1).all()


def test_what_a_range_raises_reaches_the_caller_when_all_have_ended():
    ended = []

    def work(a, z):
        if a:
            raise ValueError("no")
        ended.append(z)

    pool = Pool(2)
    for _ in range(2):  # the pool goes on after it
        with pytest.raises(ValueError, match="no"):
            pool.run(work, 10)
    assert ended == [5, 5]


def test_a_busy_pool_leaves_the_work_to_the_caller():
    pool, threads = Pool(2), set()

    def inner(a, z):
        threads.add((threading.current_thread().name, a, z))

    def outer(a, z):
        if a == 0:
            pool.run(inner, 10)

    pool.run(outer, 2)
    assert threads == {(threading.current_thread().name, 0, 10)}


def test_settings_of_numpy_go_along():
    def work(a, z):
        np.exp(np.full(z - a, 1e6))

    with np.errstate(over="raise"), pytest.raises(FloatingPointError):
        Pool(2).run(lambda a, z: work(a, z) if a else None, 2)
    with np.errstate(over="ignore"):
        Pool(2).run(work, 2)


def _use(pool):
    total = []
    pool.run(lambda a, z: total.append(z - a), 10)
    return sum(total)


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_process_starts_threads_of_its_own():
    from arrows.engine.threads import POOL

    assert _use(POOL) == 10
    with multiprocessing.get_context("fork").Pool(1) as workers:
        assert workers.apply_async(_use_the_pool).get(timeout=60) == 10


def _use_the_pool():
    from arrows.engine.threads import POOL

    return _use(POOL)


def test_the_number_of_threads_can_be_set(monkeypatch):
    monkeypatch.delenv("ARROWS_NUM_THREADS", raising=False)
    monkeypatch.setenv("OMP_NUM_THREADS", "3,2")
    assert count() == 3
    monkeypatch.setenv("ARROWS_NUM_THREADS", "1")
    assert count() == 1
    monkeypatch.setenv("ARROWS_NUM_THREADS", "many")
    assert count() == 3
    monkeypatch.delenv("OMP_NUM_THREADS")
    assert 1 <= count() <= 8


def trees(seed, depth):
    generator = np.random.default_rng(seed)

    def grow(depth):
        if depth == 0 or generator.random() < 0.2:
            return generator.normal(size=4).tolist()
        return grow(depth - 1), grow(depth - 1)

    return [grow(depth) for _ in range(6)]


@pytest.mark.parametrize("schedule", ["strata", "depth", "agenda", "none"])
def test_a_model_gives_the_same_numbers(cut, schedule):
    cell = ar.TreeLSTM(5, children=2)
    word = ar.Vector(4, name="x") >> ar.FC(3, activation=ar.ops.relu)
    leaf = (word & ar.Zeros((cell.state,) * 2)) >> cell

    @ar.fix
    def tree(me):
        pair = (ar.Zeros([3]) & (ar.GetItem(0) >> me & ar.GetItem(1) >> me)) >> cell
        return ar.OneOf(lambda t: isinstance(t, tuple)).case(True, pair).case(False, leaf)

    block = tree >> ar.Function(lambda h, c: ar.ops.softmax(ar.ops.concat([h * c, ar.ops.tanh(c[1:])])).max())
    batch = trees(1, 4)
    model = ar.compile(block, schedule=schedule, float_type="float64")
    loss, grads = model.value_and_grad(batch, inputs=["x"])
    assert max(cut, default=0) > 1 or schedule == "none"
    wanted = [float(model.eval(x)) for x in batch]
    np.testing.assert_allclose(model(batch), wanted, rtol=1e-12)
    assert len(cut) > 10
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(program, "POOL", Pool(1))
        plain = ar.compile(block, schedule=schedule, float_type="float64", params=model.params)
        alone, expected = plain.value_and_grad(batch, inputs=["x"])
    np.testing.assert_allclose(loss, alone, rtol=1e-12)
    for name, gradient in grads.items():
        values = [g if isinstance(g, np.ndarray) else g.values for g in (gradient, expected[name])]
        np.testing.assert_allclose(*values, rtol=1e-9, atol=1e-12)
