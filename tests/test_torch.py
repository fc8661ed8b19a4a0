"""A model as a module of PyTorch: gradients, memory that both share, and what modules are asked to do."""

from __future__ import annotations

import copy
import gc
import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import arrows as ar
import arrows.torch as friend
from arrows.data import format_tree, generate
from arrows.engine.planning import SCHEDULES
from arrows.testing.fake import FakeArray
from arrows.training import SGD

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

table = ar.Embedding(5, 3, name="table")
join = ar.FC(3, activation=ar.ops.tanh, name="join.pair")  # PyTorch's names have no dots
word = ar.GetItem("word") >> ar.Scalar("int32") >> table
leaf = (word & ar.GetItem("at") >> ar.Vector(3, name="x")) >> ar.Concat() >> ar.FC(3, name="leaf")


@ar.fix
def tree(me: Any) -> Any:
    pair = (ar.GetItem("left") >> me & ar.GetItem("right") >> me) >> ar.Concat() >> join
    state = ar.OneOf(lambda t: "word" in t).case(True, leaf).case(False, pair)
    return (
        state >> (ar.Identity() & ar.Function(lambda h: (h * h).sum()) >> ar.Metric("size")) >> ar.GetItem(0)
    )


def leaf_of(number: int) -> dict[str, Any]:
    return {"word": number, "at": [number, 1, -1]}


TREES = [
    {"left": leaf_of(1), "right": {"left": leaf_of(2), "right": leaf_of(1)}},
    leaf_of(3),
    {"left": leaf_of(1), "right": leaf_of(1)},
]
READS = 6
words = ar.Map(ar.Vector(3, name="v") >> ar.FC(1, name="fc"))
BLOCK = ar.arrow(lambda x: {"tree": (h := tree(x[0])), "again": h, "words": words(x[1])})
EXAMPLES = list(zip(TREES, ([[1, 2, 0], [3, 4, 0]], [], [[5, 6, 0]]), strict=True))


def module(block: Any = BLOCK, *, sparse: bool = False, **options: Any) -> Any:
    return friend.Module(ar.compile(block, **{"float_type": "float64", "seed": 1} | options), sparse=sparse)


def tensors(result: Any) -> list[Any]:
    found: list[Any] = []
    friend._mapped(result, found.append)
    return found


@pytest.fixture
def lending_fake(monkeypatch: pytest.MonkeyPatch) -> None:
    """Arrays of the fake device lend their memory, as CuPy's do."""
    monkeypatch.setattr(FakeArray, "__dlpack__", lambda self, **_: self._data.__dlpack__(), raising=False)
    monkeypatch.setattr(FakeArray, "__dlpack_device__", lambda self: (1, 0), raising=False)


@pytest.mark.usefixtures("lending_fake")
@pytest.mark.parametrize("device", ["cpu", "fake"])
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_gradients_of_all_that_a_call_gives(device: str, schedule: str) -> None:
    """Results that are one value twice, sequences, metrics; of parameters and of named inputs."""
    whole = module(device=device, schedule=schedule)
    x, v = (torch.randn(shape, dtype=torch.float64, requires_grad=True) for shape in ((READS, 3), (3, 3)))

    def run(x: Any, v: Any, *_: Any) -> tuple[Any, ...]:
        return *tensors(whole(EXAMPLES, x=x, v=v)), whole.metrics["size"].values

    assert torch.autograd.gradcheck(run, (x, v, *whole.parameters()), fast_mode=True)


@pytest.mark.parametrize("sparse", [False, True])
def test_the_loss_and_its_gradients_are_those_of_the_model(sparse: bool) -> None:
    for block, loss in ((tree, {"size": 0.5}), (tree >> ar.Function(lambda h: h.sum()), None)):
        learner = module(block, sparse=sparse, loss=loss)
        batch = learner.model.prepare(TREES)[[2, 0, 2, 1]]
        value = learner.loss(batch)
        value.backward()
        expected, grads = learner.model.value_and_grad(batch)
        assert np.allclose(value.item(), expected)
        for (name, gradient), parameter in zip(grads.items(), learner.parameters(), strict=True):
            assert parameter.grad.is_sparse == (sparse and name == "table/weight")
            assert np.allclose(parameter.grad.to_dense(), np.asarray(gradient)), name
    with pytest.raises(ar.ArrowTypeError, match="without a loss"):
        module().loss(EXAMPLES)


def test_results_have_tensors_in_the_place_of_arrays() -> None:
    whole = module()
    result, plain = whole(EXAMPLES), whole.model(EXAMPLES)
    assert list(result.keys()) == ["tree", "again", "words"]
    assert result["words"].offsets.tolist() == [0, 2, 2, 3]
    nested = torch.nested.nested_tensor_from_jagged(result["words"].values, result["words"].offsets)
    assert [len(each) for each in nested.unbind()] == [2, 0, 1] and result["words"][1].shape == (0, 1)
    for tensor, array in zip(tensors(result), tensors(plain), strict=True):
        assert np.allclose(tensor.detach(), array)
    assert np.allclose(whole.model.metrics["size"].values, whole.metrics["size"].values.detach())
    numbers = module(ar.Scalar("int32"))([1, 2])
    assert numbers.tolist() == [1, 2] and not numbers.requires_grad


