"""Tracing: runs a function once for each input type, on shapes alone, and records what it does.

A `Trace` is a function on tensors as a list of equations, in single-assignment form; a `TraceRecorder` makes
it.

Random numbers that are drawn while a function is traced would be drawn once and frozen in the trace, so they
are refused.  What proves that a function draws is that it gives other numbers when it is traced again.  It is
traced again where the state of a global generator has moved, NumPy's or that of `random`, or where its code
names what may give other numbers each time.  Neither proves anything alone, since other threads draw from the
global generators too; so a pure function is never refused.  What is not seen: a generator of the user's own
behind names that do not tell it; clocks and counters.
"""

from __future__ import annotations

import ctypes
import pickle
import random
import re
from _random import Random as Mersenne
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from types import CodeType
from typing import Any

import numpy as np

from arrows.arrays import HostArray
from arrows.ops.context import FunctionContext, Parameter, collect, in_own_context, spread
from arrows.ops.errors import FunctionError, ShapeError, explained, line_of
from arrows.ops.primitive import INVARIANT, ROW, Attributes, Primitive
from arrows.ops.random_numbers import GOLDEN, dropout_by_key
from arrows.ops.tensorlike import Operand, TensorLike
from arrows.typesys import ArrowTypeError, ArrowValueError, SourceLine, cached_property, is_inside, types as T


@dataclass(frozen=True, slots=True)
class Var:
    """One value of a trace: its number, the type of one row, and its level (see `arrows.ops.primitive`).

    >>> print(Var(0, T.Tensor((3,)), ROW))
    %0: float32[3] row
    """

    id: int
    type: T.Tensor = field(hash=False)  # the number tells apart the values of a trace
    rows: int = field(hash=False)

    def __str__(self) -> str:
        level = {INVARIANT: "invariant", ROW: "row"}.get(self.rows, f"rows of sequence {self.rows}")
        return f"%{self.id}: {self.type} {level}"


@dataclass(frozen=True, slots=True)
class Equation:
    """`result = primitive(*operands, **attributes)`; attributes are sorted pairs, hashable.

    >>> from arrows.ops import trace
    >>> print(trace(lambda x: x + x, T.Tensor((3,))).equations[0])
    %1: float32[3] row = add(%0, %0)
    """

    primitive: Primitive
    operands: tuple[Var, ...]
    attributes: tuple[tuple[str, Hashable], ...]
    result: Var

    @property
    def reads(self) -> tuple[Var, ...]:
        """What the equation reads: its operands."""
        return self.operands

    @property
    def writes(self) -> tuple[Var, ...]:
        """What it makes: its result."""
        return (self.result,)

    @property
    def call(self) -> str:
        """The right side as text: ``add(%0, %1)``."""
        arguments = [f"%{operand.id}" for operand in self.operands]
        arguments += [f"{name}={value!r}" for name, value in self.attributes]
        return f"{self.primitive.name}({', '.join(arguments)})"

    def __str__(self) -> str:
        return f"{self.result} = {self.call}"


@dataclass(frozen=True, eq=False)
class Trace:
    """What a function on tensors does, as single assignments.

    Args:
        inputs: the tensor leaves of the input type, depth first.
        parameters: (owner layer, description, var), in the order of first use.
        constants: (array, var); the arrays are read-only.
        dropout_key: if the function has dropout, the input with a key for each node, an unsigned 64-bit
            number from the engine.
        equations: in order; each is needed by a result.
        results: the tensor leaves of the output type, depth first.
        output: the output type; a result with the rows of a sequence is a `Sequence`.

    >>> from arrows.ops import trace
    >>> print(trace(lambda x, y: (x @ y.T, x.sum()), T.Tuple((T.Tensor((3,)), T.Tensor((2, 3))))))
    inputs %0: float32[3] row, %1: float32[2, 3] row
    %2: float32[3, 2] row = transpose(%1, axes=(-1, -2))
    %3: float32[2] row = matmul(%0, %2)
    %4: float32 row = sum(%0, axes=(-1,), keepdims=False)
    results %3, %4 : (float32[2], float32)
    """

    inputs: tuple[Var, ...]
    parameters: tuple[tuple[object, Parameter, Var], ...]
    constants: tuple[tuple[HostArray, Var], ...]
    equations: tuple[Equation, ...]
    results: tuple[Var, ...]
    output: T.Type
    dropout_key: Var | None = None

    @cached_property
    def key(self) -> Hashable:
        """Two traces have equal keys exactly if they are the same operation with the same parameters.

        Variables compare by position, owners of parameters by identity, constants by their bytes; the nesting
        of inputs and results in tuples does not count.

        >>> from arrows.ops import trace
        >>> a, b = (trace(f, T.Tensor((3,))) for f in (lambda x: x * 2, lambda y: y * 2.0))
        >>> a.key == b.key
        True
        """
        numbers: dict[int, int] = {}

        def number(var: Var) -> int:
            return numbers.setdefault(var.id, len(numbers))

        inputs = tuple((number(var), var.type, var.rows) for var in self.inputs)
        dropout_key = None if self.dropout_key is None else number(self.dropout_key)
        parameters = tuple(
            (number(var), id(owner), spec.name, spec.shape, spec.dtype)
            for owner, spec, var in self.parameters
        )
        constants = tuple(
            (number(var), array.shape, array.dtype.str, array.tobytes()) for array, var in self.constants
        )
        # The text of the attributes counts too: 0.0 and -0.0 are equal, but give different results.
        equations = tuple(
            (
                e.primitive,  # not its name, under which another may be registered by now
                tuple(map(number, e.operands)),
                e.attributes,
                repr(e.attributes),
                number(e.result),
                e.result.rows,
            )
            for e in self.equations
        )
        return inputs, dropout_key, parameters, constants, equations, tuple(map(number, self.results))

    @cached_property
    def draws(self) -> bool:
        """Whether it draws random numbers, in prediction too; dropout does not."""
        return any(equation.primitive.name == "uniform" for equation in self.equations)

    def __str__(self) -> str:
        lines = ["inputs " + ", ".join(map(str, self.inputs))]
        lines += [f"{var} = parameter {spec.name}" for _, spec, var in self.parameters]
        lines += [
            f"{var} = constant" + (f" {array}" if array.size < 8 else "") for array, var in self.constants
        ]
        lines += map(str, self.equations)
        lines.append("results " + ", ".join(f"%{var.id}" for var in self.results) + f" : {self.output}")
        return "\n".join(lines)


