"""A batch on the fly: records what ordinary code computes, and runs it when a value is asked for."""

from __future__ import annotations

import sys
from collections.abc import Generator, Iterable, Sequence
from contextvars import Token
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Any, NoReturn, Self

import numpy as np

from arrows import combinators as core
from arrows import ops
from arrows.engine.planning import SupportsStep
from arrows.engine.running import Gradient
from arrows.engine.scheduling import Timeline
from arrows.engine.values import LeafError, convert, make_tuple
from arrows.inference import Typed
from arrows.onthefly.call_sites import CallSite, Elements, Pattern
from arrows.onthefly.instances import run_all
from arrows.onthefly.interpretation import run_block
from arrows.onthefly.recording import Recording
from arrows.onthefly.runs import Runs
from arrows.onthefly.tensor import OUTPUT_BITS, LazyConstant, LazyTensor, type_of
from arrows.ops import ShapeError, TensorLike
from arrows.ops.arrays import Array, HostArray
from arrows.ops.bind import bind, constant
from arrows.ops.context import LazyContext, enter_lazy, leave_lazy
from arrows.ops.primitive import Attributes, Primitive
from arrows.typesys import ArrowTypeError, ArrowValueError, SourceLine
from arrows.typesys import types as T
from arrows.typesys.errors import is_inside, message

if TYPE_CHECKING:
    from arrows.onthefly.network import OnTheFly


