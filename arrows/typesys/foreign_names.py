"""Names that users of PyTorch and Keras type, what they are called here, and "did you mean" in errors.

Only texts: nothing here makes a foreign name work, so that type checkers go on refusing it.
"""

from __future__ import annotations

import difflib
import functools
import inspect
from collections.abc import Callable, Iterable, Mapping
from opcode import opname
from types import FrameType
from typing import NoReturn, ParamSpec, TypeVar

from arrows.typesys.errors import ArrowTypeError, SourceLine, message

P = ParamSpec("P")
R = TypeVar("R")
C = TypeVar("C")

PACKAGE: Mapping[str, str] = {
    "BCEWithLogitsLoss": "ar.SigmoidCrossEntropy",
    "BatchNorm": "ar.LayerNorm, which does not depend on the batch",
    "BatchNorm1d": "ar.LayerNorm, which does not depend on the batch",
    "BinaryCrossentropy": "ar.SigmoidCrossEntropy",
    "CategoricalCrossentropy": "ar.SoftmaxCrossEntropy",
    "Concatenate": "ar.Concat",
    "CrossEntropyLoss": "ar.SoftmaxCrossEntropy",
    "DataLoader": "ar.training.train(model, examples, optimizer, batch_size=...), which makes the batches",
    "Dense": "ar.FC(size)",
    "EmbeddingBag": "ar.Map(ar.Embedding(...)) >> ar.Sum()",
    "GRU": "ar.RNN(ar.GRUCell(size))",
    "HuberLoss": "ar.Huber",
    "LSTM": "ar.RNN(ar.LSTMCell(size))",
    "Lambda": "ar.Function(f)",
    "MSELoss": "ar.SquaredError",
    "MeanSquaredError": "ar.SquaredError, or the figure ar.metrics.MeanSquaredError",
    "Module": "ar.Layer",
    "RNNCell": "ar.GRUCell, or a Function from (element, state) to the next state",
    "Sequential": "f >> g >> h",
    "SimpleRNN": "ar.RNN(cell)",
    "SmoothL1Loss": "ar.Huber",
    "SparseCategoricalCrossentropy": "ar.SoftmaxCrossEntropy",
    "Switch": "ar.OneOf",
    "TimeDistributed": "ar.Map(f)",
    "cat": "ar.Concat, or ar.ops.concat in a Function",
    "device": 'ar.compile(block, device="cuda")',
    "fit": "ar.training.train(model, examples, optimizer)",
    "functional": "ar.ops",
    "load": "ar.training.load(model, path)",
    "losses": "ar.SoftmaxCrossEntropy and its kin, which are blocks",
    "manual_seed": "ar.compile(block, seed=...)",
    "nn": "ar itself: ar.FC, ar.RNN, ar.LSTMCell",
    "no_grad": "model(examples), which keeps no gradients",
    "optim": "ar.training",
    "optimizers": "ar.training",
    "save": "ar.training.save(model, path)",
    "tensor": "ar.Constant(value) in a block, or numbers and NumPy arrays in a Function",
}
"""Names of modules, by what is written here instead."""

MODEL: Mapping[str, str] = {
    "backward": "model.value_and_grad(examples)",
    "cpu": 'model.to("cpu")',
    "cuda": 'model.to("cuda")',
    "evaluate": "model(examples), and the figures of ar.metrics",
    "fit": "ar.training.train(model, examples, optimizer)",
    "forward": "model(examples)",
    "get_weights": "model.params",
    "gradients": "model.value_and_grad(examples)",
    "load": "ar.training.load(model, path)",
    "load_state_dict": "ar.training.load(model, path)",
    "load_weights": "ar.training.load(model, path)",
    "loss": "model.value_and_grad(examples), whose first result is the loss",
    "named_parameters": "model.params",
    "parameters": "model.params",
    "save": "ar.training.save(model, path)",
    "save_weights": "ar.training.save(model, path)",
    "set_weights": "ar.training.load(model, path)",
    "state_dict": "model.params",
    "summary": "print(model.typed)",
    "train": "ar.training.train(model, examples, optimizer)",
    "train_on_batch": "model.train_step(examples, optimizer)",
    "trainable_variables": "model.params",
    "weights": "model.params",
    "zero_grad": "model.value_and_grad(examples), whose gradients are new at each call",
}
"""Methods of models, by what is written here instead."""

OPTIMIZER: Mapping[str, str] = {
    "betas": "beta1= and beta2=",
    "beta_1": "beta1=",
    "beta_2": "beta2=",
    "clip": "clip_norm=",
    "clipnorm": "clip_norm=",
    "ema_momentum": "average=",
    "eps": "epsilon=",
    "global_clipnorm": "clip_norm=",
    "lr": "learning_rate=",
    "max_norm": "clip_norm=",
    "schedule": "learning_rate=, which takes a schedule",
    "use_ema": "average=",
}
"""Arguments of optimizers."""

