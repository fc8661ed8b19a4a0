"""The optimizer: applies an update rule to each parameter, and keeps the state that the rule needs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import fields, is_dataclass, replace
from typing import TYPE_CHECKING, Self

from arrows.engine.device import Device, locks_parameters
from arrows.engine.values import Ragged
from arrows.ops.arrays import Array
from arrows.training.arguments import described, require_model, require_number
from arrows.training.learning_rates import (
    Rate,
    Rates,
    is_frozen,
    rate_at,
    rate_text,
    require_rate,
    without_addresses,
)
from arrows.training.optimizers.averages import Averages
from arrows.training.optimizers.counters import Counters, set_back, whole_numbers
from arrows.training.optimizers.update import Change, Gradient, Rows, Updater, on_device
from arrows.training.optimizers.update_rule import Rule, StepCount
from arrows.training.parameters import Trainable, moved, notation
from arrows.typesys import ArrowTypeError, ArrowValueError
from arrows.typesys.did_you_mean import check_keywords, check_positions
from arrows.typesys.foreign_names import OPTIMIZER

_HALF_A_STEP = (
    "This came in the middle of a step of the optimizer: some parameters, and what the optimizer keeps for "
    "them, have taken the step, and others have not. To go on exactly, load the last checkpoint; "
    "train(checkpoint=...) saves them, and lets Ctrl-C wait for the end of a step."
)


def _is_of_parameters(value: object) -> bool:
    """Whether this is a model, its parameters, or a list of arrays: what PyTorch's optimizers take first."""
    return isinstance(value, (Mapping, Iterator, list, tuple)) or hasattr(value, "params")


