"""A batch on the fly: records what ordinary code computes, and runs it when a value is asked for."""

from __future__ import annotations

from collections.abc import Callable, Generator, Hashable, Iterable, Sequence
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, NoReturn, Self

import numpy as np

from arrows import combinators as core, ops
from arrows.arrays import Array, HostArray
from arrows.engine.planning import LossCheck, SupportsStep
from arrows.engine.reference import assemble, unwrap
from arrows.engine.running import Gradient, own
from arrows.engine.scheduling import Timeline
from arrows.engine.values import make_tuple, mapped
from arrows.inference import Typed
from arrows.onthefly.call_sites import CallSite, refused
from arrows.onthefly.collector import pause_collector, resume_collector
from arrows.onthefly.gradients import differentiate, take_step
from arrows.onthefly.instances import run_all
from arrows.onthefly.interpretation import run_block
from arrows.onthefly.operands import Elements, Known, flatten, foreign, nested, read, type_of
from arrows.onthefly.reading import read_tensor
from arrows.onthefly.recording import Recording
from arrows.onthefly.runs import Runs
from arrows.onthefly.tensor import OUTPUT_BITS, LazyConstant, LazyTensor, lazy_tensor
from arrows.ops import (
    Attributes,
    Context,
    Parameter,
    Primitive,
    ShapeError,
    TensorLike,
    Weight,
    bind,
    constant_array,
)
from arrows.typesys import ArrowTypeError, ArrowValueError, SourceLine, answers, message, types as T

if TYPE_CHECKING:
    from arrows.onthefly.network import OnTheFly


_NUMBERS = {int, float, bool}
_DRAWS: dict[str, core.AnyBlock] = {
    "normal": core.Function(ops.normal_like, name="normal"),
    "uniform": core.Function(ops.uniform_like, name="uniform"),
}
"""The functions that stand for a draw."""


@lru_cache(maxsize=1024)
def _dropout(rate: float) -> core.AnyBlock:
    """The function that stands for dropout."""
    return core.Function(lambda x: ops.dropout(x, rate), name="dropout")


def _kept(x: Any) -> tuple[Any, ...]:
    """What stands in a signature for an operand that is part of the operation: a number or a parameter."""
    return x.__class__, x if isinstance(x, Weight) else x or repr(x)


_SHAPING = {*map(ops.get, ("broadcast_to", "concat", "index", "reshape", "softmax", "sum", "transpose"))}
"""Primitives with attributes of whole numbers; others' are compared as text: 0.0 equals -0.0, and differs."""
_PLAIN = {type(None), bool, int, str, bytes, float}
_NO_ARGUMENTS = {"site", "_sealed", "_spelling"}  # attributes of every block


def _plain_arguments(block: core.AnyBlock) -> tuple[Any, ...] | None:
    """What a block of the package does if its arguments are plain, as those of most that a loop makes anew.

    Equal for blocks that do the same, parameters aside; None for other blocks.

    >>> import arrows as ar
    >>> len({_plain_arguments(block) for block in (ar.Sum(), ar.Sum(), ar.Shift(1), ar.Shift(2))})
    3
    """
    if block.token is not None or not block.__class__.__module__.startswith("arrows."):
        return None
    arguments = {name: value for name, value in vars(block).items() if name not in _NO_ARGUMENTS}
    if any(value.__class__ not in _PLAIN and value != () for value in arguments.values()):
        return None
    return block.__class__, repr(arguments)  # by text: 0.0 equals -0.0, and 1 equals True