class LazyBatch(LazyContext):
    """Records what is computed inside of `with net.batch() as g`, and runs it in large batches.

    Nothing runs before a value is asked for: by `numpy`, by `value_and_grad` or `train_step`, or by a
    generator in `run_all`.  Then what the value needs runs, and the rest stays lazy.

    Attributes:
        net: the network.
        training: whether dropout acts.
        recording: the nodes.
        runs: what has run.
        instance: which instance of `run_all` is being advanced, for dropout; 0: none.
    """

    def __init__(self, net: OnTheFly, *, training: bool, gradients: bool) -> None:
        self.net, self.training = net, training
        self.float_type = net.float_type
        self.recording = Recording()
        self.runs = Runs(net, self.recording, training=training, gradients=gradients)
        self.instance = 0
        self.instances = 0
        self._call_sites = net.call_sites
        self._calls = net.calls
        self._dropout_calls: dict[int, int] = {}
        self._open = False
        self._token: Token[LazyContext | None] | None = None

    def __enter__(self) -> Self:
        if self._token is not None or self._open:
            raise ArrowValueError("a batch is entered once: make another by net.batch()")
        self._open = True
        self._token = enter_lazy(self)
        return self

    def __exit__(self, *error: object) -> None:
        assert self._token is not None
        leave_lazy(self._token)
        self._open = False
        self.runs.release()

    # ------------------------------------------------------------------------------------------------------
    # values that come in

    def zeros(self, type: Any) -> Any:
        """Zeros of a type, as a cell starts from: `g.zeros(cell.state)`, `g.zeros([128])`.

        Args:
            type: a type of tensors and tuples, or a short-hand for one.
        """
        self._check_open("make zeros")
        return self._zeros(T.as_type(type))

    def _zeros(self, type: T.Type) -> Any:
        if isinstance(type, T.Tuple):
            return make_tuple([self._zeros(item) for item in type.items], type.labels)
        if not isinstance(type, T.Tensor):
            raise ArrowTypeError(f"there are no zeros of {type}: only of tensors, and of tuples of such")
        return self.constant(np.zeros(type.shape, self._float(type.dtype)))

    def constant(self, array: HostArray) -> LazyConstant:
        """A constant of the program, which operations are specialised to; equal ones are one."""
        sites = self._call_sites
        number = sites.constant(array)
        return LazyConstant(self, number, sites.intern(T.Tensor(array.shape, array.dtype.name)))

    def tensor(self, value: object, dtype: str | None = None) -> LazyTensor:
        """Numbers of the example as a tensor.

        Args:
            value: a number, an array, or nested lists of numbers.
            dtype: the element type; by default float32 for floats, int32 for integers, bool for truth values.

        Raises:
            ArrowTypeError: it holds no numbers, or some that the element type does not.
        """
        self._check_open("read a value")
        if isinstance(value, LazyTensor):
            return value
        if dtype is None:
            if value.__class__ is int and -0x80000000 <= value < 0x80000000:
                return self._read(self.net.int_type, value)
            if value.__class__ is float:
                return self._read(self.net.float_scalar, value)
        try:
            array = np.asarray(value)
        except ValueError:
            array = np.asarray(None)
        kind = {"f": "float32", "i": "int32", "u": "int32", "b": "bool"}.get(array.dtype.kind)
        if kind is None:
            raise ArrowTypeError(
                message(
                    f"cannot compute with {value!r:.100} at {SourceLine.here()}",
                    reason="it holds no numbers, or lists of different lengths",
                    hint="operations take lazy tensors, numbers, and arrays and lists of numbers; sequences "
                    "of lazy tensors are lists",
                )
            )
        type = self._call_sites.intern(T.Tensor(array.shape, self._float(dtype or kind)))
        try:
            converted = convert(value, type)
        except LeafError as error:
            raise ArrowTypeError(
                message(
                    f"cannot read a value at {SourceLine.here()}",
                    reason=str(error),
                    hint='name another element type: g.tensor(x, "int64")',
                )
            ) from None
        return self._read(type, converted)

    def _float(self, dtype: str) -> str:
        return self.float_type if self.float_type is not None and dtype.startswith("float") else dtype

    def _read(self, type: T.Tensor, value: object) -> LazyTensor:
        site = self._call_sites.read_site(type)
        return LazyTensor(self, self.recording.add_read(site, type, value), type)

    def _value_id(self, x: LazyTensor) -> int:
        """The id of a tensor; a constant is read in when it is wanted as a value."""
        if x.batch is not self:
            self._refuse_foreign(x)
        if x.id < 0:
            assert isinstance(x, LazyConstant)
            x.id = self._read(x.type, self._call_sites.constants[x.number]).id
        return x.id

    # ------------------------------------------------------------------------------------------------------
    # calls

    def call_block(self, block: Any, arguments: tuple[Any, ...]) -> Any:
        if not isinstance(block, core.Apply):
            return self(block, *arguments)
        operands: list[int] = []
        sequences: list[tuple[list[list[int]], int]] = []
        plain: list[tuple[int, object]] = []
        key: list[Any] = [id(block)]
        flatten = self._flatten
        for x in arguments:
            if x.__class__ is LazyTensor and x.batch is self:
                operands.append(x.id)
                key.append(id(x.type))
            else:
                # A constant that is spread over a sequence is no constant of the operation.
                whole = self.whole(x) if _has_list(arguments) else x
                flatten(whole, operands, key, sequences, plain)
        where = self._where(sys._getframe(2))
        key_of_call = (*where, *key)
        site = self._calls.get(key_of_call)
        if site is None:
            self._check_open(f"call {block.label}")
            if _has_list(arguments):
                arguments = self.whole(arguments)
            site = self._add_call(key_of_call, block, arguments)
        return self._visit(site, operands, sequences, plain)

    def call_typed(self, typed: Typed, value: Any) -> Any:
        """Records an occurrence of a typed block on a value: a nested tuple or a list of lazy tensors."""
        operands: list[int] = []
        sequences: list[tuple[list[list[int]], int]] = []
        key: list[Any] = ["typed", id(typed)]
        value = self.whole(value) if _has_list(value) else value
        self._flatten(value, operands, key, sequences, [])
        key_of_call = tuple(key)
        site = self._calls.get(key_of_call)
        if site is None:
            constants: list[tuple[int, int]] = []
            _constants_of(value, 0, constants)
            site = self._call_sites.add_typed(typed, constants, SourceLine.here())
            self.net.blocks.append(typed)
            self._calls[key_of_call] = site
        return self._visit(site, operands, sequences, [])

    def read_as(self, type: T.Tensor, value: object) -> LazyTensor:
        """A value that has been converted to a type."""
        return self._read(self._call_sites.intern(type), value)

    def _flatten(
        self,
        x: Any,
        operands: list[int],
        key: list[Any],
        sequences: list[tuple[list[list[int]], int]],
        plain: list[tuple[int, object]],
    ) -> None:
        """Takes an argument apart into operands, and into what tells signatures apart."""
        if isinstance(x, LazyTensor):
            if x.batch is not self:
                self._refuse_foreign(x)
            if isinstance(x, LazyConstant):
                key.append(("constant", x.number))
                return
            operands.append(x.id)
            key.append(id(x.type))
        elif isinstance(x, tuple):
            key.append("(")
            for item in x:
                self._flatten(item, operands, key, sequences, plain)
            key.append(")")
        elif isinstance(x, list) and any(isinstance(item, (LazyTensor, tuple)) for item in x):
            columns: list[list[int]] = []
            first: list[Any] = []
            for number, item in enumerate(x):
                ids: list[int] = []
                own: list[Any] = []
                self._flatten(self.whole(item), ids, own, sequences, plain)
                if number == 0:
                    first, columns = own, [[] for _ in ids]
                elif own != first:
                    raise ArrowTypeError(
                        message(
                            f"cannot make a sequence at {SourceLine.here()}",
                            reason=f"its element 0 is {type_of(x[0])} and element {number} is "
                            f"{type_of(item)}; all elements of a sequence have one type",
                        )
                    )
                for column, value in zip(columns, ids, strict=True):
                    column.append(value)
            key.extend(("[", *first, "]"))
            sequences.append((columns, len(x)))
        else:
            if isinstance(x, list) and not x:
                raise ArrowTypeError(
                    message(
                        f"cannot make a sequence at {SourceLine.here()}",
                        reason="it has no elements, and so no type",
                        hint="treat an empty list apart: `if xs: ... else: ...`",
                    )
                )
            if isinstance(x, (core.Block, TensorLike)):
                self._refuse_operand(x)
            tensor = self.tensor(x)
            plain.append((len(operands), x))
            operands.append(tensor.id)
            key.append(id(tensor.type))

    def whole(self, item: Any) -> Any:
        """Nested tuples and lists with constants as values."""
        if isinstance(item, tuple):
            return tuple(self.whole(part) for part in item)
        if isinstance(item, list):
            return [self.whole(part) for part in item]
        if isinstance(item, LazyConstant):
            return LazyTensor(self, self._value_id(item), item.type)
        return item

    def _where(self, frame: FrameType | None) -> tuple[int, int]:
        """The call site: the innermost frame of the user's code, and how far it has come."""
        inside = self.net.inside
        while frame is not None:
            code = frame.f_code
            known = inside.get(id(code))
            if known is None:
                known = self._judge(code)
            if not known:
                return id(code), frame.f_lasti
            frame = frame.f_back
        return 0, 0

    def _judge(self, code: CodeType) -> bool:
        """Whether code is the package's own; code is kept, so that its id stays its own."""
        self.net.codes.append(code)
        self.net.inside[id(code)] = is_inside(code.co_filename)
        return self.net.inside[id(code)]

    def _add_call(self, key: tuple[Any, ...], block: core.AnyBlock, arguments: Sequence[Any]) -> CallSite:
        """Adds a call site; the block is kept, so that its id stays its own."""
        constants: list[tuple[int, int]] = []
        argument = arguments[0] if len(arguments) == 1 else tuple(arguments)
        _constants_of(argument, 0, constants)
        site = self._call_sites.add_call(
            block, type_of(argument, self._type_of_plain), constants, SourceLine.here()
        )
        self.net.blocks.append(block)
        self._calls[key] = site
        return site

    def _type_of_plain(self, value: Any) -> T.Type:
        """The type that a plain value is read as."""
        return self.tensor(value).type

    def _visit(
        self,
        site: CallSite,
        operands: list[int],
        sequences: list[tuple[list[list[int]], int]],
        plain: list[tuple[int, object]],
    ) -> Any:
        """Makes the node of a call, and the tensors that it gives."""
        if not self._open:
            self._check_open(f"compute at {site.line}")
        if plain and site.limits:
            self._check_indices(site, plain)
        recording = self.recording
        node = len(recording.site)
        recording.site.append(site.number)
        sources = recording.sources
        sources += operands
        if sequences:
            for columns, _ in sequences:
                for column in columns:
                    sources += column
            recording.lengths[node] = tuple(length for _, length in sequences)
        recording.start.append(len(sources))
        if site.random and self.training:
            count = self._dropout_calls.get(self.instance, 0)
            self._dropout_calls[self.instance] = count + 1
            recording.dropout[node] = self.instance, count
        first = node << OUTPUT_BITS
        pattern = site.pattern
        if pattern == 0:
            return LazyTensor(self, first, site.outputs[0])
        if site.element_sites:
            firsts = {
                domain: recording.add_rows(node, number, sequences[domain][1])
                for domain, (number, _) in site.element_sites.items()
            }
            return self._nested(site, pattern, first, sequences, firsts)
        result = self._results(site, pattern, first)
        return result if site.labels is None else make_tuple(result, site.labels)

    def _results(self, site: CallSite, pattern: Pattern, first: int) -> Any:
        if isinstance(pattern, int):
            return LazyTensor(self, first + pattern, site.outputs[pattern])
        return tuple([self._results(site, part, first) for part in pattern])

    def _nested(
        self,
        site: CallSite,
        pattern: Pattern,
        first: int,
        sequences: list[tuple[list[list[int]], int]],
        firsts: dict[int, int],
    ) -> Any:
        """Results with sequences among them, which become lists."""
        if isinstance(pattern, Elements):
            _, types = site.element_sites[pattern.domain]
            start = firsts[pattern.domain]
            return [
                self._element(pattern.pattern, node << OUTPUT_BITS, types)
                for node in range(start, start + sequences[pattern.domain][1])
            ]
        if isinstance(pattern, int):
            return LazyTensor(self, first + pattern, site.outputs[pattern])
        return tuple(self._nested(site, part, first, sequences, firsts) for part in pattern)

    def _element(self, pattern: Pattern, first: int, types: Sequence[T.Tensor]) -> Any:
        if isinstance(pattern, int):
            return LazyTensor(self, first + pattern, types[pattern])
        return tuple(self._element(part, first, types) for part in pattern)

    def _check_indices(self, site: CallSite, plain: Sequence[tuple[int, object]]) -> None:
        """Refuses a plain number that is used as an index and is out of range."""
        limits = dict(site.limits)
        for place, value in plain:
            limit = limits.get(place)
            if limit is not None and isinstance(value, (int, np.integer)) and not 0 <= value < limit:
                raise ArrowValueError(
                    message(
                        f"cannot look up {value} at {SourceLine.here()}",
                        reason=f"there are {limit} rows, numbered from 0 to {limit - 1}",
                    )
                )

    def call_primitive(
        self, primitive: Primitive, operands: tuple[Any, ...], attributes: Attributes
    ) -> TensorLike:
        where = self._where(sys._getframe(2))
        written = repr(attributes) if attributes else ""  # 0.0 and -0.0 are equal, and do not do the same
        key: list[Any] = [id(primitive), written]
        ids: list[int] = []
        for place, x in enumerate(operands):
            if isinstance(x, LazyTensor):
                if isinstance(x, LazyConstant):
                    key.append(("constant", x.number))
                    continue
                ids.append(x.id)
                key.append(id(x.type))
            elif self._stays_the_same((*where, id(primitive), place), x):
                key.append((x.__class__, x))
            else:
                tensor = self._beside(primitive, operands, x)
                ids.append(tensor.id)
                key.append(id(tensor.type))
        key_of_call = (*where, *key)
        site = self._calls.get(key_of_call)
        if site is None:
            site = self._add_primitive(key_of_call, primitive, operands, attributes, where)
        result: TensorLike = self._visit(site, ids, [], [])
        return result

    def _stays_the_same(self, place: tuple[int, ...], value: object) -> bool:
        """Whether a plain operand has been the same number at every visit: then it is part of the operation.

        A number that changes from visit to visit is data, or each of its values would be an operation.
        """
        if not isinstance(value, (bool, int, float)):
            return False
        numbers = self.net.numbers
        before = numbers.setdefault(place, value)
        if before is value:
            return True
        if before is None or before.__class__ is not value.__class__ or repr(before) != repr(value):
            numbers[place] = None
            return False
        return True

    def _beside(self, primitive: Primitive, operands: tuple[Any, ...], value: object) -> LazyTensor:
        """A plain operand as a tensor, of the element type of the tensor beside it."""
        tensors = [x for x in operands if isinstance(x, TensorLike)]
        try:
            array = constant(value, tensors[0].type)
        except ShapeError as error:
            raise self._refused_operation(primitive, error) from None
        if self.float_type is not None and array.dtype.kind == "f":
            array = array.astype(self.float_type)
        return self._read(self._call_sites.intern(T.Tensor(array.shape, array.dtype.name)), array)

    def _add_primitive(
        self,
        key: tuple[Any, ...],
        primitive: Primitive,
        operands: tuple[Any, ...],
        attributes: Attributes,
        where: tuple[int, int],
    ) -> CallSite:
        self._check_open(f"compute {primitive.name}")
        kept: list[Any] = []
        tensors: list[LazyTensor] = []
        for place, x in enumerate(operands):
            if isinstance(x, LazyTensor):
                kept.append(None)
                tensors.append(x)
            elif self._stays_the_same((*where, id(primitive), place), x):
                kept.append(x)
            else:
                kept.append(None)
                tensors.append(self._beside(primitive, operands, x))

        def compute(*values: TensorLike) -> TensorLike:
            given = iter(values)
            return bind(primitive, *[next(given) if x is None else x for x in kept], like=None, **attributes)

        block: core.AnyBlock = core.Function(compute, name=primitive.name)
        try:
            return self._add_call(key, block, tensors)
        except ArrowTypeError as error:
            raise self._refused_operation(primitive, error) from None

    def _refused_operation(self, primitive: Primitive, error: Exception) -> ArrowTypeError:
        details = getattr(error, "details", None)
        reason = details.reason if details is not None and details.reason else str(error)
        hint = getattr(error, "hint", None) or (details.hint if details is not None else "")
        return ArrowTypeError(
            message(f"cannot compute {primitive.name} at {SourceLine.here()}", reason=reason, hint=hint)
        )

    def call_dropout(self, x: TensorLike, rate: float) -> TensorLike:
        if rate not in self.net.dropouts:
            self.net.dropouts[rate] = core.Function(lambda x: ops.drop(x, rate), name="dropout")
        result: TensorLike = self.call_block(self.net.dropouts[rate], (x,))
        return result

    def __call__(self, block: Any, *arguments: Any) -> Any:
        """Runs a block inside of the batch.

        Args:
            block: any block.
            arguments: an example, for a block that reads one; or lazy tensors, tuples and lists of them, for
                a block of tensors (several are a tuple).

        Returns:
            Its result, of lazy tensors; sequences are lists.

        Raises:
            ArrowTypeError: the block does not take that.
            InputError: the example does not fit.
        """
        self._check_open("run a block")
        return run_block(self, block, arguments)

    def sum(self, tensors: Sequence[Any]) -> LazyTensor:
        """The sum of a list of tensors of one type, in one operation."""
        result: LazyTensor = self.call_block(self.net.sum_block, (list(tensors),))
        return result

    def mean(self, tensors: Sequence[Any]) -> LazyTensor:
        """The mean of a list of tensors of one type, in one operation."""
        result: LazyTensor = self.call_block(self.net.mean_block, (list(tensors),))
        return result

    # ------------------------------------------------------------------------------------------------------
    # values that are asked for

    def numpy(self, value: Any) -> Any:
        """The numbers of a lazy tensor, or of nested tuples, lists and dicts of such, on the host.

        What they need runs, in one run; the rest stays lazy.
        """
        self._check_open("compute a value")
        leaves: list[LazyTensor] = []
        _leaves(value, leaves)
        arrays = iter(self.runs.values([self._value_id(leaf) for leaf in leaves]))
        return _rebuild(value, arrays)

    def value_and_grad(self, loss: LazyTensor) -> tuple[Array, dict[str, Gradient]]:
        """The value of a scalar and its gradients, forward and backward in batches.

        Returns:
            The loss, a scalar of the device; and the gradients by parameter name, as `Model.value_and_grad`
            gives them.

        Raises:
            ArrowTypeError: the loss is no floating scalar.
            ArrowValueError: the batch was made with `gradients=False`, or the loss depends on what was
                computed before a step changed the parameters.
        """
        return self.runs.value_and_grad(self._loss_id(loss))

    def train_step(self, loss: LazyTensor, optimizer: SupportsStep, *, check: Any = None) -> Array:
        """Computes gradients, shows the loss to ``check``, lets the optimizer make a step, returns the loss.

        Raises:
            As `value_and_grad`, and what ``check`` or the optimizer raise.
        """
        return self.runs.train_step(self._loss_id(loss), optimizer, check)

    def run_all(self, instances: Iterable[Generator[Any, Any, Any]]) -> list[Any]:
        """Advances all instances together: each is a generator that yields the values that it must know.

        An instance runs until it yields a lazy tensor, or a tuple, list or dict of some.  When all instances
        that are left wait, everything that they wait for runs in one run, and each gets its numbers: NumPy
        arrays, nested as what it yielded.

        Args:
            instances: generators, such as `parse(sentence)`.

        Returns:
            What each of them returns, in their order.

        Raises:
            ArrowTypeError: one is no generator, or yields what is no lazy tensor.
            Exception: what an instance raises; the others are closed.

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
        self._check_open("run instances")
        return run_all(self, instances)

    @property
    def timelines(self) -> tuple[Timeline, ...]:
        """The schedule of each run that the batch has taken so far."""
        return self.runs.timelines

    def timeline(self, *values: Any) -> Timeline:
        """The schedule of the run that would compute some values, without running it."""
        self._check_open("schedule a run")
        leaves: list[LazyTensor] = []
        _leaves(values, leaves)
        return self.runs.timeline([self._value_id(leaf) for leaf in leaves])

    def _loss_id(self, loss: object) -> int:
        self._check_open("differentiate")
        if not isinstance(loss, LazyTensor) or loss.type.shape or not loss.type.floating:
            what = loss.type if isinstance(loss, LazyTensor) else f"a {type(loss).__name__}"
            raise ArrowTypeError(
                message(
                    f"cannot differentiate at {SourceLine.here()}",
                    reason=f"the loss must be a floating scalar, and it is {what}",
                    hint="put the losses of a batch together: g.mean(losses)",
                )
            )
        return self._value_id(loss)

    # ------------------------------------------------------------------------------------------------------
    # errors

    def origin(self, value: int) -> str:
        """What gave a value, for people."""
        if value < 0 or value >> OUTPUT_BITS >= len(self.recording.site):
            return "a constant"
        return self.net.describe(self.recording.site[value >> OUTPUT_BITS])

    def _check_open(self, attempt: str) -> None:
        if not self._open:
            raise ArrowValueError(
                message(
                    f"cannot {attempt} ({SourceLine.here()})",
                    reason="the batch that its tensors belong to is over, and their memory is given back",
                    hint="bring values out of `with net.batch() as g` as numbers: x.numpy()",
                )
            )

    def _refuse_foreign(self, x: LazyTensor) -> NoReturn:
        raise ArrowTypeError(
            message(
                f"cannot compute at {SourceLine.here()}",
                reason=f"{x!r} belongs to another batch",
                hint="bring its value over as numbers: g.tensor(x.numpy())",
            )
        )

    def _refuse_operand(self, x: object) -> NoReturn:
        if isinstance(x, core.Block):
            reason, hint = f"{x.label} is a block, and no tensor", "call it first: block(x)"
        else:
            reason, hint = "a tensor of a Function got into a batch", "compute with it inside of the Function"
        raise ArrowTypeError(message(f"cannot compute at {SourceLine.here()}", reason=reason, hint=hint))


def _has_list(value: Any) -> bool:
    return isinstance(value, list) or (isinstance(value, tuple) and any(map(_has_list, value)))


def _constants_of(value: Any, leaf: int, constants: list[tuple[int, int]]) -> int:
    """Collects the leaves that are constants; returns the next free leaf."""
    if isinstance(value, LazyConstant):
        constants.append((leaf, value.number))
        return leaf + 1
    if isinstance(value, tuple):
        for item in value:
            leaf = _constants_of(item, leaf, constants)
        return leaf
    if isinstance(value, list) and any(isinstance(item, (LazyTensor, tuple)) for item in value):
        return _constants_of(value[0], leaf, [])
    return leaf + 1


def _leaves(value: Any, leaves: list[LazyTensor]) -> None:
    if isinstance(value, LazyTensor):
        leaves.append(value)
    elif isinstance(value, dict):
        for item in value.values():
            _leaves(item, leaves)
    elif isinstance(value, (tuple, list)):
        for item in value:
            _leaves(item, leaves)
    elif value is not None:
        raise ArrowTypeError(
            message(
                f"cannot compute {value!r:.100} at {SourceLine.here()}",
                reason="it is no lazy tensor, and no tuple, list or dict of such",
            )
        )


def _rebuild(value: Any, arrays: Any) -> Any:
    if isinstance(value, LazyTensor):
        return next(arrays)
    if isinstance(value, dict):
        return {key: _rebuild(item, arrays) for key, item in value.items()}
    if isinstance(value, tuple):
        return make_tuple([_rebuild(item, arrays) for item in value], getattr(value, "labels", None))
    if isinstance(value, list):
        return [_rebuild(item, arrays) for item in value]
    return None
