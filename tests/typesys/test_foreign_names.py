"""Names of PyTorch and Keras, and misspelt ones, are answered with the names of arrows."""

from __future__ import annotations

import inspect
import pickle
import subprocess
import sys
from typing import Any

import pytest

import arrows as ar
from arrows.training import SGD, Adam, RMSprop, train
from arrows.typesys.names import foreign_names

MODEL: Any = ar.compile(ar.Vector(3) >> ar.FC([]))
PACKAGE: Any = ar


@pytest.mark.parametrize(
    ("owner", "name", "likely"),
    [
        (PACKAGE, "LSTM", "ar.RNN(ar.LSTMCell(size))"),
        (PACKAGE, "glorot_uniform", "ar.initializers.glorot_uniform"),
        (PACKAGE, "Embeding", "ar.Embedding"),
        (PACKAGE, "optim", "ar.training"),
        (PACKAGE, "Zebra", ""),
        (PACKAGE, "_relu", ""),
        (ar.training, "adam", "Adam"),
        (ar.training, "fit", "ar.training.train(model, examples, optimizer)"),
        (ar.training, "find_lr", ""),
        (MODEL, "save", "ar.training.save(model, path)"),
        (MODEL, "state_dict", "model.params"),
        (MODEL, "param", "model.params"),
        (MODEL, "cuda", 'model.to("cuda")'),
        (MODEL, "zebra", ""),
    ],
)
def test_names_that_are_not_there(owner: Any, name: str, likely: str) -> None:
    hint = f"; did you mean {likely}?" if likely else ""
    whose = f"module {owner.__name__!r}" if inspect.ismodule(owner) else "'Model' object"
    with pytest.raises(AttributeError) as caught:
        getattr(owner, name)
    assert str(caught.value) == f"{whose} has no attribute {name!r}{hint}"
    if inspect.ismodule(owner):
        with pytest.raises(ImportError) as refused:
            exec(f"from {owner.__name__} import {name}", {})
        assert str(refused.value) == f"cannot import name {name!r} from {owner.__name__!r}{hint}"


@pytest.mark.parametrize(
    ("cls", "table"),
    [
        (ar.OnTheFly, foreign_names()["network"]),
        (ar.LazyBatch, foreign_names()["batch"]),
        (ar.LazyTensor, foreign_names()["tensor"]),
    ],
)
def test_methods_on_the_fly(cls: Any, table: Any) -> None:
    net = ar.OnTheFly()
    with net.batch() as g:
        thing = next(x for x in (net, g, g.tensor(1.0)) if isinstance(x, cls))
        own = {*vars(thing)} if hasattr(thing, "__dict__") else set()
        own |= {name for base in cls.__mro__[1:] for name in vars(base)}
        for name, likely in table.items():
            assert name not in own
            with pytest.raises(AttributeError) as caught:
                getattr(thing, name)
            assert f"has no attribute {name!r}" in str(caught.value)
            assert f"hint  {likely}".split() == str(caught.value).split("\n", 2)[2].split()
            assert not hasattr(thing, name)