class Optimizer:
    """Applies an update rule to a model's parameters, in place, and keeps the rule's state.

    An optimizer serves one model, or several that share parameters: state is kept by parameter name.

    Args:
        rule: how one parameter changes (`Rule`).
        clip_norm: gradient clipping: gradients whose global norm, over all parameters together, exceeds this
            are scaled down to it (Pascanu, Mikolov, Bengio, "On the difficulty of training recurrent neural
            networks", ICML 2013, algorithm 1). Rows that occur more than once in a sparse gradient are added
            up first. Weight decay is added after clipping. None: no clipping.
        rates: separate learning rates for the parameters whose names match a pattern (as `fnmatch` reads it;
            the first match counts): `{"embed/*": 0.1, "classify/*": 0}`. 0 freezes a parameter: it stays as
            it is, gets no state, and its gradient does not count for `clip_norm`.
        average: the decay of parameter averages over the steps (`Averages`): 1.0 for Polyak's plain mean,
            0.999 for an exponential one. See `use_averages`. None: no averages.
        dense: moments fade, and weights decay, in all rows of a table at each step, as PyTorch's do.

    Attributes:
        learning_rate: of parameters that match no pattern of `rates`; the rule's, or what it is changed to.
        steps: how many steps have been taken.
        state: parameter name -> slot name -> array of the parameter's shape, on the model's device. A
            parameter has state from its first gradient on.
        counts: parameter name -> how many steps have changed it; for a table that has had row-sparse
            gradients, how many have changed each row: an array of the device, float64 `[rows]`.
        averages: the averages; None without `average`.
        rate_factor: all learning rates are multiplied by this; `train` sets it.
        unless: float64 `[1]` of the model's device; where it is 0, `step` changes no array, and the host does
            not learn of it: `counters` and `set_back` then make the step undone. `train` sets it, so that it
            need not wait for a loss to know that it is finite.

    Raises:
        ArrowTypeError: an argument of the wrong kind.
        ArrowValueError: `clip_norm`, a rate or `average` is out of its range.

    >>> from arrows.training import Momentum
    >>> Optimizer(Momentum(0.1)).learning_rate
    0.1
    """

    if not TYPE_CHECKING:  # `__init__` says what type checkers should know

        def __new__(cls, *args: object, **keywords: object) -> Self:
            if args and _is_of_parameters(args[0]):
                call = f"{cls.__name__}({'rule' if cls is Optimizer else 'learning_rate'})"
                raise ArrowTypeError(
                    f"{call} takes no parameters: train(model, examples, {cls.__name__}(0.001)) and "
                    f"optimizer.step(model, grads) change those of the model. For other rates of some, or to "
                    "freeze them: rates={'embed/*': 0.1}"
                )
            check_positions(cls.__name__, cls.__init__, args)
            check_keywords(cls.__name__, cls.__init__, keywords, OPTIMIZER)
            return super().__new__(cls)

    def __init__(
        self,
        rule: Rule,
        *,
        clip_norm: float | None = None,
        rates: Mapping[str, Rate] | None = None,
        average: float | None = None,
        dense: bool = False,
    ) -> None:
        if isinstance(rule, type) or not hasattr(rule, "update"):
            raise ArrowTypeError(
                f"Optimizer(rule): rule must be an update rule such as Moments(0.001), not {described(rule)}"
            )
        if clip_norm is not None:
            require_number("clip_norm", clip_norm)
            if not clip_norm > 0:
                raise ArrowValueError(f"clip_norm is {clip_norm}, and should be above 0")
        self.rule = rule
        self._learning_rate: Rate = rule.learning_rate
        self.clip_norm = clip_norm
        self.rates = Rates(rates)
        self.averages = None if average is None else Averages(average)
        self.dense = bool(dense)
        self.steps = 0
        self.state: dict[str, dict[str, Array]] = {}
        self.counts: dict[str, StepCount] = {}
        self.unless: Array | None = None
        self.rate_factor = 1.0
        self._updater = Updater()
        self._device: Device | None = None

    def __repr__(self) -> str:
        rule: object = self.rule
        rates = f", rates={self.rates.by_pattern}" if self.rates.by_pattern else ""
        if self.learning_rate is not self.rule.learning_rate:
            if is_dataclass(rule) and not isinstance(rule, type):
                rule = replace(rule, learning_rate=self.learning_rate)
            else:
                rates += f", learning_rate={self.learning_rate}"
        return self._text(rule, rates)

    @property
    def learning_rate(self) -> Rate:
        """For the parameters that match no pattern of `rates`: a number or a schedule."""
        return self._learning_rate

    @learning_rate.setter
    def learning_rate(self, rate: Rate) -> None:
        require_rate(f"{type(self).__name__}: learning_rate", rate)
        self._learning_rate = rate

    @property
    def settings(self) -> str:
        """The class and all hyperparameters but the learning rates, as the same text in every process.

        The state in a checkpoint belongs to these.
        """
        rule: object = self.rule
        words = without_addresses(repr(rule))
        if is_dataclass(rule) and not isinstance(rule, type):
            named = (field.name for field in fields(rule) if field.name != "learning_rate")
            words = f"{type(rule).__name__}({', '.join(f'{name}={getattr(rule, name)!r}' for name in named)})"
        return self._text(words, "")

    @property
    def rates_text(self) -> str:
        """The learning rates as they are now, as a text that is the same in every process."""
        separate = (f"{pattern}: {rate_text(rate)}" for pattern, rate in self.rates.by_pattern.items())
        return ", ".join([rate_text(self.learning_rate), *separate])

    def _text(self, rule: object, rates: str) -> str:
        average = "" if self.averages is None else f", average={self.averages.decay}"
        dense = ", dense=True" if self.dense else ""
        return f"{type(self).__name__}({rule}, clip_norm={self.clip_norm}{rates}{average}{dense})"

    def only_reads_gradients(self) -> bool:
        """Whether `step` neither changes nor keeps gradients, so that it may read the engine's own memory.

        True for the optimizers and rules of this package; all others are handed copies.

        >>> from arrows.training import SGD
        >>> SGD(0.1).only_reads_gradients()
        True
        """
        modules = [type(self).__module__, type(self.rule).__module__]
        ours = all(module.partition(".")[0] == "arrows" for module in modules)
        return ours and "step" not in vars(self)

    @property
    def masks_steps(self) -> bool:
        """Whether `step` obeys `unless`: a step of one's own need not."""
        return type(self).step is Optimizer.step and "step" not in vars(self)

    def rates_of(self, model: Trainable) -> dict[str, float]:
        """The learning rate of each parameter in the next step; 0 for a frozen one.

        Raises:
            ArrowTypeError, ArrowValueError: a schedule gives no number, or one below 0; a pattern of `rates`
                matches no parameter: the message names them all.

        >>> import numpy as np
        >>> from types import SimpleNamespace
        >>> from arrows.engine.device import get_device
        >>> from arrows.training import SGD
        >>> model = SimpleNamespace(
        ...     params={"embed/w": np.ones(2), "fc/w": np.ones(2)}, device=get_device("cpu")
        ... )
        >>> SGD(0.5, rates={"embed/*": 0}).rates_of(model)
        {'embed/w': 0, 'fc/w': 0.5}
        """
        separate = self.rates.by_name(model.params)
        return self._rates(model.params, separate)

    def use_averages(self, model: Trainable) -> AbstractContextManager[None]:
        """A context in which the averages stand in for the model's parameters; afterwards they are as before.

        Within it, the model may be run and its parameters may be saved; taking a step or saving the state of
        the run is an error. A parameter that no step has changed is its own average.

        Raises:
            ArrowValueError: the optimizer keeps no averages, or they are in use already.

        >>> import numpy as np
        >>> from types import SimpleNamespace
        >>> from arrows.engine.device import get_device
        >>> from arrows.training import SGD
        >>> model = SimpleNamespace(params={"w": np.zeros(1)}, device=get_device("cpu"))
        >>> optimizer = SGD(1.0, average=1.0)
        >>> for _ in range(3):
        ...     optimizer.step(model, {"w": np.ones(1)})
        >>> with optimizer.use_averages(model):
        ...     model.params["w"].tolist()
        [-2.0]
        >>> model.params["w"].tolist()
        [-3.0]
        """
        if self.averages is None:
            raise ArrowValueError(
                "this optimizer keeps no averages: give it average=, 1.0 for the plain mean"
            )
        self._follow(model.device)
        return self.averages.in_place_of(model, self.steps)

    @locks_parameters
    def step(self, model: Trainable, grads: Mapping[str, Gradient | Ragged]) -> None:
        """Takes one step: changes `model.params` in place. The gradients stay as they are.

        Args:
            model: the model whose parameters to change.
            grads: parameter name -> array of the parameter's shape, or `RowSparse`. An array may lie on the
                model's device or on the host, and be another library's (with `__dlpack__`). A parameter
                without a gradient stays as it is. Gradients of inputs, which are `Ragged`, are ignored.

        Raises:
            ArrowTypeError: an argument of the wrong kind, or a schedule that gives no number.
            ArrowValueError: a gradient whose name is no parameter's, or of another shape or element type than
                the parameter; a pattern of `rates` that matches nothing; a schedule that gives a rate below
                0; averages in use. Nothing has been changed then.
            BaseException: Ctrl-C, or memory ran out. If this came while parameters changed, some have taken
                the step and others have not, and a note on the exception says so.

        >>> import numpy as np
        >>> from types import SimpleNamespace
        >>> from arrows.engine.device import get_device
        >>> from arrows.training import SGD
        >>> model = SimpleNamespace(params={"w": np.ones(2)}, device=get_device("cpu"))
        >>> SGD(0.5).step(model, {"w": np.array([1.0, 2.0])})
        >>> model.params["w"].tolist()
        [0.5, 0.0]
        """
        require_model("step(model, grads)", model)
        if not isinstance(grads, Mapping):
            raise ArrowTypeError(
                "step(model, grads): grads must be gradients by name, as value_and_grad returns them after "
                f"the loss, not {described(grads)}"
            )
        if self.averages is not None and self.averages.in_use:
            raise ArrowValueError("no step is taken while averages stand in for the parameters")
        device, separate = model.device, self.rates.by_name(model.params)
        self._follow(device)
        pairs: dict[str, tuple[Array, Array | Rows]] = {}
        for name, value in grads.items():
            if isinstance(value, Ragged):
                continue
            gradient = on_device(device, name, value)
            parameter = self._checked(name, model.params.get(name), gradient)
            if not is_frozen(separate.get(name)):
                pairs[name] = parameter, self._updater.merge(device, gradient)
        scale = self._updater.clip_scale(device, [gradient for _, gradient in pairs.values()], self.clip_norm)
        rates = self._rates(pairs, separate)
        try:
            self.steps += 1  # what is wrong with the arguments has been found before this line
            changes = []
            for name, (parameter, merged) in pairs.items():
                rows = merged.rows if isinstance(merged, Rows) and not self.dense else None
                if self.averages is not None:
                    self.averages.before(device, name, parameter, self.steps, rows, self.unless)
                changes.append(
                    Change(
                        parameter=parameter,
                        gradient=merged,
                        rule=self.rule,
                        state=self._state_of(device, name, parameter),
                        rate=rates[name],
                        count=self._count_step(device, name, parameter, by_row=rows is not None),
                        dense=rows is None,
                    )
                )
            self._updater.apply(device, changes, scale, self.unless)
        except BaseException as error:  # Ctrl-C, a timeout, memory that ran out
            error.add_note(_HALF_A_STEP)
            raise

    def counters(self) -> Counters:
        """What the host counts, so that `set_back` can undo steps that changed no array."""
        since = {} if self.averages is None else self.averages.since
        return Counters(self.steps, whole_numbers(self.counts), whole_numbers(since))

    def set_back(self, counters: Counters) -> None:
        """Undoes the steps since `counters`, in which `unless` was 0."""
        self.steps = counters.steps
        for name in set_back(self.counts, counters.counts):
            del self.state[name]
        if self.averages is not None:
            for name in set_back(self.averages.since, counters.since):
                del self.averages.values[name]

    def _rates(self, names: Iterable[str], separate: Mapping[str, Rate]) -> dict[str, float]:
        """The learning rates of some parameters in the next step."""
        rates = {name: rate_at(separate.get(name, self.learning_rate), self.steps) for name in names}
        factor = self.rate_factor  # without one, rates stay as they are: a whole number is no float
        return rates if factor == 1.0 else {name: factor * rate for name, rate in rates.items()}

    def _checked(self, name: str, parameter: Array | None, gradient: Gradient) -> Array:
        """Returns the parameter; refuses a gradient or a state that does not fit it."""
        if parameter is None:
            raise ArrowValueError(f"the model has no parameter {name!r} for the gradient of that name")
        if not hasattr(gradient, "shape"):
            raise ArrowTypeError(f"the gradient of {name!r} must be an array, not {described(gradient)}")
        if (gradient.dtype, *gradient.shape) != (parameter.dtype, *parameter.shape):
            raise ArrowValueError(
                f"parameter {name!r} is {notation(parameter)}, its gradient is {notation(gradient)}"
            )
        for slot in self.state.get(name, {}).values():
            if slot.shape != parameter.shape:
                raise ArrowValueError(
                    f"this optimizer holds the state of another {name!r}, of shape {list(slot.shape)}; "
                    f"the model's has shape {list(parameter.shape)}. Use a new optimizer for another model"
                )
        return parameter

    def _follow(self, device: Device) -> None:
        """Brings the state to the model's device, if the model has moved since the last step."""
        if self._device is not device:
            for slots in self.state.values():
                slots.update({slot: moved(device, array) for slot, array in slots.items()})
            self.counts.update({name: moved(device, count) for name, count in self.counts.items()})
            if self.averages is not None:
                self.averages.follow(device)
            self._device = device

    def _state_of(self, device: Device, name: str, parameter: Array) -> dict[str, Array]:
        if name not in self.state:
            self.state[name] = {
                slot: device.xp.full(parameter.shape, start, parameter.dtype)
                for slot, start in self.rule.slots.items()
            }
        return self.state[name]

    def _count_step(self, device: Device, name: str, parameter: Array, *, by_row: bool) -> StepCount:
        """How many steps have changed the parameter, this one included; by row, the steps before."""
        count = self.counts.get(name, 0)
        if not by_row:
            self.counts[name] = count = count + 1
        elif isinstance(count, int):
            count = self.counts[name] = device.xp.full((parameter.shape[0],), float(count), "float64")
        return count
