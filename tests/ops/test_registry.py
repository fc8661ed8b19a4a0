"""Registering primitives, and checks that catch a wrong one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from arrows import ops
from arrows.ops import Primitive, check_primitive
from arrows.typesys import types as T
from arrows.typesys.errors import ArrowValueError

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
    ops.check_grads(lambda x: ops.bind(cube, x * 2), X)


def test_names_are_taken_once(cube: Primitive) -> None:
    with pytest.raises(ArrowValueError, match="there is a primitive named 'cube' already"):
        ops.register(Primitive("cube", lambda x: x, cube_kernel))
    with pytest.raises(ArrowValueError, match="a primitive's name is a Python name"):
        ops.register(Primitive("no name", lambda x: x, cube_kernel))
    with pytest.raises(ArrowValueError, match="register takes a Primitive, got str"):
        ops.register("cube")  # type: ignore[arg-type]
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


@pytest.mark.parametrize(
    ("vjp", "text"),
    [
        (lambda g, result, x: (), "the vjp of w gave 0 gradients for 1 operands"),
        (lambda g, result, x: (g.sum(),), r"the vjp of w gave float64 as the gradient of float64\[3\]"),
    ],
)
def test_gradients_must_fit_their_operands(vjp: Any, text: str) -> None:
    primitive = Primitive("w", lambda x: x, cube_kernel, vjp)
    with pytest.raises(ArrowValueError, match=text):
        ops.check_grads(lambda x: ops.bind(primitive, x), X)


def test_a_kernel_must_keep_to_its_rule() -> None:
    with pytest.raises(
        ArrowValueError, match=r"the kernel of w gave float64\[\], and its rule says float64\[3\]"
    ):
        ops.bind(Primitive("w", lambda x: x, wrong_shape), X)
