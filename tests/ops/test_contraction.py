"""`einsum`: values as NumPy's, gradients by finite differences, the products that it is made of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import arrows as ar
from arrows import ops
from arrows.ops import ShapeError, trace
from arrows.testing import check_grads
from arrows.typesys import types as T

SIZES = {"a": 2, "b": 3, "c": 4, "i": 3, "j": 2, "k": 4, "z": 0, "A": 2}
FORMS = [
    "i,i->", "i,i->i", "i,j->ij", "i,j->ji", "ij,j->i", "i,ij->j", "ji,i->j", "ij,jk->ik", "ij,jk->ki",
    "ij,kj->ik", "ij,ij->", "ij,ij->i", "ij->ji", "ij->", "ij->j", "ii->i", "ii->", "ii", "iij->j",
    "aij,ajk->aik",
    "aij,ajk->ki", "abi,abj->abij", "ij,jk,kb->ib", "i,j,k->kji", "abij,abjk->abik", "ab,cd->", "abc,c->ab",
    "abc,b->ac", "bic,ck,kj->bij", "i,i,i->", "zi,ij->zj", "iz,zj->ij", "z,z->", "i->i", "ij,jk", "aj,Aj->aA",
    "ij,j,i->", "ijk,i,j,k", ",i->i",
]  # fmt: skip
SIZES |= {"d": 2}


def arrays(form: str) -> list[Any]:
    rng = np.random.default_rng(len(form))
    parts = form.partition("->")[0].split(",")
    return [rng.standard_normal([SIZES[letter] for letter in part]) for part in parts]


@pytest.mark.parametrize("form", FORMS)
def test_values_and_gradients(form: str) -> None:
    xs = arrays(form)
    result = ops.einsum(form, *xs)
    np.testing.assert_allclose(result, np.einsum(form, *xs), rtol=1e-12, atol=1e-12)
    check_grads(lambda *xs: ops.einsum(form, *xs), *xs)


@pytest.mark.parametrize(("form", "names"), [
    ("i,ij->j", ["matmul"]),
    ("ij,jk->ik", ["matmul"]),
    ("i,j->ij", ["outer"]),
    ("aij,ajk->aik", ["matmul_each"]),
    ("ij->ji", ["transpose"]),
])  # fmt: skip
def test_it_is_one_product(form: str, names: list[str]) -> None:
    types = tuple(T.Tensor(x.shape, "float64") for x in arrays(form))
    equations = trace(lambda *xs: ops.einsum(form, *xs), T.Tuple(types)).equations
    assert [equation.primitive.name for equation in equations] == names


def test_a_matrix_of_parameters_stands_on_the_right() -> None:
    """So that its gradient is one product for all rows."""
    weight = np.random.default_rng(1).standard_normal((5, 3))
    traced = trace(lambda x: ops.einsum("oi,i->o", weight, x), T.Tensor((3,), "float64"))
    product = next(e for e in traced.equations if e.primitive.name == "matmul")
    assert product.operands[0] == traced.inputs[0]


def test_attention_of_four_heads_in_batches() -> None:
    def heads(q: Any, k: Any, v: Any) -> Any:
        scores = ops.einsum("qhd,khd->hqk", q, k) * 0.5
        return ops.einsum("hqk,khd->qhd", ops.softmax(scores), v)

    block = ar.Record((ar.Tensor([3, 4, 2]),) * 3) >> ar.Function(heads)
    rng = np.random.default_rng(2)
    examples = [tuple(rng.standard_normal((3, 3, 4, 2))) for _ in range(4)]
    for device in ("cpu", "fake", "fake-kernels"):
        model = ar.compile(block, device=device)
        np.testing.assert_allclose(
            ar.to_numpy(model(examples)), [model.eval(x) for x in examples], rtol=2e-5, atol=1e-6
        )


@pytest.mark.parametrize(("call", "text"), [
    (lambda x: ops.einsum("...i->i", x), "einsum: '...i->i' has an ellipsis"),
    (lambda x: ops.einsum("i,j->i", x), "einsum: 'i,j->i' does not fit its operands: Number of"),
    (lambda x: ops.einsum("ij->i", x), "einsum: 'ij->i' does not fit its operands: Einstein sum"),
    (lambda x: ops.einsum("i->j", x), "Output character j did not appear in the input"),
    (lambda x: ops.einsum("i->ii", x), "Output character i appeared more than once in the output"),
    (lambda x: ops.einsum("i,i->", x, x[:2]), "einsum: .* does not match previous terms"),
    (lambda x: ops.einsum("i,i->", x, x[:1]), "einsum: axis 'i' has the sizes 3 and 1"),
    (lambda x: ops.einsum("i-j", x), "einsum: 'i-j' does not fit"),
])  # fmt: skip
def test_refusals(call: Callable[[Any], Any], text: str) -> None:
    with pytest.raises(ShapeError, match=text):
        trace(call, T.Tensor((3,)))
