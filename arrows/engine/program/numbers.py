"""How single numbers of values are read and computed, in C or in Python, and the loops around them.

A place of a value is a row and a column, the number's place in the row as it lies in memory.  Slices, joins,
reshapes and look-ups are no code of their own: they only say which place of an operand is read.

The loop nest of a `RowMap` is Python source for numba.  NumPy passes over memory once for each equation; in
one loop a row's values stay in registers from the first operand to the last result.  The loop nest is two
loops, over rows and over places of a row.  To make that possible a vector is cut wherever anything is sliced
or joined, and pieces of one length share a loop.

The same equations are computed in the same order; only the rounding of `tanh` and `sigmoid`
(`arrows.engine.device.kernel`) differs from NumPy's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import prod
from typing import Any

from arrows.engine.program.instructions import RowMap, box_of_slice
from arrows.ops import GOLDEN, INVARIANT, ROW, Equation, Primitive, Var

TYPES: Mapping[str, str] = {
    "float32": "float",
    "float64": "double",
    "bool": "unsigned char",
    "int8": "signed char",
    "int16": "short",
    "int32": "int",
    "int64": "long long",
    "uint8": "unsigned char",
    "uint16": "unsigned short",
    "uint32": "unsigned int",
    "uint64": "unsigned long long",
}
"""The element types of kernels; what has another one is left to the array module."""

# Written so that not-a-number passes through every function, as it does in NumPy's.  NVRTC reads no headers,
# where the host finds INFINITY.
FUNCTIONS = """\
#ifndef ARROWS_FUNCTIONS
#define ARROWS_FUNCTIONS
#ifndef INFINITY
  #define INFINITY __int_as_float(0x7f800000)
  #define NAN __int_as_float(0x7fffffff)
#endif
#ifdef LANES
#elif defined(__CUDACC__) || defined(__CUDACC_RTC__)
  #define LANES 32
  #define LANE_SWAP(x, s) __shfl_xor_sync(0xffffffffu, x, s)
#else
  #define LANES 1
  #define LANE_SWAP(x, s) (x)
#endif
FUNCTION float sigmoidf(float x) { float e = expf(x > 88.0f ? 88.0f : x); return e / (e + 1.0f); }
FUNCTION double sigmoid(double x) { double e = exp(x > 709.0 ? 709.0 : x); return e / (e + 1.0); }
FUNCTION float softplusf(float x) { return (x > 0.0f ? x : 0.0f) + log1pf(expf(-fabsf(x))); }
FUNCTION double softplus(double x) { return (x > 0.0 ? x : 0.0) + log1p(exp(-fabs(x))); }
FUNCTION long long whole_power(long long x, long long n) {
  long long result = 1;
  for (; n > 0; --n) result *= x;
  return result;
}
FUNCTION unsigned long long finalise(unsigned long long x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
  return x ^ (x >> 31);
}
FUNCTION unsigned long long hashed(unsigned long long key, long long place) {
  return finalise(finalise(key + GOLDENULL) + (unsigned long long)(place + 1) * GOLDENULL);
}
FUNCTION long long clipped(long long index, long long size) {
  return index < 0 ? 0 : index < size ? index : size - 1;
}
#endif
""".replace("GOLDENULL", f"{GOLDEN}ULL")
"""What stands before a kernel; `clipped` keeps an index that is out of range inside of the memory."""


class NotInC(Exception):
    """No kernel can do it; the array module does."""


def c_type(var: Var) -> str:
    """The C type of a value's numbers."""
    if var.type.dtype not in TYPES:
        raise NotInC(var.type.dtype)
    return TYPES[var.type.dtype]


def number(value: float, dtype: str) -> str:
    """A Python number as C."""
    if dtype in ("float32", "float64"):
        text = repr(float(value)).replace("inf", "INFINITY").replace("nan", "NAN")
        return f"({TYPES[dtype]})({text})"
    if dtype == "uint64":
        return f"{int(value)}ULL"
    return f"({TYPES[dtype]})({int(value)}LL)"


BY_TYPE = frozenset({"abs", "cast", "power"})
"""Primitives whose C depends on element types or attributes; others say it themselves."""


