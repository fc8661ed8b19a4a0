"""Random numbers in functions: the same by the reference and in batches, fresh at each step, never shared."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import arrows as ar
from arrows import ops
from arrows.engine.planning import SCHEDULES
from arrows.ops import ShapeError
from tests.compare import close

noisy = ar.Function(
    lambda x: x * (1.0 + ops.uniform_like(x)) + ops.normal_like(x) * ops.uniform([2], -1.0, 2.0)
)


@ar.fix
def tree(me: Any) -> Any:
    leaf = ar.Vector(2) >> noisy
    pair = (ar.GetItem("l") >> me & ar.GetItem("r") >> me) >> ar.Function(
        lambda a, b: (a + b) * ops.normal([2])
    )
    return ar.OneOf(lambda t: isinstance(t, dict)).case(True, pair).case(False, leaf)


@pytest.mark.parametrize(
    ("device", "schedule"), [*(("cpu", schedule) for schedule in SCHEDULES), ("fake-kernels", "strata")]
)
def test_a_batch_draws_what_the_reference_draws(device: str, schedule: str) -> None:
    """As random blocks do too; in a recursion here, in another order, at another step."""
    examples = [{"l": [1, 2], "r": {"l": [1, 2], "r": [1, 2]}}, [1, 2], {"l": [1, 2], "r": [1, 2]}]
    model = ar.compile(tree, device=device, schedule=schedule, float_type="float64", seed=7)
    prepared = model.prepare(examples)
    for step in (0, 5):
        wanted = np.array([model.eval(x, id=n, step=step) for n, x in enumerate(examples)])
        assert close(ar.to_numpy(model(examples, step=step)), wanted, 1e-12)
        assert close(ar.to_numpy(model(prepared[[2, 1, 0]], step=step)), wanted[::-1], 1e-12)


def test_no_two_draws_are_the_same() -> None:
    block = ar.Vector(2) >> ar.Function(lambda x: ops.concat([ops.normal([2]), ops.normal([2])]))
    twice = (block & block) >> ar.Concat()
    model = ar.compile(twice)
    numbers = [model([[1.0, 2.0]] * 5, step=step).ravel() for step in range(3)]
    assert len(np.unique(np.concatenate(numbers))) == 3 * 5 * 8
    assert not np.intersect1d(numbers[0], ar.compile(twice, seed=1)([[1.0, 2.0]] * 5)).size


def test_no_two_visits_draw_the_same() -> None:
    """Equal elements, and one subtree that stands in three places."""
    draw = ar.Function(lambda x: ops.stack([ops.uniform(), ops.normal()]))
    elements = ar.compile(ar.Map(ar.Scalar() >> draw))
    prepared = elements.prepare([[1, 1, 1], [1, 1]])

    @ar.fix
    def drawn(me: Any) -> Any:
        both = (ar.GetItem(0) >> me & ar.GetItem(1) >> me) >> ar.Function(lambda a, b: ops.concat([a, b])[:2])
        leaf = ar.Scalar() >> draw >> ar.Tap("drawn")
        return ar.OneOf(lambda t: isinstance(t, tuple)).case(True, both).case(False, leaf)

    trees, pair = ar.compile(drawn), (1.0, 1.0)
    for step in range(2):
        rows = [elements(batch, step=step).values.ravel() for batch in (prepared[:], prepared[[1, 0]])]
        assert len(np.unique(rows[0])) == 10 and set(rows[0]) == set(rows[1])
        trees([((pair, pair), pair)] * 2, step=step)
        assert len(np.unique(trees.taps["drawn"].values)) == 2 * 2 * 6


def test_each_step_of_training_draws_anew_from_a_prepared_set() -> None:
    model = ar.compile(ar.Scalar() >> ar.Function(lambda x: x * 0.0 + ops.normal()))
    batch = model.prepare([1.0, 1.0])[[0, 1]]
    losses = [float(model.value_and_grad(batch)[0]) for _ in range(4)]
    assert len(set(losses)) == 4
    assert model(batch, step=1).mean() == pytest.approx(losses[1], rel=1e-6)


def test_ids_and_not_places_count() -> None:
    model = ar.compile(ar.Scalar() >> ar.Function(lambda x: ops.normal([3])))
    rows = model([0.0] * 4, ids=[9, 4, 9, 2])
    assert (rows[0] == rows[2]).all() and not (rows[0] == rows[1]).any()
    assert (rows[1:2] == model([0.0], ids=[4])).all()


def test_distributions() -> None:
    model = ar.compile(
        ar.Scalar() >> ar.Function(lambda x: (ops.normal([200]), ops.uniform([200], 2.0, 5.0)))
    )
    normal, uniform = model([0.0] * 500)
    for moment, wanted in ((1, 0.0), (2, 1.0), (3, 0.0), (4, 3.0)):
        assert abs((normal.astype("float64") ** moment).mean() - wanted) < 0.1
    assert 2 <= uniform.min() < 2.001 and 4.999 < uniform.max() < 5 and abs(uniform.mean() - 3.5) < 0.02
    assert np.abs(np.corrcoef(normal[:, :20].T) - np.eye(20)).max() < 0.25
    assert np.histogram(uniform, 10, (2, 5))[0].min() > 9500 and len(np.unique(uniform)) > 99_000


@pytest.mark.parametrize(("float_type", "bits"), [("float16", 11), ("float32", 24), ("float64", 53)])
def test_as_many_bits_are_drawn_as_the_element_type_holds(float_type: str, bits: int) -> None:
    """So that no number is rounded up to the bound, and every one between is as likely."""
    block = ar.Scalar() >> ar.Function(lambda x: (ops.uniform([200]), ops.normal([200])))
    uniform, normal = ar.compile(block, float_type=float_type)([0.0] * 500)
    assert uniform.dtype == normal.dtype == float_type
    places = uniform.astype("float64") * 2.0**bits
    assert places.min() >= 0 and places.max() <= 2.0**bits - 1 and (places == places.round()).all()
    assert len(np.unique(places % 2**11)) == 2**11  # down to the last bit
    assert abs(uniform.astype("float64").mean() - 0.5) < 0.005
    wide = normal.astype("float64")
    assert np.isfinite(wide).all() and abs(wide.mean()) < 0.02 and abs(wide.std() - 1) < 0.02


def test_refusals() -> None:
    with pytest.raises(ShapeError, match="normal is called outside of any function"):
        ops.normal([2])
    with pytest.raises(ar.ArrowTypeError, match=r"ops.uniform takes floating numbers, not int32.2."):
        ar.compile(ar.Scalar() >> ar.Function(lambda x: ops.uniform([2], dtype="int32")))
    whole = ar.Scalar("int32") >> ar.Function(lambda x: ops.normal_like(x))
    with pytest.raises(ar.ArrowTypeError, match=r"ops.normal takes floating numbers, not int32"):
        ar.compile(whole)


def test_bounds_may_be_computed() -> None:
    block = ar.Vector(2) >> ar.Function(lambda x: ops.uniform_like(x, x - 1.0, x + 1))
    rows = ar.compile(block)([[5.0, -5.0]] * 300)
    assert (abs(rows - [5, -5]) <= 1).all() and (abs(rows - [5, -5]).max(axis=0) > 0.9).all()
    assert (ar.Scalar() >> ar.Function(lambda x: ops.uniform([2], 3.0, 3))).eval(1.0).tolist() == [3.0, 3.0]
