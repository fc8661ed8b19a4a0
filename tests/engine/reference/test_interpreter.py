"""The walk over one example: what each form means, and what it says when an example does not fit."""

from __future__ import annotations

import re
from typing import Any

import pytest

import arrows as ar
from arrows.engine.reference import interpret
from arrows.engine.values import ExamplePath, LeafError
from arrows.typesys.errors import InputError


class Plain:
    """An algebra without arrays: a read is a pair, an application says what it was given."""

    def __init__(self) -> None:
        self.log: list[Any] = []

    def constant(self, typed: Any) -> Any:
        return "constant"

    def read(self, typed: Any, thing: Any) -> Any:
        if not isinstance(thing, int):
            raise LeafError(f"expected int, got {thing!r}")
        self.log.append(thing)
        return thing

    def apply(self, typed: Any, value: Any) -> Any:
        self.log.append(value)
        return ("applied", value)

    def collect(self, typed: Any, value: Any) -> None:
        self.log.append((typed.form.key, value))


def walk(block: Any, example: Any, input: Any = None, **options: Any) -> Any:
    return interpret(ar.infer(block, input), example, Plain(), **options)


def log(block: Any, example: Any) -> list[Any]:
    plain = Plain()
    interpret(ar.infer(block), example, plain)
    return plain.log


def refused(block: Any, example: Any, **options: Any) -> InputError:
    with pytest.raises(InputError) as caught:
        walk(block, example, **options)
    return caught.value


READ = ar.Scalar("int32")


@ar.fix
def tree(me: Any) -> Any:
    pair = ar.GetItem("left") >> me & ar.GetItem("right") >> me
    node = pair >> ar.Function(lambda x, y: x + y)
    return ar.OneOf(lambda t: "word" in t).case(True, ar.GetItem("word") >> READ).case(False, node)


def test_metrics_come_in_the_order_of_visits() -> None:
    @ar.fix
    def nested(me: Any) -> Any:
        @ar.arrow
        def node(x: Any) -> Any:
            ar.Metric("n")(READ(x[0]))
            return ar.Void()(ar.Map(me)(x[1]))

        return node

    assert log(nested, (1, [(2, [(3, [])]), (4, [])])) == [
        1,
        ("n", 1),
        2,
        ("n", 2),
        3,
        ("n", 3),
        4,
        ("n", 4),
    ]


# What goes wrong


def line(text: str) -> str:
    return text.splitlines()[0]


def test_the_text_of_an_input_error() -> None:
    error = refused(
        tree, {"left": {"word": 1}, "right": {"left": {"word": 2}, "right": {"word": None}}}, number=17
    )
    head, block = str(error).splitlines()
    assert head == "example 17: tree > right > right > word: expected int, got None"
    assert re.fullmatch(r"  in  Scalar\('int32'\)  test_interpreter\.py:\d+", block)
    assert isinstance(error.__cause__, LeafError)


def test_iterators_of_the_user_may_fail() -> None:
    def numbers() -> Any:
        yield 1
        raise RuntimeError("torn")

    assert line(str(refused(ar.Map(READ), numbers()))) == "RuntimeError: torn"


# Depth, and its end


def test_cyclic_data_is_found_early() -> None:
    data: Any = {"right": {"word": 1}}
    data["left"] = {"left": data, "right": {"word": 2}}
    error = refused(tree, data)
    assert "the recursion is back at the value of tree" in str(error)
    assert error.__cause__ is None

    loop: list[Any] = []
    loop.append(loop)
    nested = ar.fix(lambda me: ar.Map(me) >> ar.InputTransform(len))
    assert "endless" in str(refused(nested, loop))
    once = ar.fix(lambda me: ar.shared(ar.Map(me) >> ar.InputTransform(len)))
    assert "endless" in str(refused(once, loop))
    loop[:] = [[loop]]
    assert "cyclic: this object contains itself" in str(refused(once, loop))


def test_the_same_object_in_two_places_is_no_cycle() -> None:
    leaf = {"word": 1}
    shared: Any = leaf
    for _ in range(10):
        shared = {"left": shared, "right": leaf}
    assert len(log(tree, shared)) == 21


def test_a_recursion_that_goes_nowhere() -> None:
    stuck = ar.fix(lambda t: ar.OneOf(type).case(int, READ).case(list, t))
    assert "endless: the recursion is back at the value" in str(refused(stuck, [[1]]))
    inside = ar.fix(lambda t: ar.OneOf(type).case(int, READ).case(list, ar.GetItem(0) >> stuck))
    assert "[0] > lambda: endless: the recursion is back at the value" in str(refused(inside, [[[1]]]))
    # Of every element of a sequence it looks at the whole sequence.
    pairs = (ar.Identity() & ar.Broadcast()) >> ar.Zip()
    add = ar.Fold(ar.Function(lambda s, x: s + x), ar.Zeros("int32"))
    endless = ar.Map(READ) >> ar.fix(lambda me: pairs >> ar.Map(ar.GetItem(1) >> me) >> add)
    assert walk(endless, []) == "constant"
    assert "endless: the recursion is back at the value" in str(refused(endless, [1, 2]))


def test_example_path() -> None:
    place = ExamplePath().named("tree").child("a").child(0)
    assert str(ExamplePath()) == ""
    assert str(place.child(slice(1, None))) == "tree > a > [0] > [1:]"
    both = place.joined((place.child("x"), place.child("y")))
    assert str(both) == "tree > a > [0]"
    assert str(both.child(1)) == "tree > a > [0] > y"
    assert str(both.child("k")) == "tree > a > [0] > k"
    assert str(both.child(2)) == "tree > a > [0] > [2]"
