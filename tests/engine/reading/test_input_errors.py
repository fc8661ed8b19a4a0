"""Bad input gets a clear error that names the block, the example and the path; the model stays as it was."""

from __future__ import annotations

from dataclasses import dataclass
from operator import attrgetter
from traceback import format_exception
from typing import Any

import numpy as np
import pytest

import arrows as ar
from arrows import ops
from arrows.engine.planning import SCHEDULES
from tests.profile import sampled

SETTINGS = [(device, schedule) for device in ("cpu", "fake") for schedule in SCHEDULES]
everywhere = pytest.mark.parametrize(("device", "schedule"), sampled(SETTINGS, 2))

table = ar.Embedding(5, 2, name="embed")


@ar.fix
def tree(me: Any) -> Any:
    """A tree with a word, a weight and a kind at each leaf."""
    word = ar.GetItem("word") >> ar.Scalar("int32") >> table
    weight = ar.GetItem("weight") >> ar.Scalar()
    kind = ar.GetItem("kind") >> ar.OneOf(lambda k: k, {"noun": ar.Constant(1.0), "verb": ar.Constant(2.0)})
    leaf = (word & weight & kind) >> ar.Function(lambda v, w, k: v * (w * k))
    pair = (ar.GetItem("left") >> me & ar.GetItem("right") >> me) >> ar.Function(lambda a, b: a + b)
    return ar.OneOf(lambda t: "left" in t, {True: pair, False: leaf})


def leaf(word: Any = 1, weight: Any = 0.5, kind: Any = "noun") -> dict[str, Any]:
    return {"word": word, "weight": weight, "kind": kind}


def pair(left: Any, right: Any) -> dict[str, Any]:
    return {"left": left, "right": right}


numbers = ar.Map(ar.Scalar())


@pytest.mark.parametrize(
    ("block", "example", "errors"),
    [
        (numbers, ["a"], 1),
        (numbers, [[1]], 1),
        (numbers, None, 1),
        (ar.GetItem("a") >> ar.Scalar(), {"b": 1}, 1),
        (ar.GetItem("a") >> ar.Scalar(), 3, 1),
        ((ar.GetItem(0) >> numbers & ar.GetItem(1)) >> ar.Nth(), ([1.0], 3), 1),
        (ar.Length(), 3, 1),
        (ar.Scalar("int32") >> table, 9, 1),
        (ar.OneHot(3), 9, 1),
        (ar.Vocabulary(["a"]).block(), [], 1),
        (tree, leaf(kind="adverb"), 1),
        (ar.InputTransform(lambda x: x["a"]) >> ar.Scalar(), {}, 2),  # the user's line is worth to see
        (ar.OneOf(lambda x: x["a"], {1: ar.Constant(1.0)}), {}, 2),
    ],
)
@pytest.mark.parametrize("run", ["predict", "prepare", "eval"])
def test_a_traceback_shows_one_error_and_that_of_a_users_function(
    run: str, block: Any, example: Any, errors: int
) -> None:
    model = ar.compile(block)
    runs = {"predict": lambda: model.predict([example]), "prepare": lambda: model.prepare([example])}
    with pytest.raises(ar.InputError) as caught:
        runs.get(run, lambda: block.eval(example))()
    assert "".join(format_exception(caught.value)).count("Traceback") == errors


@dataclass
class Item:
    name: str
    price: Any


@dataclass
class Order:
    items: list[Item]
    notes: dict[str, Any]


def test_functions_are_no_steps_of_the_path() -> None:
    order, item = ar.Input(Order), ar.Input(Item)
    prices = ar.Map(item >> item.get(lambda x: x.price) >> ar.Vector(1)) >> ar.Sum()
    block = order >> ar.AllOf(
        order.get(lambda o: o.items) >> prices,
        ar.InputTransform(attrgetter("notes")) >> ar.GetItem("size") >> ar.Scalar(),
    )
    model = ar.compile(block)
    for bad, text in [
        (Order([Item("a", ["1"])], {"size": 2}), "[0]: expected a number at [0], got '1'"),
        (Order([], {"size": None}), "size: expected a number, got None"),
    ]:
        with pytest.raises(ar.InputError) as caught:
            model([bad])
        assert str(caught.value).splitlines()[0] == f"example 0: {text}"


GOOD = [
    pair(leaf(), leaf(2, True, "verb")),
    leaf(np.int64(4), np.float64(2)),
    pair(pair(leaf(), leaf()), leaf(0)),
]
missing = leaf()
del missing["weight"]


class Untouched:
    """A model that must be the same after every refusal."""

    def __init__(self, block: Any, good: list[Any], **options: Any) -> None:
        self.model = ar.compile(block, **options)
        self.good = good
        self.model(good)
        self.before = self.state()

    def state(self) -> Any:
        model = self.model
        return (
            {name: ar.to_numpy(array).tolist() for name, array in model.params.items()},
            {name: metric.tolist() for name, metric in model.metrics.items()},
            {name: list(labels) for name, labels in model.labels.items()},
        )

    def refuses(self, batch: list[Any], match: str, *, prepare: bool = True) -> None:
        """All ways to hand in a batch refuse it with the same message and leave the model alone."""
        calls = [self.model]
        if self.model._weights.missing is None:
            calls.append(self.model.value_and_grad)
        for call in [*calls, self.model.prepare] if prepare else calls:
            with pytest.raises(ar.InputError, match=match):
                call(batch)
            assert self.state() == self.before
        good = ar.to_numpy(self.model(self.good))
        again = ar.compile(self.model.typed.form, params=dict(self.model.params), device=self.model.device)
        assert np.array_equal(good, ar.to_numpy(again(self.good)))