TRAIN: Mapping[str, str] = {
    "batch": "batch_size=",
    "bs": "batch_size=",
    "checkpoint": "checkpoint_path=",
    "learning_rate": "the optimizer's learning_rate=, as in Adam(0.01)",
    "loss": "ar.compile(block, loss=...)",
    "lr": "the optimizer's learning_rate=, as in Adam(0.01)",
    "max_epochs": "epochs=",
    "metrics": "evaluate=, a function that returns figures by name",
    "n_epochs": "epochs=",
    "num_epochs": "epochs=",
    "early_stopping": "stop_when=EarlyStopping(...)",
    "patience": "stop_when=EarlyStopping(...)",
    "scheduler": "the optimizer's learning_rate=, which takes a schedule, or plateau=",
    "validation_freq": "evaluate_every=",
    "random_state": "seed=",
    "rates": "the optimizer's rates=, as in Adam(rates=...)",
    "shuffle": "seed=: the order is drawn anew in each epoch",
    "validation_data": "evaluate=, a function that returns figures by name",
    "verbose": "progress=",
}
"""Arguments of `train`."""

LAYER: Mapping[str, str] = {
    "attention_dropout": "ar.Dropout(rate) behind the layer",
    "batch_first": "no such argument: a layer computes on one example",
    "bidirectional": "ar.Bidirectional around cells",
    "dropout": "ar.Dropout(rate) behind the layer",
    "embed_dim": "heads= alone: the size of the input is inferred",
    "embedding_dim": "size=",
    "eps": "epsilon=",
    "filters": "size=",
    "hidden_size": "size=",
    "in_channels": "size= alone: the size of the input is inferred",
    "in_features": "size= alone: the size of the input is inferred",
    "input_dim": "buckets= in an Embedding; elsewhere the size of the input is inferred",
    "input_shape": "size= alone: the size of the input is inferred",
    "input_size": "size= alone: the size of the input is inferred",
    "kernel_initializer": "initializer=",
    "key_dim": "heads= alone: each head has its share of the vectors",
    "nonlinearity": "activation=",
    "normalized_shape": "epsilon= alone: the size of the input is inferred",
    "num_embeddings": "buckets=",
    "num_heads": "heads=",
    "out_channels": "size=",
    "out_features": "size=",
    "output_dim": "size=",
    "p": "rate=",
    "units": "size=",
    "use_bias": "bias=",
}
"""Arguments of layers."""

LOSS: Mapping[str, str] = {
    "beta": "delta=",
    "class_weight": "weight=",
    "class_weights": "weight=",
    "from_logits": "the scores themselves: the loss takes their softmax or sigmoid",
    "ignore_index": "ar.OneOf or ar.Optional, which leave out the places that have no label",
    "pos_weight": "pos_weight= of ar.SigmoidCrossEntropy",
    "reduction": "the loss as it is, of one example: a model takes the mean over its batch",
    "size_average": "the loss as it is, of one example: a model takes the mean over its batch",
    "smoothing": "label_smoothing=",
}
"""Arguments of losses."""


def did_you_mean(name: str, names: Mapping[str, str], foreign: Mapping[str, str]) -> str:
    """Says what may have been meant by a name; empty where nothing is alike.

    Args:
        name: the name that there is not.
        names: those that there are, each with what is written for it.
        foreign: what the names of other libraries are called here.

    >>> did_you_mean("LSTM", {"Length": "ar.Length"}, PACKAGE)
    'ar.RNN(ar.LSTMCell(size))'
    >>> did_you_mean("Lenght", {"Length": "ar.Length"}, PACKAGE), did_you_mean("x", {"y": "y"}, {})
    ('ar.Length', '')
    """
    if name in foreign:
        return foreign[name]
    by_case = {own.lower(): written for own, written in names.items()}
    close = difflib.get_close_matches(name.lower(), by_case, n=1, cutoff=0.75)
    return by_case[close[0]] if close else ""


def no_attribute(owner: str, name: str, likely: str) -> AttributeError:
    """The error for an attribute that there is not.

    >>> no_attribute("module 'arrows'", "LSTM", "ar.RNN(cell)")
    AttributeError("module 'arrows' has no attribute 'LSTM'; did you mean ar.RNN(cell)?")
    """
    hint = f"; did you mean {likely}?" if likely else ""
    return AttributeError(f"{owner} has no attribute {name!r}{hint}")


def as_import_error(error: AttributeError, module: str, name: str, caller: FrameType) -> Exception:
    """The error for `from module import name`, if the caller is at such a line; else the error itself.

    Python drops an `AttributeError` there, and with it the hint.
    """
    instruction = opname[caller.f_code.co_code[caller.f_lasti]] if caller.f_lasti >= 0 else ""
    if instruction != "IMPORT_FROM":
        return error
    words = str(error).removeprefix(f"module {module!r} has no attribute {name!r}")
    return ImportError(f"cannot import name {name!r} from {module!r}{words}", name=module)


