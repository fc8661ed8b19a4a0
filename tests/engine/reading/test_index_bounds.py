"""Indices are checked alike on all devices: as examples are read, or computed ones as the model runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

import arrows as ar
from arrows import ops
from arrows.testing.host_kernels import host_compiler
from arrows.training import Adagrad
from tests.profile import NIGHTLY

DEVICES = ["cpu", "fake", *(["fake-kernels"] if host_compiler() is not None else [])]
ROWS, WIDE = 4, 2

Block = Any
Table = Callable[[Any], Any]


def of_vector(function: Callable[[Any], Any]) -> Callable[[Table], Block]:
    """A block that takes a vector of three ids and looks up what a function makes of it."""
    return lambda table: ar.Vector(3, "int32") >> ar.Function(lambda x: ops.sum(table(function(x))))


def of_list(block: Block) -> Callable[[Table], Block]:
    """A block that takes a list of ids and looks up the one that a block makes of it."""
    return lambda table: ar.Map(ar.Scalar("int32")) >> block >> ar.Function(lambda x: ops.sum(table(x)))


def of_elements(block: Block) -> Callable[[Table], Block]:
    """A block that takes a list of ids and looks up each element of what a block makes of it."""
    ids = ar.Map(ar.Scalar("int32"))
    return lambda table: ids >> block >> ar.Map(ar.Function(lambda x: ops.sum(table(x)))) >> ar.Sum()


def of_sequence(function: Callable[[Any], Any]) -> Callable[[Table], Block]:
    """A block that looks up all elements of a list at once."""
    return lambda table: (
        ar.Map(ar.Scalar("int32")) >> ar.Function(lambda xs: ops.segment_sum(table(function(xs)))) >> SUM
    )


SUM = ar.Function(lambda x: ops.sum(x))
SECOND = ar.Function(lambda xs: ops.cast(ops.segment_count(xs) * 0 + 1, "int32"))
WAYS: dict[str, Callable[[Table], Block]] = {
    "a vector": of_vector(lambda x: x),
    "an element of a vector": of_vector(lambda x: x[-1]),
    "two functions": lambda table: (
        ar.Vector(3, "int32") >> ar.Function(lambda x: x[::-1]) >> ar.Function(lambda x: ops.sum(table(x)))
    ),
    "a list": of_sequence(lambda xs: xs),
    "a shifted list": of_sequence(lambda xs: ops.segment_shift(xs, 1)),
    "each of a list": of_elements(ar.Map(ar.Function(lambda x: x * 1))),
    "the element at a place": of_list((ar.Identity() & SECOND) >> ar.At()),
    "a computed place": lambda table: (
        ar.Map(ar.Scalar("int32"))
        >> (ar.Map(ar.Function(lambda x: table(x * 0))) & ar.Max())
        >> ar.At()
        >> SUM
    ),
    "the greatest element": of_list(ar.Max()),
    "a fold": of_list(ar.Fold(ar.Function(lambda state, x: ops.maximum(state, x)), ar.Zeros("int32"))),
    "numbers or computed ones": lambda table: (
        ar.Map(ar.OneOf(lambda x: x % 2 == 0, [ar.Scalar("int32") >> DOUBLE, ar.Scalar("int32")]))
        >> ar.Map(ar.Function(lambda x: ops.sum(table(x))))
        >> ar.Sum()
    ),
}
DOUBLE = ar.Function(lambda x: x + x - x)
TABLES = ["an embedding", "a constant", "unit vectors", "an element of a vector"]


def table_of(name: str) -> Table:
    """What ids are indices of."""
    embedding = ar.Embedding(ROWS, WIDE, name="table")
    numbers = np.arange(ROWS, dtype=np.float32)
    tables: dict[str, Table] = {
        "an embedding": embedding,
        "a constant": lambda index: ops.lookup(np.ones((ROWS, WIDE), np.float32), index),
        "unit vectors": lambda index: ops.one_hot(index, ROWS),
        "an element of a vector": lambda index: ops.pick(
            ops.broadcast_to(numbers, (*index.shape, ROWS)), index
        ),
    }
    return tables[name]


def learned(table: Table) -> Table:
    """The table, at indices that depend on a weight, which is 0."""
    shift = ar.FC(1, initializer=ar.initializers.zeros, name="shift")

    def look_up(index: Any) -> Any:
        zero = ops.reshape(ops.sum(ops.cast(index, "float32")) * 0.0, (1,))
        return table(index + ops.cast(shift(zero)[0], index.dtype))

    return look_up


def models(way: str, table: str, of_weights: bool) -> dict[str, ar.Model]:
    """A model of one number with a parameter, on each device."""
    weight = ar.FC(1, name="weight")
    look_up = learned(table_of(table)) if of_weights else table_of(table)
    block = WAYS[way](look_up) >> ar.Function(lambda y: ops.sum(weight(ops.reshape(y, (1,)))))
    return {device: ar.compile(block, device=device, seed=1, jit=False) for device in DEVICES}


def outcome(call: Callable[[], Any]) -> Any:
    """The numbers of a call, or its error."""
    try:
        found = call()
    except ar.InputError as error:
        return f"{type(error).__name__}: {str(error).splitlines()[0]}"
    if isinstance(found, tuple):
        loss, gradients = found
        found = [loss, *(gradients[name] for name in sorted(gradients))]
        return [np.asarray(ar.to_numpy(each)) for each in found]
    return np.asarray(ar.to_numpy(found))


def calls(model: ar.Model, examples: list[list[int]]) -> dict[str, Callable[[], Any]]:
    return {
        "values": lambda: model(examples),
        "gradients": lambda: model.value_and_grad(examples),
        "a step": lambda: model.train_step(examples, Adagrad(0.01)),
        "a prepared set": lambda: model(model.prepare(examples)[:]),
        "prediction": lambda: np.array([float(ar.to_numpy(each)) for each in model.predict(examples)]),
    }


@pytest.mark.parametrize(
    ("way", "table"),
    [*((way, TABLES[0]) for way in WAYS), *(("a vector", table) for table in TABLES[1:])],
)
@pytest.mark.parametrize("of_weights", [False, True])
def test_an_index_out_of_range_is_the_same_error_on_every_device(
    way: str, table: str, of_weights: bool
) -> None:
    examples = [[1, 1, 1], [2, 3, 1], [9, 9, 9], [8, 8, 8]]
    if way in ("the element at a place", "a computed place"):
        examples[:2] = [[1, 1, 1], [0, 2, 0]]
    if of_weights or way not in ("a vector", "a list"):  # of several, the first that a step meets is named
        del examples[3:]
    found = models(way, table, of_weights)
    before = {
        device: {n: ar.to_numpy(p).copy() for n, p in model.params.items()} for device, model in found.items()
    }
    for device, model in found.items():
        assert not isinstance(outcome(lambda model=model: model(examples[:2])), str), device
        for name, call in calls(model, examples).items():
            error = outcome(call)
            assert isinstance(error, str) and error.startswith("InputError: example 2"), (device, name, error)
        for name, parameter in model.params.items():
            np.testing.assert_array_equal(ar.to_numpy(parameter), before[device][name])


ID = st.sampled_from([0, 0, 1, 1, 2, 2, 3, 3, 3, -1, -4, 4, 5, 2**31 - 1, -(2**31)])


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None, max_examples=200 if NIGHTLY else 15)
@given(
    way=st.sampled_from(sorted(WAYS)),
    table=st.sampled_from(TABLES),
    of_weights=st.booleans(),
    examples=st.lists(st.lists(ID, min_size=3, max_size=3), min_size=1, max_size=4),
)
def test_every_device_gives_the_same_numbers_or_the_same_error(
    way: str, table: str, of_weights: bool, examples: list[list[int]]
) -> None:
    found = {device: calls(model, examples) for device, model in models(way, table, of_weights).items()}
    for name in ("values", "gradients", "a prepared set"):
        first, *others = (outcome(each[name]) for each in found.values())
        for other in others:
            assert isinstance(first, str) == isinstance(other, str), (first, other)
            if isinstance(first, str):
                assert first == other
            else:
                for a, b in zip(first, other, strict=True):
                    np.testing.assert_allclose(a, b, 1e-5, 1e-6)


def test_the_host_does_not_wait_for_places_that_are_in_range() -> None:
    def program(size: int) -> str:
        function = ar.Function(lambda v: (ops.pick(v, ops.argmax(v)), table(ops.argmax(v))))
        table = ar.Embedding(size, WIDE, name="table")
        return str(ar.compile(ar.Vector(2) >> ar.FC(6) >> function, device="fake").program())

    assert "in_range" not in program(6)
    assert program(5).count("in_range") == 1


def test_a_set_that_was_checked_against_another_table_is_read_again() -> None:
    def model(rows: int) -> ar.Model:
        table = ar.Embedding(rows, WIDE, name="table")
        return ar.compile(ar.Vector(3, "int32") >> ar.Function(lambda x: ops.sum(table(x))))

    prepared = model(10).prepare([[1, 2, 9]])
    with pytest.raises(ar.ArrowValueError):
        model(4)(prepared[:])
