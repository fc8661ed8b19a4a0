"""Checks for functions and primitives: derivatives against finite differences, lifted against one by one.

For the tests of this package, and for anyone who registers a primitive.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from typing import Any

import numpy as np

from arrows.ops.context import Parameter
from arrows.ops.evaluate import Evaluation, Value
from arrows.ops.primitive import INVARIANT, ROW, Primitive
from arrows.ops.rowsparse import RowSparse
from arrows.ops.segments import Segments
from arrows.ops.structure import collect
from arrows.ops.trace import Trace
from arrows.typesys.types import Tensor

NumpyArray = np.ndarray[Any, Any]


class Elements:
    """An argument of `check_grads` that is a sequence: arrays with the elements along axis 0.

    Args:
        arrays: one, or several of equal length for a sequence of tuples.

    >>> len(Elements(np.zeros((4, 2))).arrays)
    1
    """

    def __init__(self, *arrays: Any) -> None:
        self.arrays = tuple(np.asarray(array) for array in arrays)


@dataclass(frozen=True)
class Device:
    """Where `check_primitive` runs kernels: an array module and the ways there and back.

    >>> Device(np, np.asarray, np.asarray).xp is np
    True
    """

    xp: Any
    to_device: Callable[[NumpyArray], Any]
    to_numpy: Callable[[Any], NumpyArray]


HOST = Device(np, np.asarray, np.asarray)


def check_close(got: Any, wanted: Any, tolerance: float, what: str) -> None:
    """Raise AssertionError unless |got - wanted| <= tolerance * (1 + max|wanted|), shapes included.

    >>> check_close(np.ones(2), np.ones(3), 1e-9, "sum")
    Traceback (most recent call last):
    ...
    AssertionError: sum: shape (2,), expected (3,)
    """
    got, wanted = np.asarray(got), np.asarray(wanted)
    if got.shape != wanted.shape:
        raise AssertionError(f"{what}: shape {got.shape}, expected {wanted.shape}")
    if got.dtype == bool or not got.size:
        worst, scale = float((got != wanted).any()), 0.0
    else:
        worst, scale = float(np.max(np.abs(got - wanted))), float(np.max(np.abs(wanted)))
    if not worst <= tolerance * (1 + scale):
        raise AssertionError(f"{what}: off by {worst:.3g} (tolerance {tolerance}): {got} and {wanted}")


def check_grads(
    function: Callable[..., Any],
    *arguments: Any,
    parameters: Callable[[Any, Parameter], NumpyArray] | None = None,
    tolerance: float = 1e-6,
    step: float = 1e-6,
    seed: int = 0,
) -> None:
    """Check the gradients of a function on tensors against central finite differences, in float64.

    All floating inputs and all parameters of layers that the function calls are checked, in the direction of
    random cotangents.  The function should be smooth within `step` of the arguments.

    Args:
        function: takes tensors and tuples of them, as a Function does; layers may be called in it.
        arguments: arrays, `Elements` for sequences, and tuples of them.
        parameters: gives the parameters' values; their initializers by default.
        tolerance: of |a - b| / (1 + max|b|).
        step: of the differences.
        seed: of cotangents and parameters.

    Raises:
        AssertionError: a gradient is off.

    >>> from arrows import ops
    >>> check_grads(lambda x, w: ops.tanh(x @ w), np.ones(2), np.array([[0.1, 0.2], [0.3, 0.4]]))
    """
    generator = np.random.default_rng(seed)
    values: dict[tuple[Any, str], NumpyArray] = {}
    inputs = [
        np.array(array, "float64" if np.asarray(array).dtype.kind == "f" else None)
        for array in _flat(arguments)
    ]
    cotangents: list[NumpyArray] = []

    def lookup(owner: Any, spec: Parameter) -> NumpyArray:
        key = (owner, spec.name)
        if key not in values:
            made = (
                parameters(owner, spec) if parameters else spec.initializer(generator, spec.shape, "float64")
            )
            values[key] = np.array(made, "float64")
        return values[key]

    def run(record: bool) -> tuple[Evaluation, list[Value], list[Value]]:
        evaluation = Evaluation(lookup, record=record, float_type="float64")
        wrapped: list[Value] = []
        with evaluation:
            returned = function(*_wrap(arguments, iter(inputs), evaluation, wrapped))
        return evaluation, wrapped, collect(returned, evaluation, "the function")[0]

    def objective() -> float:
        _, _, results = run(record=False)
        return sum(float(np.sum(r.array * c)) for r, c in zip(results, cotangents, strict=True))

    evaluation, wrapped, results = run(record=True)
    cotangents += [np.asarray(generator.standard_normal(result.array.shape)) for result in results]
    gradients = evaluation.backward(list(zip(results, cotangents, strict=True)))
    cases = [(f"input {i}", inputs[i], gradients.get(v)) for i, v in enumerate(wrapped)]
    cases += [(f"parameter {name}", values[owner, name], gradients[owner, name]) for owner, name in values]
    for what, array, gradient in cases:
        if array.dtype.kind == "f":
            wanted = _differences(objective, array, step)
            got = np.zeros_like(array) if gradient is None else gradient
            check_close(got, wanted, tolerance, f"gradient of {what}")


def check_primitive(
    primitive: Primitive,
    *operands: Any,
    device: Device = HOST,
    tolerance: float = 1e-6,
    gradients: bool = True,
    **attributes: Any,
) -> None:
    """Hold a primitive's rule, kernel, vjp, lift and sum_rows against each other on one example.

    The operands are those of one example; the batches are made of changed copies of them (floats scaled by
    positive numbers, others rolled), of 0, 1 and 3 rows, with and without rows for each operand.

    Args:
        primitive: what to check.
        operands: arrays; floating ones should be float64.  For a segmented primitive the first is a sequence,
            with at least 5 elements along axis 0.
        device: where the kernels run.
        tolerance: of gradients; values are held to 1e-9.
        gradients: whether the vjp is checked (on the host).
        attributes: of the primitive.

    Raises:
        AssertionError: two of them disagree.

    >>> from arrows.ops import get
    >>> check_primitive(get("multiply"), np.array([1.0, 2.0]), np.array([3.0, 4.0]))
    """
    arrays = [np.asarray(operand) for operand in operands]
    if primitive.segmented:
        _check_segmented(primitive, arrays, device, attributes)
    else:
        _check_kernel(primitive, arrays, device, attributes)
        for has_rows in product((False, True), repeat=len(arrays)):
            for n in (0, 1, 3):
                _check_lifted(primitive, arrays, has_rows, n, device, attributes)
    if gradients:
        from arrows.ops.bind import bind

        if primitive.segmented and "domain" in attributes:
            like = Elements(np.zeros(4))
            check_grads(
                lambda x, other: bind(primitive, x, like=other, domain=0),
                arrays[0],
                like,
                tolerance=tolerance,
            )
            return
        given = [Elements(arrays[0]), *arrays[1:]] if primitive.segmented else arrays
        check_grads(lambda *xs: bind(primitive, *xs, **attributes), *given, tolerance=tolerance)


def run_lifted(
    trace: Trace,
    inputs: Sequence[Any],
    parameters: Mapping[tuple[Any, str], Any] | None = None,
    segments: Mapping[int, Segments] | None = None,
    device: Device = HOST,
) -> list[Any]:
    """Run a trace over many rows at once, equation by equation: plain, slow, and what an engine's code must
    equal.

    Args:
        trace: what to run.
        inputs: arrays on the device, each with its rows in front.
        parameters: by (owner, name), on the device.
        segments: of each sequence, by its number.
        device: the array module, and how constants get there.

    Returns:
        The results; one that does not depend on the example has no row axis.

    >>> from arrows.ops import trace
    >>> run_lifted(trace(lambda x: x.sum(), Tensor((2,), "float64")), [np.ones((3, 2))])[0].tolist()
    [2.0, 2.0, 2.0]
    """
    values: dict[Any, Any] = dict(zip(trace.inputs, inputs, strict=True))
    values |= {var: device.to_device(array) for array, var in trace.constants}
    values |= {var: (parameters or {})[owner, spec.name] for owner, spec, var in trace.parameters}
    for equation in trace.equations:
        has_rows = tuple(var.rows != INVARIANT for var in equation.operands)
        types = tuple(var.type for var in equation.operands)
        attributes = equation.primitive.lift(dict(equation.attributes), has_rows, types)
        run = equation.primitive.kernel(device.xp, **attributes)
        extra = {}
        if equation.primitive.segmented:
            domain = max(var.rows for var in (*equation.operands, equation.result))
            extra["segments"] = (segments or {})[domain]
        values[equation.result] = run(*(values[var] for var in equation.operands), **extra)
    return [values[var] for var in trace.results]


def _flat(arguments: Any) -> list[NumpyArray]:
    found: list[NumpyArray] = []
    stack = list(reversed(arguments))
    while stack:
        item = stack.pop()
        if isinstance(item, Elements):
            found += item.arrays
        elif isinstance(item, tuple):
            stack.extend(reversed(item))
        else:
            found.append(np.asarray(item))
    return found


def _wrap(arguments: Any, inputs: Any, evaluation: Evaluation, wrapped: list[Value]) -> tuple[Any, ...]:
    sequences = 0

    def leaf(rows: int) -> Value:
        wrapped.append(evaluation.value(next(inputs), rows))
        return wrapped[-1]

    def wrap(item: Any) -> Any:
        nonlocal sequences
        if isinstance(item, Elements):
            values = tuple(leaf(sequences) for _ in item.arrays)
            sequences += 1
            return values if len(values) > 1 else values[0]
        return tuple(map(wrap, item)) if isinstance(item, tuple) else leaf(ROW)

    return tuple(map(wrap, arguments))


def _differences(objective: Callable[[], float], array: NumpyArray, step: float) -> NumpyArray:
    found = np.zeros_like(array)
    for place in np.ndindex(array.shape):
        old = array[place]
        array[place] = old + step
        above = objective()
        array[place] = old - step
        found[place] = (above - objective()) / (2 * step)
        array[place] = old
    return found


def _variant(array: NumpyArray, i: int) -> NumpyArray:
    """Another operand of the same kind: floats keep their sign, integers stay in range."""
    if array.dtype.kind == "f":
        return array * (1 + 0.125 * i)
    return np.roll(array.reshape(-1), i).reshape(array.shape)


def _type(array: NumpyArray) -> Tensor:
    return Tensor(array.shape, array.dtype.name)


def _check_kernel(
    primitive: Primitive, arrays: list[NumpyArray], device: Device, attributes: dict[str, Any]
) -> NumpyArray:
    kind = primitive.rule(*map(_type, arrays), **attributes)
    run = primitive.kernel(device.xp, **attributes)
    given = list(map(device.to_device, arrays))
    result = device.to_numpy(run(*given))
    if result.shape != kind.shape or result.dtype.name != kind.dtype:
        raise AssertionError(f"{primitive.name}: kernel gives {result.dtype}{result.shape}, rule says {kind}")
    _check_out(primitive, run, given, kind.shape, kind.dtype, result, device)
    return result


def _check_out(
    primitive: Primitive,
    run: Callable[..., Any],
    given: list[Any],
    shape: tuple[int, ...],
    dtype: str,
    wanted: NumpyArray,
    device: Device,
    **extra: Any,
) -> None:
    """The result goes to `out`, whatever was there, also into a part of a larger array."""
    fill = np.full(shape, 7).astype(dtype)
    wide = device.to_device(np.full((*shape[:-1], shape[-1] + 2), 7).astype(dtype)) if shape else None
    targets = [device.to_device(fill)]
    if wide is not None:
        targets.append(wide[..., 1:-1])
    if primitive.elementwise:
        copies = [device.to_device(device.to_numpy(x).copy()) for x in given]
        if copies and copies[0].shape == shape and copies[0].dtype.name == dtype:
            got = run(*copies, out=copies[0], **extra)
            check_close(device.to_numpy(got), wanted, 1e-12, f"{primitive.name} in place")
    for out in targets:
        got = run(*given, out=out, **extra)
        if got is not out:
            raise AssertionError(f"{primitive.name}: the kernel does not return its out")
        check_close(device.to_numpy(out), wanted, 1e-12, f"{primitive.name} with out")


def _check_lifted(
    primitive: Primitive,
    arrays: list[NumpyArray],
    has_rows: tuple[bool, ...],
    n: int,
    device: Device,
    attributes: dict[str, Any],
) -> None:
    if not any(has_rows):
        if primitive.lift(attributes, has_rows, tuple(map(_type, arrays))) != attributes:
            raise AssertionError(f"{primitive.name}: lift changes the attributes where nothing has rows")
        return
    what = f"{primitive.name} with rows {has_rows} over {n} rows"
    types = tuple(map(_type, arrays))
    kind = primitive.rule(*types, **attributes)
    one = primitive.kernel(np, **attributes)
    rows = [[_variant(a, i) if has else a for a, has in zip(arrays, has_rows, strict=True)] for i in range(n)]
    wanted = np.zeros((n, *kind.shape), kind.dtype)
    for i in range(n):
        wanted[i] = one(*rows[i])
    stacked = [
        np.array([row[j] for row in rows], a.dtype).reshape(n, *a.shape) if has else a
        for j, (a, has) in enumerate(zip(arrays, has_rows, strict=True))
    ]
    lifted = primitive.lift(attributes, has_rows, types)
    run = primitive.kernel(device.xp, **lifted)
    given = list(map(device.to_device, stacked))
    result = device.to_numpy(run(*given))
    check_close(result, wanted, 1e-9, what)
    if result.dtype.name != kind.dtype:
        raise AssertionError(f"{what}: {result.dtype}, rule says {kind}")
    _check_out(primitive, run, given, wanted.shape, kind.dtype, wanted, device)
    if primitive.additive and all(has_rows):
        summed = [a.sum(axis=0, dtype=a.dtype) for a in stacked]
        check_close(one(*summed), wanted.sum(axis=0), 1e-9, f"{what}, summed first")
    reduce = primitive.sum_rows and primitive.sum_rows(device.xp, has_rows, types, **lifted)
    if reduce:
        total = reduce(*given)
        total = total.to_dense(device.xp) if isinstance(total, RowSparse) else total
        check_close(device.to_numpy(total), wanted.sum(axis=0), 1e-9, f"{what}, sum_rows")
        out = device.to_device(np.full(kind.shape, 7).astype(kind.dtype))
        reduce(*given, out=out)
        check_close(device.to_numpy(out), wanted.sum(axis=0), 1e-9, f"{what}, sum_rows with out")


_BOUNDS = ([0], [0, 5], [0, 2, 2, 5], [0, 0, 1, 4, 4, 5], [0, 1, 2, 3, 4, 5], [0, 0, 0])


def _check_segmented(
    primitive: Primitive, arrays: list[NumpyArray], device: Device, attributes: dict[str, Any]
) -> None:
    types = tuple(map(_type, arrays))
    spread = "domain" in attributes
    if not spread:
        types = (Tensor(arrays[0].shape[1:], arrays[0].dtype.name), *types[1:])
    kind = primitive.rule(*types, **attributes)
    one = primitive.kernel(np, **attributes)
    lifted = primitive.lift(attributes, (True,) * len(arrays), types)
    run = primitive.kernel(device.xp, **lifted)
    for bounds in _BOUNDS:
        count, total = len(bounds) - 1, bounds[-1]
        empty = any(a == b for a, b in pairwise(bounds))
        if empty and attributes.get("default", 0) is None:
            continue
        if spread:
            rows = np.array([_variant(arrays[0], i) for i in range(count)]).reshape(count, *arrays[0].shape)
        else:
            rows = arrays[0][:total]
        host = Segments.of(np, np.array(bounds))
        shape = (count if primitive.collapses else total, *kind.shape)
        wanted = np.zeros(shape, kind.dtype)
        for i in range(count):
            part = slice(bounds[i], bounds[i + 1])
            single = Segments.of(np, np.array([0, bounds[i + 1] - bounds[i]]))
            where: Any = i if primitive.collapses else part
            wanted[where] = one(rows[i] if spread else rows[part], segments=single)
        sent = device.to_device(np.array(bounds)), device.to_device(host.ids)
        for segments in (
            Segments(*sent, count, total, host.longest, host.gapless),
            Segments.of(device.xp, sent[0], total),
        ):
            what = f"{primitive.name} over segments {bounds}"
            given = [device.to_device(rows)]
            result = device.to_numpy(run(*given, segments=segments))
            check_close(result, wanted, 1e-9, what)
            if result.dtype.name != kind.dtype:
                raise AssertionError(f"{what}: {result.dtype}, rule says {kind}")
            _check_out(primitive, run, given, wanted.shape, kind.dtype, wanted, device, segments=segments)


__all__ = ["HOST", "Device", "Elements", "check_close", "check_grads", "check_primitive", "run_lifted"]
