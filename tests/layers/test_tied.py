"""Tied embeddings: `embed.attend`, and a table whose gradient has rows and is dense at once."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

import arrows as ar
from arrows import ops
from arrows.ops import RowSparse
from arrows.testing.host_kernels import host_compiler
from arrows.training import SGD, Adagrad, Adam, AdamW, RMSprop
from arrows.typesys import ArrowTypeError, types as T
from tests.compare import close
from tests.profile import draws
from tests.reference_gradients import value_and_grad

TABLE = np.array([[1.0, 2.0], [3.0, 4.0], [0.0, 1.0]])
DEVICES = ["cpu", "fake", *(["fake-kernels"] if host_compiler() is not None else [])]
OPTIMIZERS: tuple[Any, ...] = (
    lambda: SGD(0.1),
    lambda: SGD(0.1, momentum=0.9, weight_decay=0.01),
    lambda: Adam(0.01, clip_norm=0.5),
    lambda: AdamW(0.01, weight_decay=0.1),
    lambda: RMSprop(0.01),
    lambda: Adagrad(0.05),
)


def test_the_products_with_all_rows_wherever_attend_is_used() -> None:
    embed = ar.Embedding.of(TABLE, name="embed")
    x, wanted = np.array([0.5, -1.0]), TABLE @ np.array([0.5, -1.0])
    read = ar.Vector(2, "float64")
    as_function = ar.Function(lambda h: embed.attend(h * 2.0))
    on_wires = ar.arrow(lambda v: embed.attend(read(v)))
    of_rows = ar.Function(lambda rows: embed.attend(rows))
    assert embed.attend is embed.attend
    assert np.allclose((read >> embed.attend).eval(x), wanted)
    assert np.allclose((read >> as_function).eval(x), 2 * wanted)
    assert np.allclose(on_wires.eval(x), wanted)
    assert np.allclose((ar.Map(read) >> of_rows).eval([x, -x]), [wanted, -wanted])
    assert np.allclose((ar.Map(read) >> ar.Map(embed.attend)).eval([x]), [wanted])
    assert np.allclose((ar.Tensor([2, 2], "float64") >> embed.attend).eval([x, -x]), [wanted, -wanted])
    with ar.OnTheFly(float_type="float64").batch() as batch:
        for _ in range(2):
            assert np.allclose(embed.attend(batch.tensor(x)).numpy(), wanted)
    assert np.allclose(ar.to_numpy(ar.compile(read >> embed.attend)([x, 3 * x])), [wanted, 3 * wanted])


def test_its_parameter_is_the_embedding_s() -> None:
    embed = ar.Embedding(3, 2)
    alone = ar.compile(ar.Vector(2) >> embed.attend)
    assert list(alone.params) == ["Embedding_1/weight"]
    both = ar.compile(ar.Scalar("int32") >> embed >> ar.FC(2) >> embed.attend, params=None)
    assert list(both.params) == ["Embedding_1/weight", "FC_1/weight", "FC_1/bias"]
    frozen = ar.Embedding.of(TABLE, trainable=False)
    model = ar.compile(
        ar.Vector(2, "float64", name="x") >> frozen.attend >> ar.Function(ops.sum), float_type="float64"
    )
    _, grads = model.value_and_grad([[1.0, 2.0]], inputs=["x"])
    assert list(grads) == ["x"]
    assert np.allclose(grads["x"], [TABLE.sum(axis=0)])


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda b: pickle.loads(pickle.dumps(b))])
def test_copies_stay_tied(copied: Any) -> None:
    embed = ar.Embedding(5, 3, name="embed")
    block = copied(ar.Scalar("int32") >> embed >> embed.attend)
    assert list(ar.compile(block).params) == ["embed/weight"]
    other = copied(embed)
    assert list(ar.compile(ar.Scalar("int32") >> other >> other.attend).params) == ["embed/weight"]
    assert repr(block).endswith(" >> Embedding(5, 3, name='embed') >> Embedding(5, 3, name='embed').attend")
    assert "embed.attend" in str(ar.infer(block))


@pytest.mark.parametrize(
    ("input", "words"),
    [
        ([3], "the rows of embed are float32[2], and attend takes a vector like them, not float32[3]"),
        ([3], "hint put ar.FC(2) before it"),
        (T.Tensor((), "int32"), "a vector like them, not int32"),
        ([2, 2, 2], "attend takes a vector like them, not float32[2, 2, 2]"),
        (T.Tensor((2,), "int32"), 'a vector like them, not int32[2] hint cast it: x.cast("float32")'),
        (([2], [2]), "attend takes one vector of size 2, not 2 inputs"),
        (T.Input(), "a function takes tensors, and the input is a Python object"),
    ],
)
def test_what_it_does_not_take(input: Any, words: str) -> None:
    embed = ar.Embedding(3, 2, name="embed")
    with pytest.raises(ArrowTypeError, match=r"cannot apply embed\.attend to") as caught:
        ar.infer(embed.attend, input)
    assert words in " ".join(str(caught.value).split())


def language_model(table: Any) -> Any:
    """The loss of each next word, after an RNN over words of the same table."""
    size = table.size
    cell, xent = ar.GRUCell(size, name="cell"), ar.SoftmaxCrossEntropy()
    words = ar.Map(ar.Scalar("int32"))
    first, rest = ar.InputTransform(lambda s: s[:-1]), ar.InputTransform(lambda s: s[1:])
    states = first >> words >> ar.Map(table) >> ar.RNN(cell, ar.Zeros([size])) >> ar.GetItem(0)
    return (states & rest >> words) >> ar.ZipWith(table.attend * ar.Identity() >> xent) >> ar.Sum()


@pytest.mark.skipif(host_compiler() is None, reason="the host has no C compiler")
@pytest.mark.parametrize("apart", [False, True], ids=["one operation", "two operations"])
def test_rows_are_added_to_a_table_in_few_launches(apart: bool) -> None:
    """Three products with the table, three to add rows to their sum; rows alone are copied in one more."""
    table = ar.Embedding(9, 3)
    state = ar.RNN(ar.GRUCell(3), ar.Zeros([3])) >> ar.GetItem(0) if apart else ar.Identity()
    scores = ar.Map(ar.Scalar("int32") >> table) >> state >> ar.Map(table.attend)
    looked_up = ar.Map(ar.Scalar("int32") >> table) >> state

    def launches(block: Any) -> int:
        loss = ar.Map(ar.Function(lambda x: (x * x).sum())) >> ar.Sum()
        model = ar.compile(block >> loss, device="fake-kernels", seed=0)
        model.value_and_grad([[1, 2, 3, 3]])
        before = model.device.counts
        model.value_and_grad([[1, 2, 3, 3]])
        return (model.device.counts - before).launches

    assert launches(scores) - launches(looked_up) == 5


SENTENCES = st.lists(st.lists(st.integers(0, 4), max_size=5), min_size=1, max_size=4)


@st.composite
def tied(draw: Any) -> tuple[Any, list[Any]]:
    """A model that looks a table up and attends to it, in random places, and a batch that reaches some."""
    table = ar.Embedding(5, 3, name="table")
    word = ar.Scalar("int32") >> table
    score = ar.Function(lambda x: ops.logsumexp(x))
    uses = {
        "look-up": word >> score,
        "attend": ar.OneHot(3) >> table.attend >> score,
        "both": word >> ar.Function(ops.tanh) >> table.attend >> score,
        "twice": word >> ar.Function(lambda x: table.attend(x) - table.attend(x * x)) >> score,
        "one function": ar.Scalar("int32") >> ar.Function(lambda i: table.attend(table(i))) >> score,
    }
    names = draw(st.lists(st.sampled_from(sorted(uses)), min_size=1, max_size=3))
    cases = {name: ar.GetItem(1) >> uses[name] for name in names}
    node = ar.OneOf(lambda t: t[0], cases)
    kind = draw(st.sampled_from(["map", "language model", "recursion"]))
    choice = st.tuples(st.sampled_from(names), st.integers(0, 2))
    if kind == "map":
        return ar.Map(node) >> ar.Sum(), draw(st.lists(st.lists(choice, max_size=4), min_size=1, max_size=4))
    if kind == "recursion":

        @ar.fix(output_type=[3])
        def tree(me: Any) -> Any:
            below = ar.GetItem(1) >> ar.Map(me) >> ar.Sum()
            own = ar.GetItem(0) >> ar.Scalar("int32") >> table
            out = ar.Function(lambda x, s: ops.tanh(x + table.attend(s)[1:4]))
            return (own & below) >> out

        leaf = st.tuples(st.integers(0, 4), st.just([]))
        data = st.recursive(
            leaf, lambda t: st.tuples(st.integers(0, 4), st.lists(t, max_size=2)), max_leaves=4
        )
        both = (ar.GetItem(0) >> tree >> ar.Function(ops.sum) & ar.GetItem(1) >> node) >> ar.Sum()
        return both, draw(st.lists(st.tuples(data, choice), min_size=1, max_size=3))
    return language_model(table), draw(SENTENCES)


@pytest.mark.parametrize("device", DEVICES)
@draws(4, 200)
@given(case=tied(), number=st.integers(0, len(OPTIMIZERS) - 1), schedule=st.sampled_from(["strata", "depth"]))
def test_a_table_with_both_kinds_of_gradient_learns_as_the_reference_says(
    device: str, case: Any, number: int, schedule: str
) -> None:
    block, examples = case
    make = OPTIMIZERS[number]
    model = ar.compile(block, float_type="float64", device=device, schedule=schedule, seed=3)
    host = ar.compile(block, float_type="float64", seed=3)
    optimizer, expected = make(), make()
    for batch in (examples, examples[:1], examples):
        right = value_and_grad(host.typed, batch, host.params.of, float_type="float64")
        value, grads = model.value_and_grad(batch)
        assert close(float(ar.to_numpy(value)), right.value, 1e-9)
        by_name: dict[str, Any] = {}
        for name in host.params:
            owner, spec = host.params.owner(name)
            gradient = right.parameters[owner, spec.name]
            found = ar.to_numpy(grads[name])
            if isinstance(found, RowSparse):  # a row that no step touches stays as it is
                rows = np.unique(found.rows)
                by_name[name] = RowSparse(rows, np.asarray(gradient)[rows], found.shape)
                found = found.to_dense(np)
            else:
                by_name[name] = np.asarray(gradient)
            assert close(found, gradient, 1e-9), name
        model.train_step(batch, optimizer)
        expected.step(host, by_name)
        for name, array in host.params.items():
            assert close(ar.to_numpy(model.params[name]), array, 1e-9), name
