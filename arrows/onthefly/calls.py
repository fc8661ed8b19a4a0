"""Records calls of layers, functions and operations on lazy tensors, a node for each call."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial
from types import FrameType
from typing import TYPE_CHECKING, Any

import numpy as np

from arrows import combinators as core
from arrows import ops
from arrows.inference import Typed
from arrows.onthefly.arguments import (
    Arguments,
    Sequences,
    constants_of,
    tensors_of,
    type_of,
)
from arrows.onthefly.call_sites import CallSite
from arrows.onthefly.equal_blocks import content_of
from arrows.onthefly.interpretation import run_block
from arrows.onthefly.results import build
from arrows.onthefly.tensor import OUTPUT_BITS, LazyTensor
from arrows.onthefly.values import LazyValues
from arrows.ops import Primitive, ShapeError, TensorLike, bind
from arrows.ops.function_context import constant
from arrows.ops.primitive import Attributes
from arrows.typesys import ArrowTypeError, ArrowValueError, SourceLine
from arrows.typesys import types as T
from arrows.typesys.errors import is_inside, message

if TYPE_CHECKING:
    from arrows.onthefly.network import OnTheFly


_DRAWS: dict[str, core.AnyBlock] = {
    "normal": core.Function(ops.normal_like, name="normal"),
    "uniform": core.Function(ops.uniform_like, name="uniform"),
}
"""The functions that stand for a draw."""


class LazyCalls(LazyValues):
    """The part of a batch that records calls; `LazyBatch` adds what users call.

    Attributes:
        training: whether dropout acts.
        instance: which instance of `run_all` is being advanced; 0: none.
    """

    def __init__(self, net: OnTheFly, training: bool) -> None:
        super().__init__(net)
        self.training = training
        self.instance = 0
        self._calls = net.calls
        self._dropout_calls: dict[int, int] = {}

    # ------------------------------------------------------------------------------------------------------
    # blocks

    def call_block(self, block: object, arguments: tuple[Any, ...]) -> Any:
        if not isinstance(block, core.Apply):
            self.check_open("run a block")
            return run_block(self, block, arguments)
        ids: list[int] = []
        key: list[Any] = []
        taken: Arguments | None = None
        for x in arguments:
            if x.__class__ is LazyTensor and x.context is self:
                ids.append(x.id)
                key.append(id(x.type))
            else:
                taken = taken or Arguments(self, ids, key)
                taken.take(x)
        place = (*self._where(sys._getframe(2)), *key)
        site = self._calls.get((id(block), *place)) or self._site_of(block, place, arguments)
        if not taken:
            return self._visit(site, ids)
        if taken.plain and site.limits:
            _check_indices(site, taken.plain)
        return self._visit(site, ids, taken.sequences)

    def _site_of(
        self, block: core.Apply[Any, Any], place: tuple[Any, ...], arguments: tuple[Any, ...]
    ) -> CallSite:
        """The call site of a block that is new at a place: that of an equal block, or a new one."""
        content = content_of(block)
        if content is not None and (site := self._calls.get((content.key, *place))) is not None:
            return site
        self.check_open(f"call {block.label}")
        value = tensors_of(self, arguments[0] if len(arguments) == 1 else arguments)
        type = type_of(value)
        site = self._call_sites.add_call(block, type, constants_of(value, type), SourceLine.here())
        for key in self.net.keep(block, content, site.owners):
            self._calls[(key, *place)] = site
        self.net.growth.note_block(block)
        return site

    def call_typed(self, typed: Typed, value: object) -> Any:
        """Records a call of a typed block on a value: nested tuples and lists of lazy tensors."""
        taken = Arguments(self, [], [])
        taken.take_as(value, typed.input)
        key = ("typed", id(typed), *taken.key)
        site = self._calls.get(key)
        if site is None:
            constants = constants_of(value, typed.input)
            with self.net.lock.mutex:
                site = self._calls[key] = self._call_sites.add_typed(typed, constants, SourceLine.here())
        return self._visit(site, taken.ids, taken.sequences)

    def attempt(self, line: SourceLine) -> str:
        return f"cannot compute at {line}"

    def refuse_mixture(self, primitive: Primitive) -> None:
        raise ShapeError(
            f"{primitive.name}: its operands belong to different batches, or one of them to a Function",
            hint="compute with tensors of one `with net.batch()`; bring the value of another by x.numpy(); "
            "give a Function its tensors as arguments",
        )

    def dropout(self, x: TensorLike, rate: float) -> TensorLike:
        dropouts = self.net.dropouts
        if rate not in dropouts:
            dropouts[rate] = core.Function(lambda x: ops.dropout(x, rate), name="dropout")
        result: TensorLike = self.call_block(dropouts[rate], (x,))
        return result

    def draw(self, name: str, like: TensorLike | None) -> TensorLike | None:
        if like is None:
            return None
        block = _DRAWS[name]
        result: TensorLike = self.call_block(block, (like,))
        return result

    def _where(self, frame: FrameType | None) -> tuple[int, int, int]:
        """Identifies the call site: the user's innermost code, the place in it, and the way from there."""
        inside, way = self.net.inside, 0
        while frame is not None:
            code = frame.f_code
            if id(code) not in inside:
                self.net.codes.append(code)  # kept alive, so that no other code object gets its id
                inside[id(code)] = is_inside(code.co_filename)
            if not inside[id(code)]:
                return id(code), frame.f_lasti, way
            way = 31 * way + frame.f_lasti  # one operation of the user may call several others
            frame = frame.f_back
        return 0, 0, way

    def _visit(self, site: CallSite, ids: list[int], sequences: Sequences | tuple[()] = ()) -> Any:
        """Makes the node of a call, and returns its lazy results.

        Equal calls on the same values share one node: a word that occurs often is computed once.
        """
        if not self.open:
            self.check_open(f"compute at {site.line}")
        if sequences or self._is_random(site) or not self.net.shares:
            return self._node(site, ids, sequences)
        if self._updates != self._lock.updates:
            self.forget_calls()
        key = (site.number, *ids)
        result = self._made.get(key)
        if result is None:
            result = self._made[key] = self._node(site, ids, ())
        return result

    def _is_random(self, site: CallSite) -> bool:
        return site.draws or (site.random and self.training)

    def _node(self, site: CallSite, ids: list[int], sequences: Sequences | tuple[()]) -> Any:
        recording = self.recording
        node = len(recording.site)
        recording.site.append(site.number)
        sources = recording.sources
        sources += ids
        if sequences:
            for columns, _ in sequences:
                for column in columns:
                    sources += column
            recording.lengths[node] = tuple([length for _, length in sequences])
        recording.start.append(len(sources))
        if self._is_random(site):
            count = self._dropout_calls.get(self.instance, 0)
            self._dropout_calls[self.instance] = count + 1
            recording.dropout[node] = self.instance, count
        first = node << OUTPUT_BITS
        outputs = site.outputs
        if site.simple == 1:
            return LazyTensor(self, first, outputs[0])
        if site.simple == 2:
            return LazyTensor(self, first, outputs[0]), LazyTensor(self, first + 1, outputs[1])
        rows: dict[int, tuple[Sequence[int], Sequence[T.Tensor]]] = {}
        for domain, (number, types) in site.element_sites.items():
            length = sequences[domain][1]
            start = recording.add_rows(node, number, length)
            rows[domain] = [each << OUTPUT_BITS for each in range(start, start + length)], types
        return build(site.pattern, first, outputs, rows, partial(LazyTensor, self))

    # ------------------------------------------------------------------------------------------------------
    # operations

    def apply(
        self,
        primitive: Primitive,
        operands: tuple[Any, ...],
        attributes: Attributes,
        like: TensorLike | None,
    ) -> TensorLike:
        for x in operands:
            if isinstance(x, TensorLike) and x.context is not self:
                self.refuse_mixture(primitive)
        where = self._where(sys._getframe(2))
        written = repr(attributes) if attributes else ""  # by text: 0.0 equals -0.0, but has other results
        taken = Arguments(self, [], [])
        key, tensors = taken.key, []
        kept: list[Any] = []  # the plain operands that are part of the operation; None for all others
        for place, x in enumerate(operands):
            if isinstance(x, np.generic):  # a NumPy number, such as a mean of rewards, counts as Python's
                x = x.item()
            if isinstance(x, LazyTensor):
                taken.take(x)
                tensors.append(x)
                kept.append(None)
            elif self.net.stays_the_same((*where, id(primitive), place), x):
                key.append((x.__class__, x))
                kept.append(x)
            else:
                tensors.append(self._beside(primitive, operands, x))
                taken.take(tensors[-1])
                kept.append(None)
        key_of_call = (id(primitive), *where, written, *key)
        site = self._calls.get(key_of_call)
        if site is None:
            self.check_open(f"compute {primitive.name}")

            def compute(*values: TensorLike) -> TensorLike:
                tensor_values = iter(values)
                every = [next(tensor_values) if x is None else x for x in kept]
                return bind(primitive, *every, like=None, **attributes)

            value = tensors[0] if len(tensors) == 1 else tuple(tensors)
            input = type_of(value)
            block: core.AnyBlock = core.Function(compute, name=primitive.name)
            try:
                site = self._call_sites.add_call(block, input, constants_of(value, input), SourceLine.here())
            except ArrowTypeError as error:
                raise _refused(primitive, error) from None
            self._calls[key_of_call] = site
        result: TensorLike = self._visit(site, taken.ids)
        return result

    def _beside(self, primitive: Primitive, operands: tuple[Any, ...], value: object) -> LazyTensor:
        """A plain operand as a tensor, with the element type of the tensor beside it.

        An array is read as `tensor` reads it, so that an operation takes NumPy's float64 beside float32.
        """
        beside = [x for x in operands if isinstance(x, LazyTensor)]
        try:
            array = constant(value, beside[0].type)
        except ShapeError as error:
            raise _refused(primitive, error) from None
        if isinstance(value, np.ndarray):
            alike = [x.dtype for x in beside if np.dtype(x.dtype).kind == array.dtype.kind]
            return self.tensor(value, alike[0] if alike else None)
        return self.read_as(T.Tensor(array.shape, array.dtype.name), array)


def _check_indices(site: CallSite, plain: Sequence[tuple[int, object]]) -> None:
    """Refuses a plain number that is used as an index and is out of range."""
    for place, value in plain:
        limit = site.limits.get(place)
        if limit is not None and isinstance(value, (int, np.integer)) and not 0 <= value < limit:
            raise ArrowValueError(
                message(
                    f"cannot look up {value} at {SourceLine.here()}",
                    reason=f"there are {limit} rows, numbered from 0 to {limit - 1}",
                )
            )


def _refused(primitive: Primitive, error: ShapeError | ArrowTypeError) -> ArrowTypeError:
    """The error for operands that do not fit."""
    details = error.details
    attempt = f"cannot compute {primitive.name} at {SourceLine.here()}"
    return ArrowTypeError(message(attempt, reason=details.reason or str(error), hint=details.hint))
