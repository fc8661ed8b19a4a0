"""Values that enter a batch on the fly: the numbers of examples, and constants of the program."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from arrows.engine.values import LeafError, convert
from arrows.onthefly.arguments import foreign
from arrows.onthefly.recording import Recording
from arrows.onthefly.tensor import OUTPUT_BITS, LazyConstant, LazyTensor
from arrows.ops import TensorLike
from arrows.ops.arrays import HostArray
from arrows.ops.context import Context
from arrows.typesys import ArrowTypeError, ArrowValueError, SourceLine
from arrows.typesys import types as T
from arrows.typesys.dtypes import masked_elements
from arrows.typesys.errors import message

if TYPE_CHECKING:
    from arrows.onthefly.network import OnTheFly


class LazyValues(Context):
    """The part of a batch that reads data and constants; `LazyCalls` records calls on them.

    Attributes:
        net: the network.
        recording: the nodes.
        entered: whether the batch has begun.
    """

    def __init__(self, net: OnTheFly) -> None:
        self.net = net
        self.float_type = net.float_type
        self.recording = Recording()
        self.entered = self.open = False
        self._call_sites = net.call_sites
        # Site and ids of operands -> the result of the call; (-1, number) -> the tensor of a whole number.
        self._made: dict[tuple[int, ...], Any] = {}
        self._lock, self._updates = net.lock, net.lock.updates

    def forget_calls(self) -> None:
        """Forgets the results of calls, since new parameters give other results."""
        self._made.clear()
        self._updates = self._lock.updates

    def numpy(self, value: object) -> Any:
        """The numbers of lazy tensors; see `LazyBatch.numpy`."""
        raise NotImplementedError

    def origin(self, value: int) -> str:
        """Describes what computed a value, for messages."""
        node = value >> OUTPUT_BITS
        return self.net.describe(self.recording.site[node]) if value >= 0 else "a constant"

    def tensor(self, value: object, dtype: str | None = None) -> LazyTensor:
        """Reads numbers of the example as a tensor.

        Args:
            value: a number, an array, or nested lists of numbers.
            dtype: the element type; by default float32 for floats, int32 for integers, bool for truth values.

        Raises:
            ArrowTypeError: the value holds no numbers, or numbers that the element type cannot hold.
        """
        if not self.open:
            self.check_open("read a value")
        if dtype is None:
            if value.__class__ is int and -0x80000000 <= value < 0x80000000:
                number: LazyTensor | None = self._made.get((-1, value)) if self.net.shares else None
                if number is None:
                    number = self._made[-1, value] = self._read(self.net.int_type, value)
                return number
            if value.__class__ is float:
                return self._read(self.net.float_scalar, value)
        if isinstance(value, LazyTensor):
            if value.context is not self:
                raise foreign(value)
            return value
        if _holds_tensors(value):
            raise ArrowTypeError(
                message(
                    f"cannot read a value at {SourceLine.here()}",
                    reason="there are tensors among its numbers, which are not known yet",
                    hint="ops.stack makes a tensor of tensors",
                )
            )
        try:
            array = np.asarray(value)
        except ValueError:  # lists of different lengths
            array = np.asarray(None)
        kind = {"f": "float32", "i": "int32", "u": "int32", "b": "bool"}.get(array.dtype.kind)
        if kind is None:
            raise ArrowTypeError(
                message(
                    f"cannot compute with {value!r:.100} at {SourceLine.here()}",
                    reason="it holds no numbers, or lists of different lengths",
                    hint="operations take lazy tensors, numbers, and arrays and lists of numbers; a list of "
                    "lazy tensors is a sequence",
                )
            )
        type = T.Tensor(array.shape, self.as_float_type(dtype or kind))
        try:
            return self.read_as(type, convert(value, type))
        except LeafError as error:
            raise ArrowTypeError(
                message(
                    f"cannot read a value at {SourceLine.here()}",
                    reason=str(error),
                    hint="" if masked_elements(value) else _hint_to_read(array, type),
                )
            ) from None

    def as_float_type(self, dtype: str) -> str:
        """An element type; a float's is replaced by the network's `float_type`, if it has one."""
        return self.float_type if self.float_type is not None and dtype.startswith("float") else dtype

    def read_as(self, type: T.Tensor, value: object) -> LazyTensor:
        """The tensor of a value that the caller has converted to a type."""
        return self._read(self._call_sites.intern(type), value)

    def _read(self, type: T.Tensor, value: object) -> LazyTensor:
        site = self._call_sites.read_site(type)
        return LazyTensor(self, self.recording.add_read(site, type, value), type)

    def constant(self, array: HostArray) -> LazyConstant:
        """A constant of the program, to which operations are specialised; equal constants are one.

        Args:
            array: the value of the constant, which is copied.
        """
        self.check_open("make a constant")
        reason = hint = ""
        if _holds_tensors(array):
            reason = "there are tensors among its numbers, which are not known yet"
            hint = "g.tensor reads data; ops.stack makes a tensor of tensors"
        elif masked_elements(array):
            reason, hint = "it has masked elements", "fill them first: x.filled(0)"
        if reason:
            attempt = f"cannot make a constant at {SourceLine.here()}"
            raise ArrowTypeError(message(attempt, reason=reason, hint=hint))
        if not hasattr(array, "dtype"):  # numbers and lists, as `tensor` takes them
            array = np.asarray(array)
            plain = {"f": "float32", "i": "int32"}.get(array.dtype.kind, array.dtype.name)
            array = array.astype(plain, copy=False)
        array = array.astype(self.as_float_type(array.dtype.name), copy=False)
        sites = self._call_sites
        before = len(sites.constants)
        number = sites.constant(array)
        if number >= before:
            self.net.growth.note_constant()
        return LazyConstant(self, number, sites.intern(T.Tensor(array.shape, array.dtype.name)))

    def value_id(self, x: LazyTensor) -> int:
        """The id of a tensor; reads a constant as data when it is first needed as a value."""
        if x.context is not self:
            raise foreign(x)
        if isinstance(x, LazyConstant) and x.id < 0:
            x.id = self._read(x.type, self._call_sites.constants[x.number]).id
        return x.id

    def whole(self, x: object) -> Any:
        """Nested tuples and lists, with constants replaced by tensors of their values."""
        if isinstance(x, tuple):
            return tuple([self.whole(part) for part in x])
        if isinstance(x, list):
            return [self.whole(part) for part in x]
        return LazyTensor(self, self.value_id(x), x.type) if isinstance(x, LazyConstant) else x

    def check_open(self, attempt: str) -> None:
        """Refuses an attempt in a batch that is over or has not begun."""
        if not self.open and not self.entered:
            raise ArrowValueError(
                message(
                    f"cannot {attempt} ({SourceLine.here()})",
                    reason="the batch has not begun",
                    hint="with net.batch() as g: ...",
                )
            )
        if not self.open:
            raise ArrowValueError(
                message(
                    f"cannot {attempt} ({SourceLine.here()})",
                    reason="the batch that its tensors belong to is over, and their memory is given back",
                    hint="bring values out of `with net.batch() as g` as numbers: x.numpy()",
                )
            )


def _hint_to_read(array: HostArray, type: T.Tensor) -> str:
    """What to do about numbers that an element type does not hold."""
    kind = {"f": "float32", "b": "bool", "u": array.dtype.name}.get(array.dtype.kind)
    if kind is None:
        kind = "int64" if "int" in type.dtype else "int32"
    return f'name another element type: g.tensor(x, "{kind}")'


def _holds_tensors(value: object) -> bool:
    """Whether there are tensors in nested lists of numbers: NumPy would ask for their values."""
    if isinstance(value, (list, tuple)):
        return any(map(_holds_tensors, value))
    return isinstance(value, TensorLike)