def test_a_step_of_either_side_is_seen_by_the_other() -> None:
    """Also through what the engine keeps of parameters: transposes, joined weights, sums of them."""
    one, other = ar.FC(3, name="a"), ar.FC(3, name="b")
    gate = ar.Function(lambda x: one(x) * other(x))
    cell = (
        ar.Map(ar.Vector(2) >> gate) >> ar.RNN(ar.LSTMCell(4, name="cell")) >> ar.GetItem(1) >> ar.GetItem(0)
    )
    learner = module(cell >> ar.Function(lambda h: (h * h).sum()))
    examples = [[[1, 2], [3, 4]], [[-1, 1]]]
    optimizer = torch.optim.SGD(learner.parameters(), lr=0.5)
    for _ in range(3):
        before = {name: array.copy() for name, array in learner.model.params.items()}
        _, grads = learner.model.value_and_grad(examples)
        optimizer.zero_grad()
        learner.loss(examples).backward()
        optimizer.step()
        for name, array in learner.model.params.items():
            assert np.allclose(array, before[name] - 0.5 * grads[name])
        fresh = ar.compile(learner.model.typed.form, float_type="float64", params=dict(learner.model.params))
        assert np.allclose(learner(examples).detach(), fresh(examples))
        learner.model.params["cell/bias"][...] += 0.1
    assert np.allclose(learner.state_dict()["cell/bias"], learner.model.params["cell/bias"])


def test_batches_wait_for_their_way_back() -> None:
    learner = module(tree, loss="size")

    def gradients(run: Any) -> list[Any]:
        learner.zero_grad()
        run()
        return [each.grad.clone() for each in learner.parameters()]

    def twice() -> None:
        loss = learner.loss(TREES)
        loss.backward(retain_graph=True)
        loss.backward()
        with pytest.raises(RuntimeError, match="second time"):
            loss.backward()

    one, other = (
        gradients(lambda part=part: learner.loss(part).backward()) for part in (TREES[:1], TREES[1:])
    )
    both = gradients(lambda: (learner.loss(TREES[:1]) + learner.loss(TREES[1:])).backward())
    for a, b, sum_ in zip(one, other, both, strict=True):
        assert torch.allclose(a + b, sum_)
    for a, b in zip(gradients(lambda: learner.loss(TREES).backward()), gradients(twice), strict=True):
        assert torch.allclose(2 * a, b)
    stale = learner.loss(TREES)
    torch.optim.SGD(learner.parameters(), lr=0.1).step()
    with pytest.raises(RuntimeError, match="inplace operation"):
        stale.backward()
    stale = learner.loss(TREES)
    learner.model.train_step(TREES, SGD(0.1))
    with pytest.raises(RuntimeError, match="changed since this batch ran"):
        stale.backward()
    learner.loss([]).backward()
    (first, *_) = torch.autograd.grad(learner.loss(TREES), list(learner.parameters()), create_graph=True)
    with pytest.raises(RuntimeError, match="does not require grad"):
        first.sum().backward()
    with torch.no_grad():
        assert not learner(TREES).requires_grad
    losses = [learner.loss(TREES) for _ in range(5)]
    del losses, stale, first
    learner(TREES)
    gc.collect()
    assert len(learner._arenas) <= 2  # memory comes back, and not more of it is kept


def test_dropout_draws_anew_in_training_alone() -> None:
    learner = module(ar.Vector(50) >> ar.Dropout(0.5))
    ones = [[1] * 50]
    assert not torch.equal(learner.train()(ones), learner(ones))
    with torch.no_grad():
        assert learner(ones).sum() != 50
    assert learner.eval()(ones).sum() == learner.model(ones).sum() == 50


def test_whatever_happens_to_parameters_they_stay_the_models_memory() -> None:
    learner, other = module(), module(seed=2)

    def check(one: Any, like: Any) -> None:
        found, expected = one(EXAMPLES)[0], like.model(EXAMPLES)[0]
        assert np.allclose(found.detach(), expected) and np.allclose(one.model(EXAMPLES)[0], expected)
        for parameter, array in zip(one.parameters(), one.model.params.values(), strict=True):
            assert np.shares_memory(parameter.detach().numpy(), array)

    learner.load_state_dict(other.state_dict())
    check(learner, other)
    learner.load_state_dict(module(seed=3).state_dict(), assign=True)
    check(learner, module(seed=3))
    torch.nn.utils.vector_to_parameters(
        torch.nn.utils.parameters_to_vector(other.parameters()), learner.parameters()
    )
    check(learner, other)
    next(learner.parameters()).requires_grad_(False)
    copied = copy.deepcopy(torch.nn.Sequential(learner))[0].eval()
    assert learner.training and not next(copied.parameters()).requires_grad
    with torch.no_grad():
        next(copied.parameters()).zero_()
    check(learner, other)
    assert not np.any(copied.model.params["table/weight"])
    for _ in range(2):
        copied = copied.cpu().double().requires_grad_(True)
    check(copied, copied)
    for cast in ("float", "half", lambda m: m.to("meta")):
        with pytest.raises(ar.ArrowTypeError, match=r"(?s)memory of a model.*float_type"):
            getattr(copied, cast)() if isinstance(cast, str) else cast(copied)
    with pytest.raises(ar.ArrowTypeError, match="'table/weight' is a model's memory"):
        torch.func.functional_call(copied, {"table/weight": torch.zeros(5, 3)}, (EXAMPLES,))


