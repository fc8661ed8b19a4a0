"""Taps: any value on its way, for every visit, without a change to any number."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import arrows as ar
from arrows.engine import reference
from arrows.engine.device import FakeArray
from arrows.engine.planning import SCHEDULES
from arrows.engine.values import collate
from arrows.training import SGD
from tests.agree import agree, plain
from tests.compare import close
from tests.profile import sampled

everywhere = pytest.mark.parametrize(
    ("device", "schedule"),
    sampled([(device, schedule) for device in ("cpu", "fake") for schedule in SCHEDULES], 3),
)
cell = ar.FC(3, ar.ops.tanh, name="cell")


def add(a: Any, b: Any) -> Any:
    return ar.ops.tanh(a + b * 0.5)


@ar.fix
def tree(me: Any) -> Any:
    """The sum of the leaves of a tree, with taps all over."""
    leaf = ar.Vector(3) >> cell >> ar.Tap("leaf")
    below = ar.Map(me) >> ar.Tap("children") >> ar.Sum()
    state = below & ar.Zeros([]) & ar.Zeros(())
    inner = state >> ar.Tap("state") >> ar.GetItem(0)
    return ar.OneOf(lambda t: t[0]).case("leaf", ar.GetItem(1) >> leaf).case("tree", ar.GetItem(1) >> inner)


def leaf(seed: int) -> Any:
    return "leaf", np.random.default_rng(seed).normal(size=3).tolist()


TREES: list[Any] = [
    ("tree", [leaf(1), ("tree", [leaf(2), leaf(3)]), ("tree", [])]),
    leaf(4),
    ("tree", []),
    ("tree", [leaf(1), leaf(1)]),
]
half = ar.Constant(0.5)
BLOCKS: dict[str, tuple[Any, list[Any]]] = {
    "recursion": (tree >> ar.Function(lambda x: x.sum()), TREES),
    "map": (ar.Map(ar.Vector(2) >> ar.Tap("row")) >> ar.Tap("rows") >> ar.Sum() >> ar.FC(1)
            >> ar.Function(lambda x: x.sum()), [[[1, 2], [3, 4]], [], [[5, 6]]]),
    "fold": (ar.Map(ar.Scalar()) >> ar.Fold(ar.Tap("pair") >> ar.Function(add) >> ar.Tap("state"), half),
             [[1, 2, 3], [], [4]]),
    "network": (ar.Map(ar.Vector(3)) >> ar.RNN(ar.Function(lambda x, h: ar.ops.tanh(x + h)), ar.Zeros([3]))
                >> ar.Tap("both") >> ar.GetItem(1) >> ar.Function(lambda x: x.sum()), [[[1, 2, 3]] * 2, []]),
    "nested": (ar.Map(ar.Map(ar.Scalar()) & ar.Void()) >> ar.Tap("deep") >> ar.Map(ar.GetItem(0) >> ar.Sum())
               >> ar.Sum(), [[[1, 2], []], [], [[3]]]),
    "record": (ar.Record({"a": ar.Scalar(), "b": ar.Vector(2)}) >> ar.Tap("record") >> ar.GetItem("b")
               >> ar.Function(lambda x: x.sum()), [{"a": 1, "b": [2, 3]}, {"a": 4, "b": [5, 6]}]),
    "choice": (ar.Optional(ar.Scalar() >> ar.Tap("one"), half >> ar.Tap("one")) >> ar.Tap("any"),
               [1, None, None, 2]),
    "one name": (ar.Map(ar.Scalar() >> ar.Tap("x") >> ar.Function(lambda x: x * 2) >> ar.Tap("x")) >> ar.Sum()
                 >> ar.Tap("x"), [[1, 2], [], [3]]),
    "nothing": (ar.Scalar() >> (ar.Identity() & ar.Zeros(()) >> ar.Tap("empty") & ar.Void() >> ar.Tap("void"))
                >> ar.GetItem(0), [1, 2]),
    "objects": (ar.Tap("all") >> ar.Map(ar.Tap("word") >> ar.InputTransform(len) >> ar.Scalar()) >> ar.Sum(),
                [["a", "list"], [], ("of", "words")]),
    "never": (ar.OneOf(bool).case(True, ar.Scalar()).case(False, ar.Zeros([]) >> ar.Tap("never")), [1, 2]),
    "shared": (ar.Map(ar.shared(ar.Scalar() >> ar.Tap("once")) & ar.Scalar() >> ar.Tap("each"))
               >> ar.Map(ar.Function(add)) >> ar.Sum(),
               [[1, 1, 300], [], [300, 300]]),
}  # fmt: skip
each_block = pytest.mark.parametrize("name", BLOCKS)


def expected(model: ar.Model, outcomes: list[Any], name: str) -> Any:
    """What the reference tapped under a name: for each example the values of its visits."""
    return [[value for tap, _, value in outcome.tapped if tap.tap == name] for outcome in outcomes]


def assert_tapped(model: ar.Model, examples: list[Any]) -> None:
    """The taps of the last call hold what the reference finds on these examples."""

    def lookup(owner: Any, spec: Any) -> Any:
        return ar.to_numpy(model.params.of(owner, spec))

    outcomes = [reference.evaluate(model.typed, x, lookup, float_type=model.float_type) for x in examples]
    types = {tap.tap: of for outcome in outcomes for tap, of, _ in outcome.tapped}
    for name, found in model.taps.items():
        wanted = expected(model, outcomes, name)
        if isinstance(found, list):
            assert found == wanted
            continue
        assert found.offsets.tolist() == np.cumsum([0, *map(len, wanted)]).tolist()
        if name in types:
            right = collate(types[name], [value for some in wanted for value in some])
            assert close(plain(found.values), plain(right), 1e-5)
    assert set(types) <= set(model.taps)


@each_block
@everywhere
def test_every_visit_is_kept(name: str, device: str, schedule: str) -> None:
    block, examples = BLOCKS[name]
    model = ar.compile(block, device=device, schedule=schedule)
    assert_tapped(model, [])
    model(examples)
    assert_tapped(model, examples)
    model.value_and_grad(examples[::-1])
    assert_tapped(model, examples[::-1])
    model([])
    assert_tapped(model, [])
    model.train_step(examples[:1], SGD(0.0))
    assert_tapped(model, examples[:1])
    prepared = model.prepare(examples)
    model(prepared[[1, 0, 1]])
    assert_tapped(model, [examples[i] for i in (1, 0, 1)])
    model.value_and_grad(pickle.loads(pickle.dumps(prepared))[[0]])
    assert_tapped(model, examples[:1])


@each_block
def test_no_number_changes(name: str) -> None:
    block, examples = BLOCKS[name]
    agree(block, examples)


def test_the_same_with_and_without() -> None:
    def block(tap: Any) -> Any:
        return ar.Map(ar.Vector(3) >> cell >> tap) >> tap >> ar.Sum() >> ar.Function(lambda x: x.sum())

    rows = [np.random.default_rng(i).normal(size=(i, 3)).tolist() for i in range(4)]
    with_taps = ar.Map(ar.Vector(3) >> cell >> ar.Tap("row")) >> ar.Tap("rows") >> ar.Sum()
    one = ar.compile(with_taps >> ar.Function(lambda x: x.sum()))
    other = ar.compile(block(ar.Identity()), params=one.params)
    assert np.array_equal(one(rows), other(rows))
    for (a, one_grad), (b, grad) in zip(
        one.value_and_grad(rows)[1].items(), other.value_and_grad(rows)[1].items(), strict=True
    ):
        assert a == b and np.array_equal(one_grad, grad)
    assert other.taps == {}


def test_the_form_is_that_of_metrics() -> None:
    block = ar.Map(ar.Scalar() >> (ar.Metric("x") & ar.Tap("x")) >> ar.GetItem(1)) >> ar.Sum()
    model = ar.compile(block)
    model([[1, 2], [], [3]])
    assert model.taps["x"].tolist() == model.metrics["x"].tolist() == [[1, 2], [], [3]]
    assert model.taps["x"][0].tolist() == [1, 2]


def test_structure_is_kept() -> None:
    pair = ar.Record({"a": ar.Scalar(), "rows": ar.Map(ar.Vector(2)), "none": ar.Void()})
    model = ar.compile(ar.Map(pair >> ar.Tap("pair")) >> ar.Void())
    model([[{"a": 1, "rows": [[1, 2], [3, 4]], "none": 0}], [], [{"a": 2, "rows": [], "none": 0}]])
    (first,), nothing, (last,) = model.taps["pair"].tolist()
    assert (first["a"], first["rows"], first["none"]) == (1, [[1, 2], [3, 4]], None)
    assert (nothing, tuple(last)) == ([], (2, [], None))


@everywhere
def test_float_type_and_the_device(device: str, schedule: str) -> None:
    model = ar.compile(ar.Scalar() >> ar.Tap("x"), float_type="float64", device=device, schedule=schedule)
    model([1, 2])
    values = model.taps["x"].values
    assert values.dtype == "float64" and isinstance(values, FakeArray) == (device == "fake")
    assert ar.to_numpy(model.taps)["x"].tolist() == [[1], [2]]


def test_equal_nodes_are_computed_once_and_tapped_at_every_visit() -> None:
    model = ar.compile(ar.Map(ar.Vector(3) >> cell >> ar.Tap("h")) >> ar.Sum())
    model([[[1, 2, 3]] * 40, [[1, 2, 3]] * 60])
    assert model.taps["h"].lengths.tolist() == [40, 60]
    assert (model.taps["h"].values == model.taps["h"].values[0]).all()


def test_results_stay_as_they_are() -> None:
    model = ar.compile(ar.Map(ar.Scalar() >> ar.Function(lambda x: x + 1) >> ar.Tap("x")) >> ar.Sum())
    model([[1, 2]])
    kept = model.taps["x"]
    model([[5, 6, 7], [8]])
    assert kept.tolist() == [[2, 3]]


@everywhere
def test_dropout_is_seen_as_it_acts(device: str, schedule: str) -> None:
    dropped = ar.Vector(8) >> ar.Function(lambda x: x + 1.0) >> ar.Dropout(0.5) >> ar.Tap("dropped")
    block = dropped >> ar.Function(lambda x: x.sum())
    model = ar.compile(block, device=device, schedule=schedule, seed=5)
    rows = [[0] * 8, [1] * 8]
    for _ in range(2):
        value, _ = model.value_and_grad(rows)
        tapped = ar.to_numpy(model.taps["dropped"]).values
        assert np.isclose(float(ar.to_numpy(value)), tapped.sum() / 2)
        assert 0 < (tapped == 0).sum() < 16
    model(rows)
    assert ar.to_numpy(model.taps["dropped"]).values.tolist() == [[1] * 8, [2] * 8]


def test_gradients_of_inputs_pass() -> None:
    model = ar.compile(ar.Map(ar.Scalar(name="x") >> ar.Tap("x") >> ar.Function(lambda x: x * x)) >> ar.Sum())
    _, grads = model.value_and_grad([[1, 2], [3]], inputs=["x"])
    assert grads["x"].tolist() == [[1, 2], [3]] and model.taps["x"].tolist() == [[1, 2], [3]]


# ---------------------------------------------------------------------------------------------- showing


@everywhere
def test_values_are_shown_in_the_order_of_examples_and_visits(device: str, schedule: str) -> None:
    seen: list[Any] = []

    def show(kind: str) -> Any:
        return lambda value: seen.append((kind, value))

    @ar.fix
    def listed(me: Any) -> Any:
        here = ar.GetItem(0) >> ar.Tap("word", show("word")) >> ar.InputTransform(len) >> ar.Scalar()
        rest = ar.GetItem(1) >> ar.Optional(me, ar.Zeros([]))
        total = (here >> ar.Tap("size", show("size")) & rest) >> ar.Function(lambda a, b: a + b)
        return total >> ar.Tap("quiet") >> ar.Tap("total", show("total"))

    model = ar.compile(listed, device=device, schedule=schedule)
    examples = [("a", ("tree", None)), ("leaf", None)]
    expected = [
        ("word", "a"), ("size", 1), ("word", "tree"), ("size", 4), ("total", 4), ("total", 5),
        ("word", "leaf"), ("size", 4), ("total", 4),
    ]  # fmt: skip
    for run in (model, model.value_and_grad, lambda xs: model(model.prepare(xs)[:])):
        seen.clear()
        run(examples)
        assert seen == expected
        assert all(isinstance(value, (str, np.generic)) for _, value in seen)
    seen.clear()
    assert [float(model.eval(x)) for x in examples] == [5, 4]
    assert seen == expected
    seen.clear()
    listed.eval(examples[0])
    assert seen == expected[:6]
    seen.clear()
    model([])
    with pytest.raises(ar.InputError):
        model([*examples, ("word", (3, None))])
    assert seen == []


def test_what_is_shown_is_the_same_batched_and_alone() -> None:
    seen: list[Any] = []
    value = ar.GetItem(0) >> ar.Map(ar.Vector(2)) & ar.GetItem(1) >> ar.Map(ar.Map(ar.Scalar()))
    block = value >> ar.Tap("value", seen.append) >> ar.GetItem(0) >> ar.Sum()
    example = ([[1, 2], [3, 4]], [[5], [], [6, 7]])
    ar.compile(block)([example, ([], [])])
    block.eval(example)
    block.eval(([], []))
    (batched, empty), (alone, empty_alone) = seen[:2], seen[2:]
    for one, other in ((batched, alone), (empty, empty_alone)):
        assert type(one[0]) is type(other[0]) is np.ndarray
        assert one[0].tolist() == other[0].tolist() and one[1].tolist() == other[1].tolist()
    assert alone[0].shape == (2, 2) and alone[1].tolist() == [[5], [], [6, 7]]
    assert empty[0].shape == (0, 2)


def test_show_may_use_the_model() -> None:
    seen: list[float] = []
    block = ar.Scalar() >> ar.Tap("x", lambda x: seen.append(float(inner([x * 2])[0])))
    inner = ar.compile(ar.Scalar() >> ar.Function(lambda x: x + 1))
    assert ar.compile(block)([1, 2]).tolist() == [1, 2]
    assert seen == [3, 5]


def test_what_show_raises_comes_out() -> None:
    def refuse(value: Any) -> None:
        raise RuntimeError(f"seen {value}")

    model = ar.compile(ar.Scalar() >> ar.Tap("x", refuse))
    with pytest.raises(RuntimeError, match="seen 3"):
        model([3])
    assert model.taps["x"].tolist() == [[3]]


# ------------------------------------------------------------------------------------- blocks with taps


def test_an_arrow_may_leave_the_wire_of_a_tap_unread() -> None:
    @ar.arrow
    def doubled(x: Any) -> Any:
        y = ar.Function(lambda x: x * 2)(x)
        ar.Tap("y")(y)
        return y

    model = ar.compile(ar.Scalar() >> doubled)
    assert model([1, 2]).tolist() == [2, 4] and model.taps["y"].tolist() == [[2], [4]]


def test_prepared_examples_know_the_taps_they_were_made_for() -> None:
    block = ar.Scalar() >> ar.Function(lambda x: x * 2)
    tapped, other = ar.compile(block >> ar.Tap("x")), ar.compile(block)
    sent = pickle.loads(pickle.dumps(tapped.prepare([1, 2])))
    with pytest.raises(ar.ArrowValueError, match="another model"):
        other(sent[:])
    with pytest.raises(ar.ArrowValueError, match="another model"):
        tapped(pickle.loads(pickle.dumps(other.prepare([1])))[:])
    again = ar.compile(block >> ar.Tap("x"))
    assert again(sent[[1]]).tolist() == [4] and again.taps["x"].tolist() == [[4]]


def test_many_examples_are_cut_where_they_end() -> None:
    model = ar.compile(ar.Tap("o") >> ar.Map(ar.Scalar() >> ar.Tap("x")) >> ar.Sum())
    examples = [[n] * (n % 3) for n in range(2500)]
    model(examples)
    assert model.taps["o"] == [[example] for example in examples]
    assert model.taps["x"].tolist() == examples
    prepared = model.prepare(examples)
    model(prepared[[2000, 5, 1]])
    assert model.taps["x"].tolist() == [examples[i] for i in (2000, 5, 1)]


@pytest.mark.nightly
def test_a_tap_deep_inside() -> None:
    @ar.fix
    def chain(me: Any) -> Any:
        rest = (ar.GetItem(0) >> ar.Scalar() & ar.GetItem(1) >> me) >> ar.Function(lambda a, b: a + b)
        return ar.Optional(rest >> ar.Tap("sum"), ar.Zeros([]))

    example = None
    for _ in range(20_000):
        example = (1, example)
    model = ar.compile(chain)
    assert model([example])[0] == 20_000 and model.taps["sum"][0].tolist() == list(range(1, 20_001))
    steps = ar.Scalar()
    for n in range(3000):
        steps = steps >> ar.Function(lambda x: x) >> ar.Tap(f"{n}")
    assert len(ar.compile(steps).taps) == 3000


def test_copies_and_words() -> None:
    tap = ar.Tap("h", print)
    assert repr(tap) == "Tap('h', show=print)" and repr(ar.Tap("h")) == "Tap('h')"
    assert tap.effects and (ar.Scalar() >> ar.Tap("x")).effects
    for again in (pickle.loads(pickle.dumps(tap)), copy.deepcopy(tap), copy.copy(tap)):
        assert (again.tap, again.show) == ("h", print)
    assert ar.Tap("x").eval("anything") == "anything"
    assert ar.infer(ar.Vector(3) >> ar.Tap("x") >> ar.FC(2)).output == ar.types.Tensor((2,))


def test_types_pass_backwards_through_a_tap() -> None:
    block = ar.GetItem("x") >> ar.Optional(ar.Tap("x") >> ar.Vector(2)) >> ar.Tap("v")
    assert ar.infer(block).output == ar.types.Tensor((2,))
    default = ar.Optional(ar.Vector(2), ar.Identity() >> ar.Zeros([2]) >> ar.Tap("zeros"))
    assert ar.infer(default).output == ar.types.Tensor((2,))
