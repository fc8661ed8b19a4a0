"""`check_primitive`: checks that a primitive's rule, kernel, vjp, lift and sum_rows agree."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise, product
from typing import Any

import numpy as np
import numpy.typing as npt

from arrows.arrays import Array, HostArray
from arrows.engine.device import Device, get_device, host_array
from arrows.ops import Primitive, RowSparse, Segments, bind
from arrows.testing.gradients import Elements, check_close, check_grads
from arrows.typesys import Tensor

_ROWS = (0, 1, 3)
# Offsets of sequences of 0 to 5 elements: one sequence, gaps at each end and inside, none with elements.
_OFFSETS = ([0], [0, 5], [0, 2, 2, 5], [0, 0, 1, 4, 4, 5], [0, 1, 2, 3, 4, 5], [0, 0, 0])


def check_primitive(
    primitive: Primitive,
    *operands: npt.ArrayLike,
    device: str = "cpu",
    tolerance: float = 1e-6,
    gradients: bool = True,
    **attributes: Any,
) -> None:
    """Checks that a primitive's rule, kernel, vjp, lift and sum_rows agree on one example and its variations.

    The operands are those of one example. The batches have 0, 1 and 3 rows, which are changed copies of them
    (floats scaled by positive numbers, others rolled), with and without rows for each operand.

    Args:
        primitive: what to check.
        operands: arrays; floating ones should be float64.  Those of a segmented primitive are sequences, with
            at least 5 elements along axis 0; of one that collapses them, the first alone.
        device: where the kernels run: `"cpu"`, `"cuda"`, or `"fake"`, which refuses what a GPU cannot do or
            what would make the host wait, on a machine without one.
        tolerance: of gradients; values must agree to 1e-9.
        gradients: whether the vjp is checked (on the host).
        attributes: of the primitive.

    Raises:
        AssertionError: two of them disagree.

    >>> from arrows.ops import get
    >>> check_primitive(get("multiply"), np.array([1.0, 2.0]), np.array([3.0, 4.0]))
    >>> check_primitive(get("multiply"), np.array([1.0, 2.0]), np.array([3.0, 4.0]), device="fake")
    """
    arrays = [np.asarray(operand) for operand in operands]
    check = _Check(primitive, arrays, attributes, get_device(device))
    if primitive.segmented:
        check.over_segments()
    else:
        check.one_example()
        for has_rows in product((False, True), repeat=len(arrays)):
            for count in _ROWS:
                check.over_rows(has_rows, count)
    if not gradients:
        return
    given: list[Any] = list(arrays)
    function: Callable[..., Any] = partial(bind, primitive, **attributes)
    if primitive.segmented and "domain" in attributes:
        given = [arrays[0], Elements(np.zeros(4))]
        function = lambda x, like: bind(primitive, x, like=like, domain=0)  # noqa: E731
    elif primitive.segmented and primitive.collapses:
        given[0] = Elements(arrays[0])
    elif primitive.segmented:
        given = [Elements(*arrays)]  # of one sequence
        function = lambda xs: bind(primitive, *(xs if isinstance(xs, tuple) else (xs,)), **attributes)  # noqa: E731
    check_grads(function, *given, tolerance=tolerance)


@dataclass(frozen=True)
class _Check:
    """The checks of one primitive on the operands of one example."""

    primitive: Primitive
    arrays: list[HostArray]
    attributes: dict[str, Any]
    device: Device

    def one_example(self) -> None:
        """The kernel gives the shape and the element type that the rule says."""
        type = self.primitive.rule(*map(_type, self.arrays), **self.attributes)
        kernel = self.primitive.kernel(self.device.xp, **self.attributes)
        operands = list(map(self.device.to_device, self.arrays))
        result = host_array(kernel(*operands))
        if result.shape != type.shape or result.dtype.name != type.dtype:
            name = self.primitive.name
            raise AssertionError(f"{name}: kernel gives {result.dtype}{result.shape}, rule says {type}")
        self._out(kernel, operands, result)

    def over_rows(self, has_rows: tuple[bool, ...], count: int) -> None:
        """The lifted kernel gives, row by row, what the kernel gives for each example alone."""
        primitive, attributes, xp = self.primitive, self.attributes, self.device.xp
        types = tuple(map(_type, self.arrays))
        lifted = primitive.lift(attributes, has_rows, types)
        if not any(has_rows):
            if lifted != attributes:
                name = primitive.name
                raise AssertionError(f"{name}: lift changes the attributes where nothing has rows")
            return
        name = f"{primitive.name} with rows {has_rows} over {count} rows"
        type = primitive.rule(*types, **attributes)
        alone = primitive.kernel(np, **attributes)
        examples = [
            [_variant(array, i) if has else array for array, has in zip(self.arrays, has_rows, strict=True)]
            for i in range(count)
        ]
        wanted = np.zeros((count, *type.shape), type.dtype)
        for i, example in enumerate(examples):
            wanted[i] = alone(*example)
        stacked = [
            np.array([example[j] for example in examples], array.dtype).reshape(count, *array.shape)
            if has
            else array
            for j, (array, has) in enumerate(zip(self.arrays, has_rows, strict=True))
        ]
        operands = list(map(self.device.to_device, stacked))
        self._kernel(primitive.kernel(xp, **lifted), operands, wanted, name)
        if primitive.additive and all(has_rows):
            summed = [array.sum(axis=0, dtype=array.dtype) for array in stacked]
            check_close(alone(*summed), wanted.sum(axis=0), 1e-9, f"{name}, summed first")
        reduce = primitive.sum_rows and primitive.sum_rows(xp, has_rows, types, **lifted)
        if reduce:
            total = reduce(*operands)
            total = total.to_dense(xp) if isinstance(total, RowSparse) else total
            check_close(host_array(total), wanted.sum(axis=0), 1e-9, f"{name}, sum_rows")
            out = self._filled(type.shape, type.dtype)
            reduce(*operands, out=out)
            check_close(host_array(out), wanted.sum(axis=0), 1e-9, f"{name}, sum_rows with out")

    def over_segments(self) -> None:
        """The lifted kernel gives for sequences of many lengths what the kernel gives for each alone."""
        primitive, attributes, xp = self.primitive, self.attributes, self.device.xp
        types = tuple(map(_type, self.arrays))
        spread = "domain" in attributes  # from one row for each sequence to a row for each element
        sequences = 0 if spread else 1 if primitive.collapses else len(types)
        types = tuple(
            Tensor(type.shape[1:], type.dtype) if number < sequences else type  # that of one element
            for number, type in enumerate(types)
        )
        type = primitive.rule(*types, **attributes)
        alone = primitive.kernel(np, **attributes)
        lifted = primitive.lift(attributes, (True,) * len(self.arrays), types)
        kernel = primitive.kernel(xp, **lifted)
        for bounds in _OFFSETS:
            ranges = list(pairwise(bounds))
            count, total = len(ranges), bounds[-1]
            if attributes.get("default", 0) is None and any(a == b for a, b in ranges):
                continue
            rows = [array[:total] for array in self.arrays[:sequences]]
            for array in self.arrays[sequences:]:
                variants = np.array([_variant(array, i) for i in range(count)], array.dtype)
                rows.append(variants.reshape(count, *array.shape))
            wanted = np.zeros((count if primitive.collapses else total, *type.shape), type.dtype)
            for i, (a, b) in enumerate(ranges):
                single = Segments.of(np, np.array([0, b - a]))
                target: int | slice = i if primitive.collapses else slice(a, b)
                example = [
                    array[a:b] if number < sequences else array[i] for number, array in enumerate(rows)
                ]
                wanted[target] = np.reshape(alone(*example, segments=single), wanted[target].shape)
            on_host = Segments.of(np, np.array(bounds))
            offsets = self.device.to_device(np.array(bounds))
            ids = self.device.to_device(host_array(on_host.ids))
            known = replace(on_host, offsets=offsets, ids=ids)
            for segments in (known, Segments.of(xp, offsets, total)):
                name = f"{primitive.name} over segments {bounds}"
                operands = list(map(self.device.to_device, rows))
                self._kernel(kernel, operands, wanted, name, segments=segments)

    def _kernel(
        self,
        kernel: Callable[..., Array],
        operands: list[Array],
        wanted: HostArray,
        name: str,
        **extra: Segments,
    ) -> None:
        result = host_array(kernel(*operands, **extra))
        check_close(result, wanted, 1e-9, name)
        if result.dtype != wanted.dtype:
            raise AssertionError(f"{name}: {result.dtype}, rule says {wanted.dtype}")
        self._out(kernel, operands, wanted, **extra)

    def _out(
        self, kernel: Callable[..., Array], operands: list[Array], wanted: HostArray, **extra: Segments
    ) -> None:
        """The kernel overwrites `out` with the result, also where `out` is a part of a larger array."""
        name, shape, dtype = self.primitive.name, wanted.shape, wanted.dtype.name
        targets = [self._filled(shape, dtype)]
        if shape:
            targets.append(self._filled((*shape[:-1], shape[-1] + 2), dtype)[..., 1:-1])
        if self.primitive.elementwise:
            copies = [self.device.to_device(host_array(x).copy()) for x in operands]
            if copies and copies[0].shape == shape and copies[0].dtype.name == dtype:
                result = kernel(*copies, out=copies[0], **extra)
                check_close(host_array(result), wanted, 1e-12, f"{name} in place")
        for out in targets:
            if kernel(*operands, out=out, **extra) is not out:
                raise AssertionError(f"{name}: the kernel does not return its out")
            check_close(host_array(out), wanted, 1e-12, f"{name} with out")

    def _filled(self, shape: tuple[int, ...], dtype: str) -> Array:
        return self.device.to_device(np.full(shape, 7).astype(dtype))


def _variant(array: HostArray, i: int) -> HostArray:
    """Another operand of the same kind: floats keep their sign, integers stay in range."""
    if array.dtype.kind == "f":
        return array * (1 + 0.125 * i)
    return np.roll(array.reshape(-1), i).reshape(array.shape)


def _type(array: HostArray) -> Tensor:
    return Tensor(array.shape, array.dtype.name)
