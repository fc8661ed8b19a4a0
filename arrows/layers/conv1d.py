"""`Conv1d`: a convolution over a sequence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from arrows import ops
from arrows.combinators import Block, Map, derived, function_name, options_written, window_steps
from arrows.layers import initializers
from arrows.layers.fc import FC, Activation
from arrows.ops import Initializer, Parameter, ShapeError, TensorLike
from arrows.typesys import explains_arguments, types as T


@explains_arguments("layer")
def Conv1d(
    size: int,
    kernel_size: int,
    *,
    stride: int = 1,
    padding: int | str = 0,
    dilation: int = 1,
    activation: Activation | None = None,
    bias: bool = True,
    initializer: Initializer = initializers.glorot_uniform,
    name: str | None = None,
) -> Block[Sequence[Any], Sequence[Any]]:
    """A convolution over a sequence of vectors [in], to a sequence of vectors [size].

    With s the stride, d the dilation and p the padding, where zeros stand for elements beyond the ends::

        y_i = activation(sum_k(x_(i * s + k * d - p) @ weight[k]) + bias)

    It is a `Window` and one matrix product for all windows of a batch, whatever the lengths. A sequence of m
    elements gives `floor((m + 2 * p - d * (kernel_size - 1) - 1) / s) + 1`, none if it is too short; with
    padding "same" or "causal" and stride 1 as many as it has.

    Args:
        size: length of the output's vectors, PyTorch's `out_channels`.
        kernel_size: how many elements a filter sees, >= 1.
        stride: the distance from one window to the next, >= 1.
        padding: how many zeros stand at each end, at most half of what a window spans; or "valid" (none),
            "same" or "causal" as of `Window`.
        dilation: the distance between the elements that a filter sees, >= 1.
        activation: function of a tensor such as `ar.ops.tanh`; none by default.
        bias: whether there is one.
        initializer: first values of the weight.
        name: the name in messages, and of the parameters: `name/weight`.

    Parameters of the layer:
        weight [kernel_size, in, size], as Keras lays it out; PyTorch's is its transpose; bias [size] (zeros
        at first).

    Raises:
        ArrowTypeError, ArrowValueError: an argument has a wrong type or value; at `compile`, an input that is
            no sequence of vectors of floating numbers.

    Source: PyTorch, `torch.nn.Conv1d`.

    >>> import arrows as ar
    >>> block = ar.Map(ar.Vector(3)) >> ar.Conv1d(2, 3, padding="same", activation=ar.ops.relu)
    >>> ar.infer(block).output
    Sequence(float32[2])
    >>> len(block.eval([[1, 2, 3], [4, 5, 6]]))
    2
    """
    words = [str(size), str(kernel_size), *options_written(0, padding, stride, dilation)]
    words += [] if activation is None else [f"activation={function_name(activation)}"]
    words += [] if bias else ["bias=False"]
    steps = window_steps("Conv1d", kernel_size, padding, stride, dilation)
    return derived("Conv1d", words, *steps, Map(_Filters(size, activation, bias, initializer)), name=name)


class _Filters(FC):
    """The matrix product of a `Conv1d`, from a window [kernel_size, in] to [size]."""

    kind = "Conv1d"

    def parameters(self, input: T.Type) -> tuple[Parameter, ...]:
        if not isinstance(input, T.Tensor) or input.ndim != 2 or not input.floating:
            element = T.Tensor(input.shape[1:], input.dtype) if isinstance(input, T.Tensor) else input
            hint = None
            if isinstance(element, T.Tensor) and not element.shape:
                hint = "for vectors of one: ar.Map(ar.Function(lambda x: x.reshape(1))) before it"
            raise ShapeError(
                f"the input of Conv1d must be a sequence of vectors of floats, not of {element}", hint=hint
            )
        weight, *bias = super().parameters(T.Tensor((input.size,), input.dtype))
        return replace(weight, shape=(*input.shape, self.units)), *bias

    def forward(self, parameters: Mapping[str, TensorLike], x: TensorLike) -> Any:
        weight = ops.reshape(parameters["weight"], (x.type.size, self.units))
        return super().forward({**parameters, "weight": weight}, ops.reshape(x, (x.type.size,)))
