"""Writes an update rule in C, for devices with kernels: the rule runs once on symbols, which record it.

There is one description of a rule, `Rule.update`.  On arrays it computes; here its operands stand for one
number of each array, and every call of the array module becomes a line of C.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

_BINARY = {
    "add": "{} + {}",
    "subtract": "{} - {}",
    "multiply": "{} * {}",
    "divide": "{} / {}",
    "true_divide": "{} / {}",
    "power": "pow({}, {})",
    "maximum": "OPTIMIZER_MAX({}, {})",
    "minimum": "OPTIMIZER_MIN({}, {})",
}
_UNARY = {
    "sqrt": "sqrt({})",
    "exp": "exp({})",
    "log": "log({})",
    "tanh": "tanh({})",
    "abs": "fabs({})",
    "absolute": "fabs({})",
    "negative": "-({})",
    "square": "{0} * {0}",
    "sign": "OPTIMIZER_SIGN({})",
}
# In C, `sqrt` computes in double, and rounds the result to float: that is what `sqrtf` gives, and a division
# or a sum is rounded once more.  The others are within a rounding of NumPy's.
_TYPES = {"float32": "float", "float64": "double"}
_DOUBLE = np.dtype("float64")

FUNCTIONS = """\
#ifndef OPTIMIZER_MAX
#define OPTIMIZER_MAX(a, b) ((a) > (b) || (a) != (a) ? (a) : (b))
#define OPTIMIZER_MIN(a, b) ((a) < (b) || (a) != (a) ? (a) : (b))
#define OPTIMIZER_SIGN(a) ((a) != (a) ? (a) : ((a) > 0) - ((a) < 0))
#endif
"""


class NotRecordable(Exception):
    """A rule does what symbols cannot record; it runs on arrays then."""


@dataclass(slots=True)
class RuleRecorder:
    """What a rule has done so far.

    Attributes:
        lines: of C.
        numbers: the Python numbers that it used, in the order of their use.
    """

    lines: list[str]
    numbers: list[float]

    def new(self, text: str, dtype: str) -> Symbol:
        """A new variable with a value."""
        name = f"v{len(self.lines)}"
        self.lines.append(f"{_TYPES[dtype]} {name} = {text};")
        return Symbol(self, name, dtype)

    def operand(self, value: object, dtype: str) -> str:
        """An operand in C; a Python number becomes one of ``numbers``, rounded to the other's type."""
        if isinstance(value, Symbol):
            return value.name
        if isinstance(value, bool) or not isinstance(value, (int, float, np.floating)):
            raise NotRecordable(f"an operand of type {type(value).__name__}")
        self.numbers.append(float(value))
        return f"({_TYPES[dtype]})number[{len(self.numbers) - 1}]"

    def apply(self, form: str, operands: tuple[Any, ...], out: Symbol | None) -> Symbol:
        """Records an element-wise operation."""
        double = any(isinstance(operand, Symbol) and operand.dtype == _DOUBLE for operand in operands)
        dtype = "float64" if double else "float32"
        text = form.format(*(self.operand(operand, dtype) for operand in operands))
        if out is None:
            return self.new(text, dtype)
        self.lines.append(f"{out.name} = {text};")
        return out


def _operator(form: str, reverse: bool = False) -> Callable[[Symbol, Any], Symbol]:
    def operator(self: Symbol, other: object) -> Symbol:
        return self.recorder.apply(form, (other, self) if reverse else (self, other), None)

    return operator


def _in_place(form: str) -> Callable[[Symbol, Any], Symbol]:
    def operator(self: Symbol, other: object) -> Symbol:
        return self.recorder.apply(form, (self, other), self)

    return operator


