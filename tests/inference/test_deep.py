"""Expressions of 10,000 blocks, as a chain and nested: check, print, copy and pickle, without recursion."""

from __future__ import annotations

import copy
import pickle
import sys
from collections.abc import Callable
from typing import Any

import pytest

import arrows as ar
from arrows.combinators import Reference
from arrows.typesys import types as T
from tests.profile import NIGHTLY, sampled

N = 10_000
DEEP = 1_500
"""Deeper than Python's own recursion goes."""


def double(x: Any) -> Any:
    return x * 2


def composed(block: Any) -> Any:
    with ar.Composition().scope() as c:
        c.output.reads(block.reads(c.input))
    return c


STEP = ar.Function(double)
AROUND: dict[str, Callable[[Any], Any]] = {
    "chain": lambda block: block >> STEP,
    "chain of fresh functions": lambda block: block >> ar.Function(lambda x: double(x)),
    "chain from the left": lambda block: ar.GetItem(0) >> block,
    "fan": lambda block: ar.AllOf(block),
    "record": lambda block: {"a": block} >> ar.GetItem("a"),
    "map": lambda block: ar.Map(block),
    "optional": lambda block: ar.Optional(block),
    "choice": lambda block: ar.OneOf(len).case(0, ar.Zeros([])).case(1, block),
    "fold": lambda block: ar.Fold(ar.GetItem(1) >> block, ar.Zeros([])),
    "fix": lambda block: ar.fix(lambda me: ar.OneOf(len, {0: block, 1: me})),
    "arrow": lambda block: ar.arrow(lambda x: block(x[0])),
    "shared": lambda block: ar.shared(block),
    "beside": lambda block: block * ar.Zeros([]),
    "composition": composed,
}
"""What is put around a block, again and again."""


def deep(kind: str, n: int) -> Any:
    block: Any = ar.Scalar()
    if kind == "ring of definitions":
        declarations = [ar.ForwardDeclaration() for _ in range(n // 2)]
        references = [declaration() for declaration in declarations]
        for declaration, following in zip(declarations, [*references[1:], references[0]], strict=True):
            declaration.resolve_to(ar.OneOf(len).case(0, ar.Zeros([])).case(1, following))
        return references[0]
    for _ in range(n):
        block = AROUND[kind](block)
    return block


FUNCTIONS_OF_THEIR_OWN = {"chain of fresh functions", "fix", "arrow"}
"""Kinds whose blocks hold lambdas, which do not pickle."""


@pytest.mark.parametrize("kind", sampled([*AROUND, "ring of definitions"], 4))
def test_deep_expressions_check_print_copy_and_pickle(kind: str) -> None:
    limit = sys.getrecursionlimit()
    block = deep(kind, N if NIGHTLY else DEEP)
    typed = ar.infer(block)
    assert sum(1 for _ in typed.walk()) >= DEEP
    text = repr(block)
    assert len(text) > DEEP
    assert len(str(typed).splitlines()) >= DEEP
    assert len(str(typed.output)) >= 5
    twins = [copy.deepcopy(block)]
    if kind not in FUNCTIONS_OF_THEIR_OWN:
        twins.append(pickle.loads(pickle.dumps(block)))
    for twin in twins:
        assert repr(twin) == text
        assert ar.infer(twin).output == typed.output
    assert sys.getrecursionlimit() == limit


def test_keys_are_lost_along_a_deep_choice() -> None:
    block: Any = ar.Record({"a": ar.Scalar(), "c": ar.Scalar()})
    for _ in range(DEEP):
        block = ar.OneOf(len).case(0, ar.Record({"a": ar.Scalar(), "b": ar.Scalar()})).case(1, block)
    assert str(ar.infer(block).output) == "(float32, float32)"
    with pytest.raises(TypeError, match="different keys"):
        ar.infer(block >> ar.GetItem("a"))


def test_deep_recursion_pickles() -> None:
    block: Any = ar.Scalar()
    for _ in range(DEEP):
        block = ar.fix(_Definition(block))
    twin = pickle.loads(pickle.dumps(block))
    assert isinstance(twin, Reference) and ar.infer(twin).output == T.Tensor(())


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


def test_growing_a_chain_copies_no_steps() -> None:
    """Copied at each step, 20,000 of them took 0.6 s in place of 0.14."""
    grown = ar.GetItem(0) >> ar.GetItem(0)
    for _ in range(1000):
        grown = grown >> ar.GetItem(0)
        assert all(len(each) <= 2 for each in vars(grown).values() if isinstance(each, tuple))
    assert len(grown.parts) == 1002


@pytest.mark.parametrize("kind", ["chain", "optional", "choice", "record"])
def test_inference_is_linear(kind: str) -> None:
    # Counted, not timed: how often a rule or a join goes on, per block, must not grow with the expression.
    from arrows.typesys.unify import Solver

    counts = []
    for n in (250, 1000):
        runs = 0
        run = Solver.run

        def counted(self: Any, rule: Any, context: Any, run: Any = run) -> None:
            nonlocal runs
            runs += 1
            run(self, rule, context)

        block = deep(kind, n)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Solver, "run", counted)
            ar.infer(block)
        counts.append(runs / n)
    assert counts[1] <= 1.2 * counts[0]


def _nest(x: Any, depth: int) -> Any:
    for _ in range(depth):
        x = (x,)
    return x


@pytest.mark.parametrize(
    "block",
    [
        lambda depth: ar.Map(_nest(ar.Scalar(), depth)),
        lambda depth: ar.Zeros(_nest([2], depth)),
        lambda depth: ar.arrow(lambda x: _nest(x, depth)),
        lambda depth: ar.arrow(lambda x: ar.Scalar()(_nest(x, depth))),
        lambda depth: ar.Scalar() >> ar.Function(lambda x: _nest(x, depth)),
    ],
)
def test_tuples_nest_a_hundred_deep_and_no_deeper(block: Any) -> None:
    ar.infer(block(100))
    for depth in (101, 1500):
        with pytest.raises(ar.ArrowTypeError, match="more than 100 tuples or dicts stand in one another"):
            ar.infer(block(depth))