def is_in_c(primitive: Primitive) -> bool:
    """Whether an element-wise primitive can be written in C."""
    return primitive.c is not None or primitive.name in BY_TYPE


def in_c(primitive: Primitive, operands: Sequence[str], dtype: str, attributes: Mapping[str, Any]) -> str:
    """An element-wise primitive, as an expression in C.

    Args:
        primitive: one that `is_in_c`.
        operands: names of numbers.
        dtype: the element type of the first.
        attributes: of the equation.
    """
    x, f, real = operands[0], "f" if dtype == "float32" else "", dtype in ("float32", "float64")
    if primitive.c is not None:
        return primitive.c.format(*operands, f=f)
    match primitive.name, attributes:
        case "abs", _:
            return f"fabs{f}({x})" if real else f"({x} < 0 ? -{x} : {x})"
        case "cast", {"dtype": to}:
            return f"({x} != 0)" if to == "bool" else f"({TYPES[to]}){x}"
        case "power", {"exponent": exponent}:
            return f"pow{f}({x}, {number(exponent, dtype)})" if real else f"whole_power({x}, {int(exponent)})"
    raise AssertionError(primitive)


IN_LOOPS = frozenset({
    "abs", "add", "divide", "floor", "multiply", "negative", "relu", "round", "sigmoid", "sign", "sqrt",
    "square", "subtract", "tanh",
})  # fmt: skip
"""The element-wise primitives of loops for numba; `arrows.engine.device.kernel` defines their functions."""


def in_python(primitive: Primitive, operands: Sequence[str]) -> str:
    """One of `IN_LOOPS` of names of numbers, as an expression in Python."""
    if primitive.name in ("abs", "relu", "sign") or primitive.c is None:
        return f"{primitive.name}({', '.join(operands)})"
    return primitive.c.format(*operands, f="")


@dataclass(frozen=True, slots=True)
class RowPlace:
    """A place in a row: an expression plus a constant.

    Attributes:
        moving: an expression from 0 on, or empty.
        offset: what is added.
        length: how many values ``moving`` takes.
    """

    moving: str
    offset: int
    length: int

    def __str__(self) -> str:
        if not self.moving:
            return str(self.offset)
        return f"{self.moving} + {self.offset}" if self.offset else self.moving

    def moved(self, by: int) -> RowPlace:
        """The place so much further on."""
        return RowPlace(self.moving, self.offset + by, self.length)


def column(expression: str, size: int) -> RowPlace:
    """A place in a row of so many numbers."""
    return RowPlace("", 0, 1) if size <= 1 else RowPlace(f"({expression})", 0, size)


def place(row: str, size: int, at: RowPlace) -> str:
    """Where a number lies, of rows that lie together."""
    return f"{row} * {size} + {at}" if size > 1 else row