@pytest.mark.usefixtures("lending_fake")
def test_a_model_that_moves_takes_its_module_along() -> None:
    learner = module()
    expected = learner(EXAMPLES)[0]
    learner.model.to("fake")
    assert torch.allclose(learner(EXAMPLES)[0], expected)
    with torch.no_grad():
        next(learner.parameters()).zero_()
    assert not ar.to_numpy(learner.model.params["table/weight"]).any()


def test_named_inputs_that_do_not_fit() -> None:
    learner = module(tree)
    for name, tensor, reason in [
        ("y", torch.zeros(6, 3), "no input is named 'y'; named inputs are \\['x'\\]"),
        ("x", torch.zeros(5, 3).double(), "read it 6 times, so it must be float64\\[6, 3\\]"),
        ("x", torch.zeros(6, 3), "a tensor of float32\\[6, 3\\]"),
        ("x", [[0, 0, 0]] * 6, "a tensor of int64\\[6, 3\\]"),
    ]:
        with pytest.raises(ar.ArrowValueError, match=reason):
            learner(TREES, **{name: tensor})
    assert torch.equal(learner(TREES, x=np.zeros((6, 3)))[0], learner(TREES, x=torch.zeros(6, 3).double())[0])
    with pytest.raises(ar.InputError, match="example 1"):
        learner([TREES[0], {"word": 9, "at": [1, 2, 3]}], x=torch.zeros(4, 3).double())
    with pytest.raises(ar.ArrowTypeError, match="takes a model"):
        friend.Module(tree)  # type: ignore[arg-type]


def test_without_pytorch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(friend, "TorchModule", object)
    with pytest.raises(ImportError, match=r"pip install 'arrows\[torch\]'"):
        module()


def test_loaders_and_processes(tmp_path: Path) -> None:
    """A `DataLoader` hands out lists of examples; `DistributedDataParallel` sees usual parameters."""
    torch.distributed.init_process_group("gloo", init_method=f"file://{tmp_path}/store", rank=0, world_size=1)
    try:
        number = ar.GetItem(0) >> ar.Map(ar.Vector(1) >> ar.FC(4, ar.ops.tanh)) >> ar.Sum() >> ar.FC([])
        learner = module((number & ar.GetItem(1) >> ar.Scalar()) >> ar.SquaredError())
        parallel = torch.nn.parallel.DistributedDataParallel(learner)
        optimizer = torch.optim.Adam(parallel.parameters(), lr=0.03)
        examples = [([[k] for k in range(n)], n) for n in range(4)] * 4
        loader = torch.utils.data.DataLoader(examples, batch_size=8, shuffle=True, collate_fn=list)
        losses = []
        for _ in range(60):
            for batch in loader:
                optimizer.zero_grad()
                loss = parallel(batch).mean()
                loss.backward()
                optimizer.step()
                losses.append(loss.item())
    finally:
        torch.distributed.destroy_process_group()
    assert losses[-1] < 0.1 * losses[0]


def test_an_encoder_below_a_tree_learns(tmp_path: Path) -> None:
    for seed, (name, count) in enumerate({"train": 60, "dev": 20}.items()):
        lines = "".join(format_tree(tree) + "\n" for tree in generate(count, seed=seed, num_words=(1, 6)))
        (tmp_path / f"{name}.txt").write_text(lines, encoding="utf-8")
    example = runpy.run_path(str(Path(__file__).parents[1] / "examples" / "torch_encoder.py"))
    assert (
        example["main"](["--data", str(tmp_path), "--size", "16", "--epochs", "8"]) > 0.3
    )  # of five classes


@pytest.mark.filterwarnings("ignore:The .grad attribute")  # PyTorch's compiler asks for it
@pytest.mark.nightly  # PyTorch's compiler takes seconds to import
def test_compiled_functions_leave_the_model_out() -> None:
    learner = module(tree, loss="size")
    compiled = torch.compile(lambda examples: learner.loss(examples) * 2, backend="eager")
    value = compiled(TREES)
    value.backward()
    assert torch.allclose(value, 2 * learner.loss(TREES)) and learner.get_parameter("leaf/bias").grad.any()