@answers("a batch on the fly", "batch")
class LazyBatch(Context):
    """Records what is computed inside of `with net.batch() as g`, and runs it in large batches.

    Nothing runs before a value is asked for: by `numpy`, by `value_and_grad` or `train_step`, or by a
    generator in `run_all`.  Then what the value needs runs, and the rest stays lazy.

    Attributes:
        net: the network.
        training: whether dropout acts.
        instance: which instance of `run_all` is being advanced; 0: none.
        instances: how many instances there have been.
        dropout_calls: by instance, how many calls with dropout it has made.
        runs: its runs so far.

    Example:
        >>> import arrows as ar
        >>> net, double = ar.OnTheFly(), ar.Function(lambda x: 2 * x)
        >>> with net.batch() as g:
        ...     xs = [double(g.tensor(x)) for x in [1.0, 2.0, 3.0]]
        ...     float(g.sum(xs)), [timeline.steps for timeline in g.timelines]
        (12.0, [((0, 3), (1, 1))])
    """

    def __init__(self, net: OnTheFly, *, training: bool, gradients: bool) -> None:
        self.net, self.training = net, training
        self.float_type = net.float_type
        self.instance = self.instances = 0
        self.open = self._entered = False
        self.recording = Recording()
        self.calls, self.known = net.calls, net.call_sites.known
        self._nodes, self._lock = self.recording.nodes, net.lock
        self._updates = -1  # of the parameters, when `_made` was begun; -1: the batch is not open
        self._shares = net.schedule != "none"  # where one node at a time is wanted, equal ones stay apart
        self._made: dict[tuple[int, ...], Any] = {}  # node -> the result of its call
        self.numbers: dict[int, LazyTensor] = {}  # the integers that have come in
        self.lists: dict[tuple[int, ...], Known] = {}  # by the identities of their items
        self._zeros_of: dict[T.Type, Any] = {}
        self._made_in_place: dict[tuple[Any, ...], tuple[CallSite, object]] = {}  # call -> site, block
        self._calm = 0 if training else 1  # a call site that is more random makes other results each time
        self.fast, self.types = net.call_sites.fast[self._calm], net.call_sites.types
        self.dropout_calls: dict[int, int] = {}
        self.runs = Runs(net, self.recording, training=training, gradients=gradients)

    def __enter__(self) -> Self:
        if self._entered:
            raise ArrowValueError("a batch is entered once: make another by net.batch()")
        self._entered, self._updates = True, self._lock.updates
        try:
            pause_collector(self)
            super().__enter__()
            return self
        except BaseException:  # Ctrl-C, say
            resume_collector(self)
            super().__exit__()
            raise

    def __exit__(self, *error: object) -> None:
        try:
            super().__exit__()
            self._updates = -1
            # The nodes too, so that the collector does not walk through them.
            for x in (self._nodes, self._made, self.numbers, self.lists, self._zeros_of, self._made_in_place):
                x.clear()
            self.recording.lists.clear()
            self.recording.reads.clear()
            self.runs.release()
            resume_collector(self)
        finally:
            resume_collector(self)  # where Ctrl-C came in between

    def check_open(self, attempt: str) -> None:
        """Refuses an attempt in a batch that is over or has not begun."""
        if self.open:
            return
        reason, hint = "the batch has not begun", "with net.batch() as g: ..."
        if self._entered:
            reason = "the batch that its tensors belong to is over, and their memory is given back"
            hint = "bring values out of `with net.batch() as g` as numbers: x.numpy()"
        raise ArrowValueError(message(f"cannot {attempt} ({SourceLine.here()})", reason=reason, hint=hint))

    # ------------------------------------------------------------------------------------------------------
    # values that come in

    def tensor(self, value: object, dtype: str | None = None) -> LazyTensor:
        """Reads numbers of the example as a tensor.

        Args:
            value: a number, an array, or nested lists of numbers.
            dtype: the element type; by default float32 for floats, int32 for integers, bool for truth values.

        Raises:
            ArrowTypeError: the value holds no numbers, or numbers that the element type cannot hold.
        """
        if value.__class__ is int and dtype is None and -0x80000000 <= value < 0x80000000:
            number = self.numbers.get(value)
            if number is None:
                number = self._read(self.net.int_entrance, value)
                if self._shares:
                    self.numbers[value] = number
            return number
        if dtype is None and value.__class__ is float:
            return self._read(self.net.float_entrance, value)
        if isinstance(value, Weight):
            return self.parameter(value, value.spec)
        if isinstance(value, LazyTensor):
            if value.context is not self:
                raise foreign(value)
            return value
        return self.read_as(*read_tensor(value, dtype, self.float_type))

    def read_as(self, type: T.Tensor, value: object) -> LazyTensor:
        """The tensor of a value that the caller has converted to a type."""
        return self._read(self.net.call_sites.entrance("read", type), value)

    def _read(self, entrance: tuple[int, int], value: object) -> LazyTensor:
        if not self.open:
            self.check_open("read a value")
        node = len(self._nodes)
        self._nodes.append((-1 - entrance[0],))
        self.recording.reads[node] = value
        return lazy_tensor(self, node << OUTPUT_BITS, entrance[1])

    def constant(self, array: HostArray) -> LazyConstant:
        """A constant of the program, to which operations are specialised; equal constants are one.

        Args:
            array: the value of the constant, which is copied.
        """
        self.check_open("make a constant")
        dtype = str(array.dtype) if hasattr(array, "dtype") else None
        type, values = read_tensor(array, dtype, self.float_type)
        return LazyConstant(self, self.net.call_sites.constant(np.asarray(values, type.dtype)))

    def zeros(self, type: object) -> Any:
        """Zeros of a type, as a cell starts from: `g.zeros(cell.state)`, `g.zeros([128])`.

        Args:
            type: a type of tensors and tuples, or a short-hand for one.
        """
        self.check_open("make zeros")
        type = T.as_type(type)
        if type not in self._zeros_of:
            self._zeros_of[type] = self._zeros(type)
        return self._zeros_of[type]

    def _zeros(self, type: T.Type) -> Any:
        if isinstance(type, T.Tuple):
            return make_tuple([self._zeros(item) for item in type.items], type.labels)
        if not isinstance(type, T.Tensor):
            raise ArrowTypeError(f"there are no zeros of {type}: only of tensors, and of tuples of such")
        return self.constant(np.zeros(type.shape, type.dtype))

    def parameter(self, owner: object, spec: Parameter) -> LazyTensor:
        # As the operand of an operation it is part of that; here it is a node, which the batch has once.
        block = self.net.values.get(id(owner))
        if block is None:
            read: Any = partial(ops.parameter, owner, spec)
            block = self.net.values[id(owner)] = core.Function(read, name="parameter")
        value: LazyTensor = self.call_block(block, ())
        return value

    def whole(self, x: object) -> LazyTensor:
        """The tensor of a plain value, or of the value of a constant, which is read as data once."""
        tensor = self.tensor(x)
        if not isinstance(tensor, LazyConstant):
            return tensor
        if tensor.data is None:
            tensor.data = self.read_as(tensor.type, self.net.call_sites.constants[-1 - tensor.origin])
        return tensor.data

    def maker(self, origin: int) -> str:
        """Describes what computed the values of an origin, for messages."""
        return self.net.describe(self.net.call_sites.outputs[origin][0]) if origin >= 0 else "a constant"

    # ------------------------------------------------------------------------------------------------------
    # blocks that are called

    def __call__(self, block: object, *arguments: object) -> Any:
        """Runs a block inside of the batch.

        Args:
            block: any block.
            arguments: an example, for a block that reads one; or lazy tensors, tuples and lists of them, for
                a block of tensors (several are a tuple).

        Returns:
            Its result, of lazy tensors; sequences are lists.

        Raises:
            ArrowTypeError: the block does not take these arguments.
            InputError: the example does not fit the block.
        """
        self.check_open("run a block")
        return run_block(self, block, arguments)

    def sum(self, tensors: Sequence[Any]) -> LazyTensor:
        """The sum of a list of tensors of one type, in one operation."""
        result: LazyTensor = self.call_block(self.net.sum_block, (list(tensors),))
        return result

    def mean(self, tensors: Sequence[Any]) -> LazyTensor:
        """The mean of a list of tensors of one type, in one operation."""
        result: LazyTensor = self.call_block(self.net.mean_block, (list(tensors),))
        return result

    def call_block(self, block: object, arguments: Any, /) -> Any:
        # What loops call most, in half of the time: an operation or a layer on a tensor or two, a layer on an
        # index, a loss on a tensor and an index, a cell on a tensor and its state of two, a function of two
        # such states.
        node: tuple[int, ...] | None = None
        try:
            after = self.fast[block]
            if len(arguments) == 1:
                (x,) = arguments
                if type(x) is LazyTensor:
                    site = after[x.origin][None]
                    node = site.mark, x.id
                elif type(x) is int and int in after and 0 <= x < (site := after[int][None]).limit:
                    node = site.mark, (self.numbers[x] if x in self.numbers else self.tensor(x)).id
            elif len(arguments) == 2:
                x, y = arguments
                if type(x) is LazyTensor:
                    of_x, kind = after[x.origin], type(y)
                    if kind is LazyTensor and y.context is self:
                        site = of_x[y.origin][None]
                        node = site.mark, x.id, y.id
                    elif kind is int and int in of_x and 0 <= y < (site := of_x[int][None]).limit:
                        node = site.mark, x.id, (self.numbers[y] if y in self.numbers else self.tensor(y)).id
                    elif kind is tuple and len(y) == 2:
                        h, c = y
                        if type(h) is type(c) is LazyTensor and h.context is c.context is self:
                            site = of_x[h.origin, c.origin][None]
                            node = site.mark, x.id, h.id, c.id
                elif type(x) is type(y) is tuple and len(x) == len(y) == 2:
                    (a, b), (h, c) = arguments
                    tensors = type(a) is type(b) is type(h) is type(c) is LazyTensor
                    if tensors and a.context is b.context is h.context is c.context is self:
                        site = after[a.origin, b.origin, h.origin, c.origin][None]
                        node = site.mark, a.id, b.id, h.id, c.id
            # An operation beside numbers or parameters, which are part of it, or on more tensors.
            if node is None and arguments and type(arguments[-1]) is not tuple:
                ids = []
                for x in arguments:
                    kind = type(x)
                    if kind is LazyTensor and x.context is self:
                        ids.append(x.id)
                        after = after[x.origin]
                    elif kind in _NUMBERS:
                        after = after[kind, x or repr(x)]
                    elif kind is Weight:
                        after = after[kind, x]
                    else:
                        break
                else:
                    site = after[None]
                    node = site.mark, *ids
        except KeyError:
            pass
        if node is None:
            return self._call_anew(block, arguments)
        if not site.flat or self._updates != self._lock.updates:
            return self.visit(site, node)
        # As `visit`, and `lazy_tensor` as well: each of their calls would take a tenth of the time.
        result = self._made.get(node)
        if result is None:
            first = len(self._nodes) << OUTPUT_BITS
            self._nodes.append(node)
            result = LazyTensor()
            result.context, result.id, result.origin = self, first, site.origins[0]
            if site.flat == 2:  # as the state of an LSTM
                second = LazyTensor()
                second.context, second.id, second.origin = self, first + 1, site.origins[1]
                result = result, second
            if self._shares:
                self._made[node] = result
        return result

    as_before = call_block  # operations are in `fast` as blocks are

    def _call_anew(self, block: object, arguments: Any) -> Any:
        """The result of a call that `fast` does not tell; None for an operation."""
        if not isinstance(block, core.Apply):
            return None if isinstance(block, (tuple, Primitive)) else self(block, *arguments)
        key: list[Any] = [block]
        ids: list[int] = []
        sequences: list[Elements] = []
        flatten(self, arguments, ids, key, sequences)
        known, call = self.known, tuple(key)
        site = known.get(call)
        if site is None:
            place = self.net.place()
            site = known.get((*call, *place)) or self._site_of(block, call, place, arguments)
        return self._called(site, ids, sequences)

    def _site_of(
        self,
        block: core.Apply[Any, Any],
        call: tuple[Any, ...],
        place: tuple[int, int],
        arguments: tuple[Any, ...],
    ) -> CallSite:
        """The call site of a block whose operands come from somewhere else than before, or that is new."""
        signature, there = call[1:], (*call, *place)
        if there in self._made_in_place:
            return self._made_in_place[there][0]
        sites = self.net.call_sites
        where = *place, *sites.typed(signature)
        plain = _plain_arguments(block)
        kept = site = self.calls.get((id(block), *where))
        if site is None and plain is not None:
            site = self.calls.get((plain, *where))
        if site is None:
            self.check_open(f"call {block.label}")
            count = len(sites.sites)
            operands = read(self, arguments)
            input = type_of(operands[0] if len(operands) == 1 else operands)
            site = sites.infer_call(block, input, signature, where)
            if site.number < count:  # a block that is equal was here before; this one may soon be gone
                self._made_in_place[there] = site, block
            else:
                self.net.keep(block)
                kept = self.calls[id(block), *where] = site
                if plain is not None and not site.learns:
                    self.calls[plain, *where] = site
        sites.observe(site, call, None if kept is None else place)
        if kept is not None and arguments and arguments[-1].__class__ is int:
            sites.shorten(site, (*call[:-1], int))
        return site

    def call_typed(self, typed: Typed, value: object) -> Any:
        """Records a call of a typed block on a value: nested tuples and lists of lazy tensors."""
        ids: list[int] = []
        key: list[Any] = [id(typed)]
        sequences: list[Elements] = []
        flatten(self, (value,), ids, key, sequences)
        call = tuple(key)
        site = self.known.get(call)
        if site is None:
            sites, signature, line = self.net.call_sites, call[1:], SourceLine.here()
            # The rest is known from its type.
            constants = [x if x.__class__ is int and x < 0 else None for x in signature]
            add = partial(sites.add_typed, typed, signature, line)
            with self.net.lock.mutex:
                site = sites.meet(call, ("typed", id(typed), *constants), (), add)
        return self._called(site, ids, sequences)

    def visit(self, site: CallSite, node: tuple[int, ...]) -> Any:
        """The results of a call that has no sequences and draws no random numbers.

        Equal calls on the same values share one node: a word that occurs often is computed once.

        Args:
            site: the call site.
            node: its mark and the ids of the operands.
        """
        if self._updates != self._lock.updates:  # it is closed, or a step has changed what calls give
            self.check_open(f"compute at {site.line}")
            self._made.clear()
            self._updates = self._lock.updates
        result = self._made.get(node)
        if result is None:
            first = len(self._nodes) << OUTPUT_BITS
            self._nodes.append(node)
            result = self._results(site, first, {})
            if self._shares:
                self._made[node] = result
        return result

    def _called(self, site: CallSite, ids: list[int], sequences: list[Elements]) -> Any:
        """The results of a call: one with sequences or random numbers is a node of its own."""
        if not sequences and site.random <= self._calm:
            return self.visit(site, (site.mark, *ids))
        if not self.open:
            self.check_open(f"compute at {site.line}")
        recording, node = self.recording, len(self._nodes)
        self._nodes.append((site.mark, *ids, *[elements for elements, _ in sequences]))
        if site.random > self._calm:
            count = self.dropout_calls.get(self.instance, 0)
            self.dropout_calls[self.instance] = count + 1
            recording.dropout[node] = self.instance, count
        rows = {
            domain: recording.add_rows(node, number, sequences[domain][1])
            for domain, number in site.element_sites.items()
        }
        return self._results(site, node << OUTPUT_BITS, rows)

    def _results(self, site: CallSite, first: int, rows: dict[int, range]) -> Any:
        """The results of a call: its `first` value and the others, and `rows` for elements of sequences."""
        if site.flat:
            tensor = lazy_tensor(self, first, site.origins[0])
            return tensor if site.flat == 1 else (tensor, lazy_tensor(self, first + 1, site.origins[1]))
        leaves = [
            [lazy_tensor(self, (row << OUTPUT_BITS) + place, origin) for row in rows[domain]]
            if domain >= 0
            else lazy_tensor(self, first + place, origin)
            for domain, place, origin in site.results
        ]
        if site.nesting is not None:
            return nested(site.nesting, leaves)
        return unwrap(site.output, assemble(site.output, iter(leaves)), lambda x: x)

    # ------------------------------------------------------------------------------------------------------
    # operations

    def apply(
        self,
        primitive: Primitive,
        operands: tuple[Any, ...],
        attributes: Attributes,
        like: TensorLike | None = None,
    ) -> Any:
        callee: Hashable = primitive
        if values := attributes.values():
            callee = primitive, *(values if primitive in _SHAPING else map(repr, values))
        result = self.as_before(callee, operands)
        return self._apply_anew(primitive, operands, attributes, callee) if result is None else result

    def _apply_anew(
        self, primitive: Primitive, operands: tuple[Any, ...], attributes: Attributes, callee: Hashable
    ) -> Any:
        """Applies an operation at a new place, or to arrays, constants and numbers that change."""
        place = self.net.place()
        every: list[Any] = []
        for number, x in enumerate(operands):
            if isinstance(x, TensorLike):
                if not isinstance(x, Weight) and x.context is not self:
                    self.refuse_mixture(primitive)
            else:
                x = x.item() if isinstance(x, np.generic) else x  # NumPy's number, such as a mean of rewards
                x = np.nan if x.__class__ is float and x != x else x  # one NaN, since others do not equal it
                if not self.net.stays_the_same((callee, *place, number), x):
                    x = self._beside(primitive, operands, x)
            every.append(x)
        tensors = [x for x in every if isinstance(x, LazyTensor)]
        signature = [x.origin if isinstance(x, LazyTensor) else _kept(x) for x in every]
        call = callee, *signature
        site = self.known.get(call) or self.known.get((*call, *place))
        if site is None:
            sites, attempt = self.net.call_sites, f"compute {primitive.name}"
            self.check_open(attempt)
            where = *place, *sites.typed(signature)
            numbers = [None if isinstance(x, LazyTensor) else x for x in every]  # the site outlives tensors

            def compute(*values: TensorLike) -> TensorLike:
                given = iter(values)
                mixed = [next(given) if x is None else x for x in numbers]
                return bind(primitive, *mixed, like=None, **attributes)

            block, types = core.Function(compute, name=primitive.name), [x.type for x in tensors]
            input = types[0] if len(types) == 1 else T.Tuple(types)
            infer = partial(sites.infer_call, block, input, signature, where, attempt)
            site = sites.meet(call, (callee, *where), place, infer)
        return self.visit(site, (site.mark, *[x.id for x in tensors if x.origin >= 0]))

    def _beside(self, primitive: Primitive, operands: tuple[Any, ...], value: object) -> LazyTensor:
        """A plain operand as a tensor, with the element type of the tensor beside it.

        An array is read as `tensor` reads it, so that an operation takes NumPy's float64 beside float32.
        """
        beside = [x for x in operands if isinstance(x, TensorLike)]
        try:
            array = constant_array(value, beside[0].type)
        except ShapeError as error:
            raise refused(f"compute {primitive.name}", SourceLine.here(), error) from None
        if isinstance(value, np.ndarray):
            alike = [x.dtype for x in beside if np.dtype(x.dtype).kind == array.dtype.kind]
            return self.tensor(value, alike[0] if alike else None)
        return self.read_as(T.Tensor(array.shape, array.dtype.name), array)

    def dropout(self, x: TensorLike, rate: float) -> Any:
        return self.call_block(_dropout(rate), (x,))

    def draw(self, name: str, like: TensorLike | None) -> Any:
        return None if like is None else self.call_block(_DRAWS[name], (like,))

    def attempt(self, line: SourceLine) -> str:
        return f"cannot compute at {line}"

    def refuse_mixture(self, primitive: Primitive) -> NoReturn:
        raise ShapeError(
            f"{primitive.name}: its operands belong to different batches, or one of them to a Function",
            hint="compute with tensors of one `with net.batch()`; bring the value of another by x.numpy(); "
            "give a Function its tensors as arguments",
        )

    # ------------------------------------------------------------------------------------------------------
    # values that are asked for

    def numpy(self, value: object) -> Any:
        """The numbers of a lazy tensor, or of nested tuples, lists and dicts of such, on the host.

        One run computes everything that they need; the rest stays lazy.
        """
        return self.numpy_of_many([value], self.ids_in(value, SourceLine.here))[0]

    def numpy_of_many(self, values: Sequence[Any], ids: Sequence[int]) -> list[Any]:
        """The numbers of many values in one run; `ids` are those that `ids_in` has found in them."""
        arrays = iter(self.runs.values(ids))
        return [
            next(arrays) if isinstance(value, LazyTensor) else mapped(lambda x: next(arrays), value)
            for value in values
        ]

    def ids_in(self, value: Any, line: Callable[[], SourceLine]) -> list[int]:
        """The ids of nested lazy tensors; `line` finds the user's line that asks for the value."""
        self.check_open("compute a value")
        if value.__class__ is LazyTensor and value.context is self:
            return [value.id]
        ids: list[int] = []

        def take(x: object) -> None:
            x = self.tensor(x) if isinstance(x, Weight) else x
            if isinstance(x, LazyTensor):
                if x.context is not self:
                    raise foreign(x, line())
                ids.append(self.whole(x).id)
            else:
                attempt, hint = f"cannot compute {x!r:.100}", ""
                if isinstance(x, Generator):
                    attempt = "cannot wait for a generator"
                    hint = "to wait for another generator function: `x = yield from f(...)`"
                reason = "it is not a lazy tensor, nor a tuple, list or dict of lazy tensors"
                raise ArrowTypeError(message(f"{attempt} at {line()}", reason=reason, hint=hint))

        mapped(take, value)
        return ids

    def value_and_grad(self, loss: LazyTensor) -> tuple[Array, dict[str, Gradient]]:
        """The value of a scalar and its gradients, forward and backward in batches.

        Returns:
            The loss, a scalar of the device, and the gradients by parameter name, as `Model.value_and_grad`
            gives them.

        Raises:
            ArrowTypeError: the loss is not a floating scalar.
            ArrowValueError: the batch was made with `gradients=False`, or a step has changed the parameters
                since its first run.
        """
        id = self._loss_id(loss)
        with self.net.lock.mutex:
            value, gradients = differentiate(self.net, self.runs, id)
            return value, {name: own(gradient) for name, gradient in gradients.items()}

    def train_step(
        self, loss: LazyTensor, optimizer: SupportsStep, *, check: LossCheck | None = None
    ) -> Array:
        """Computes gradients, calls ``check`` with the loss, takes the optimizer's step, returns the loss.

        Raises:
            Exception: as of `value_and_grad`, and whatever ``check`` or the optimizer raises.
        """
        id = self._loss_id(loss)
        with self.net.lock.mutex:
            return take_step(self.net, *differentiate(self.net, self.runs, id), optimizer, check)

    def run_all(self, instances: Iterable[Generator[Any, Any, Any]]) -> list[Any]:
        """Advances all instances together; each is a generator that yields the tensors whose values it needs.

        An instance runs until it yields a lazy tensor, or a tuple, list or dict of lazy tensors.  When all
        unfinished instances wait, one run computes everything that they wait for, and each of them gets its
        values: NumPy arrays, nested like the tensors that it yielded.

        Args:
            instances: generators, such as `parse(sentence)`.

        Returns:
            The result of each instance, in the order of `instances`.

        Raises:
            ArrowTypeError: an instance is not a generator, or yields something other than lazy tensors.
            Exception: the error that an instance raises; the others are closed.

        Example:
            >>> import arrows as ar
            >>> net = ar.OnTheFly()
            >>> def halve(x, g):
            ...     x, steps = g.tensor(x), 0
            ...     while (yield x) > 1:
            ...         x, steps = x * 0.5, steps + 1
            ...     return steps
            >>> with net.batch() as g:
            ...     g.run_all(halve(x, g) for x in [1.0, 5.0, 100.0])
            [0, 3, 7]
        """
        self.check_open("run instances")
        return run_all(self, instances)

    @property
    def timelines(self) -> tuple[Timeline, ...]:
        """The schedule of each run that the batch has taken so far; after the batch, of all of them."""
        return self.runs.timelines

    def _loss_id(self, loss: object) -> int:
        self.check_open("differentiate")
        if not isinstance(loss, LazyTensor) or loss.type.shape or not loss.type.floating:
            actual = loss.type if isinstance(loss, LazyTensor) else f"a {type(loss).__name__}"
            raise ArrowTypeError(
                message(
                    f"cannot differentiate at {SourceLine.here()}",
                    reason=f"the loss must be a floating scalar, and it is {actual}",
                    hint="put the losses of a batch together: g.mean(losses)",
                )
            )
        return self.whole(loss).id
