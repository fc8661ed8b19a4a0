"""Expressions of 10,000 blocks, as a chain and nested: check, print, copy and pickle, without recursion."""

from __future__ import annotations

import copy
import pickle
import sys
import time
from collections.abc import Callable
from typing import Any

import pytest

import arrows as ar
from arrows.combinators import Fix, has_effects
from arrows.typesys import types as T
from tests.profile import sampled

N = 10_000
DEEP = 4_000
"""Four times as deep as Python's own recursion goes."""


def double(x: Any) -> Any:
    return x * 2


def chain(n: int) -> Any:
    block: Any = ar.Scalar()
    step = ar.Function(double)
    for _ in range(n):
        block = block >> step
    return block


def chain_of_fresh_functions(n: int) -> Any:
    block: Any = ar.Scalar()
    for i in range(n):
        block = block >> ar.Function(lambda x, i=i: x * i)
    return block


def chain_from_the_left(n: int) -> Any:
    block: Any = ar.Identity()
    for _ in range(n):
        block = ar.GetItem(0) >> block
    return block


def nested_fan(n: int) -> Any:
    block: Any = ar.Scalar()
    for _ in range(n):
        block = ar.AllOf(block)
    return block


def nested_record(n: int) -> Any:
    block: Any = ar.Scalar()
    for _ in range(n):
        block = {"a": block} >> ar.GetItem("a")
    return block


def nested_map(n: int) -> Any:
    block: Any = ar.GetItem(0)
    for _ in range(n):
        block = ar.Map(block)
    return block


def nested_optional(n: int) -> Any:
    block: Any = ar.Scalar()
    for _ in range(n):
        block = ar.Optional(block)
    return block


def nested_choice(n: int) -> Any:
    block: Any = ar.Scalar()
    for _ in range(n):
        block = ar.OneOf(len).case(0, ar.Zeros([])).case(1, block)
    return block


def nested_fold(n: int) -> Any:
    block: Any = ar.Scalar()
    for _ in range(n):
        block = ar.Fold(ar.GetItem(1) >> block, ar.Zeros([]))
    return block


def nested_fix(n: int) -> Any:
    block: Any = ar.Scalar()
    for _ in range(n):
        block = ar.fix(lambda me, block=block: ar.OneOf(len, {0: block, 1: me}))
    return block


def nested_arrow(n: int) -> Any:
    block: Any = ar.Scalar()
    for _ in range(n):
        block = ar.arrow(lambda x, block=block: block(x[0]))
    return block


def nested_shared(n: int) -> Any:
    block: Any = ar.Scalar()
    for _ in range(n):
        block = ar.shared(block)
    return block


def nested_beside(n: int) -> Any:
    block: Any = ar.Scalar()
    for _ in range(n):
        block = block * ar.Zeros([])
    return block


def nested_composition(n: int) -> Any:
    block: Any = ar.Scalar()
    for _ in range(n):
        with ar.Composition().scope() as c:
            c.output.reads(block.reads(c.input))
        block = c
    return block


def ring_of_definitions(n: int) -> Any:
    declarations = [ar.ForwardDeclaration() for _ in range(n // 2)]
    references = [declaration() for declaration in declarations]
    for declaration, following in zip(declarations, [*references[1:], references[0]], strict=True):
        declaration.resolve_to(ar.OneOf(len).case(0, ar.Zeros([])).case(1, following))
    return references[0]


BUILDERS: list[Callable[[int], Any]] = [
    chain,
    chain_of_fresh_functions,
    chain_from_the_left,
    nested_fan,
    nested_record,
    nested_map,
    nested_optional,
    nested_choice,
    nested_fold,
    nested_fix,
    nested_arrow,
    nested_shared,
    nested_beside,
    nested_composition,
    ring_of_definitions,
]


FUNCTIONS_OF_THEIR_OWN = {"chain_of_fresh_functions", "nested_fix", "nested_arrow"}
"""Builders whose blocks hold lambdas, which do not pickle."""


@pytest.mark.parametrize("build", sampled(BUILDERS, 4), ids=lambda b: b.__name__)
def test_deep_expressions_check_print_copy_and_pickle(build: Callable[[int], Any]) -> None:
    limit = sys.getrecursionlimit()
    block = build(DEEP)
    typed = ar.infer(block)
    assert sum(1 for _ in typed.walk()) >= DEEP
    text = repr(block)
    assert len(text) > DEEP
    assert len(str(typed).splitlines()) >= DEEP
    assert len(str(typed.output)) >= 5
    twins = [copy.deepcopy(block)]
    if build.__name__ not in FUNCTIONS_OF_THEIR_OWN:
        twins.append(pickle.loads(pickle.dumps(block)))
    for twin in twins:
        assert repr(twin) == text
        assert ar.infer(twin).output == typed.output
    assert has_effects(block) is False
    assert sys.getrecursionlimit() == limit


def test_deep_recursion_pickles() -> None:
    block: Any = ar.Scalar()
    for _ in range(N // 4):
        block = ar.fix(_Definition(block))
    twin = pickle.loads(pickle.dumps(block))
    assert isinstance(twin, Fix) and ar.infer(twin).output == T.Tensor(())


class _Definition:
    def __init__(self, block: Any) -> None:
        self.block = block

    def __call__(self, me: Any) -> Any:
        return ar.OneOf(len, {0: self.block, 1: me})


def test_types_nest_deep() -> None:
    t: T.Type = T.Tensor((2,))
    u: T.Type = T.Tensor((2,))
    for _ in range(N):
        t, u = T.Tuple((t,), ("a",)), T.Tuple((u,))
    assert t == u and hash(t) == hash(u)
    assert pickle.loads(pickle.dumps(t)) == t
    assert T.leaves(t) == [T.Tensor((2,))]
    assert T.with_float(t, "float64") != t
    assert len(str(t)) > N


def test_a_deep_error_has_a_short_path() -> None:
    block: Any = ar.Scalar() >> ar.InputTransform(len)
    for _ in range(N):
        block = ar.Map(block)
    with pytest.raises(TypeError) as caught:
        ar.infer(block)
    assert len(str(caught.value)) < 2000


def test_growing_a_chain_costs_the_same_at_every_step() -> None:
    start = time.process_time()
    block = chain_from_the_left(1)
    for _ in range(50_000):
        block = block >> ar.GetItem(0)
    assert len(block.parts) >= 50_000
    assert time.process_time() - start < 30  # quadratic growth takes minutes


@pytest.mark.parametrize(
    "build", [chain, nested_optional, nested_choice, nested_record], ids=lambda b: b.__name__
)
def test_inference_is_linear(build: Callable[[int], Any]) -> None:
    # Counted, not timed: constraints that run, per block, must not grow with the expression.
    from arrows.typesys.coercion import Coercion

    counts = []
    for n in (500, 4000):
        runs = 0
        run = Coercion.run

        def counted(self: Any, solver: Any, run: Any = run) -> None:
            nonlocal runs
            runs += 1
            run(self, solver)

        block = build(n)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Coercion, "run", counted)
            ar.infer(block)
        counts.append(runs / n)
    assert counts[1] <= 1.2 * counts[0]
