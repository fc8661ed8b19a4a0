"""Random models on random numbers of ranks: the parameters of one process, with the same batches."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st

import arrows as ar
from arrows.training import SGD, Adagrad, Adam, Optimizer, train
from arrows.typesys.errors import NotFiniteError
from tests.compare import close, meets_kink
from tests.engine.test_batching import host_lookup
from tests.generate import Case, cases
from tests.profile import NIGHTLY, counted, draws
from tests.training.parallel.threads import run

TOLERANCE = 1e-9
BATCHES: list[Any] = [
    1,
    2,
    3,
    5,
    64,
    ar.ByNodes(1),
    ar.ByNodes(12),
    ar.ByNodes(60),
    ar.Bucketed(2),
    ar.Bucketed(4),
]


@st.composite
def optimizers(draw: Any, names: list[str]) -> Any:
    """A function that makes an optimizer, the same one each time; some parameters may be frozen."""
    frozen = draw(st.sets(st.sampled_from(names), max_size=len(names) - 1)) if len(names) > 1 else set()
    rates = {name.replace("[", "[[]"): draw(st.sampled_from([0, 0.003])) for name in sorted(frozen)}
    rule: Any = draw(st.sampled_from(["sgd", "momentum", "adam", "adagrad"]))
    settings: dict[str, Any] = {
        "rates": rates,
        "clip_norm": draw(st.sampled_from([None, 0.1])),
        "average": draw(st.sampled_from([None, 1.0, 0.9])),
        "dense": draw(st.booleans()),
        "weight_decay": draw(st.sampled_from([0.0, 0.01])),
    }

    def make() -> Optimizer:
        # With a small epsilon, a gradient that is 0 but for rounding would move a parameter visibly.
        if rule == "adam":
            return Adam(0.01, epsilon=1e-2, **settings)
        if rule == "adagrad":
            return Adagrad(0.01, epsilon=1e-2, **settings)
        return SGD(0.01, momentum=0.9 if rule == "momentum" else 0.0, **settings)

    return make


def trained(
    model: ar.Model, examples: list[Any], optimizer: Optimizer, how: dict[str, Any], comm: Any
) -> Any:
    history = train(model, examples, optimizer, comm=comm, progress=False, **how)
    params = {name: array.copy() for name, array in model.params.items()}
    averages = {}
    if optimizer.averages is not None and optimizer.steps:
        with optimizer.use_averages(model):
            averages = {name: array.copy() for name, array in model.params.items()}
    return params, averages, [epoch.loss for epoch in history]


def compare(data: st.DataObject) -> int:
    """Trains one random model on one process and on several ranks; returns how many examples it has."""
    case: Case = data.draw(cases(max_examples=6))
    assume(case.loss != "")
    examples = case.examples * data.draw(st.sampled_from([1, 2, 3]))
    ranks = data.draw(st.sampled_from([2, 3, 4, 1]))

    def compiled() -> ar.Model:
        return ar.compile(case.block, loss=case.loss or None, float_type="float64", seed=3)

    alone = compiled()
    assume(alone.params)
    keys = [(alone.seed, 0, number) for number in range(len(examples))]
    assume(not meets_kink(alone.typed, examples, host_lookup(alone), "float64", 1e-6, keys))
    make = data.draw(optimizers(list(alone.params)))
    batch_size = data.draw(st.sampled_from(BATCHES))
    how = {
        "epochs": 2,
        "batch_size": batch_size,
        "accumulate": data.draw(st.sampled_from([1, 2, 3])),
        "seed": data.draw(st.integers(0, 3)),
    }
    try:
        expected = trained(alone, examples, make(), how, None)
    except NotFiniteError:
        assume(False)
    models = [compiled() for _ in range(ranks)]
    outcomes, reasons = run(ranks, lambda comm: trained(models[comm.rank], examples, make(), how, comm))
    assert not reasons, reasons
    for outcome in outcomes:
        assert not isinstance(outcome, BaseException), outcome
        assert all(close(actual, wanted, TOLERANCE) for actual, wanted in zip(outcome, expected, strict=True))
        for name, array in outcomes[0][0].items():
            np.testing.assert_array_equal(outcome[0][name], array)  # bit for bit among ranks
    return len(examples)


def test_ranks_give_the_parameters_of_one_process(record_property: Any) -> None:
    sizes = (40, 1500)
    with counted(record_property, sizes[NIGHTLY] * 9 // 10) as count:

        @draws(*sizes)
        @given(data=st.data())
        def pair(data: st.DataObject) -> None:
            count.examples += compare(data)
            count.pairs += 1

        pair()
