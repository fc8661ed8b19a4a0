"""Optimizers: an update rule, the state it keeps for each parameter, and the clipping of gradients.

Dense gradients are worked off in blocks of rows. A row-sparse gradient, such as an embedding's, costs time
for its own rows only: those rows of the parameter and of its state are gathered, updated and put back. So a
row moves, decays and loses momentum only in the steps that touch it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from arrows.engine.backend import Backend
from arrows.engine.results import Ragged
from arrows.ops import RowSparse
from arrows.training.rows import merge_rows
from arrows.training.rules import AdaptiveSquares, Momentum, Rule
from arrows.training.trainable import Array, Trainable, notation
from arrows.typesys.errors import ArrowValueError

# Elements in a block: as fast as whole arrays (measured; a quarter of it costs 1.4 times as much), and
# scratch memory stays at 1 MiB of float32.
BLOCK = 1 << 18

Gradient = Any  # an array, or a RowSparse


class Optimizer:
    """Applies an update rule to a model's parameters, in place, and keeps the rule's state.

    An optimizer serves one model, or several that share parameters: state is kept by parameter name.

    Args:
        rule: what to do to one parameter (`Rule`).
        clip_norm: if given, gradients whose global norm, over all parameters together, is above it are scaled
            down to it (Pascanu, Mikolov, Bengio, "On the difficulty of training recurrent neural networks",
            ICML 2013, algorithm 1). Rows that occur more than once in a sparse gradient are added up first.
            Weight decay is added after clipping.

    Attributes:
        learning_rate: of the next steps; begins as the rule's, and may be changed between steps.
        steps: how many steps have been made.
        state: parameter name -> slot name -> array of the parameter's shape, on the model's device. A
            parameter's state begins with its first gradient.

    Raises:
        ArrowValueError: `clip_norm` is 0 or less.

    >>> Optimizer(Momentum(0.1)).learning_rate
    0.1
    """

    def __init__(self, rule: Rule, *, clip_norm: float | None = None) -> None:
        if clip_norm is not None and not clip_norm > 0:
            raise ArrowValueError(f"clip_norm is {clip_norm}, and should be above 0")
        self.rule = rule
        self.learning_rate = rule.learning_rate
        self.clip_norm = clip_norm
        self.steps = 0
        self.state: dict[str, dict[str, Array]] = {}
        self._buffers: dict[tuple[str, str], Array] = {}

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.rule}, clip_norm={self.clip_norm})"

    def step(self, model: Trainable, grads: Mapping[str, Gradient]) -> None:
        """Makes one step: changes `model.params` in place. The gradients are left as they are.

        Args:
            model: whose parameters to change.
            grads: parameter name -> array of the parameter's shape, or `RowSparse`; a parameter without a
                gradient is left alone. Gradients of inputs, which come as `Ragged`, are passed over.

        Raises:
            ArrowValueError: a gradient for a name that is no parameter, or of another shape or element type;
                nothing has been changed then.

        >>> import numpy as np
        >>> from types import SimpleNamespace
        >>> from arrows.engine.backend import backend
        >>> model = SimpleNamespace(params={"w": np.ones(2)}, backend=backend("cpu"))
        >>> SGD(0.5).step(model, {"w": np.array([1.0, 2.0])})
        >>> model.params["w"].tolist()
        [0.5, 0.0]
        """
        backend = model.backend
        pairs: dict[str, tuple[Array, Gradient]] = {}
        for name, gradient in grads.items():
            if isinstance(gradient, Ragged):
                continue
            parameter = model.params.get(name)
            self._check(name, parameter, gradient)
            merged = merge_rows(backend, gradient) if isinstance(gradient, RowSparse) else gradient
            pairs[name] = parameter, merged
        scale = self._scale(backend, [gradient for _, gradient in pairs.values()])
        self.steps += 1
        for name, (parameter, gradient) in pairs.items():
            state = self._state(backend, name, parameter)
            scale_here = None if scale is None else scale.astype(parameter.dtype)
            if isinstance(gradient, RowSparse):
                self._sparse(backend, parameter, gradient, state, scale_here)
            else:
                self._dense(backend, parameter, gradient, state, scale_here)

    def _check(self, name: str, parameter: Array | None, gradient: Gradient) -> None:
        if parameter is None:
            raise ArrowValueError(f"the model has no parameter {name!r} for the gradient of that name")
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

    def _state(self, backend: Backend, name: str, parameter: Array) -> dict[str, Array]:
        if name not in self.state:
            self.state[name] = {
                slot: backend.xp.full(parameter.shape, start, parameter.dtype)
                for slot, start in self.rule.slots.items()
            }
        return self.state[name]

    def _scale(self, backend: Backend, gradients: list[Gradient]) -> Array | None:
        """min(1, clip_norm / norm), left on the device, which is never waited for; None without clipping."""
        if self.clip_norm is None or not gradients:
            return None
        xp, total = backend.xp, None
        for gradient in gradients:
            values = gradient.values if isinstance(gradient, RowSparse) else gradient
            for rows in _blocks(backend, values):
                block = values[rows]
                squares = self._buffer(backend, "squares", block)
                xp.multiply(block, block, out=squares)
                part = xp.sum(squares, dtype="float64")
                total = part if total is None else total + part
        if total is None:
            return None
        norm = xp.sqrt(total)
        return self.clip_norm / xp.maximum(norm, self.clip_norm)

    def _dense(
        self,
        backend: Backend,
        parameter: Array,
        gradient: Array,
        state: Mapping[str, Array],
        scale: Array | None,
    ) -> None:
        for rows in _blocks(backend, parameter):
            slots = {slot: array[rows] for slot, array in state.items()}
            self._update(backend, parameter[rows], gradient[rows], slots, scale)

    def _sparse(
        self,
        backend: Backend,
        parameter: Array,
        gradient: RowSparse,
        state: Mapping[str, Array],
        scale: Array | None,
    ) -> None:
        for block in _blocks(backend, gradient.values):
            rows, values = gradient.rows[block], gradient.values[block]
            touched = self._taken(backend, "parameter", parameter, rows, values)
            slots = {slot: self._taken(backend, slot, array, rows, values) for slot, array in state.items()}
            self._update(backend, touched, values, slots, scale)
            parameter[rows] = touched
            for slot, array in state.items():
                array[rows] = slots[slot]

    def _taken(self, backend: Backend, role: str, array: Array, rows: Array, like: Array) -> Array:
        return backend.take(array, rows, self._buffer(backend, role, like))

    def _update(
        self,
        backend: Backend,
        parameter: Array,
        gradient: Array,
        slots: Mapping[str, Array],
        scale: Array | None,
    ) -> None:
        xp, decay = backend.xp, self.rule.weight_decay
        scratch = self._buffer(backend, "scratch", gradient)
        if scale is not None or decay:  # the caller's gradient stays as it is
            own = self._buffer(backend, "gradient", gradient)
            if decay:
                xp.multiply(parameter, decay, out=scratch)
            if scale is None:
                xp.add(gradient, scratch, out=own)
            else:
                xp.multiply(gradient, scale, out=own)
                if decay:
                    xp.add(own, scratch, out=own)
            gradient = own
        self.rule.update(xp, parameter, gradient, slots, scratch, rate=self.learning_rate, step=self.steps)

    def _buffer(self, backend: Backend, role: str, like: Array) -> Array:
        """Memory of `like`'s shape and type that is used again from step to step."""
        key = role, str(like.dtype)
        flat = self._buffers.get(key)
        if flat is None or flat.shape[0] < like.size or not backend.is_array(flat):
            flat = self._buffers[key] = backend.empty((max(like.size, 1),), like.dtype)
        return flat[: like.size].reshape(like.shape)