def no_model_attribute(model: object, name: str) -> NoReturn:
    """Raises the error for an attribute that a model has not."""
    names = {own: f"model.{own}" for own in dir(model) if not own.startswith("_")}
    likely = "" if name.startswith("_") else did_you_mean(name, names, MODEL)
    raise no_attribute(f"{type(model).__name__!r} object", name, likely)


class _Elsewhere:
    """An attribute that objects of a class lack, with a hint.

    A `__getattr__` could answer for all names, but it makes every read of a slot take 27 ns, not 8.
    """

    def __init__(self, owner: str, name: str, likely: str) -> None:
        self._error = owner, name, likely

    def __get__(self, instance: object, owner: type) -> NoReturn:
        subject, name, likely = self._error
        raise AttributeError(
            message(
                f"cannot find {name} at {SourceLine.here()}",
                reason=f"{subject} has no attribute {name!r}",
                hint=likely,
            )
        )


def answers(owner: str, foreign: Mapping[str, str]) -> Callable[[type[C]], type[C]]:
    """A class decorator: attributes that the class lacks say what is written instead.

    >>> @answers("a box", {"backward": "forward"})
    ... class Box:
    ...     __slots__ = ()
    >>> hasattr(Box(), "backward")
    False
    """

    def decorate(cls: type[C]) -> type[C]:
        for name, likely in foreign.items():
            setattr(cls, name, _Elsewhere(owner, name, likely))
        return cls

    return decorate


def check_keywords(
    call: str, function: Callable[..., object], keywords: Iterable[str], foreign: Mapping[str, str]
) -> None:
    """Refuses keyword arguments that a function does not have, and says which may be meant.

    Raises:
        ArrowTypeError: there is no such argument.

    >>> check_keywords("f", lambda learning_rate: None, ["learning_rate"], OPTIMIZER)
    """
    names = _keywords_of(function)
    unknown = [] if names is None else [name for name in keywords if name not in names]
    if names is None or not unknown:
        return
    name, written = unknown[0], {keyword: f"{keyword}=" for keyword in names}
    likely = did_you_mean(name, written, foreign)
    if likely.endswith("=") and likely.split("=")[0] not in names:  # another function of this kind has it
        likely = did_you_mean(name, written, {})
    hint = f"did you mean {likely}?" if likely else ""
    raise ArrowTypeError(
        message(f"{call} has no argument {name!r}", reason=f"it takes {', '.join(names)}", hint=hint)
    )


def check_positions(call: str, function: Callable[..., object], count: int) -> None:
    """Refuses more arguments by position than a constructor takes, and says which there are.

    Raises:
        ArrowTypeError: there are too many.

    >>> check_positions("f", lambda self, size: None, 1)
    """
    parameters = inspect.signature(function).parameters.values()
    if any(p.kind is p.VAR_POSITIONAL for p in parameters):
        return
    first = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)][1:]
    if count <= len(first):
        return
    by_keyword = [p.name for p in parameters if p.kind is p.KEYWORD_ONLY]
    got = f"{count} argument{'s' if count > 1 else ''}"
    raise ArrowTypeError(
        message(
            f"{call} takes {' and '.join(first) or 'nothing'} by position, and got {got}",
            reason=f"it takes by keyword {', '.join(by_keyword)}" if by_keyword else "",
            hint="the sizes of the input are inferred, not given",
        )
    )


@functools.cache
def _keywords_of(function: Callable[..., object]) -> tuple[str, ...] | None:
    """The names that a function takes by keyword; None if it takes any."""
    parameters = inspect.signature(function).parameters.values()
    if any(p.kind is p.VAR_KEYWORD for p in parameters):
        return None
    named = [p.name for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    return tuple(name for name in named if name != "self")


def explains_keywords(foreign: Mapping[str, str]) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """A decorator: a function says what may be meant by a keyword argument that it does not have.

    >>> @explains_keywords({"lr": "learning_rate="})
    ... def step(learning_rate):
    ...     return learning_rate
    >>> step(learning_rate=3)
    3
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        @functools.wraps(function)
        def call(*args: P.args, **keywords: P.kwargs) -> R:
            if keywords:
                check_keywords(function.__name__, function, keywords, foreign)
            return function(*args, **keywords)

        return call

    return decorate


def explains_empty_call(hint: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """A decorator: a method says what may be meant by a call without arguments, which it does not take.

    >>> @explains_empty_call("there is no mode to switch")
    ... def eval(model, example):
    ...     return example
    >>> eval("a model", 3)
    3
    """

    def decorate(method: Callable[P, R]) -> Callable[P, R]:
        @functools.wraps(method)
        def call(*args: P.args, **keywords: P.kwargs) -> R:
            if len(args) == 1 and not keywords:
                raise ArrowTypeError(f"{method.__name__} takes an argument, and got none; {hint}")
            return method(*args, **keywords)

        return call

    return decorate