ADAM = "it takes learning_rate, weight_decay, clip_norm, rates, average, dense, beta_1, beta_2, epsilon"


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: Adam(lr=0.1), f"Adam has no argument 'lr': {ADAM} hint did you mean learning_rate=?"),
        (lambda: Adam(betas=(0.9, 0.99)), "did you mean beta_1= and beta_2=?"),
        (lambda: Adam(leaning_rate=1), "did you mean learning_rate=?"),
        (lambda: RMSprop(eps=1), "did you mean epsilon=?"),
        (lambda: train(MODEL, [], Adam(), lr=0.1), "did you mean the optimizer's learning_rate="),
        (lambda: train(MODEL, [], Adam(), n_epochs=3), "did you mean epochs=?"),
        (lambda: ar.FC(in_features=3, out_features=4), "did you mean size= alone: the size"),
        (lambda: ar.Embedding(num_embeddings=3, embedding_dim=4), "did you mean buckets=?"),
        (lambda: ar.Dropout(p=0.5), "did you mean rate=?"),
        (lambda: ar.MultiHeadAttention(4, dropout=0.1), "did you mean ar.Dropout(rate) behind"),
        (
            lambda: ar.MultiHeadAttention(64, 4),
            "takes num_heads by position, and got 2 arguments",
        ),
        (lambda: ar.Conv1d(3, 4, 3), "Conv1d takes size and kernel_size by position, and got 3"),
        (lambda: ar.SoftmaxCrossEntropy(reduction="sum"), "did you mean the loss as it is"),
        (lambda: ar.SquaredError(3), "SquaredError takes nothing by position, and got 1 argument"),
        (lambda: ar.At(3), "At takes nothing by position, and got 1 argument"),
        (lambda: ar.Concat(dim=1), "Concat has no argument 'dim': it takes axis, flatten, name hint did"),
        (lambda: ar.RNN(ar.LSTMCell(3), hx=ar.Zeros([3])), "did you mean initial_state=?"),
        (lambda: ar.Zip(ar.Map(ar.Scalar())), "Zip takes nothing by position, and got 1 argument"),
        (lambda: ar.Map(elemnt=3), "did you mean element=?"),
    ],
)
def test_arguments(call: Any, text: str) -> None:
    with pytest.raises(ar.ArrowTypeError) as caught:
        call()
    words = " ".join(str(caught.value).split())
    assert text in words
    assert words.startswith(("cannot call ", "cannot make ")) and "at test_foreign_names.py:" in words


def test_arguments_that_nobody_knows_have_no_hint() -> None:
    with pytest.raises(ar.ArrowTypeError) as caught:
        SGD(0.1, eps=1)
    assert "hint" not in str(caught.value)


def test_what_takes_any_argument_is_left_alone() -> None:
    class Own(ar.Layer[Any, Any]):
        def __init__(self, **words: Any) -> None:
            super().__init__(name=words.get("name"))

    Own(units=3)


def test_no_foreign_name_is_a_name_of_ours() -> None:
    assert not foreign_names()["package"].keys() & set(ar.__all__)
    assert not [name for name in foreign_names()["model"] if hasattr(type(MODEL), name)]
    assert not foreign_names()["train"].keys() & inspect.signature(train).parameters.keys()
    assert not foreign_names()["optimizer"].keys() & inspect.signature(Adam).parameters.keys()
    for table in (
        foreign_names()["package"],
        foreign_names()["model"],
        foreign_names()["network"],
        foreign_names()["batch"],
    ):
        for text in table.values():
            for word in text.replace("(", " ").replace(",", " ").replace(")", " ").split():
                if word.startswith("ar."):
                    thing = ar
                    for part in word.split(".")[1:]:
                        thing = getattr(thing, part)


def test_foreign_arguments_of_blocks_are_none_of_ours() -> None:
    blocks = [thing for name in ar.__all__ if isinstance(thing := getattr(ar, name), type)]
    for block in (
        block for block in blocks if issubclass(block, ar.Block) and not issubclass(block, ar.Layer)
    ):
        names = inspect.signature(block.__init__).parameters.keys()  # type: ignore[misc]
        assert not foreign_names()["block"].keys() & names, block


def test_errors_within_a_constructor_are_left_alone() -> None:
    class Own(ar.Layer[Any, Any]):
        def __init__(self, size: int) -> None:
            super().__init__()
            len(size)

    with pytest.raises(TypeError, match="has no len"):
        Own(3)

    class Wrong(ar.Layer[Any, Any]):
        def __init__(self) -> None:
            super().__init__(size=3)

    with pytest.raises(TypeError, match="unexpected keyword argument 'size'"):
        Wrong()


def test_asking_whether_a_name_is_there_imports_nothing() -> None:
    program = """
import sys
import arrows as ar
before = set(sys.modules)
assert not any(hasattr(module, name) for module in (ar, ar.ops) for name in ("x", "Embeding", "LSTM", "_x"))
assert set(sys.modules) == before, set(sys.modules) - before
try:
    ar.Embeding
except AttributeError as error:
    print(error)
"""
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert told.stdout == "module 'arrows' has no attribute 'Embeding'; did you mean ar.Embedding?\n"


def test_the_error_of_a_missing_name_is_pickled_with_its_text() -> None:
    with pytest.raises(AttributeError) as caught:
        PACKAGE.Scaler
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)