class Symbol:
    """One number of an array: a variable in C."""

    __slots__ = ("dtype", "name", "recorder")
    shape: tuple[int, ...] = ()
    ndim = 0
    __array_ufunc__ = None  # NumPy's numbers then leave operators to this class
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, recorder: RuleRecorder, name: str, dtype: str) -> None:
        self.recorder, self.name, self.dtype = recorder, name, np.dtype(dtype)

    __add__, __radd__, __iadd__ = _operator("{} + {}"), _operator("{} + {}", True), _in_place("{} + {}")
    __sub__, __rsub__, __isub__ = _operator("{} - {}"), _operator("{} - {}", True), _in_place("{} - {}")
    __mul__, __rmul__, __imul__ = _operator("{} * {}"), _operator("{} * {}", True), _in_place("{} * {}")
    __truediv__, __rtruediv__ = _operator("{} / {}"), _operator("{} / {}", True)
    __itruediv__ = _in_place("{} / {}")
    __pow__, __rpow__ = _operator("pow({}, {})"), _operator("pow({}, {})", True)

    def __neg__(self) -> Symbol:
        return self.recorder.apply("-({})", (self,), None)

    def __bool__(self) -> bool:
        raise NotRecordable("a decision on a number")

    def __eq__(self, other: object) -> bool:
        raise NotRecordable("a comparison")

    def astype(self, dtype: Any) -> Symbol:
        """The number as another type."""
        name = np.dtype(dtype).name
        if name not in _TYPES:
            raise NotRecordable(f"the element type {name}")
        return self.recorder.new(f"({_TYPES[name]}){self.name}", name)


class RecordingModule:
    """Stands for the array module while a rule is recorded."""

    def __init__(self, recorder: RuleRecorder) -> None:
        self._recorder = recorder

    def __getattr__(self, name: str) -> Callable[..., Symbol]:
        form = _BINARY.get(name) or _UNARY.get(name)
        if form is None:
            raise NotRecordable(f"xp.{name}")

        def function(*operands: object, out: Symbol | None = None) -> Symbol:
            return self._recorder.apply(form, operands, out)

        return function

    def empty(self, shape: object, dtype: Any) -> Symbol:
        """A new variable."""
        return self._recorder.new("0", np.dtype(dtype).name)


@dataclass(frozen=True, slots=True)
class RuleCode:
    """A rule in C.

    Attributes:
        dtype: the element type of the parameter, and of the arrays of its state.
        slots: the names of these arrays.
        lines: reads and writes the variables ``parameter``, ``gradient``, ``slot0``, ...; reads ``scale``,
            the double ``count`` where rows differ in it, and the array ``number``.
        numbers: how many numbers there are.
    """

    dtype: str
    slots: tuple[str, ...]
    lines: tuple[str, ...]
    numbers: int

    @property
    def type(self) -> str:
        """The element type in C."""
        return _TYPES[self.dtype]


def record(
    run: Callable[..., None], slots: Mapping[str, object], dtype: str, *, scaled: bool, count: int | None
) -> tuple[RuleCode, list[float]] | None:
    """A rule in C, and the numbers that this step uses; None if symbols cannot record it.

    The code is the same from step to step: learning rates and powers of decays are among the numbers.

    Args:
        run: ``run(xp, parameter, gradient, slots, buffer, scratch, scale=, step=)`` takes a step.
        slots: the names of the arrays of the state.
        dtype: the element type.
        scaled: whether gradients are clipped.
        count: how many steps have changed the parameter; None: each row has its own count.
    """
    if dtype not in _TYPES:
        return None
    recorder = RuleRecorder([], [])

    def symbol(name: str, of: str = dtype) -> Symbol:
        return Symbol(recorder, name, of)

    state = {slot: symbol(f"slot{number}") for number, slot in enumerate(slots)}
    try:
        run(
            RecordingModule(recorder),
            symbol("parameter"),
            symbol("gradient"),
            state,
            symbol("buffer"),
            symbol("scratch"),
            scale=symbol("scale") if scaled else None,
            step=symbol("count", "float64") if count is None else count,
        )
    except (NotRecordable, TypeError, AttributeError):
        return None
    return RuleCode(dtype, tuple(slots), tuple(recorder.lines), len(recorder.numbers)), recorder.numbers
