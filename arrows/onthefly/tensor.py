"""Lazy tensors: what ordinary code computes with in a batch on the fly."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from arrows import ops
from arrows.arrays import HostArray
from arrows.ops import ROW, Operand, ShapeError, TensorLike, get, refusal
from arrows.typesys import ArrowTypeError, SourceLine, answers, message, types as T

if TYPE_CHECKING:
    from arrows.onthefly.batch import LazyBatch

OUTPUT_BITS = 10
"""The id of a value is ``node << OUTPUT_BITS | output``, so a node has at most 1,024 outputs."""
OUTPUT = (1 << OUTPUT_BITS) - 1


def _operator(name: str) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """An operator that records a call at once at a call site that is known, and the operator reflected."""
    primitive, operation = get(name), getattr(ops, name)

    def operator(self: LazyTensor, other: Operand) -> Any:
        known = self.context.as_before(primitive, (self, other))
        return operation(self, other) if known is None else known

    def reflected(self: LazyTensor, other: Operand) -> Any:
        known = self.context.as_before(primitive, (other, self))
        return operation(other, self) if known is None else known

    return operator, reflected


@answers("a lazy tensor", "tensor")
class LazyTensor(TensorLike):
    """A tensor whose value is computed only when the program asks for it, in one batch with others like it.

    Operators, `arrows.ops`, layers and blocks take it as they take tensors inside a `Function`.  `numpy()`,
    `float(x)` and `int(x)` ask for the value: everything that it needs runs in large batches, and the rest
    stays lazy.

    Attributes:
        context: the batch that the tensor belongs to.
        id: its id in that batch.
        origin: the number of the output that gives it, among those of all call sites of the network.

    Example:
        >>> import arrows as ar
        >>> net = ar.OnTheFly()
        >>> with net.batch() as g:
        ...     x = g.tensor([1.0, 2.0])
        ...     (x * x).numpy().tolist()
        [1.0, 4.0]
    """

    __slots__ = ("context", "id", "origin")

    context: LazyBatch
    id: int
    origin: int
    rows = ROW

    @property
    def type(self) -> T.Tensor:
        """Its shape and element type."""
        return self.context.types[self.origin]

    __add__, __radd__ = _operator("add")
    __sub__, __rsub__ = _operator("subtract")
    __mul__, __rmul__ = _operator("multiply")
    __truediv__, __rtruediv__ = _operator("divide")
    __matmul__, __rmatmul__ = _operator("matmul")

    def numpy(self) -> HostArray:
        """Its value, on the host."""
        array: HostArray = self.context.numpy(self)
        return array

    def item(self) -> Any:
        """The value of a tensor of one element, as a Python number."""
        return self._one("item()").item()

    def __float__(self) -> float:
        return float(self._one("float()").item())

    def __int__(self) -> int:
        return int(self._one("int()").item())

    def _one(self, call: str) -> HostArray:
        """Its value, which must be of one element."""
        if self.type.size != 1:
            raise ArrowTypeError(
                message(
                    f"cannot take {call} of {self.type} at {SourceLine.here()}",
                    reason="only a tensor of one element is a Python number",
                    hint="x.numpy() gives the array, x[0] and ar.ops.sum(x) give scalars",
                )
            )
        return self.numpy()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> HostArray:
        return np.asarray(self.numpy(), dtype)

    def __deepcopy__(self, memo: dict[int, object]) -> Self:
        return self

    def __format__(self, spec: str) -> str:
        """The value of a scalar in a format, as in `f"{loss:.3f}"`; without a format, what the tensor is."""
        return format(self.item(), spec) if spec else str(self)

    __iter__ = refusal(
        "a lazy tensor ({}) cannot be iterated or unpacked",
        hint="take it apart by index: x[0], x[1]; its numbers are x.numpy()",
    )
    __contains__ = refusal("`in` asks for the values of a lazy tensor ({})", hint="wait for them: x.numpy()")
    __index__ = refusal(
        "a lazy tensor ({}) is no Python integer before it is computed",
        hint="int(x) waits for it; arrows.ops.gather(table, x) takes it as an index",
    )
    __bool__ = refusal(
        "the truth of a lazy tensor ({}) is not known before it is computed",
        hint="to wait for one value: `if float(x) > 0`; for those of many instances at a time: "
        "`value = yield x` in a generator that g.run_all runs",
    )

    def _no_array(self, name: str) -> ShapeError:
        lazy = f"; arrows.ops.{name} stays lazy" if name in ops.__all__ else ""
        return ShapeError(
            f"numpy.{name} does not take a lazy tensor ({self.type})",
            hint=f"numpy.{name}(x.numpy()) waits for its value{lazy}",
        )

    def __repr__(self) -> str:
        return f"LazyTensor({self.type} of {self.context.maker(self.origin)})"


class LazyConstant(LazyTensor):
    """A constant of the program, such as `g.zeros(...)`: operations are specialised to it.

    Its `id` is -1 and its `origin` ``-1 - number``, where `number` is the constant's.

    Attributes:
        data: its value as data, once that has been asked for.
    """

    __slots__ = ("data",)

    def __init__(self, batch: LazyBatch, number: int) -> None:
        self.context, self.id, self.origin = batch, -1, -1 - number
        self.data: LazyTensor | None = None

    @property
    def type(self) -> T.Tensor:
        array = self.context.net.call_sites.constants[-1 - self.origin]
        return T.Tensor(array.shape, array.dtype.name)


def lazy_tensor(batch: LazyBatch, id: int, origin: int) -> LazyTensor:
    """A tensor of a batch: in half of the time that an `__init__` would take."""
    tensor = LazyTensor()
    tensor.context, tensor.id, tensor.origin = batch, id, origin
    return tensor
