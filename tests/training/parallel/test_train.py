"""Data-parallel training: whatever the number of ranks, the numbers are those of one process."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import arrows as ar
from arrows.training import SGD, Adagrad, Adam, Callback, EarlyStopping, Plateau, train
from arrows.training.parallel import RankError
from arrows.typesys import ArrowTypeError, ArrowValueError, InputError
from arrows.typesys.errors import NotFiniteError
from tests.training.parallel.threads import ThreadCommunicator, run

RANDOM = np.random.default_rng(3)
EXAMPLES = [RANDOM.integers(0, 20, RANDOM.integers(0, 7)).tolist() for _ in range(23)]
OPTIMIZERS = {
    "sgd": lambda: SGD(0.01, momentum=0.9, weight_decay=0.01),
    "adam": lambda: Adam(0.01, clip_norm=0.5, average=0.9),
    "adagrad": lambda: Adagrad(0.05, rates={"words/*": 0.01}),
    "dense": lambda: Adam(0.01, dense=True),
}


def compiled(**how: Any) -> ar.Model:
    words = ar.Embedding(20, 5, name="words") >> ar.FC(4, name="fc") >> ar.Dropout(0.3)
    score = ar.Map(ar.Scalar("int32") >> words) >> ar.Sum()
    block = score >> ar.Function(lambda v: ((v - 1.0) ** 2).sum())
    return ar.compile(block, **{"float_type": "float64", **how})


def numbers(model: ar.Model) -> dict[str, Any]:
    return {name: ar.to_numpy(array).copy() for name, array in model.params.items()}


def trained(comm: Any, optimizer: str = "adam", model: Any = None, **how: Any) -> tuple[Any, Any]:
    model = compiled() if model is None else model
    settings = {"batch_size": 8, "epochs": 3, "progress": False, **how}
    history = train(model, EXAMPLES, OPTIMIZERS[optimizer](), comm=comm, **settings)
    return numbers(model), history


def assert_close(actual: dict[str, Any], expected: dict[str, Any]) -> None:
    for name, values in expected.items():
        np.testing.assert_allclose(actual[name], values, rtol=1e-9, atol=1e-12, err_msg=name)


@pytest.mark.parametrize("rule", [ar.ByNodes(40), ar.Bucketed(4, pool=2)], ids=str)
def test_ranks_sum_up_batches_of_a_rule(rule):
    expected, _ = trained(None, batch_size=rule, accumulate=3)
    for ranks in (2, 3):
        outcomes, reasons = run(ranks, lambda comm: trained(comm, batch_size=rule, accumulate=3))
        assert not reasons
        for params, _ in outcomes:
            assert_close(params, expected)


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
def test_the_numbers_are_those_of_one_process(ranks, optimizer):
    expected, history = trained(None, optimizer)
    outcomes, reasons = run(ranks, lambda comm: trained(comm, optimizer))
    assert not reasons
    for params, epochs in outcomes:
        assert_close(params, expected)
        np.testing.assert_allclose([e.loss for e in epochs], [e.loss for e in history], rtol=1e-9)
        for name, values in outcomes[0][0].items():
            np.testing.assert_array_equal(params[name], values)  # bit for bit among ranks


def test_more_ranks_than_examples_in_a_batch():
    expected, _ = trained(None, batch_size=2)
    outcomes, _ = run(5, lambda comm: trained(comm, batch_size=2))
    for params, _ in outcomes:
        assert_close(params, expected)


@pytest.mark.parametrize("device", ["fake", "fake-kernels"])
def test_on_devices(device):
    expected, _ = trained(None)
    outcomes, reasons = run(2, lambda comm: trained(comm, model=compiled(device=device)))
    assert not reasons
    for params, _ in outcomes:
        assert_close(params, expected)


def test_parts_of_a_share():
    expected, _ = trained(None)
    outcomes, _ = run(2, lambda comm: trained(comm, batch_size=2, accumulate=4))
    for params, _ in outcomes:
        assert_close(params, expected)


def test_a_step_takes_one_sum(monkeypatch):
    calls: list[list[str]] = []

    def work(comm: ThreadCommunicator) -> None:
        trained(comm, epochs=1)
        calls.append(comm.calls)

    run(2, work)
    steps = -(-len(EXAMPLES) // 8)
    for own in calls:
        assert own.count("sum") == steps
        assert own.count("gather") == 2 * steps  # rows and values of the table


def test_an_optimizer_of_all_rows_sends_no_rows():
    def work(comm: ThreadCommunicator) -> list[str]:
        trained(comm, "dense", epochs=1)
        return comm.calls

    for calls in run(2, work)[0]:
        assert "gather" not in calls and calls.count("sum") == -(-len(EXAMPLES) // 8)


def test_rank_0_evaluates_tells_and_saves(tmp_path):
    heard: dict[int, list[str]] = {0: [], 1: [], 2: []}

    class Listener(Callback):
        def __init__(self, rank: int) -> None:
            self.rank = rank

        def after_step(self, step: Any) -> None:
            heard[self.rank].append("step")

        def after_evaluation(self, evaluation: Any) -> None:
            heard[self.rank].append("evaluation")

        def after_epoch(self, epoch: Any) -> None:
            heard[self.rank].append("epoch")

    def work(comm: Any, rank: int = 0) -> Any:
        rank = 0 if comm is None else comm.rank
        model = compiled()

        def evaluate() -> dict[str, float]:
            heard[rank].append("evaluate")
            return {"loss": float(sum(model(EXAMPLES)))}

        folder = tmp_path / f"rank{rank}of{0 if comm is None else comm.size}"
        folder.mkdir()
        return trained(
            comm, model=model, evaluate=evaluate, evaluate_every=2, best_by="loss", epochs=9,
            callbacks=[Listener(rank)], stop_when=EarlyStopping("loss", patience=9, lower=True),
            plateau=Plateau("loss", 0.5, patience=1), checkpoint_path=folder / "run", checkpoint_every=2,
        )  # fmt: skip

    expected, history = work(None)
    alone = heard[0].copy()
    heard[0].clear()
    outcomes, reasons = run(3, work)
    assert not reasons and heard[0] == alone and not heard[1] and not heard[2]
    for params, epochs in outcomes:
        assert_close(params, expected)
        assert len(epochs.evaluations) == len(history.evaluations)
        assert [e.step for e in epochs.evaluations] == [e.step for e in history.evaluations]
    assert (tmp_path / "rank0of3" / "run").exists() and not any((tmp_path / "rank1of3").iterdir())


@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_a_run_resumes_on_another_number_of_ranks(tmp_path, ranks):
    expected, history = trained(None, epochs=4)

    def work(comm: Any, epochs: int) -> Any:
        return trained(comm, epochs=epochs, checkpoint_path=tmp_path / "run", resume=True)

    run(4, lambda comm: work(comm, 2))
    outcomes, _ = run(ranks, lambda comm: work(comm, 4))
    for params, epochs in outcomes:
        assert_close(params, expected)
        np.testing.assert_allclose([e.loss for e in epochs], [e.loss for e in history], rtol=1e-9)


def test_all_start_as_rank_0_does():
    def work(comm: Any) -> Any:
        model = compiled()
        model.params["fc/bias"][...] = 0.25 if comm is None or comm.rank == 0 else np.nan
        return trained(comm, model=model)

    expected, _ = work(None)
    outcomes, _ = run(3, work)
    for params, _ in outcomes:
        assert_close(params, expected)


def test_ranks_that_run_different_things_are_refused():
    outcomes, _ = run(2, lambda comm: trained(comm, batch_size=8 + comm.rank))
    for error in outcomes:
        assert isinstance(error, ArrowValueError)
        assert str(error) == (
            "train: the ranks run different things: batch_size is 8 on rank 0, and 9 on rank 1"
        )

    def other_data(comm: Any) -> Any:
        return train(compiled(), EXAMPLES[comm.rank :], SGD(0.1), comm=comm, progress=False)

    for error in run(2, other_data)[0]:
        assert "the number of examples is 23 on rank 0, and 22 on rank 1" in str(error)

    def other_words(comm: Any) -> Any:
        """As numbered from a set of Python, whose order is another one in each process."""
        numbers = np.arange(20) if comm.rank == 0 else np.roll(np.arange(20), 1)
        return train(compiled(), [numbers[x].tolist() for x in EXAMPLES], SGD(0.1), comm=comm, progress=False)

    for error in run(2, other_words)[0]:
        assert "the content of the examples is" in str(error) and "a Python set" in str(error)

    def other_numbers(comm: Any) -> Any:
        model = ar.compile(ar.Vector(2) >> ar.FC(1) >> ar.Function(lambda y: y[0] ** 2))
        examples = np.random.default_rng(comm.rank).normal(size=(50, 2)).tolist()
        return train(model, examples, SGD(0.1), comm=comm, progress=False)

    for error in run(2, other_numbers)[0]:
        assert "the content of the examples is" in str(error)

    def other_seed(comm: Any) -> Any:
        return trained(comm, model=compiled(seed=comm.rank))

    for error in run(2, other_seed)[0]:
        assert "the model's seed is 0 on rank 0, and 1 on rank 1" in str(error)

    def other_model(comm: Any) -> Any:
        model = (
            compiled() if comm.rank else ar.compile(ar.Vector(2) >> ar.FC(1) >> ar.Function(lambda y: y[0]))
        )
        examples = EXAMPLES if comm.rank else [[1.0, 2.0]] * 23
        return train(model, examples, SGD(0.1), comm=comm, progress=False)

    for error in run(2, other_model)[0]:
        assert "the ranks run different things: the parameters is" in str(error)


def figures() -> dict[str, float]:
    return {"f": 1.0}


def never(evaluations: Any) -> bool:
    return False


def halves(evaluations: Any) -> float:
    return 0.5


# For each argument of `train`, another value than the usual one, and whether the ranks may differ in it.
OTHERS: dict[str, tuple[Any, bool]] = {
    "epochs": (2, False),
    "batch_size": (9, False),
    "accumulate": (2, False),
    "seed": (1, False),
    "evaluate": (None, False),
    "evaluate_every": (2, False),
    "after_epoch": (print, True),
    "callbacks": ([Callback()], True),
    "best_by": ("f", True),
    "lower": (None, True),  # of best_by, which rank 0 alone asks
    "stop_when": (never, False),
    "plateau": (halves, False),
    "checkpoint_path": (None, False),
    "checkpoint_every": (2, False),
    "checkpoint_seconds": (0.0, True),
    "keep_last": (1, True),
    "resume": (True, False),
    "overwrite": (True, False),
    "metadata": ({"by": "us"}, True),
    "nan": ("ignore", False),
    "progress": (True, True),
    "unit": ("tree", True),
}


@pytest.mark.parametrize("other", [0, 1])
@pytest.mark.parametrize("name", OTHERS)
def test_ranks_with_another_argument_are_refused_or_agree(tmp_path, name, other):
    """Else one would wait for the other for ever, as for a state that it does not know of."""
    assert set(OTHERS) == set(inspect.signature(train).parameters) - {
        "model",
        "examples",
        "optimizer",
        "comm",
    }
    value, may_differ = OTHERS[name]

    def work(comm: Any) -> Any:
        usual: dict[str, Any] = {"evaluate": figures, "checkpoint_path": tmp_path / "run"}
        return trained(comm, **(usual | {name: value} if comm.rank == other else usual))

    (first, second), reasons = run(2, work)
    assert not reasons
    if may_differ:
        assert_close(first[0], second[0])
    else:
        for error in (first, second):
            assert isinstance(error, ArrowValueError) and f"run different things: {name}" in str(error)


@pytest.mark.parametrize("wrong", [{"epochs": -1}, {"evaluate": 3}, {"callbacks": 3}, {"resume": True}])
@pytest.mark.parametrize("bad", [0, 2])
def test_a_rank_with_a_wrong_argument_ends_all(wrong, bad):
    outcomes, reasons = run(3, lambda comm: trained(comm, **(wrong if comm.rank == bad else {})))
    assert not reasons
    for rank, error in enumerate(outcomes):
        if rank == bad:
            assert isinstance(error, ArrowValueError | ArrowTypeError)
        else:
            assert isinstance(error, RankError)
            assert str(error).startswith(f"rank {bad} failed: Arrow") and "Error: train: " in str(error)


def test_ranks_with_a_schedule_of_their_own():
    """As in processes, where functions lie at other addresses; another schedule is refused."""

    def work(comm: Any, rates: Sequence[float]) -> Any:
        def rate_of(rate: float) -> Any:
            return lambda step: rate

        return train(compiled(), EXAMPLES, SGD(rate_of(rates[comm.rank])), comm=comm, progress=False)

    outcomes, reasons = run(2, lambda comm: work(comm, [0.1, 0.1]))
    assert not reasons and not any(isinstance(outcome, BaseException) for outcome in outcomes), outcomes
    for error in run(2, lambda comm: work(comm, [0.1, 0.2]))[0]:  # seen by the rate of the next step
        assert isinstance(error, ArrowValueError) and "run different things: the optimizer" in str(error)


def test_ranks_train_on_a_set_in_a_file(tmp_path):
    """Real numbers may be rounded in another way where a rank has read them."""
    block = ar.Map(ar.Vector(1) >> ar.FC(2, name="fc")) >> ar.Sum()
    rows = [np.random.default_rng(n).normal(size=(n % 5, 1)).tolist() for n in range(30)]

    def work(comm: Any) -> Any:
        model = ar.compile(block >> ar.Function(lambda v: ((v - 1.0) ** 2).sum()), float_type="float64")
        examples: Any = rows
        if comm is not None:
            rounded = [[[x * (1 + 1e-15 * comm.rank)] for (x,) in row] for row in rows]
            examples = model.prepare(rounded, cache=tmp_path / f"set{comm.rank}")
        train(model, examples, SGD(0.01), batch_size=7, comm=comm, progress=False)
        return numbers(model)

    outcomes, reasons = run(3, work)
    assert not reasons
    expected = work(None)
    for params in outcomes:
        assert_close(params, expected)


def test_a_rank_that_cannot_read_its_examples_ends_all():
    def work(comm: Any) -> Any:
        examples = [*EXAMPLES, ["no number"]] if comm.rank == 1 else EXAMPLES
        return train(compiled(), examples, SGD(0.1), comm=comm, progress=False)

    first, second = run(2, work)[0]
    assert isinstance(second, InputError)
    assert isinstance(first, RankError) and str(first).startswith("rank 1 failed: InputError: ")
    assert "example 23" in str(first)


def test_an_error_of_rank_0_reaches_all(tmp_path):
    def fails(comm: Any) -> Any:
        def evaluate() -> dict[str, float]:
            raise OSError("the disk is gone")

        return trained(comm, evaluate=evaluate)

    outcomes, reasons = run(3, fails)
    assert isinstance(outcomes[0], OSError) and not reasons
    for error in outcomes[1:]:
        assert str(error) == "rank 0 failed: OSError: the disk is gone"

    def nowhere(comm: Any) -> Any:
        return trained(comm, checkpoint_path=tmp_path / "nowhere" / "run")

    outcomes, reasons = run(2, nowhere)
    assert isinstance(outcomes[0], FileNotFoundError) and isinstance(outcomes[1], RankError) and not reasons


def test_an_error_that_one_rank_alone_sees_ends_the_job():
    class Fails(Callback):
        def after_step(self, step: Any) -> None:
            raise ZeroDivisionError("in a callback")

    outcomes, reasons = run(2, lambda comm: trained(comm, callbacks=[Fails()]))
    assert isinstance(outcomes[0], ZeroDivisionError) and len(reasons) >= 1
    assert "ZeroDivisionError: in a callback" in reasons[0]


def test_a_loss_that_is_not_finite_is_one_on_all_ranks():
    def work(comm: Any) -> Any:
        block = ar.Vector(1) >> ar.FC(1, name="fc") >> ar.Function(lambda y: ar.ops.log(y[0] * y[0]))
        model = ar.compile(block)
        model.params["fc/weight"][...] = 1.0
        try:
            train(model, [[1.0]] * 5 + [[0.0]], SGD(0.1), batch_size=6, comm=comm, progress=False)
        except NotFiniteError as error:
            return str(error), numbers(model)["fc/weight"].tolist(), model.step

    outcomes, reasons = run(2, work)
    assert not reasons and outcomes[0] == outcomes[1]
    assert "of example 5 is not finite" in outcomes[0][0] and outcomes[0][1:] == ([[1.0]], 0)


def test_a_network_on_the_fly_is_refused():
    net, score = ar.OnTheFly(), ar.FC(1)
    learner = net.learner(lambda g, x: ar.ops.sum((score(g.tensor(x)) - 1.0) ** 2))
    outcomes, _ = run(2, lambda comm: train(learner, [[1.0]], SGD(0.1), comm=comm, progress=False))
    assert all(isinstance(error, ArrowTypeError) for error in outcomes)
    assert "comm= takes a compiled model" in str(outcomes[0])


def test_what_is_no_communicator_is_refused():
    with pytest.raises(
        ArrowTypeError, match=r"train: comm must be a communicator such as MPI.COMM_WORLD, not 4"
    ):
        train(compiled(), EXAMPLES, SGD(0.1), comm=4, progress=False)
