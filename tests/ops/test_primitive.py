"""Registering primitives, and checks that catch a wrong one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import arrows as ar
from arrows import ops
from arrows.ops import Primitive
from arrows.testing import check_grads, check_primitive
from arrows.typesys import ArrowValueError, types as T

X = np.array([0.5, -1.5, 2.5])


def cube_kernel(xp: Any) -> Any:
    def run(x: Any, out: Any = None) -> Any:
        return xp.multiply(xp.multiply(x, x), x, out=out)

    return run


def cube_vjp(g: Any, result: Any, x: Any) -> Any:
    return (g * x * x * 3,)


@pytest.fixture
def cube() -> Iterator[Primitive]:
    yield ops.register(Primitive("cube", lambda x: x, cube_kernel, cube_vjp, elementwise=True))
    ops.unregister("cube")


def test_a_registered_primitive_works_everywhere(cube: Primitive) -> None:
    check_primitive(cube, X)
    t = ops.trace(lambda x: ops.bind(cube, x * 2).sum(), T.Tensor((3,)))
    assert [e.primitive.name for e in t.equations] == ["multiply", "cube", "sum"]
    check_grads(lambda x: ops.bind(cube, x * 2), X)


def test_a_registered_reduction_is_computed_in_kernels() -> None:
    """The fake device's arrays refuse NumPy's functions, so only a kernel can compute it."""
    rule = lambda x, axes: T.Tensor(x.shape[:-1], x.dtype)  # noqa: E731
    kernel = lambda xp, axes: lambda x, out=None: np.multiply.reduce(x, axis=axes, out=out)  # noqa: E731
    product = Primitive("product", rule, kernel, reduces=("1", "{0} * {1}"))
    block = ar.Vector(3) >> ar.Function(lambda x: ops.bind(product, x, axes=(-1,)) * 2.0)
    for device in ("cpu", "fake-kernels"):
        found = ar.to_numpy(ar.compile(block, device=device)([X, X * 2]))
        np.testing.assert_allclose(found, [2 * X.prod(), 16 * X.prod()], rtol=1e-6)
    with pytest.raises(TypeError, match="does not support ufuncs"):
        ar.compile(block, device="fake")([X])


def test_names_of_arrows_are_taken() -> None:
    with pytest.raises(ArrowValueError, match="'add' is the name of a primitive of arrows"):
        ops.register(Primitive("add", lambda x: x, cube_kernel))
    assert ops.get("add") is not None


def run_cell(factor: float = 3.0) -> Primitive:
    """What a cell of a notebook does that registers a primitive: `factor` times the square."""

    def kernel(xp: Any) -> Any:
        return lambda x, out=None: xp.multiply(xp.multiply(x, x), factor, out=out)

    def vjp(g: Any, result: Any, x: Any) -> Any:
        return (g * x * (2.0 * factor),)

    return ops.register(Primitive("cell", lambda x: x, kernel, vjp, elementwise=True))


@pytest.fixture
def cell() -> Iterator[Primitive]:
    yield run_cell()
    ops.unregister("cell")


def test_a_cell_that_is_run_twice_replaces_its_primitive(cell: Primitive) -> None:
    again = run_cell()  # warnings are errors here
    assert ops.get("cell") is again is not cell
    np.testing.assert_allclose(ops.bind(again, X), 3 * X * X)


def test_two_primitives_of_one_name_in_one_model(cell: Primitive) -> None:
    """A block that was made with the replaced primitive keeps it, beside a block with the new one."""
    first, second = (lambda x, p=p: ops.bind(p, x) for p in (cell, run_cell(30.0)))
    both = ar.Vector(3) >> ar.Function(lambda x: (first(x), second(x)))
    apart = ar.Vector(3) >> (ar.Function(first) & ar.Function(second))
    for block in (both, apart):
        for found in (ar.compile(block)([X]), block.eval(X)):
            np.testing.assert_allclose(found[0], np.reshape(3 * X * X, np.shape(found[0])), rtol=1e-6)
            np.testing.assert_allclose(found[1], np.reshape(30 * X * X, np.shape(found[1])), rtol=1e-6)


def test_what_is_no_primitive_is_refused() -> None:
    with pytest.raises(ArrowValueError, match="there is no primitive named 'nothing'"):
        ops.get("nothing")


def wrong_out(xp: Any) -> Any:
    return lambda x, out=None: x * x * x


def wrong_shape(xp: Any) -> Any:
    return lambda x, out=None: (x * x * x).sum()


def axis_zero(xp: Any) -> Any:
    return lambda x, out=None: np.sum(x, axis=0, out=out)


def scalar(x: T.Tensor) -> T.Tensor:
    return T.Tensor((), x.dtype)


def spread(g: Any, result: Any, x: Any) -> Any:
    return (ops.broadcast_to(g, x.shape),)


def no_sum(xp: Any, has_rows: Any, types: Any) -> Any:
    return lambda x, out=None: x.sum(axis=0) * 3


WRONG = [
    (Primitive("w", lambda x: x, wrong_out, cube_vjp), "does not return its out"),
    (Primitive("w", lambda x: x, wrong_shape, cube_vjp), "rule says"),
    (Primitive("w", lambda x: x, cube_kernel, lambda g, result, x: (g,)), "gradient of input 0: off by"),
    (Primitive("w", lambda x: x, cube_kernel), "gradient of input 0: off by"),
    (Primitive("w", scalar, axis_zero, spread), "w with rows"),
    (Primitive("w", lambda x: x, cube_kernel, cube_vjp, additive=True), "summed first"),
    (Primitive("w", lambda x: x, cube_kernel, cube_vjp, sum_rows=no_sum), "sum_rows"),
]


@pytest.mark.parametrize(("primitive", "text"), WRONG, ids=[text for _, text in WRONG])
def test_a_wrong_primitive_is_found(primitive: Primitive, text: str) -> None:
    with pytest.raises((AssertionError, IndexError), match=text):
        check_primitive(primitive, X)


def test_gradients_must_fit_their_operands() -> None:
    primitive = Primitive("w", lambda x: x, cube_kernel, lambda g, result, x: (g.sum(),))
    text = r"the vjp of w gave float64 as the gradient of float64\[3\]"
    with pytest.raises(ArrowValueError, match=text):
        check_grads(lambda x: ops.bind(primitive, x), X)


def test_a_kernel_must_keep_to_its_rule() -> None:
    with pytest.raises(
        ArrowValueError, match=r"the kernel of w gave float64\[\], but its rule says float64\[3\]"
    ):
        ops.bind(Primitive("w", lambda x: x, wrong_shape), X)
