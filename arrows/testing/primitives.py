"""`check_primitive`: one primitive's rule, kernel, vjp, lift and sum_rows held against each other."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise, product
from typing import Any

import numpy as np

from arrows.ops import Primitive, RowSparse, Segments
from arrows.testing.gradients import HOST, Elements, KernelDevice, check_close, check_grads
from arrows.typesys.types import Tensor

NumpyArray = np.ndarray[Any, Any]


def check_primitive(
    primitive: Primitive,
    *operands: Any,
    device: KernelDevice = HOST,
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
        from arrows.ops import bind

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


def _variant(array: NumpyArray, i: int) -> NumpyArray:
    """Another operand of the same kind: floats keep their sign, integers stay in range."""
    if array.dtype.kind == "f":
        return array * (1 + 0.125 * i)
    return np.roll(array.reshape(-1), i).reshape(array.shape)


def _type(array: NumpyArray) -> Tensor:
    return Tensor(array.shape, array.dtype.name)


def _check_kernel(
    primitive: Primitive, arrays: list[NumpyArray], device: KernelDevice, attributes: dict[str, Any]
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
    device: KernelDevice,
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
    device: KernelDevice,
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
    primitive: Primitive, arrays: list[NumpyArray], device: KernelDevice, attributes: dict[str, Any]
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
        sent = device.to_device(np.array(bounds)), device.to_device(np.asarray(host.ids))
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
