"""Recursion over several blocks in batches: values and gradients, sharing, errors, depth."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import arrows as ar
from arrows.engine.planning import ApplyOperation
from arrows.engine.scheduling import merge
from tests.agree import SETTINGS, agree

SIZE = 3

# A small language: statements hold statements and expressions, expressions hold expressions and blocks.
PROGRAMS: list[Any] = [
    {"do": [{"set": 1, "to": {"number": 0.5}}, {"set": 2, "to": {"plus": [{"number": 1.0}, {"name": 1}]}}]},
    {"set": 0, "to": {"of": {"do": [{"set": 3, "to": {"name": 2}}]}}},
    {"do": []},
    {
        "do": [
            {
                "do": [
                    {"set": 1, "to": {"plus": [{"of": {"do": []}}, {"plus": [{"name": 0}, {"number": 2}]}]}}
                ]
            },
            {"set": 1, "to": {"number": -1.0}},
        ]
    },
]


def first_key(x: Any) -> str:
    return str(next(iter(x)))


def parts(lookup: ar.Block, cell: ar.Block) -> Callable[[Any, Any], tuple[Any, Any]]:
    """The definitions of statements and expressions, on the same layers or different ones."""

    def definition(statement: Any, expression: Any) -> tuple[Any, Any]:
        name = ar.Scalar("int32") >> lookup
        several = ar.GetItem("do") >> ar.Map(statement) >> ar.Sum()
        assign = (ar.GetItem("set") >> name & ar.GetItem("to") >> expression) >> ar.Concat() >> cell

        @ar.arrow
        def measured(x: Any) -> Any:
            state = ar.OneOf(first_key).case("do", several).case("set", assign)(x)
            ar.Metric("size")(ar.Function(lambda h: (h * h).sum())(state))
            return state

        number = (
            ar.GetItem("number")
            >> ar.Scalar(name="number")
            >> ar.Function(lambda x: x * np.ones(SIZE, "float32"))
        )
        plus = ar.GetItem("plus") >> (ar.GetItem(0) >> expression & ar.GetItem(1) >> expression)
        value = (
            ar.OneOf(first_key)
            .case("number", number)
            .case("name", ar.GetItem("name") >> name)
            .case("plus", plus >> ar.Concat() >> cell)
            .case("of", ar.GetItem("of") >> statement)
        )
        return measured, value

    return definition


def language(declare: bool = False, again: ar.Block | None = None) -> tuple[Any, Any]:
    lookup = ar.Embedding(5, SIZE)
    cell = ar.FC(SIZE, activation=ar.ops.tanh)
    make = parts(lookup, cell if again is None else again)
    if not declare:
        blocks: tuple[Any, Any] = ar.fix(make)
        return blocks
    one = ar.ForwardDeclaration(output_type=[SIZE], name="statement")
    two = ar.ForwardDeclaration(name="expression")
    first, second = make(one(), two())
    return one.resolve_to(first), two.resolve_to(second)


def scalar(block: Any) -> Any:
    return block >> ar.Function(lambda h: (h * h).sum())


@pytest.mark.parametrize("declare", [False, True])
def test_batched_is_one_by_one(declare: bool) -> None:
    statement, _ = language(declare)
    agree(scalar(statement), PROGRAMS)


def test_losses_at_the_nodes_of_one_kind() -> None:
    statement, _ = language()
    agree(statement, PROGRAMS, loss="size", inputs=["number"])


def test_entered_by_either_and_by_both() -> None:
    statement, expression = language()
    read = ar.GetItem(0) >> statement & ar.GetItem(1) >> expression & ar.GetItem(0) >> statement
    pairs = [(PROGRAMS[i], PROGRAMS[j]["to"]) for i, j in ((0, 1), (3, 1), (2, 1))]
    block = read >> ar.Function(lambda a, b, c: (a * b).sum() + (c * c).sum())
    agree(block, pairs)


def test_nothing_but_one_kind() -> None:
    _, expression = language()
    agree(scalar(expression), [{"number": 2.0}, {"name": 1}])


@pytest.mark.parametrize(("device", "schedule"), SETTINGS)
def test_a_layer_of_both_kinds_is_one_operation(device: str, schedule: str) -> None:
    statement, _ = language()
    model = ar.compile(scalar(statement), device=device, schedule=schedule)
    names = [one.name for one in model.plan.operations if isinstance(one, ApplyOperation)]
    assert names.count("Embedding") == 1 and names.count("Concat >> FC") == 1
    assert list(model.params) == ["Embedding_1/weight", "FC_1/weight", "FC_1/bias"]


def test_a_knot_is_written_once_an_entry() -> None:
    statement, _ = language()
    once = ar.compile(scalar(statement)).reader.source
    assert once.count("def knot") == 2
    twice = ar.compile((statement & statement) >> ar.Function(lambda a, b: (a * b).sum())).reader.source
    assert twice.count("def knot") == 4


def test_steps_follow_the_deepest_path_and_not_the_number_of_nodes() -> None:
    statement, _ = language()
    model = ar.compile(scalar(statement))

    def steps(examples: list[Any]) -> int:
        return len(merge(model.plan, model.prepare(examples)[:].wired).steps)

    assert steps(PROGRAMS * 5) == steps(PROGRAMS)


# ---------------------------------------------------------------------------------- graphs without cycles


def dag(shared: bool) -> tuple[Any, Any]:
    """Two kinds of nodes, each of which refers to two of the other kind."""
    cell = ar.FC(2, activation=ar.ops.tanh)

    def definition(red: Any, blue: Any) -> tuple[Any, Any]:
        def node(other: Any, metric: str) -> Any:
            once = ar.shared(other) if shared else other
            below = (ar.GetItem("a") >> once & ar.GetItem("b") >> once) >> ar.Concat() >> cell

            @ar.arrow
            def counted(x: Any) -> Any:
                leaf = ar.GetItem("x") >> ar.Vector(2, name="x")
                state = ar.OneOf(lambda n: "a" in n).case(True, below).case(False, leaf)(x)
                ar.Metric(metric)(ar.Function(lambda h: h.sum())(state))
                return state

            return counted

        return node(blue, "red"), node(red, "blue")

    blocks: tuple[Any, Any] = ar.fix(definition)
    return blocks


def diamonds(depth: int) -> Any:
    node: Any = {"x": [0.5, -1.0]}
    for _ in range(depth):
        node = {"a": node, "b": node}
    return node


def test_shared_nodes_of_two_kinds_are_visited_once() -> None:
    red, blue = dag(shared=True)
    both = (ar.shared(red) & ar.shared(blue)) >> ar.Function(lambda a, b: (a * b).sum())
    model = ar.compile(both)
    model([diamonds(30), diamonds(1)])
    assert model.metrics["red"].lengths.tolist() == [31, 2]
    assert model.metrics["blue"].lengths.tolist() == [31, 2]
    agree(both, [diamonds(4), diamonds(0), {"a": diamonds(1), "b": diamonds(2)}], inputs=["x"])
    agree(both, [diamonds(4), diamonds(3)], loss="red")


def test_shared_or_not_the_numbers_are_the_same() -> None:
    total = ar.Function(lambda h: (h * h).sum())
    examples = [diamonds(3), {"a": diamonds(1), "b": diamonds(2)}]
    values = [ar.compile(dag(shared)[0] >> total)(examples) for shared in (True, False)]
    np.testing.assert_allclose(values[0], values[1], rtol=1e-6)


@pytest.mark.nightly
@pytest.mark.parametrize("shared", [True, False])
def test_cyclic_data_is_an_error_that_says_so(shared: bool) -> None:
    red, _ = dag(shared)
    example = diamonds(3)
    example["a"]["b"] = example
    model = ar.compile(red)
    for run in (lambda: model([diamonds(1), example]), lambda: model.eval(example)):
        with pytest.raises(ar.InputError, match="cyclic"):
            run()


# ------------------------------------------------------------------------------------------ errors in data


def test_errors_say_where_in_the_example() -> None:
    statement, _ = language()
    model = ar.compile(statement)
    bad = {"do": [{"set": 1, "to": {"plus": [{"number": 1.0}, {"of": {"do": [{"set": "x", "to": None}]}}]}}]}
    with pytest.raises(ar.InputError) as caught:
        model([PROGRAMS[0], bad])
    text = str(caught.value)
    assert text.startswith("example 1: statement > do > [0] > to > plus > [1] > of > do > [0] > set: ")
    with pytest.raises(ar.InputError, match="there is no case for the key 'go'"):
        model([{"do": [{"go": 1}]}])


def test_recursion_that_goes_nowhere_ends() -> None:
    a, _ = ar.fix(
        lambda a, b: (
            ar.OneOf(len).case(0, ar.Zeros([])).case(1, b),
            ar.OneOf(len).case(0, ar.Zeros([])).case(1, a),
        )
    )
    model = ar.compile(a)
    assert model([[]]).tolist() == [0]
    for run in (lambda: model([[1]]), lambda: model.eval([1])):
        with pytest.raises(ar.InputError, match=r"cyclic|endless"):
            run()


# ------------------------------------------------------------------------------------------ deep


@pytest.mark.parametrize("schedule", ["strata", "depth"])
def test_deep_data(schedule: str) -> None:
    even, odd = ar.fix(
        lambda even, odd: (
            ar.OneOf(bool).case(False, ar.Constant(1.0)).case(True, ar.GetItem(0) >> odd >> halve),
            ar.OneOf(bool).case(False, ar.Constant(2.0)).case(True, ar.GetItem(0) >> even >> halve),
        )
    )
    deep: list[Any] = []
    for _ in range(10_001):
        deep = [deep]
    model = ar.compile(even, schedule=schedule)
    values = model([deep, [[]], []])
    assert values.tolist() == [0.0, 1.0, 1.0]
    assert float(model.eval(deep)) == 0.0
    assert float(ar.compile(odd).eval([[]])) == 0.5
    assert float(model.value_and_grad([deep, []])[0]) == 0.5


halve = ar.Function(lambda x: x * 0.5)


@pytest.mark.nightly
def test_thousands_of_definitions_compile_and_run() -> None:
    count = 4_000
    declarations = [ar.ForwardDeclaration(name=f"d{i}") for i in range(count)]
    references = [d() for d in declarations]
    for i, declaration in enumerate(declarations):
        following = ar.GetItem(0) >> references[(i + 1) % count] >> halve
        declaration.resolve_to(ar.OneOf(bool).case(False, ar.Constant(1.0)).case(True, following))
    start = time.process_time()
    model = ar.compile(references[0])
    assert model([[[[]]], []]).tolist() == [0.25, 1.0]
    assert time.process_time() - start < 120