def quotient(at: RowPlace, size: int, count: int) -> RowPlace:
    """The place divided by a number."""
    if size == 1:
        return at
    if not at.moving:
        return RowPlace("", at.offset // size, 1)
    return column(f"({at}) / {size}", count)


def remainder(at: RowPlace, size: int) -> RowPlace:
    """The rest of the place divided by a number."""
    if size == 1:
        return RowPlace("", 0, 1)
    if not at.moving:
        return RowPlace("", at.offset % size, 1)
    return column(f"({at}) % {size}", size)


def split(at: RowPlace, shape: Sequence[int]) -> list[RowPlace]:
    """The place along each axis."""
    if len(shape) == 1:
        return [at]
    items, size = [], prod(shape)
    for axis, count in enumerate(shape):
        size //= max(count, 1)
        outer = quotient(at, size, prod(shape[: axis + 1]))
        items.append(outer if axis == 0 else remainder(outer, count))
    return items


def join(items: Sequence[RowPlace], shape: Sequence[int]) -> RowPlace:
    """The place in a row, from the place along each axis."""
    if len(shape) == 1:
        return items[0]
    offset, parts, size = 0, [], prod(shape)
    total = size
    for item, count in zip(items, shape, strict=True):
        size //= max(count, 1)
        offset += item.offset * size
        if item.moving:
            parts.append(f"{item.moving} * {size}" if size > 1 else item.moving)
    if not parts:
        return RowPlace("", offset, 1)
    return RowPlace(f"({' + '.join(parts)})", offset, max(total - offset, 1))


def spread(at: RowPlace, shape: Sequence[int], operand: Sequence[int]) -> RowPlace:
    """The place of an operand that is spread over a shape of as many axes."""
    if tuple(shape) == tuple(operand):
        return at
    if prod(operand) == 1:
        return RowPlace("", 0, 1)
    items = [
        RowPlace("", 0, 1) if own == 1 else item for item, own in zip(split(at, shape), operand, strict=True)
    ]
    return join(items, operand)


def sliced(at: RowPlace, shape: Sequence[int], key: Sequence[Any], operand: Sequence[int]) -> RowPlace:
    """The place of an operand that a slice reads."""
    items, axes = [], iter(split(at, shape))
    for axis, size in enumerate(operand):
        entry = key[axis] if axis < len(key) else (0, size, 1)
        if isinstance(entry, int):
            items.append(RowPlace("", entry, 1))
            continue
        item, places = next(axes), range(*slice(*entry).indices(size))
        first = places[0] if places else 0
        if places.step == 1:
            items.append(item.moved(first))
        elif not item.moving:
            items.append(RowPlace("", first + places.step * item.offset, 1))
        else:
            items.append(column(f"{first} + {places.step} * ({item})", size))
    return join(items, operand)


INDEXING = {
    "index", "reshape", "transpose", "broadcast_to", "concat", "pad_slice", "lookup", "one_hot",
    "outer", "dropout", "stop_gradient",
}  # fmt: skip
"""Primitives that are not element-wise, each number of whose result is made of few of the operands'."""


class CodeBlock:
    """Lines of a block, and the names of the numbers that are there.

    Args:
        fresh: gives a name that is not used yet.
        outer: the block around.
        head: what stands before the block.
        elements: of a loop over the elements of a row, the names of the element and of the row.
    """

    def __init__(
        self,
        fresh: Callable[[], str],
        outer: CodeBlock | None = None,
        head: str = "",
        elements: tuple[str, str] | None = None,
    ) -> None:
        self.fresh, self.outer, self.head, self.elements = fresh, outer, head, elements
        self.lines: list[str] = []
        self.names: dict[tuple[Var, str, RowPlace], str] = {}

    def find(self, key: tuple[Var, str, RowPlace]) -> str | None:
        """The name of a number, here or in a block around."""
        scope: CodeBlock | None = self
        while scope is not None:
            if key in scope.names:
                return scope.names[key]
            scope = scope.outer
        return None

    def owner(self, element: str) -> str | None:
        """The name of the row over whose elements a loop around goes; None if there is no such loop."""
        scope: CodeBlock | None = self
        while scope is not None:
            if scope.elements is not None and scope.elements[0] == element:
                return scope.elements[1]
            scope = scope.outer
        return None

    def inner(self, head: str, elements: tuple[str, str] | None = None) -> CodeBlock:
        """A block in this one; `close` ends it, behind the lines that this one has by then."""
        return CodeBlock(self.fresh, self, head, elements)

    def close(self, inner: CodeBlock) -> None:
        """Ends a block."""
        self.lines += [inner.head + " {", *("  " + line for line in inner.lines), "}"]

    def name(self, type: str, expression: str) -> str:
        """A new name for the value of an expression."""
        fresh = self.fresh()
        self.lines.append(f"{type} {fresh} = {expression};")
        return fresh


class NumberWriter:
    """Writes the code of numbers.

    Args:
        inside: the equations whose results are computed where they are read, by result.

    Attributes:
        formulas: values whose numbers are computed of what is known of the whole row.
    """

    def __init__(self, inside: Iterable[Equation]) -> None:
        self.inside: Mapping[Var, Equation] = {equation.result: equation for equation in inside}
        self.formulas: dict[Var, Callable[[CodeBlock, RowPlace], str]] = {}
        self._count = 0

    def fresh(self) -> str:
        """A name that is not used yet."""
        self._count += 1
        return f"v{self._count}"

    def value(self, scope: CodeBlock, var: Var, row: str, at: RowPlace) -> str:
        """The name of a number; lines that compute it are added to the scope, or to one around."""
        key = (var, "" if var.rows == INVARIANT else row, at)
        scope = self.home(scope, var, row, at)
        there = scope.find(key)
        if there is None:
            equation = self.inside.get(var)
            if var in self.formulas:
                there = self.formulas[var](scope, at)
            elif equation is None:
                there = self.load(scope, var, row, at)
            else:
                there = self.compute(scope, equation, row, at)
            if not there.isidentifier():
                there = self.named(scope, var, there)
            scope.names[key] = there
        return there

    # ----------------------------------------------------- what differs between C and Python, and in kernels

    def home(self, scope: CodeBlock, var: Var, row: str, at: RowPlace) -> CodeBlock:
        """The block in which a number is computed, once for all that read it there."""
        return scope

    def load(self, scope: CodeBlock, var: Var, row: str, at: RowPlace) -> str:
        """A number of a value that is made elsewhere."""
        raise NotInC(f"%{var.id} of {var.type.size} numbers lies nowhere")

    def named(self, scope: CodeBlock, var: Var, value: str) -> str:
        """A new name for a number of a value."""
        return scope.name(c_type(var), value)

    def element(self, equation: Equation, operands: list[str]) -> str:
        """An element-wise equation of names of numbers."""
        return in_c(equation.primitive, operands, equation.operands[0].type.dtype, dict(equation.attributes))

    # ------------------------------------------------------------------------------------------ computing

    def compute(self, scope: CodeBlock, equation: Equation, row: str, at: RowPlace) -> str:
        """A number of an equation's result, as an expression."""
        name, operands = equation.primitive.name, equation.operands
        shape = equation.result.type.shape
        attributes: dict[str, Any] = dict(equation.attributes)

        def operand(var: Var, place: RowPlace) -> str:
            return self.value(scope, var, row, place)

        if is_in_c(equation.primitive):
            read = [operand(var, spread(at, shape, var.type.shape)) for var in operands]
            return self.element(equation, read)
        x = operands[0]
        if name not in INDEXING:
            raise NotInC(name)
        match name:
            case "reshape" | "stop_gradient":
                return operand(x, at)
            case "index":
                return operand(x, sliced(at, shape, attributes["key"], x.type.shape))
            case "transpose":
                items = split(at, shape)
                back = [items[attributes["axes"].index(axis - x.type.ndim)] for axis in range(x.type.ndim)]
                return operand(x, join(back, x.type.shape))
            case "broadcast_to":
                return operand(x, spread(at, shape, (1,) * (len(shape) - x.type.ndim) + x.type.shape))
            case "outer":
                i, j = split(at, shape)
                return f"{operand(x, i)} * {operand(operands[1], j)}"
            case "concat":
                return self._joined(scope, equation, row, at)
            case "pad_slice":
                return self._padded(scope, equation, row, at)
            case "dropout":
                least = number(int(attributes["rate"] * 2**64), "uint64")
                dropped = f"(hashed({operand(operands[1], RowPlace('', 0, 1))}, {at}) < {least})"
                scale = number(1 / (1 - attributes["rate"]), x.type.dtype)
                return f"{operand(x, at)} * ({c_type(x)})(!{dropped}) * {scale}"
            case "lookup":
                size = prod(x.type.shape[1:])
                index = operand(operands[1], quotient(at, size, prod(shape) // max(size, 1)))
                first = scope.name("const long long", f"clipped({index}, {x.type.shape[0]}) * {size}")
                moved = column(f"{first} + ({remainder(at, size)})", x.type.size)
                return operand(x, moved)
            case "one_hot":
                size = attributes["size"]
                outer = quotient(at, size, prod(shape[:-1]))
                dtype = TYPES[equation.result.type.dtype]
                return f"({dtype})({operand(x, outer)} == {remainder(at, size)})"
        raise AssertionError(name)

    def _joined(self, scope: CodeBlock, equation: Equation, row: str, at: RowPlace) -> str:
        """A number of a join: that of the part whose range it is in."""
        shape = equation.result.type.shape
        axis: Any = dict(equation.attributes)["axis"]
        items = split(at, shape)
        along = items[axis]
        start = 0
        total = ""
        for part in equation.operands:
            stop = start + part.type.shape[axis]
            inside = [*items]
            if start <= along.offset and along.offset + along.length <= stop:  # known beforehand
                inside[axis] = along.moved(-start)
                return self.value(scope, part, row, join(inside, part.type.shape))
            if along.offset < stop and start < along.offset + along.length:
                total = total or scope.name(c_type(equation.result), "0")
                inside[axis] = column(f"{along} - {start}", stop - start)
                condition = f"{along} >= {start} && {along} < {stop}"
                self._set_if(scope, condition, total, part, row, join(inside, part.type.shape))
            start = stop
        return total

    def _padded(self, scope: CodeBlock, equation: Equation, row: str, at: RowPlace) -> str:
        """A number of a slice put back into zeros."""
        (x,) = equation.operands
        shape = equation.result.type.shape
        attributes: dict[str, Any] = dict(equation.attributes)
        inside, conditions = [], []
        for axis, item in enumerate(split(at, shape)):
            key = attributes["key"][axis] if axis < len(attributes["key"]) else (0, shape[axis], 1)
            places = range(*slice(*(key if isinstance(key, tuple) else (key, key + 1))).indices(shape[axis]))
            step, first = places.step, places.start
            offset = f"({item} - {first})" if step > 0 else f"({first} - {item})"
            conditions.append(f"{offset} >= 0 && {offset} % {abs(step)} == 0")
            conditions.append(f"{offset} / {abs(step)} < {len(places)}")
            if isinstance(key, tuple):
                inside.append(column(f"{offset} / {abs(step)}", len(places)))
        total = scope.name(c_type(x), "0")
        self._set_if(scope, " && ".join(conditions), total, x, row, join(inside, x.type.shape))
        return total

    def _set_if(self, scope: CodeBlock, condition: str, total: str, var: Var, row: str, at: RowPlace) -> None:
        """Sets a name to a number where a condition holds."""
        block = scope.inner(f"if ({condition})")
        block.lines.append(f"{total} = {self.value(block, var, row, at)};")
        scope.close(block)


def are_in_c(equations: Iterable[Equation]) -> bool:
    """Whether all equations are element-wise ones that have been written in C, on numbers that C has."""
    return all(is_in_c(each.primitive) and each.result.type.dtype in TYPES for each in equations)


def element_lines(
    equations: Sequence[Equation], numbers: Mapping[Var, str | float], results: Iterable[Var]
) -> tuple[list[str], list[str]]:
    """Lines of C that compute one number of each result, and the names of these numbers.

    Args:
        equations: element-wise ones of numbers, in order.
        numbers: expressions in C, or constants, for what they read besides.
        results: values that the equations make, or that they read.
    """
    writer = NumberWriter(equations)
    for var, value in numbers.items():
        text = value if isinstance(value, str) else number(value, var.type.dtype)
        writer.formulas[var] = lambda scope, at, text=text: text  # type: ignore[misc]
    scope = CodeBlock(writer.fresh)
    names = [writer.value(scope, var, "r", RowPlace("", 0, 1)) for var in results]
    return scope.lines, names


LOOP_TYPE = "float32"
"""The element type of loops for numba."""


def can_write(equation: Equation) -> bool:
    """Whether an equation can be part of a loop nest over rows."""
    name, result = equation.primitive.name, equation.result
    types = [var.type for var in (result, *equation.operands)]
    if result.rows != ROW or any(t.dtype != LOOP_TYPE or len(t.shape) > 1 or t.size == 0 for t in types):
        return False
    if name == "index":
        key: Any = dict(equation.attributes)["key"]
        return len(key) == 1 and (isinstance(key[0], int) or key[0][2] == 1)
    if name in ("reshape", "stop_gradient", "concat"):
        return all(var.rows == ROW for var in equation.operands)
    return name in IN_LOOPS


def python_source(loops: RowMap) -> str:
    """The function ``chain(operands..., results...)``, in the order of ``reads`` and ``writes``.

    Args:
        loops: a `RowMap` of equations that `can_write` allows.
    """
    arrays = {var: f"x{n}" for n, var in enumerate(loops.reads)}
    results = {var: f"y{n}" for n, var in enumerate(loops.writes)}
    writer = _LoopWriter(loops, arrays)
    row = CodeBlock(writer.fresh)
    for length, starts in pieces(loops.equations, loops.results):
        loop = row if length == 1 else CodeBlock(writer.fresh, row)
        at = RowPlace("j", 0, length) if length > 1 else RowPlace("", 0, 1)
        places = [(var, at.moved(start)) for var, start in starts]
        values = [writer.value(loop, var, "r", place) for var, place in places]
        for (var, place), value in zip(places, values, strict=True):
            loop.lines.append(f"{results[var]}{_subscript(var, place)} = {value}")
        if length > 1:
            row.lines += [f"for j in range({length}):", *("    " + line for line in loop.lines)]
    head = f"def chain({', '.join([*arrays.values(), *results.values()])}):"
    rows = f"    for r in range({results[loops.writes[0]]}.shape[0]):"
    return "\n".join([head, rows, *("        " + line for line in row.lines)]) + "\n"


class _LoopWriter(NumberWriter):
    """Writes numbers in Python; what no loop over places changes is computed once a row."""

    def __init__(self, loops: RowMap, arrays: dict[Var, str]) -> None:
        super().__init__(loops.equations)
        self.arrays = arrays

    def home(self, scope: CodeBlock, var: Var, row: str, at: RowPlace) -> CodeBlock:
        return scope if at.moving or scope.outer is None else scope.outer

    def load(self, scope: CodeBlock, var: Var, row: str, at: RowPlace) -> str:
        return self.arrays[var] + _subscript(var, at)

    def named(self, scope: CodeBlock, var: Var, value: str) -> str:
        name = self.fresh()
        scope.lines.append(f"{name} = {value}")
        return name

    def element(self, equation: Equation, operands: list[str]) -> str:
        return in_python(equation.primitive, operands)


def _subscript(var: Var, at: RowPlace) -> str:
    index = [*([] if var.rows == INVARIANT else ["r"]), *([str(at)] if var.type.shape else [])]
    return f"[{', '.join(index) or '()'}]"


def pieces(equations: Sequence[Equation], results: Sequence[Var]) -> list[tuple[int, list[tuple[Var, int]]]]:
    """The lengths of the pieces of results, and of each length the pieces: the value, where the piece starts.

    Pieces of one length share a loop, in which each number is computed once: of a cell's gates, which lie
    side by side, and of its state.
    """
    cuts = _cuts(equations)
    found: dict[int, list[tuple[Var, int]]] = {}
    for var in results:
        for start, stop in pairwise(sorted(cuts[var])):
            found.setdefault(stop - start, []).append((var, start))
    return sorted(found.items())


def _cuts(equations: Sequence[Equation]) -> dict[Var, set[int]]:
    """The places where each row is cut, so that whatever is read together is cut alike."""
    cuts: dict[Var, set[int]] = {}
    readers: dict[Var, list[Equation]] = {}
    for equation in equations:
        for var in {equation.result, *equation.operands}:
            cuts.setdefault(var, {0, var.type.size})
            readers.setdefault(var, []).append(equation)
    pending = list(equations)
    while pending:
        equation = pending.pop()
        for operand, first, start, length in _parts(equation):
            last = first + length
            down = {c - first + start for c in (*cuts[equation.result], first, last) if first <= c <= last}
            up = {c - start + first for c in (*cuts[operand], *down) if start <= c <= start + length}
            for var, more in ((operand, down), (equation.result, up)):
                if not more <= cuts[var]:
                    cuts[var] |= more
                    pending.extend(readers[var])
    return cuts


def _parts(equation: Equation) -> list[tuple[Var, int, int, int]]:
    """Which ranges of a result's row are ranges of operands: the operand, where the range starts in the
    result, where in the operand, and how long it is."""
    result, name = equation.result, equation.primitive.name
    if name == "index":
        box = box_of_slice(equation) or ()
        return [(equation.operands[0], 0, box[0][0], result.type.size)] if len(box) == 1 else []
    if name == "concat":
        if result.type.ndim != 1:
            return []
        parts, start = [], 0
        for operand in equation.operands:
            parts.append((operand, start, 0, operand.type.size))
            start += operand.type.size
        return parts
    if name in ("reshape", "stop_gradient") or equation.primitive.elementwise:
        return [
            (operand, 0, 0, result.type.size)
            for operand in equation.operands
            if operand.type.size == result.type.size
        ]
    return []
