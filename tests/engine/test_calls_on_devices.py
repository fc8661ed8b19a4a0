"""What no kernel computes: calls of the array module, and models of float16, give the CPU's numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import arrows as ar
from arrows import ops
from arrows.testing.host_kernels import host_compiler
from tests.compare import close
from tests.profile import sampled

DEVICES = ["fake", *(["fake-kernels"] if host_compiler() is not None else [])]
ROWS = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [1.0, 0.0, 2.0]]

ALONE: dict[str, Callable[[Any], Any]] = {
    "dot": lambda x: ops.dot(x, x),
    "outer": lambda x: ops.outer(x, x),
    "a vector and a matrix": lambda x: x @ np.arange(6).reshape(3, 2).astype(x.dtype),
    "matrices": lambda x: ops.outer(x, x) @ ops.outer(x, x),
    "one by one": lambda x: ops.einsum("ij,ij->i", ops.outer(x, x), ops.outer(x, x)),
    "sort": lambda x: ops.sort(x)[0],
    "sum": lambda x: x.sum(),
}


def same(block: Any, examples: Any, device: str, tolerance: float) -> None:
    """Values, and where they are floating scalars gradients."""
    here, there = ar.compile(block), ar.compile(block, device=device)
    for prepared in (False, True):
        batches = [model.prepare(examples)[:] if prepared else examples for model in (here, there)]
        assert close(ar.to_numpy(there(batches[1])), ar.to_numpy(here(batches[0])), tolerance)
    output = here.typed.output
    if not (isinstance(output, ar.types.Tensor) and output.floating and not output.shape and here.params):
        return
    (value, grads), (wanted, right) = there.value_and_grad(examples), here.value_and_grad(examples)
    assert close(ar.to_numpy(value), ar.to_numpy(wanted), tolerance)
    for name in right:
        pair = [ar.to_numpy(g) for g in (grads[name], right[name])]
        pair = [g.to_dense() if isinstance(g, ops.RowSparse) else g for g in pair]
        assert pair[0].dtype == pair[1].dtype and close(*pair, tolerance), name


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", sampled(["float32", "float64", "int32", "int64", "uint8"], 2))
@pytest.mark.parametrize("name", sampled(ALONE, 4))
def test_an_operation_that_stands_alone(name: str, dtype: str, device: str) -> None:
    """Rows that lie together are copied nowhere, so that a call must read them where they lie."""
    alone = ar.Function(ALONE[name])
    same(ar.Vector(3, dtype) >> alone, ROWS if dtype.startswith("f") else np.array(ROWS, int), device, 1e-6)
    if dtype.startswith("float"):
        summed = ar.Function(lambda x: (x * 0.5).sum())
        same(ar.Vector(3, dtype) >> ar.FC(3, name="fc") >> alone >> summed, ROWS, device, 1e-5)
        rows = ar.Map(ar.Vector(3, dtype) >> ar.FC(3, name="fc") >> alone) >> ar.Sum() >> summed
        same(rows, [ROWS, [], ROWS[:1]], device, 1e-5)
        step = ar.Function(lambda s, x: ops.tanh(s + 0.1 * x)) >> ar.FC(3, name="fc")
        fold = ar.Map(ar.Vector(3, dtype)) >> ar.Fold(step, ar.Zeros(ar.types.Tensor((3,), dtype)))
        same(fold >> alone >> summed, [ROWS, [], ROWS[:1]], device, 1e-5)


def half_tree() -> Any:
    leaf = ar.Scalar("int32") >> ar.Embedding(5, 4, dtype="float16")

    @ar.fix
    def tree(me: Any) -> Any:
        both = (ar.GetItem(0) >> me & ar.GetItem(1) >> me) >> ar.Concat() >> ar.FC(4, activation=ops.tanh)
        return ar.OneOf(lambda t: isinstance(t, tuple)).case(True, both).case(False, leaf)

    return tree


HALF = {
    "FC": (ar.Vector(3, "float16") >> ar.FC(2), ROWS),
    "RNN": (
        ar.Map(ar.Vector(3, "float16"))
        >> ar.RNN(ar.GRUCell(2, reset_after=True, dtype="float16"))
        >> ar.GetItem(1),
        [ROWS, [], ROWS[1:]],
    ),
    "Conv1d": (
        ar.Map(ar.Vector(3, "float16")) >> ar.Conv1d(2, 3, padding="same") >> ar.Sum(),
        [ROWS, [], ROWS[1:]],
    ),
    "MultiHeadAttention": (
        ar.Map(ar.Vector(3, "float16")) >> ar.MultiHeadAttention(1) >> ar.Sum(),
        [ROWS, [], ROWS[1:]],
    ),
    "tree": (half_tree(), [(1, (2, 3)), 4, ((1, 1), (1, 2))]),
}


@pytest.mark.parametrize("name", HALF)
def test_models_of_float16(name: str) -> None:
    block, examples = HALF[name]
    same(block >> ar.Function(lambda x: (x * x).sum()), examples, "fake", 2e-2)


@pytest.mark.parametrize("name", HALF)
def test_kernels_refuse_float16_and_say_what_to_do(name: str) -> None:
    block, examples = HALF[name]
    words = r"cannot compute in float16 on 'fake-kernels'\n.*kernels.*\n.*float_type=\"float32\""
    with pytest.raises(ar.ArrowValueError, match=words):
        ar.compile(block, device="fake-kernels")
    model = ar.compile(block)
    with pytest.raises(ar.ArrowValueError, match=words):
        model.to("fake-kernels")
    assert model.device.name == "cpu" and len(ar.to_numpy(model(examples))) == len(examples)
    ar.compile(block, device="fake-kernels", float_type="float32")(examples)


def test_a_network_on_the_fly_refuses_float16_likewise() -> None:
    net = ar.OnTheFly(device="fake-kernels", float_type="float16")
    with net.batch() as g, pytest.raises(ar.ArrowValueError, match="cannot compute in float16"):
        (g.tensor([1.0, 2.0]) * 2.0).numpy()