# So often a function is traced again to see a difference, for it may make little of its draws, as a coin
# does: where a global generator has moved, and where its code only has a name of one.
_MOVED, _NAMED = 16, 4


@dataclass(eq=False, repr=False, slots=True)
class Tracer(TensorLike):
    """A tensor of a function that is being recorded: a type and a level, no numbers.

    Attributes:
        context: the recorder that it belongs to.
        var: the variable of the trace that it stands for.

    >>> TraceRecorder().input(T.Tensor((3,)))
    Tracer(%0: float32[3] row)
    """

    context: TraceRecorder
    var: Var

    @property
    def type(self) -> T.Tensor:
        return self.var.type

    @property
    def rows(self) -> int:
        return self.var.rows

    def __repr__(self) -> str:
        return f"Tracer({self.var})"


class TraceRecorder(FunctionContext):
    """Records the operations on its tracers.  Equal equations are recorded once.

    Args:
        float_type: the element type that every floating constant, cast and parameter gets; None leaves them.

    >>> recorder = TraceRecorder()
    >>> x = recorder.input(T.Tensor((3,)))
    >>> y = x * x + x * x
    >>> [equation.primitive.name for equation in recorder.equations]
    ['multiply', 'add']
    """

    def __init__(self, float_type: str | None = None) -> None:
        super().__init__(float_type)
        self.inputs: list[Var] = []
        self.parameters: list[tuple[object, Parameter, Var]] = []
        self.constants: list[tuple[HostArray, Var]] = []
        self.equations: list[Equation] = []
        self.dropout_key: Var | None = None
        self._count = 0
        self._tracers: dict[Hashable, Tracer] = {}
        self._parameter_uses: dict[Hashable, tuple[Tracer, Parameter, SourceLine]] = {}

    def _new(self, kind: T.Tensor, rows: int) -> Tracer:
        var = Var(self._count, kind, rows)
        self._count += 1
        return Tracer(self, var)

    def input(self, type: T.Tensor, rows: int = ROW) -> Tracer:
        """A new input of the function: the type of one row, and its level."""
        tracer = self._new(type, rows)
        self.inputs.append(tracer.var)
        return tracer

    def tracer(self, var: Var) -> Tracer:
        """The tensor that stands for one of this recorder's vars."""
        return Tracer(self, var)

    def constant(self, array: HostArray) -> Tracer:
        """A constant, at level INVARIANT; equal constants share one tracer."""
        dtype = self.float_or(array.dtype.name) if self.float_type else T.dtype_name(array.dtype)
        array = array.astype(dtype, copy=False)
        key = ("constant", array.shape, dtype, array.tobytes())
        if key not in self._tracers:
            array = array.copy()
            array.flags.writeable = False
            tracer = self._tracers[key] = self._new(T.Tensor(array.shape, dtype), INVARIANT)
            self.constants.append((array, tracer.var))
        return self._tracers[key]

    def parameter(self, owner: object, spec: Parameter) -> Tracer:
        """A layer's parameter, at level INVARIANT; the same tracer each time.

        Raises:
            ShapeError: the layer described it otherwise before, for an input of another type.
        """
        if self.float_type is not None:
            spec = replace(spec, dtype=self.float_or(spec.dtype))
        key = id(owner), spec.name
        if key not in self._parameter_uses:
            tracer = self._new(spec.type, INVARIANT)
            self._parameter_uses[key] = tracer, spec, SourceLine.here()
            # This keeps the owner alive, so its id is unique.
            self.parameters.append((owner, spec, tracer.var))
            return tracer
        tracer, first, line = self._parameter_uses[key]
        if differs := first.difference(spec):
            raise ShapeError(
                f"{getattr(owner, 'label', type(owner).__name__)} is called on two types for which its "
                f"parameter {spec.name!r} comes out differently: {differs[0]} at {line}, {differs[1]} here",
                hint="use another layer for the second call",
            )
        return tracer

    def draw_key(self) -> Tracer:
        """The input with the key of dropout and random numbers, one for each node; the same each time."""
        if self.dropout_key is None:
            self.dropout_key = self._new(T.Tensor((), "uint64"), ROW).var
        return Tracer(self, self.dropout_key)

    def dropout(self, x: TensorLike, rate: float) -> TensorLike:
        """Records dropout; each dropout of one function gets its own key, so that their masks differ."""
        key: TensorLike = self.draw_key()
        number = sum(equation.primitive.name == "dropout" for equation in self.equations)
        return dropout_by_key(x, key + (number * GOLDEN) % 2**64 if number else key, rate)

    def apply(
        self,
        primitive: Primitive,
        operands: tuple[Operand, ...],
        attributes: Attributes,
        like: TensorLike | None = None,
    ) -> Tracer:
        """Records one equation, unless an equal one is recorded already."""
        values, type, rows = self.checked(primitive, operands, attributes, like)
        pairs = tuple(sorted(attributes.items())) if attributes else ()
        variables = tuple([value.var for value in values])
        # The text of the attributes counts too: 0.0 and -0.0 are equal, but give different results.
        key = (primitive, *[var.id for var in variables], pairs, repr(pairs))
        tracer = self._tracers.get(key)
        if tracer is None:
            tracer = self._tracers[key] = self._new(type, rows)
            self.equations.append(Equation(primitive, variables, pairs, tracer.var))
        return tracer

    def replay(self, trace: Trace, values: Sequence[Tracer]) -> list[Tracer]:
        """Records what a function did when it was traced, without a call of it; gives its results."""
        tracers: dict[Var, Tracer] = dict(zip(trace.inputs, values, strict=True))
        for owner, spec, var in trace.parameters:
            tracers[var] = self.parameter(owner, spec)
        for array, var in trace.constants:
            tracers[var] = self.constant(array)
        for equation in trace.equations:
            operands = tuple([tracers[var] for var in equation.operands])
            tracers[equation.result] = self.apply(equation.primitive, operands, dict(equation.attributes))
        return [tracers[var] for var in trace.results]

    def forget(self) -> None:
        """Drops the tracers, which refer back to the recorder, so that reference counting frees them all."""
        self._tracers.clear()
        self._parameter_uses.clear()

    def finish(self, results: tuple[Var, ...], output: T.Type) -> Trace:
        """The trace of what has been recorded, without equations and constants that no result needs."""
        needed = {var.id for var in results}
        kept = []
        for equation in reversed(self.equations):
            if equation.result.id in needed:
                needed.update(operand.id for operand in equation.operands)
                kept.append(equation)
        constants = tuple((array, var) for array, var in self.constants if var.id in needed)
        key = self.dropout_key
        return Trace(
            inputs=tuple(self.inputs),
            parameters=tuple(self.parameters),
            constants=constants,
            equations=tuple(reversed(kept)),
            results=results,
            output=output,
            dropout_key=key if key is not None and key.id in needed else None,
        )


