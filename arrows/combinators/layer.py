"""`Layer`: the base of blocks that have parameters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from arrows import ops
from arrows.combinators.apply import Apply, Tensors, spread_items
from arrows.combinators.base.arguments import shortened, type_refusal
from arrows.combinators.base.block import A, B
from arrows.ops import Parameter, ShapeError, TensorLike, innermost
from arrows.typesys import types as T


class Written(Apply[A, B]):
    """A block that is printed with the arguments that its author wrote."""

    _words: str

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        self = super().__new__(cls, *args, **kwargs)
        named = {key: _word(value) for key, value in kwargs.items() if key != "name"}
        words = [*map(_word, args), *(f"{key}={word}" for key, word in named.items() if word)]
        self.__dict__["_words"] = ", ".join(filter(None, words))
        return self

    def arguments(self) -> list[str]:
        return [self._words] if self._words else []


class Layer(Written[A, B]):
    """A block with parameters: a frozen description; the model holds the values of the parameters.

    Two places share weights exactly if the same layer object stands in both. It may stand on several types of
    input where its parameters are the same for all: shape, element type, initializer, trainable or not. A
    layer of your own has up to four methods: `__init__` takes its arguments, `parameters` describes
    its arrays, `forward` computes on one example, and `signature` gives the types that are known beforehand.
    `@dataclass(eq=False)` may write the `__init__`; a layer has no `__eq__` of its own.

    Args:
        name: the name in messages, and of the parameters (`name/weight`).

    Raises:
        ArrowTypeError: the name is not text; the class has an `__eq__`, a `__hash__` or slots; a `Function`
            makes the layer, and would make another one at each call.

    Example:
        >>> import arrows as ar
        >>> class Scale(ar.Layer):
        ...     def parameters(self, input):
        ...         return (
        ...             ar.Parameter(
        ...                 "scale", (), input.dtype, lambda rng, shape, dtype: np.ones(shape, dtype)
        ...             ),
        ...         )
        ...
        ...     def forward(self, parameters, x):
        ...         return x * parameters["scale"]
        >>> import numpy as np
        >>> float((ar.Scalar() >> Scale()).eval(3))
        3.0
    """

    foreign = "layer"

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        # What has an effect, as Dropout, keeps nothing from call to call.
        if not cls.effect and (context := innermost()) is not None and context.in_function:
            hint = "make the layer outside, and call it inside: ar.Function(lambda x: layer(x))"
            raise ShapeError(f"it makes a layer, {cls.kind}: each call would make another one", hint=hint)
        return super().__new__(cls, *args, **kwargs)

    def parameters(self, input: T.Type) -> tuple[Parameter, ...]:
        """Describes the layer's parameters for an input of this type.

        Raises:
            ShapeError: the layer takes no such input.
        """
        name = type(self).__name__
        hint = "for a layer without parameters: def parameters(self, input): return ()"
        raise ShapeError(f"{name} does not say its parameters", hint=hint)

    def forward(self, parameters: Mapping[str, TensorLike], *args: Any, **_: Any) -> Any:
        """Computes the result on tensor-likes; `args` is the input, spread as for a `Function`.

        A layer names what it takes, and all comes by position: `def forward(self, parameters, x)`.
        """
        hint = "def forward(self, parameters, x): return ..."
        raise ShapeError(f"{type(self).__name__} does not say what it computes", hint=hint)

    def signature(self) -> tuple[T.Type | None, T.Type | None]:
        """Returns the types of input and output that are known before inference; None is open."""
        return None, None

    def default_output(self) -> T.Type | None:
        """Returns the output type to assume if nothing else decides it, as in recursion through the layer."""
        return None

    def compute(self, args: tuple[Any, ...]) -> Any:
        return self.of_example(*spread_items(args))

    def of_example(self, *args: Tensors) -> Any:
        input = _input_type(args)
        try:
            specs = self.parameters(input)
        except ShapeError:
            # A Function may call a layer on the rows of a sequence. A layer that takes no sequence then acts
            # on each element.
            if not isinstance(input, T.Sequence):
                raise
            specs = self.parameters(input.element)
        checked = _checked(specs, type(self).__name__)
        return self.forward({spec.name: ops.parameter(self, spec) for spec in checked}, *args)


def _checked(specs: object, layer: str) -> tuple[Parameter, ...]:
    """Checks the result of a layer's `parameters`; the layer may be a user's."""
    if isinstance(specs, (tuple, list)) and all(isinstance(spec, Parameter) for spec in specs):
        return tuple(specs)
    raise ShapeError(
        f"{layer}.parameters must return a tuple of ar.Parameter, and returned {shortened(specs)}",
        hint="return (ar.Parameter(name, shape, dtype, initializer),)",
    )


def _word(x: object) -> str:
    """Writes an argument in a word; empty if a word does not suffice."""
    if isinstance(x, np.generic):
        x = x.item()
    if isinstance(x, np.ndarray) and x.ndim == 1:
        x = x.tolist()
    if isinstance(x, (bool, int, float, str, T.Type, type(None))):
        return repr(x)
    if isinstance(x, (list, tuple)) and len(x) <= 4 and all(isinstance(i, (int, float, str)) for i in x):
        return repr(x)
    return getattr(x, "__name__", "") if callable(x) else ""


def _input_type(args: tuple[Tensors, ...]) -> T.Type:
    """Returns the input type that spread tensor-likes stand for; rows of unknown number are sequences."""
    return _sequence(*_row(args[0] if len(args) == 1 else args))


def _row(x: object) -> tuple[T.Type, int]:
    """The type of one row, and the level: >= 0 for rows of a sequence."""
    if isinstance(x, TensorLike):
        return x.type, x.rows
    if not isinstance(x, tuple):
        raise type_refusal("call a layer", f"expected tensors inside a Function, got {x!r}")
    items = [_row(item) for item in x]
    levels = {level for _, level in items}
    if len(levels) == 1 and min(levels) >= 0:
        return T.Tuple([t for t, _ in items]), levels.pop()
    return T.Tuple([_sequence(t, level) for t, level in items]), -1


def _sequence(t: T.Type, level: int) -> T.Type:
    return T.Sequence(t) if level >= 0 else t