class SGD(Optimizer):
    """Stochastic gradient descent, with Polyak's momentum if `momentum` is above 0 (see `Momentum`).

    Args:
        learning_rate: at least 0; may be changed between steps as `optimizer.learning_rate`.
        momentum: share of the last step that is kept, in [0, 1).
        weight_decay: coupled L2: this times the parameter is added to its gradient, after clipping.
        clip_norm: the greatest global norm of the gradients, see `Optimizer`.

    Raises:
        ArrowValueError: a hyperparameter out of its range.

    >>> SGD(0.1, momentum=0.9, clip_norm=5.0)
    SGD(Momentum(learning_rate=0.1, momentum=0.9, weight_decay=0.0), clip_norm=5.0)
    """

    def __init__(
        self,
        learning_rate: float,
        *,
        momentum: float = 0.0,
        weight_decay: float = 0.0,
        clip_norm: float | None = None,
    ) -> None:
        super().__init__(Momentum(learning_rate, momentum, weight_decay), clip_norm=clip_norm)


class Adagrad(Optimizer):
    """Adagrad: rates that fall with the squares of the gradients seen so far (see `AdaptiveSquares`).

    Args:
        learning_rate: at least 0; may be changed between steps as `optimizer.learning_rate`.
        epsilon: above 0, added to the root of the sum of squares.
        initial_accumulator: what the sum of squares starts from.
        weight_decay: coupled L2: this times the parameter is added to its gradient, after clipping.
        clip_norm: the greatest global norm of the gradients, see `Optimizer`.

    Raises:
        ArrowValueError: a hyperparameter out of its range.

    >>> Adagrad(0.05).rule.slots
    {'squares': 0.0}
    """

    def __init__(
        self,
        learning_rate: float,
        *,
        epsilon: float = 1e-10,
        initial_accumulator: float = 0.0,
        weight_decay: float = 0.0,
        clip_norm: float | None = None,
    ) -> None:
        rule = AdaptiveSquares(learning_rate, epsilon, initial_accumulator, weight_decay)
        super().__init__(rule, clip_norm=clip_norm)


def _blocks(backend: Backend, array: Array) -> Iterator[Any]:
    """Indices that cut an array into blocks of rows; a device does better with the whole at once."""
    if backend.name != "cpu" or array.size <= BLOCK or array.ndim == 0:
        yield ...
        return
    rows = max(1, BLOCK * array.shape[0] // array.size)
    for start in range(0, array.shape[0], rows):
        yield slice(start, start + rows)
