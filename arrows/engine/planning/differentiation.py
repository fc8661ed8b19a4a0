"""Settles the loss of a model and its named inputs, and checks that a model can give the block's result."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any, Protocol

from arrows.combinators import Read
from arrows.engine.lowering import Site
from arrows.engine.planning.plan import Plan
from arrows.inference import Typed
from arrows.typesys import ArrowTypeError, ArrowValueError, Side, message, types as T

LossCheck = Callable[[Any], object]
"""Sees the loss of a training step before the step is made; may raise."""


class SupportsStep(Protocol):
    """What `Model.train_step` asks of an optimizer."""

    def step(self, model: Any, grads: Mapping[str, Any], /) -> None:
        """Changes the model's parameters in place; the optimizer may change and keep the gradients."""


@dataclass(frozen=True, slots=True)
class LossWeights:
    """The weight of each part of the loss.

    Attributes:
        metrics: the weights of metrics, by the number of their stream.
        result: the weight of the block's own scalar result; None if that is not the loss.
        dtype: the loss's element type.
        missing: the message of the error that differentiating raises without a loss; None if there is one.
    """

    metrics: Mapping[int, float]
    result: float | None
    dtype: str
    missing: str | None = None


def parse_loss(typed: Typed, plan: Plan, loss: str | Mapping[str, Any] | None) -> LossWeights:
    """Reads the ``loss`` argument of `compile`.

    Raises:
        ArrowTypeError: ``loss`` is neither a name nor a mapping of names to numbers, or a metric is no float.
        ArrowValueError: no metric of the block has the name, or ``loss`` has no name at all.
    """
    if loss is None:
        output = typed.output
        if isinstance(output, T.Tensor) and output.shape == () and output.floating:
            return LossWeights({}, 1.0, output.dtype)
        hint = 'name a Metric: ar.compile(block, loss="loss")'
        if isinstance(output, T.Sequence):
            hint = f"of the losses of elements, take the mean: block >> ar.Mean(); or {hint}"
        missing = message(
            "cannot differentiate a model without a loss",
            [Side(typed.form.label, f"{typed.input} -> {output}", typed.form.site)],
            reason=f"the result is {output}, and only a floating scalar is a loss by itself",
            hint=hint,
        )
        return LossWeights({}, None, "float32", missing)
    if isinstance(loss, str):
        loss = {loss: 1.0}
    if not isinstance(loss, Mapping) or not loss:
        raise ArrowTypeError(
            f"loss must be the name of a Metric, or a dict of names and weights, not {loss!r}"
        )
    weights: dict[int, float] = {}
    numbers = {stream.name: number for number, stream in enumerate(plan.lowered.streams.metrics)}
    dtype = "float32"
    for name, weight in loss.items():
        if name not in numbers:
            raise ArrowValueError(
                f"no Metric is named {name!r}; the block has {', '.join(map(repr, numbers)) or 'none'}"
            )
        type = plan.lowered.streams.metrics[numbers[name]].type
        if not type.floating:
            raise ArrowTypeError(f"the metric {name!r} is {type}, and only floats can be a loss")
        if isinstance(weight, bool) or not isinstance(weight, Real):
            raise ArrowTypeError(f"the weight of the metric {name!r} must be a number, not {weight!r}")
        weights[numbers[name]] = float(weight)
        dtype = type.dtype
    return LossWeights(weights, None, dtype)


def input_names(inputs: Iterable[str], params: Container[str]) -> tuple[str, ...]:
    """The names of inputs that a caller gives, each once; no parameter may have one of them.

    Raises:
        ArrowTypeError: something else than names.
        ArrowValueError: an input has the name of a parameter.

    >>> input_names(iter(["x", "y", "x"]), ())
    ('x', 'y')
    """
    listed = [] if isinstance(inputs, str) else list(inputs)
    if isinstance(inputs, str) or not all(isinstance(name, str) for name in listed):
        raise ArrowTypeError(f"inputs must be a list of names, not {inputs!r}")
    taken = sorted(name for name in listed if name in params)
    if taken:
        raise ArrowValueError(f"an input and a parameter are both named {taken[0]!r}; rename the input")
    return tuple(dict.fromkeys(listed))


def read_sites(plan: Plan, name: str) -> list[Site]:
    """Returns the sites that read the inputs of a name; all of them have the same type.

    Raises:
        ArrowValueError: no input has the name.
        ArrowTypeError: the input has no gradient, or inputs of two types have the name.
    """
    reads = [
        (site, form.name)
        for site in plan.lowered.sites
        if site.kind == "read" and isinstance(form := site.typed.form, Read)
        if form.name and form.function is None
    ]
    sites = [site for site, site_name in reads if site_name == name]
    if not sites:
        names = sorted({site_name for _, site_name in reads})
        raise ArrowValueError(f"no input is named {name!r}; named inputs are {names or 'none'}")
    types = sorted({site.outputs[0] for site in sites}, key=str)
    reason = hint = ""
    if not all(type.floating for type in types):
        reason = f"it is {types[0]}, and only floats have gradients"
    elif len(types) > 1:
        reason, hint = (
            f"inputs of two types have that name: {' and '.join(map(str, types))}",
            "give them two names",
        )
    if reason:
        attempt = f"cannot differentiate with respect to the input {name!r}"
        raise ArrowTypeError(message(attempt, reason=reason, hint=hint))
    return sites


def check_output(typed: Typed) -> None:
    """Refuses a block whose result or input a model cannot have.

    Raises:
        ArrowTypeError: the result holds a Python object or an endless sequence; the input is a tensor.
    """
    reason = hint = ""
    pending = [typed.output]
    while pending:
        type = pending.pop()
        if isinstance(type, T.Input):
            reason = "a model gives tensors, and its result holds a Python object (Input)"
            hint = "read it as a tensor, say with ar.Scalar(); block.eval(x) shows Python objects too"
        elif isinstance(type, T.Broadcast):
            reason = f"a model gives tensors, and its result holds the endless sequence {type}"
            hint = "use it up inside the model"
        pending.extend(type.children)
    if T.leaves(typed.input):
        reason = f"an example is a Python object (Input), and the block takes {typed.input}"
        hint = "read the tensors first: ar.Scalar(), ar.Vector(n) or ar.Tensor(shape) in front"
    if reason:
        side = Side(typed.form.label, f"{typed.input} -> {typed.output}", typed.form.site)
        raise ArrowTypeError(message(f"cannot compile {typed.form.label}", [side], reason=reason, hint=hint))