@pytest.mark.parametrize(
    ("bad", "match"),
    [
        (
            leaf(None),
            r"tree > word: expected int, got None\n  in  Scalar\('int32'\)  .*:\d+\n  hint  ",
        ),
        (leaf("film"), r"tree > word: expected int, got 'film'"),
        (leaf(2**31), r"tree > word: 2147483648 does not fit int32 \(-2147483648 to 2147483647\)"),
        (leaf(5), r"tree > word: .*index 5 is out of range for an axis of size 5(.|\n)*embed"),
        (leaf(-1), r"tree > word: .*index -1 is out of range(.|\n)*embed"),
        (leaf(weight=None), r"tree > weight: expected a number, got None\n  in  Scalar\('float32'\)"),
        (leaf(weight=1e39), r"tree > weight: 1e\+39 is too large for float32"),
        (
            leaf(kind="adverb"),
            r"tree > kind: there is no case for the key 'adverb'; there are 'noun', 'verb'",
        ),
        (leaf(kind=[]), r"tree > kind: there is no case for the key a list of 0"),
        (missing, r"tree: there is no 'weight' among the keys 'word', 'kind'\n  in  GetItem\('weight'\)"),
        ({}, r"tree: there is no item 'word' in a dict of 0"),
        (5, r"tree: the key function raised TypeError: .* iterable"),
        (None, r"tree: the key function raised TypeError"),
        ([], r"tree: expected something with the item 'word', got a list of 0"),
    ],
)
@everywhere
def test_bad_leaves_of_trees(device: str, schedule: str, bad: Any, match: str) -> None:
    block = (
        tree >> ar.Function(lambda v: v.sum()) >> ar.AllOf(ar.Identity(), ar.Metric("loss")) >> ar.GetItem(0)
    )
    model = Untouched(block, GOOD, device=device, schedule=schedule)
    model.refuses([*GOOD, bad], f"^example 3: {match}")
    model.refuses([bad, *GOOD], f"^example 0: {match}")
    # Deeper down the path goes on.
    deep = match.replace("tree", "tree > right > left", 1).replace(
        "tree > right > left: the", "tree > right > left: the"
    )
    model.refuses([*GOOD, GOOD[0], pair(leaf(), pair(bad, leaf()))], f"^example 4: {deep}")


# ------------------------------------------------------------------------------------------ seen when it runs


def shifted(by: int) -> Any:
    """The index of the embedding is computed inside the block, of a parameter too."""
    layer = ar.FC(1, name="layer")

    def index(i: Any) -> Any:
        zero = layer(ar.ops.reshape(ar.ops.cast(i, "float32"), (1,)))[0] * 0.0
        return i + by + ar.ops.cast(zero, "int32")

    return ar.Scalar("int32") >> ar.Function(index) >> table >> ar.Function(lambda v: v.sum())


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_computed_index_out_of_range(schedule: str) -> None:
    model = Untouched(shifted(3), [0, 1], schedule=schedule)
    match = r"^example {}: .*index {} is out of range for an axis of size 5\n  in  .*embed.*errors.py:\d+"
    model.refuses([0, 1, 4, 0, 3], match.format(2, 7), prepare=False)
    model.refuses([-4, 1], match.format(0, -1), prepare=False)
    prepared = model.model.prepare([1, 0, 1, 2, 0])
    for call in (model.model, model.model.value_and_grad):
        with pytest.raises(ar.InputError, match=match.format(3, 5)):  # its place in the prepared set
            call(prepared[[2, 3, 4]])
        with pytest.raises(ar.InputError, match=match.format(3, 5)):
            call(prepared)
    assert model.state() == model.before
    with pytest.raises(ar.InputError, match="index 5"):
        model.model.eval(2)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_computed_index_in_a_sequence(schedule: str) -> None:
    """Several rows an example, in one operation."""
    block = ar.Map(ar.Scalar("int64")) >> ar.Function(
        lambda rows: ops.segment_sum(ops.lookup(np.arange(5.0), rows + 1))
    )
    model = Untouched(block, [[1], [0, 2]], schedule=schedule)
    model.refuses([[1], [0, 2], [3, 4, 0], []], "^example 2: .*index 5 is out of range", prepare=False)
    with pytest.raises(ar.InputError, match="index 5 is out of range"):
        model.model(model.model.prepare([[1], [4]]))


@pytest.mark.parametrize("examples", [[2], [1, 2], [[2]], ([2, 1],)])
def test_a_function_runs_on_an_example_that_it_refuses_to_read_it_and_to_say_where(examples: Any) -> None:
    ran: list[object] = []

    def half(x: object) -> float:
        ran.append(x)
        if x != 1:
            raise KeyError(x)
        return 0.5

    model = ar.compile(ar.InputTransform(half) >> ar.Scalar())
    with pytest.raises(ar.InputError, match="KeyError") as caught:
        model(examples)
    assert isinstance(caught.value.__cause__, KeyError)
    (refused,) = [x for x in examples if x != 1]
    assert sum(x is refused for x in ran) == 2


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_the_largest_of_no_elements(schedule: str) -> None:
    block = ar.Map(ar.Scalar()) >> ar.Function(lambda rows: ops.segment_max(rows))
    model = Untouched(block, [[1], [2, 3]], schedule=schedule)
    model.refuses(
        [[1], [2, 1], []], "^example 2: segment_max: a sequence is empty\n  in  Function", prepare=False
    )
