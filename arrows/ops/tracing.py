"""Tracing: runs a function once for each input type, on shapes alone, and records what it does."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from arrows.arrays import HostArray
from arrows.ops import miscalls
from arrows.ops.context import Parameter
from arrows.ops.dropout import dropout_by_key
from arrows.ops.errors import FunctionError, ShapeError
from arrows.ops.function_context import FunctionContext
from arrows.ops.innermost import in_own_context
from arrows.ops.primitive import INVARIANT, ROW, Attributes, Primitive
from arrows.ops.random_guard import global_states, names_a_source, where_defined
from arrows.ops.splitmix import GOLDEN
from arrows.ops.structure import collect, spread
from arrows.ops.tensorlike import Operand, TensorLike
from arrows.ops.trace import Equation, Trace, Var
from arrows.typesys import ArrowTypeError, ArrowValueError, SourceLine, is_inside, types as T

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
            refused: ShapeError | FunctionError | None = miscalls.explained(error)
            if refused is None:
                words = f"{type(error).__name__}: {error}".removesuffix(": ").replace("'Tracer'", "tensor")
                refused = FunctionError(f"{_name(function)} raised {words}")
            refused.site = miscalls.line_of(error)
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
