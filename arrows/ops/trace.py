"""A function on tensors as a list of equations, in single-assignment form."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field

from arrows.arrays import HostArray
from arrows.ops.context import Parameter
from arrows.ops.primitive import INVARIANT, ROW, Primitive
from arrows.typesys import cached_property, types as T


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