@in_own_context
def trace(function: Callable[..., Any], input: T.Type, *, float_type: str | None = None) -> Trace:
    """Runs a function on the shapes of one example and records what it does.

    A tensor type calls `function(x)`; a tuple type calls `function(*items)`, nested tuples as Python tuples;
    a `Sequence(E)` is one tensor-like (or a Python tuple of them, if E is a tuple) that stands for all of its
    elements.

    Args:
        function: pure; returns a tensor, a number, or tuples, lists, dicts, NamedTuples, dataclasses of them.
        input: its input type.
        float_type: every floating element type becomes this one.

    Raises:
        ShapeError: the tensors do not fit, the input type is none of these, the result has parts that are not
            tensors, or the function draws random numbers, which would be drawn once.
        FunctionError: the function raised something else, which is chained.

    >>> print(trace(lambda x: {"twice": x * 2, "half": x / 2}, T.Tensor(())).output)
    (twice: float32, half: float32)
    """
    if float_type is not None:
        input = T.with_float(input, float_type)
    before = global_states()
    traced = _traced(function, input, float_type)
    times = _MOVED if global_states() != before else _NAMED if names_a_source(function) else 0
    for _ in range(times):
        if _numbers(_traced(function, input, float_type)) != _numbers(traced):
            raise ShapeError(
                f"{where_defined(function)} gives other numbers when it is traced again: those of the first "
                "time would be the same for every example and every batch",
                hint="draw random numbers by ops.normal or ops.uniform, which draw anew at each visit and "
                "step; use ar.Dropout; or make them before, outside of the function, if they are constants",
            )
    return traced


