"""Optimizers: an update rule, the state it keeps for each parameter, and the clipping of gradients.

Dense gradients are worked off in blocks of rows. A row-sparse gradient, such as an embedding's, costs time
for its own rows only: those rows of the parameter and of its state are gathered, updated and put back. So a
row moves, decays and loses momentum only in the steps that touch it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, is_dataclass, replace
from typing import Any

from arrows.engine.device import Device, locks_parameters
from arrows.engine.values import Ragged
from arrows.ops import RowSparse
from arrows.ops.arrays import quiet
from arrows.training.arguments import described, require_model, require_number
from arrows.training.averages import Averages
from arrows.training.learning_rates import Rate, Rates, is_frozen, rate_at, require_rate
from arrows.training.parameters import Array, Trainable, notation
from arrows.training.row_chunks import blocks
from arrows.training.schedule_identity import functions_in
from arrows.training.update_rules import Rule
from arrows.typesys.errors import ArrowTypeError, ArrowValueError

Gradient = Any  # an array, or a RowSparse


@dataclass(frozen=True, slots=True)
class Update:
    """What a step does to one parameter: its state, the factor of clipping, its rate and its count."""

    state: Mapping[str, Array]
    scale: Array | None
    rate: float
    count: Any


def _without_addresses(text: str) -> str:
    return re.sub(r" at 0x[0-9a-fA-F]+", "", text)


class Optimizer:
    """Applies an update rule to a model's parameters, in place, and keeps the rule's state.

    An optimizer serves one model, or several that share parameters: state is kept by parameter name.

    Args:
        rule: what to do to one parameter (`Rule`).
        clip_norm: if given, gradients whose global norm, over all parameters together, is above it are scaled
            down to it (Pascanu, Mikolov, Bengio, "On the difficulty of training recurrent neural networks",
            ICML 2013, algorithm 1). Rows that occur more than once in a sparse gradient are added up first.
            Weight decay is added after clipping.
        rates: learning rates of their own for the parameters whose names match a pattern (`fnmatch`'s; the
            first that matches counts): `{"embed/*": 0.1, "classify/*": 0}`. The number 0 freezes: such a
            parameter stays as it is, gets no state, and its gradient does not count for `clip_norm`.
        average: if given, averages of the parameters over the steps are kept, with this decay (`Averages`):
            1.0 for Polyak's plain mean, 0.999 for an exponential one. See `use_averages`.

    Attributes:
        learning_rate: of the parameters without a rate of their own, a number or a schedule; begins as the
            rule's, and may be changed between steps.
        steps: how many steps have been made.
        state: parameter name -> slot name -> array of the parameter's shape, on the model's device. A
            parameter's state begins with its first gradient.
        counts: parameter name -> how many steps have changed it; of a table that has had row-sparse
            gradients, how many have changed each row: an array of the device, float64 `[rows]`.
        averages: see `average`; None without.

    Raises:
        ArrowTypeError: an argument of the wrong kind.
        ArrowValueError: `clip_norm`, a rate or `average` is out of its range.

    >>> from arrows.training import Momentum
    >>> Optimizer(Momentum(0.1)).learning_rate
    0.1
    """

    def __init__(
        self,
        rule: Rule,
        *,
        clip_norm: float | None = None,
        rates: Mapping[str, Rate] | None = None,
        average: float | None = None,
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
        self.steps = 0
        self.state: dict[str, dict[str, Array]] = {}
        self.counts: dict[str, Any] = {}
        self._buffers: dict[tuple[str, Any], Array] = {}

    def __repr__(self) -> str:
        return self._told(self.learning_rate)

    @property
    def learning_rate(self) -> Rate:
        """Of the parameters without a rate of their own: a number or a schedule."""
        return self._learning_rate

    @learning_rate.setter
    def learning_rate(self, rate: Rate) -> None:
        require_rate(f"{type(self).__name__}: learning_rate", rate)
        self._learning_rate = rate

    @property
    def description(self) -> str:
        """The optimizer's kind and hyperparameters as they are now, the same in every process; saved with a
        run's state. A schedule that is a function counts by its code and by what it holds.

        Raises:
            ArrowValueError: a schedule says nothing of itself.
        """
        return self._described(self.learning_rate)

    @property
    def began(self) -> str:
        """The description as it was before anyone set `learning_rate`."""
        return self._described(self.rule.learning_rate)

    def continues(self, description: str, began: str, learning_rate: float | None) -> bool:
        """Whether this optimizer can take the saved state of one with these descriptions.

        It can if they are alike now; or if this one is as that one was made, and all that has changed since
        is a learning rate that is a number, which the state holds.
        """
        if self.description == description:
            return True
        if learning_rate is not None and self.description == began:
            return self._described(learning_rate) == description
        # Files of the time when functions had no hash, and the rate was that of the beginning.
        before = _without_addresses(self._told(self.rule.learning_rate))
        return description == began == before and (learning_rate is None) == callable(self.learning_rate)

    def _told(self, rate: Rate) -> str:
        """The optimizer with another learning rate, as a text."""
        rule: Any = self.rule
        more = f", rates={self.rates.given}" if self.rates.given else ""
        if rate is not rule.learning_rate:
            if is_dataclass(rule) and not isinstance(rule, type):
                rule = replace(rule, learning_rate=rate)
            else:
                more += f", learning_rate={rate}"
        if self.averages is not None:
            more += f", average={self.averages.decay}"
        return f"{type(self).__name__}({rule}, clip_norm={self.clip_norm}{more})"

    def _described(self, rate: Rate) -> str:
        rates = [rate, *self.rates.given.values()]
        names = [name for schedule in rates if callable(schedule) for name in functions_in(schedule)]
        more = f" with {', '.join(names)}" if names else ""
        return _without_addresses(self._told(rate if callable(rate) else float(rate))) + more

    def only_reads_gradients(self) -> bool:
        """Whether `step` leaves gradients as they are and keeps none, so that it may see the engine's memory.

        That is known of the optimizers and rules of this package; all others get gradients of their own.

        >>> from arrows.training import SGD
        >>> SGD(0.1).only_reads_gradients()
        True
        """
        ours = [kind.__module__.partition(".")[0] == "arrows" for kind in (type(self), type(self.rule))]
        return all(ours) and "step" not in vars(self)

    def rates_of(self, model: Trainable) -> dict[str, float]:
        """Each parameter's learning rate in the next step; a frozen one's is 0.

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
        own = self.rates.by_name(model.params)
        return {name: rate_at(own.get(name, self.learning_rate), self.steps) for name in model.params}

    def use_averages(self, model: Trainable) -> AbstractContextManager[None]:
        """A context within which the model's parameters are their averages; afterwards they are as before.

        Within it, the model may be run and its parameters saved; a step, or saving the state of the run, is
        an error. A parameter that no step has changed is its own average.

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
        return self.averages.in_place_of(model, self.steps)

    @locks_parameters
    def step(self, model: Trainable, grads: Mapping[str, Gradient]) -> None:
        """Makes one step: changes `model.params` in place. The gradients are left as they are.

        Args:
            model: whose parameters to change.
            grads: parameter name -> array of the parameter's shape, or `RowSparse`; a parameter without a
                gradient is left alone. Gradients of inputs, which come as `Ragged`, are passed over.

        Raises:
            ArrowTypeError: an argument of the wrong kind, or a schedule that gives no number.
            ArrowValueError: a gradient for a name that is no parameter, or of another shape or element type;
                a pattern of `rates` that matches nothing; a schedule that gives a rate below 0; averages are
                in use. Nothing has been changed then.

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
            raise ArrowValueError("no step while averages stand in the place of the parameters")
        device, own = model.device, self.rates.by_name(model.params)
        pairs: dict[str, tuple[Array, Gradient]] = {}
        for name, gradient in grads.items():
            if isinstance(gradient, Ragged):
                continue
            parameter = model.params.get(name)
            self._check(name, parameter, gradient)
            if is_frozen(own.get(name)):
                continue
            merged = gradient.coalesce(device.xp) if isinstance(gradient, RowSparse) else gradient
            pairs[name] = parameter, merged
        scale = self._scale(device, [gradient for _, gradient in pairs.values()])
        rates = {name: rate_at(own.get(name, self.learning_rate), self.steps) for name in pairs}
        self.steps += 1
        for name, (parameter, gradient) in pairs.items():
            if self.averages is not None:
                rows = gradient.rows if isinstance(gradient, RowSparse) else None
                self.averages.before(device, name, parameter, self.steps, rows)
            update = Update(
                self._state(device, name, parameter),
                None if scale is None else scale.astype(parameter.dtype),
                rates[name],
                self._counted(device, name, parameter, gradient),
            )
            if isinstance(gradient, RowSparse):
                self._sparse(device, parameter, gradient, update)
            else:
                self._dense(device, parameter, gradient, update)

    def _check(self, name: str, parameter: Array | None, gradient: Gradient) -> None:
        if parameter is None:
            raise ArrowValueError(f"the model has no parameter {name!r} for the gradient of that name")
        if not hasattr(gradient, "shape"):
            raise ArrowTypeError(f"the gradient of {name!r} must be an array, not {described(gradient)}")
        dtype = gradient.values.dtype if isinstance(gradient, RowSparse) else gradient.dtype
        if (dtype, *gradient.shape) != (parameter.dtype, *parameter.shape):
            found = (
                f"{dtype}{list(gradient.shape)}" if isinstance(gradient, RowSparse) else notation(gradient)
            )
            raise ArrowValueError(f"parameter {name!r} is {notation(parameter)}, its gradient is {found}")
        for slot in self.state.get(name, {}).values():
            if slot.shape != parameter.shape:
                raise ArrowValueError(
                    f"this optimizer holds the state of another {name!r}, of shape {list(slot.shape)}; "
                    f"the model's has shape {list(parameter.shape)}. Use a new optimizer for another model"
                )

    def _state(self, device: Device, name: str, parameter: Array) -> dict[str, Array]:
        if name not in self.state:
            self.state[name] = {
                slot: device.xp.full(parameter.shape, start, parameter.dtype)
                for slot, start in self.rule.slots.items()
            }
        return self.state[name]

    def _counted(self, device: Device, name: str, parameter: Array, gradient: Gradient) -> Any:
        """Counts this step; returns how many have changed the parameter, for each row where they differ."""
        count = self.counts.get(name, 0)
        if not isinstance(gradient, RowSparse):
            self.counts[name] = count = count + 1
            return count
        if isinstance(count, int):
            count = self.counts[name] = device.xp.full((parameter.shape[0],), float(count), "float64")
        device.add_at_unique(count, gradient.rows, device.xp.ones(gradient.rows.shape, "float64"))
        return count

    @quiet
    def _scale(self, device: Device, gradients: list[Gradient]) -> Array | None:
        """min(1, clip_norm / norm), left on the device, which is never waited for; None without clipping."""
        if self.clip_norm is None or not gradients:
            return None
        xp, total = device.xp, None
        for gradient in gradients:
            values = gradient.values if isinstance(gradient, RowSparse) else gradient
            for rows in blocks(device, values):
                block = values[rows]
                # In float64 no square is too large: what is to be clipped may be.
                part = xp.sum(xp.multiply(block, block, dtype="float64"))
                total = part if total is None else total + part
        if total is None:
            return None
        norm = xp.sqrt(total)
        return self.clip_norm / xp.maximum(norm, self.clip_norm)

    def _dense(self, device: Device, parameter: Array, gradient: Array, update: Update) -> None:
        for rows in blocks(device, parameter):
            slots = {slot: array[rows] for slot, array in update.state.items()}
            count = update.count if isinstance(update.count, int) else update.count[rows]
            self._update(device, parameter[rows], gradient[rows], slots, update, count)

    def _sparse(self, device: Device, parameter: Array, gradient: RowSparse, update: Update) -> None:
        for block in blocks(device, gradient.values):
            rows, values = gradient.rows[block], gradient.values[block]
            touched = self._taken(device, "parameter", parameter, rows, values)
            slots = {
                slot: self._taken(device, slot, array, rows, values) for slot, array in update.state.items()
            }
            self._update(device, touched, values, slots, update, device.take(update.count, rows))
            parameter[rows] = touched
            for slot, array in update.state.items():
                array[rows] = slots[slot]

    def _taken(self, device: Device, role: str, array: Array, rows: Array, like: Array) -> Array:
        return device.take(array, rows, self._buffer(device, role, like))

    @quiet
    def _update(
        self,
        device: Device,
        parameter: Array,
        gradient: Array,
        slots: Mapping[str, Array],
        update: Update,
        count: Any,
    ) -> None:
        xp, decay, scale = device.xp, self.rule.weight_decay, update.scale
        if not isinstance(count, int):
            count = count.reshape((-1,) + (1,) * (parameter.ndim - 1))
        scratch = self._buffer(device, "scratch", gradient)
        if scale is not None or decay:  # the caller's gradient stays as it is
            own = self._buffer(device, "gradient", gradient)
            if decay:
                xp.multiply(parameter, decay, out=scratch)
            if scale is None:
                xp.add(gradient, scratch, out=own)
            else:
                xp.multiply(gradient, scale, out=own)
                if decay:
                    xp.add(own, scratch, out=own)
            gradient = own
        self.rule.update(xp, parameter, gradient, slots, scratch, rate=update.rate, step=count)

    def _buffer(self, device: Device, role: str, like: Array) -> Array:
        """Memory of `like`'s shape and type that is used again from step to step."""
        key = role, like.dtype
        flat = self._buffers.get(key)
        if flat is None or flat.shape[0] < like.size or not device.is_array(flat):
            flat = self._buffers[key] = device.empty((max(like.size, 1),), like.dtype)
        return flat[: like.size].reshape(like.shape)
