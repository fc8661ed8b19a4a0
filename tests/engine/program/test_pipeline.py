"""Programs of models fulfil the rules after each pass, whichever passes are left out, and are read back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import arrows as ar
from arrows.engine.cuda import KERNELS
from arrows.engine.planning import moving_slabs, receiving_slabs
from arrows.engine.program.pipeline import OPTIONAL, checked_passes, make_program, without_passes
from arrows.engine.program.program import Program
from arrows.models import sentiment, tagger
from tests.engine.program.verify import verify_program
from tests.profile import sampled


def attention() -> Any:
    """The words of a sequence, weighed by their products with a learned vector, with dropout."""
    query = ar.FC(1, name="query")

    def attend(words: Any) -> Any:
        return ar.ops.segment_sum(words * ar.ops.segment_softmax(query(words))) / 2.0

    words = ar.Map(ar.Scalar("int32") >> ar.Embedding(7, 4, name="words") >> ar.Dropout(0.3))
    return words >> ar.Function(attend) >> ar.FC(1, name="answer")


MODELS = {
    "a Tree-LSTM": lambda: sentiment(ar.Vocabulary(["not", "good"]), size=4, embedding=3, dropout=0.5).learn,
    "a tagger": lambda: tagger(ar.Vocabulary(["good"]), ar.Vocabulary(["g"]), size=3, embedding=2).learn,
    "attention": attention,
}


KINDS: dict[str, dict[str, Any]] = {
    "numpy": {},
    "numba": {"jit": True},
    "kernels": {"kernels": KERNELS},
}
"""What programs are made for."""

kinds = pytest.mark.parametrize("kind", KINDS)


def programs(block: Any, kind: str, *, gradients: bool = True) -> Iterator[Program]:
    """The programs of a model's operations."""
    plan = ar.compile(block).plan
    moving = moving_slabs(plan, set())
    receiving = receiving_slabs(plan, {*plan.metrics, *plan.results}, moving) if gradients else set()
    for operation in plan.operations:
        if operation.computes:
            wanted = [port.slab in moving and port.slab in receiving for port in operation.ports]
            places = plan.result_places[operation.index]
            seeded = [plan.operations[owner].slabs[output] in receiving for owner, output in places]
            yield make_program(operation, wanted, seeded, training=gradients, **KINDS[kind])


@pytest.mark.parametrize("model", MODELS)
@kinds
@pytest.mark.parametrize("gradients", [False, True])
def test_each_pass_keeps_the_rules(model, gradients, kind):
    with checked_passes(verify_program):
        assert list(programs(MODELS[model](), kind, gradients=gradients))


ALONE = [pytest.param((name,)) for name in (*OPTIONAL, "reuse")]


@pytest.mark.parametrize("left_out", [*sampled(ALONE, 3), (*OPTIONAL, "reuse")])
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("kind", ["numba", "kernels"])
def test_each_pass_can_be_left_out(model, kind, left_out):
    with checked_passes(verify_program), without_passes(*left_out):
        assert list(programs(MODELS[model](), kind))


@pytest.mark.parametrize("name", ["differentiate", "allocate", "fusion", ""])
def test_a_pass_that_cannot_be_left_out(name):
    with pytest.raises(ar.ArrowValueError, match=f"no pass '{name}' can be left out; these can: fold, "):
        with without_passes("fold", name):
            raise AssertionError("it was left out")


def test_programs_are_made_at_the_first_batch_that_needs_them() -> None:
    passed: list[Program] = []
    words = ar.Map(ar.Scalar("int32") >> ar.Embedding(9, 4)) >> ar.RNN(ar.LSTMCell(5)) >> ar.GetItem(1)
    model = ar.compile(words >> ar.GetItem(0) >> ar.FC([]) >> ar.Function(lambda x: x * x))
    with checked_passes(lambda program, *_: passed.append(program)):
        model([[1, 2], [3]])
        inference = len(passed)
        assert inference > 0
        model([[4, 5, 6, 7], [8, 1], []])
        assert len(passed) == inference
        model.value_and_grad([[1, 2], [3]])
        both = len(passed)
        assert both > inference
        for batch in ([[8] * 20], [[], [1]], [[1, 2], [3], [4] * 9]):
            model.value_and_grad(batch)
            model(batch)
        assert len(passed) == both