def _traced(function: Callable[..., Any], input: T.Type, float_type: str | None) -> Trace:
    recorder = TraceRecorder(float_type)
    arguments = spread(input, recorder.input)
    with recorder:
        try:
            returned = function(*arguments)
        except (ArrowTypeError, ArrowValueError):
            raise
        except Exception as error:
            refused: ShapeError | FunctionError | None = explained(error)
            if refused is None:
                words = f"{type(error).__name__}: {error}".removesuffix(": ").replace("'Tracer'", "tensor")
                refused = FunctionError(f"{_name(function)} raised {words}")
            refused.site = line_of(error)
            raise refused from error
    leaves, output = collect(returned, recorder, _name(function))
    for leaf in leaves:
        if leaf.context is not recorder:
            raise ShapeError(f"{_name(function)} returned a tensor of another function call")
    finished = recorder.finish(tuple([leaf.var for leaf in leaves]), output)
    recorder.forget()
    return finished


def _numbers(traced: Trace) -> tuple[str, list[bytes]]:
    """What a trace computes, as what can be compared."""
    return str(traced), [array.tobytes() for array, _ in traced.constants]


def _name(function: object) -> str:
    code = getattr(function, "__code__", None)  # builtins and what functools wraps have none
    if code is not None and is_inside(code.co_filename) and hasattr(function, "__self__"):
        return type(function.__self__).__name__  # a layer, whose caller in the library is traced
    return str(getattr(function, "__name__", None) or repr(function))


_SOURCE = re.compile(
    "random|^rand|rng|generator|integers|choice|shuffle|permut|^next$|uuid|secrets", re.IGNORECASE
)  # not `normal` and `uniform`, as operations are called
_NUMPY_BYTES = 624 * 4 + 4  # the key of NumPy's generator, and the position in it
_HEAD = object.__basicsize__


def global_states() -> tuple[object, ...]:
    """The states of the generators that all of a process shares: NumPy's, and Python's.

    They are read from memory: through their methods that takes 80 us and 17 us, and a trace 150 us.  Both
    draw normal numbers in pairs: NumPy's object keeps the second one within itself, Python's as an attribute.
    """
    generator = np.random.mtrand.get_bit_generator()
    if type(generator) is np.random.MT19937:
        state = ctypes.string_at(generator.ctypes.state_address, _NUMPY_BYTES)
    else:
        state = pickle.dumps(generator.state)
    numpy, python = np.random.random.__self__, random.random.__self__  # type: ignore[attr-defined]
    return state, _memory(numpy, np.random.RandomState), _memory(python, Mersenne), python.gauss_next


def _memory(generator: object, kind: type) -> bytes:
    """What an object holds of the fields of this class."""
    return ctypes.string_at(id(generator) + _HEAD, kind.__basicsize__ - _HEAD)


def names_a_source(function: object) -> bool:
    """Whether a function's code has a name of what may give other numbers each time.

    >>> names_a_source(lambda x: x + np.random.default_rng().normal()), names_a_source(lambda x: x + 1)
    (True, False)
    """
    code = _own_code(function)
    return code is not None and any(map(_SOURCE.search, _names_in(code)))


def where_defined(function: object) -> str:
    """``name (file:line)`` of the code that the user wrote.

    >>> where_defined(len)
    'len'
    """
    code = _own_code(function)
    if code is None:
        return str(getattr(function, "__name__", None) or repr(function))
    name = code.co_qualname.rpartition("<locals>.")[2]
    return f"{name} ({SourceLine(code.co_filename, code.co_firstlineno)})"


def _own_code(function: object) -> CodeType | None:
    """The code of a function, or of the `forward` of a layer whose method of the library is called."""
    function = getattr(function, "func", function)  # that of a `functools.partial`
    called = getattr(type(function), "__call__", None)  # noqa: B004  of an object that may be called
    code: CodeType | None = getattr(function, "__code__", None) or getattr(called, "__code__", None)
    if code is not None and is_inside(code.co_filename):
        owner = type(getattr(function, "__self__", None))
        code = getattr(getattr(owner, "forward", None), "__code__", None)
    return None if code is None or is_inside(code.co_filename) else code


def _names_in(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    yield from code.co_freevars
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names_in(constant)
