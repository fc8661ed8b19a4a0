"""Recursion over several blocks in batches: values and gradients, sharing, errors, depth."""

from __future__ import annotations

import time
from typing import Any

import pytest

import arrows as ar
from arrows.engine.planning import ApplyOperation
from tests.agree import SETTINGS

SIZE = 3


def first_key(x: Any) -> str:
    return str(next(iter(x)))


def language() -> tuple[Any, Any]:
    """Statements hold statements and expressions, expressions hold expressions and blocks; on two layers."""
    name, cell = ar.Scalar("int32") >> ar.Embedding(5, SIZE), ar.FC(SIZE, activation=ar.ops.tanh)

    def definition(statement: Any, expression: Any) -> tuple[Any, Any]:
        assign = (ar.GetItem("set") >> name & ar.GetItem("to") >> expression) >> ar.Concat() >> cell
        several = ar.GetItem("do") >> ar.Map(statement) >> ar.Sum()
        plus = ar.GetItem("plus") >> (ar.GetItem(0) >> expression & ar.GetItem(1) >> expression)
        value = (
            ar.OneOf(first_key)
            .case("name", ar.GetItem("name") >> name)
            .case("plus", plus >> ar.Concat() >> cell)
            .case("of", ar.GetItem("of") >> statement)
        )
        return ar.OneOf(first_key).case("do", several).case("set", assign), value

    blocks: tuple[Any, Any] = ar.fix(definition)
    return blocks


def scalar(block: Any) -> Any:
    return block >> ar.Function(lambda h: (h * h).sum())


@pytest.mark.parametrize(("device", "schedule"), SETTINGS)
def test_a_layer_of_both_kinds_is_one_operation(device: str, schedule: str) -> None:
    statement, _ = language()
    model = ar.compile(scalar(statement), device=device, schedule=schedule)
    names = [one.name for one in model.plan.operations if isinstance(one, ApplyOperation)]
    assert names.count("Embedding") == 1 and names.count("Concat >> FC") == 1
    assert list(model.params) == ["Embedding_1/weight", "FC_1/weight", "FC_1/bias"]


# ------------------------------------------------------------------------------------------ errors in data


def test_errors_say_where_in_the_example() -> None:
    statement, _ = language()
    model = ar.compile(statement)
    bad = {"do": [{"set": 1, "to": {"plus": [{"name": 1}, {"of": {"do": [{"set": "x", "to": None}]}}]}}]}
    with pytest.raises(ar.InputError) as caught:
        model([{"do": []}, bad])
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
