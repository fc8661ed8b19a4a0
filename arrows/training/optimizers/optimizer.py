"""The optimizer: what a user calls, and what it keeps of each parameter from step to step."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from copy import copy
from dataclasses import KW_ONLY, dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from arrows.arrays import Array, quiet
from arrows.engine.device import Device, locks_parameters
from arrows.engine.values import Ragged
from arrows.ops import RowSparse
from arrows.training.arguments import (
    described,
    require_above,
    require_model,
    require_range,
)
from arrows.training.optimizers.array_steps import ArraySteps, Change, numbers_of
from arrows.training.optimizers.averages import Averages
from arrows.training.optimizers.kernel_steps import KernelSteps
from arrows.training.optimizers.rule import Gradient, Rule, StepCount, record
from arrows.training.parameters import Trainable, moved, notation
from arrows.training.schedules import Rate, by_name, rate_at, rate_text, require_rate
from arrows.typesys import ArrowTypeError, ArrowValueError, refuse_arguments

_IN_0_1, _AT_LEAST_0, _ABOVE_0 = (0.0, 1.0), (0.0,), ()
_RANGES = {
    "momentum": _IN_0_1,
    "rho": _IN_0_1,
    "beta_1": _IN_0_1,
    "beta_2": _IN_0_1,
    "weight_decay": _AT_LEAST_0,
    "initial_accumulator_value": _AT_LEAST_0,
    "epsilon": _ABOVE_0,  # 0 would divide 0 by 0 where no gradient has come yet
    "clip_norm": _ABOVE_0,
}


@dataclass(eq=False)
class Optimizer:
    """What all optimizers have in common: they change a model's parameters in place, and keep state.

    `SGD`, `Adagrad`, `Adam`, `AdamW` and `RMSprop` say how one parameter changes, by `update`; so
    does an optimizer of one's own, which is a dataclass too if it has numbers to choose. Write an update with
    operators and functions of `arrows.ops` that work element by element: it is recorded once, and runs on
    blocks of rows, or as a kernel of a GPU.

    An optimizer serves one model, or several that share parameters: state is kept by parameter name.

    On a row-sparse gradient, such as an embedding's, it is lazy: running averages fade, and rows move and
    decay, only in the steps that touch them; Adam corrects its bias by the number of steps that have touched
    the row. With `dense=True` all rows take part in each step, as in PyTorch and in the papers.

    Args:
        learning_rate: at least 0, or a schedule: a function from the number of steps so far to the rate.
        weight_decay: coupled L2 regularization: this times the parameter is added to the clipped gradient;
            `AdamW` decouples it. Different ones by patterns, as of `rates`: `{"*/bias": 0, "*": 0.01}`; it is
            0 for parameters that match none.
        clip_norm: gradient clipping: gradients whose global norm, over all parameters together, exceeds this
            are scaled down to it (Pascanu, Mikolov, Bengio, "On the difficulty of training recurrent neural
            networks", ICML 2013, algorithm 1). Rows that occur more than once in a sparse gradient are added
            up first. None: no clipping.
        rates: separate learning rates for the parameters whose names match a pattern (as `fnmatch` reads it;
            the first match counts): `{"embed/*": 0.1, "classify/*": 0}`. 0 freezes a parameter: it stays as
            it is, gets no state, and its gradient does not count for `clip_norm`.
        average: the decay of parameter averages over the steps (`Averages`): 1.0 for Polyak's plain mean,
            0.999 for an exponential one. See `use_averages`. None: no averages.
        dense: moments fade, and weights decay, in all rows of a table at each step.

    Attributes:
        learning_rate: of parameters that match no pattern of `rates`. It may be changed between steps; all
            other arguments stay as they are.
        slots: the arrays of its own that the optimizer keeps for each parameter, by name, with the number
            that they start from.
        decoupled: whether `update` decays weights itself.
        steps: how many steps have been taken.
        state: parameter name -> slot name -> array of the parameter's shape, on the model's device. A
            parameter has state from its first gradient on.
        counts: parameter name -> how many steps have changed it; for a table that has had row-sparse
            gradients, how many have changed each row: an array of the device, float64 `[rows]`.
        averages: the averages; None without `average`.
        rate_factor: all learning rates are multiplied by this; `train` sets it.

    Raises:
        ArrowTypeError: an argument of the wrong kind.
        ArrowValueError: an argument is out of its range.

    >>> import numpy as np
    >>> from types import SimpleNamespace
    >>> import arrows as ar
    >>> from arrows.engine.device import get_device
    >>> class SignDescent(Optimizer):
    ...     def update(self, parameter, gradient, state, *, rate, step):
    ...         return parameter - rate * ar.ops.sign(gradient)
    >>> model = SimpleNamespace(params={"w": np.ones(2)}, device=get_device("cpu"))
    >>> SignDescent(0.5, clip_norm=1.0).step(model, {"w": np.array([3.0, -7.0])})
    >>> model.params["w"].tolist()
    [0.5, 1.5]
    """

    learning_rate: Rate
    _: KW_ONLY
    weight_decay: float | Mapping[str, float] = 0.0
    clip_norm: float | None = None
    rates: Mapping[str, Rate] | None = None
    average: float | None = None
    dense: bool = False

    decoupled: ClassVar[bool] = False

    if not TYPE_CHECKING:  # the dataclass says what type checkers should know

        def __new__(cls, *args: object, **keywords: object) -> Self:
            if args and _is_of_parameters(args[0]):
                raise ArrowTypeError(
                    f"{cls.__name__}(learning_rate) takes no parameters: train(model, examples, "
                    f"{cls.__name__}(0.001)) and optimizer.step(model, grads) change those of the model. For "
                    "other rates of some, or to freeze them: rates={'embed/*': 0.1}"
                )
            if args or keywords:
                refuse_arguments(cls.__init__, args, keywords, call=cls.__name__, table="optimizer")
            return super().__new__(cls)

    def __post_init__(self) -> None:
        owner = type(self).__name__
        if type(self).update is Optimizer.update:
            raise ArrowTypeError(f"{owner} does not say how a parameter changes; use one such as Adam(0.001)")
        for field in fields(self):
            value: Any = getattr(self, field.name)
            if field.name == "weight_decay" and isinstance(value, Mapping):
                for pattern, decay in value.items():
                    require_range(owner, f"weight_decay[{pattern!r}]", decay, *_AT_LEAST_0)
            elif field.name in _RANGES and not (field.name == "clip_norm" and value is None):
                bounds = _RANGES[field.name]
                (require_range if bounds else require_above)(owner, field.name, value, *bounds)
                setattr(self, field.name, float(value))
        self.dense = bool(self.dense)
        self.given_rate = self.learning_rate
        self.averages = None if self.average is None else Averages(self.average)
        self.steps = 0
        self.state: dict[str, dict[str, Array]] = {}
        self.counts: dict[str, StepCount] = {}
        self.rate_factor = 1.0
        self._separate = dict(self.rates or {})
        for pattern, rate in self._separate.items():
            require_rate(f"rates[{pattern!r}]", rate)
        self._rules: dict[tuple[Any, bool, float], Rule] = {}
        self._taker: ArraySteps | None = None
        self._ready = True

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "learning_rate":
            require_rate(f"{type(self).__name__}: learning_rate", value)
        elif getattr(self, "_ready", False) and any(field.name == name for field in fields(self)):
            raise AttributeError(
                f"{type(self).__name__}: {name} stays as it is; only the learning rate may change"
            )
        super().__setattr__(name, value)

    @property
    def slots(self) -> Mapping[str, float]:
        return {}

    def update(self, parameter: Any, gradient: Any, state: dict[str, Any], *, rate: Any, step: Any) -> Any:
        """How a parameter changes in a step.

        Args:
            parameter: one number of it, as a tensor.
            gradient: clipped, with coupled weight decay added.
            state: the numbers of the slots; put their new values there.
            rate: the learning rate of the step.
            step: how many steps have changed the parameter, or this row of it, this one included.

        Returns:
            The new value of the parameter.
        """
        raise NotImplementedError

    @property
    def settings(self) -> str:
        """The class and all hyperparameters but the learning rates, as the same text in every process.

        The state in a checkpoint belongs to these.
        """
        names = [field.name for field in fields(self) if field.name not in ("learning_rate", "rates")]
        return f"{type(self).__name__}({', '.join(f'{name}={getattr(self, name)!r}' for name in names)})"

    @property
    def rates_text(self) -> str:
        """The learning rates as they are now, as a text that is the same in every process."""
        separate = (f"{pattern}: {rate_text(rate)}" for pattern, rate in self._separate.items())
        return ", ".join([rate_text(self.learning_rate), *separate])

    def only_reads_gradients(self) -> bool:
        """Whether `step` neither changes nor keeps gradients, so that it may read the engine's own memory.

        True but for a `step` of one's own, which is handed copies.

        >>> from arrows.training import SGD
        >>> SGD(0.1).only_reads_gradients()
        True
        """
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
        {'embed/w': 0.0, 'fc/w': 0.5}
        """
        self._decays_of(model.params)  # raises for patterns that match no parameter, as this does
        return self._rates_at(model.params, by_name("rates", self._separate, model.params))

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
            raise ArrowValueError("this optimizer keeps no averages: give it average=, such as 0.999")
        self._follow(model.device)
        return self.averages.in_place_of(model, self.steps)

    @locks_parameters
    @quiet
    def step(self, model: Trainable, grads: Mapping[str, Gradient | Ragged]) -> None:
        """Takes one step: changes `model.params` in place. The gradients stay as they are.

        Args:
            model: the model whose parameters to change.
            grads: parameter name -> array of the parameter's shape, on the model's device, or `RowSparse`.
                A parameter without a gradient stays as it is. Gradients of inputs, which are
                `Ragged`, are ignored.

        Raises:
            ArrowTypeError: an argument of the wrong kind, or a schedule that gives no number.
            ArrowValueError: a gradient whose name is no parameter's, or of another shape or element type than
                the parameter; a pattern that matches nothing; a schedule that gives a rate below 0; averages
                in use. Nothing has been changed then.

        Ctrl-C, or memory that runs out, may come while parameters change: some have taken the step then, and
        others have not. In `train`, Ctrl-C waits for the end of a step.

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
        device, separate = model.device, by_name("rates", self._separate, model.params)
        decays = self._decays_of(model.params)
        taker = self._follow(device)
        pairs: dict[str, tuple[Array, Gradient]] = {}
        for name, value in grads.items():
            if isinstance(value, Ragged):
                continue
            gradient: Any = value
            if isinstance(gradient, np.generic):
                gradient = np.asarray(gradient)
            parameter = self._checked(device, name, model.params.get(name), gradient)
            if separate.get(name) != 0:  # a schedule that reaches 0 does not freeze
                if isinstance(gradient, RowSparse):
                    gradient = taker.merge(gradient, dense=self.dense)
                pairs[name] = parameter, gradient
        scale = None
        arrays = [numbers_of(gradient) for _, gradient in pairs.values()]
        if self.clip_norm is not None and any(array.size for array in arrays):
            scale = taker.scale(arrays, self.clip_norm)
        rates = self._rates_at(pairs, separate)
        rules = [
            self._rule_of(array.dtype, scale is not None, decays[name])
            for name, array in zip(pairs, arrays, strict=True)
        ]
        self.steps += 1  # what is wrong with the arguments has been found before this line
        changes = []
        for (name, (parameter, gradient)), rule in zip(pairs.items(), rules, strict=True):
            rows = gradient.rows if isinstance(gradient, RowSparse) else None
            if self.averages is not None:
                self.averages.before(device, name, parameter, self.steps, rows)
            state = self._state_of(device, name, parameter)
            count = self._count_step(device, name, parameter, by_row=rows is not None)
            changes.append(Change(rule, gradient, [parameter, *state], rates[name], count))
        taker.apply(changes, scale)

    def _rates_at(self, names: Iterable[str], separate: Mapping[str, Rate]) -> dict[str, float]:
        """The learning rates of some parameters in the next step."""
        usual = rate_at(self.learning_rate, self.steps)
        rates = {name: rate_at(separate[name], self.steps) if name in separate else usual for name in names}
        return {name: self.rate_factor * rate for name, rate in rates.items()}

    def _decays_of(self, names: Iterable[str]) -> dict[str, float]:
        """The weight decay of each parameter."""
        if not isinstance(self.weight_decay, Mapping):
            return dict.fromkeys(names, self.weight_decay)
        separate = by_name("weight_decay", self.weight_decay, names)
        return {name: float(separate.get(name, 0.0)) for name in names}

    def _rule_of(self, dtype: Any, scaled: bool, decay: float) -> Rule:
        key = dtype, scaled, decay
        if key not in self._rules:
            alike = copy(self)
            vars(alike)["weight_decay"] = decay
            self._rules[key] = record(alike, dtype.name, scaled=scaled)
        return self._rules[key]

    def _checked(self, device: Device, name: str, parameter: Array | None, gradient: Gradient) -> Array:
        """Returns the parameter; refuses a gradient or a state that does not fit it."""
        if parameter is None:
            raise ArrowValueError(f"the model has no parameter {name!r} for the gradient of that name")
        if not device.is_array(numbers_of(gradient)):
            kind = f"an array of the device {device.name!r}"
            raise ArrowTypeError(f"the gradient of {name!r} must be {kind}, not {described(gradient)}")
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

    def _follow(self, device: Device) -> ArraySteps:
        """What takes steps on the model's device, to which the state comes if the model has moved there."""
        if self._taker is None or self._taker.device is not device:
            kept: list[dict[str, Any]] = [*self.state.values(), self.counts]
            kept += [] if self.averages is None else [self.averages.values, self.averages.since]
            for arrays in kept:
                arrays.update({name: moved(device, array) for name, array in arrays.items()})
            self._taker = KernelSteps(device) if device.kernels else ArraySteps(device)
        return self._taker

    def _state_of(self, device: Device, name: str, parameter: Array) -> list[Array]:
        if name not in self.state:
            self.state[name] = {
                slot: device.xp.full(parameter.shape, start, parameter.dtype)
                for slot, start in self.slots.items()
            }
        return [self.state[name][slot] for slot in self.slots]  # a checkpoint has them in another order

    def _count_step(self, device: Device, name: str, parameter: Array, *, by_row: bool) -> StepCount:
        """How many steps have changed the parameter, this one included; by row, the steps before."""
        count = self.counts.get(name, 0)
        if not by_row:
            self.counts[name] = count = count + 1
        elif isinstance(count, int):
            count = self.counts[name] = device.xp.full((parameter.shape[0],), float(count), "float64")
        return count


def _is_of_parameters(value: object) -> bool:
    """Whether this is a model, its parameters, or a list of arrays: what PyTorch's optimizers take first."""
    return isinstance(value, (Mapping, Iterator, list, tuple)) or hasattr(value, "params")
