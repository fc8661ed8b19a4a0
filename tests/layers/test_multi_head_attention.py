"""`MultiHeadAttention` against a plain transcription of the paper, and against PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import arrows as ar

LENGTHS = (3, 0, 5, 1, 3, 7)
WIDTH, HEADS = 6, 2
NAMES = ("in_proj_weight", "in_proj_bias", "out_proj_weight", "out_proj_bias")


def sentences(seed: int = 0) -> list[list[list[float]]]:
    random = np.random.default_rng(seed)
    return [random.standard_normal((length, WIDTH)).tolist() for length in LENGTHS]


def model_of(causal: bool, device: str = "cpu") -> ar.Model:
    """Its loss is the sum of the squares of what attention gives; all parameters are drawn."""
    layer = ar.MultiHeadAttention(HEADS, causal=causal, name="heads")
    squares = ar.Map(ar.Function(lambda x: ar.ops.sum(x * x))) >> ar.Sum() >> ar.Metric("loss")
    block = ar.Map(ar.Vector(WIDTH, name="x")) >> layer >> (ar.Identity() & squares)
    random = np.random.default_rng(1)
    shapes = ((3 * WIDTH, WIDTH), (3 * WIDTH,), (WIDTH, WIDTH), (WIDTH,))
    params = {f"heads/{n}": random.standard_normal(s) for n, s in zip(NAMES, shapes, strict=True)}
    return ar.compile(block, loss="loss", float_type="float64", params=params, device=device)


def attention_of_the_paper(x: Any, params: dict[str, Any], causal: bool) -> Any:
    """One sequence, one head and one query after another."""
    q, k, v = np.split(x @ params["heads/in_proj_weight"].T + params["heads/in_proj_bias"], 3, axis=-1)
    n = WIDTH // HEADS
    means = np.zeros_like(x)
    for h in range(HEADS):
        own = slice(h * n, (h + 1) * n)
        for i in range(len(x)):
            seen = slice(0, i + 1 if causal else len(x))
            scores = np.exp(k[seen, own] @ q[i, own] / np.sqrt(n))
            means[i, own] = scores / scores.sum() @ v[seen, own]
    return means @ params["heads/out_proj_weight"].T + params["heads/out_proj_bias"]


@pytest.mark.parametrize("device", ["cpu", "fake", "fake-kernels"])
@pytest.mark.parametrize("causal", [False, True])
def test_it_is_that_of_the_paper(causal: bool, device: str) -> None:
    model = model_of(causal, device)
    given = {name: np.asarray(ar.to_numpy(value)) for name, value in model.params.items()}
    rows, _ = model(sentences())
    for got, sentence in zip(rows.tolist(), sentences(), strict=True):
        wanted = attention_of_the_paper(np.array(sentence).reshape(-1, WIDTH), given, causal)
        np.testing.assert_allclose(np.array(got).reshape(-1, WIDTH), wanted, atol=1e-12)


def test_first_values_are_those_of_pytorch() -> None:
    model = ar.compile(ar.Map(ar.Vector(64)) >> ar.MultiHeadAttention(4, name="heads"))
    into, out = (np.asarray(model.params[f"heads/{part}_proj_weight"]) for part in ("in", "out"))
    for weight, limit in ((into, np.sqrt(6 / (64 + 192))), (out, 1 / 8)):
        assert 0.95 * limit < abs(weight).max() <= limit
        assert abs(weight.std() / limit - 3**-0.5) < 0.02
    assert not any(np.asarray(model.params[f"heads/{part}_proj_bias"]).any() for part in ("in", "out"))


def test_sequences_of_many_lengths_meet_in_groups() -> None:
    """Equal lengths are computed together, whether they lie side by side or not, up to a limit."""
    random = np.random.default_rng(2)
    lengths = [*[2] * 9, 300, 3, 2, 3, 1, 0, 130, 130, 2]
    sequences = [random.standard_normal((length, WIDTH)).tolist() for length in lengths]
    for causal in (False, True):
        model = model_of(causal)
        together, _ = model(sequences)
        for got, sequence in zip(together.tolist(), sequences, strict=True):
            (alone,), _ = model([sequence])
            np.testing.assert_allclose(
                np.array(got).reshape(-1, WIDTH), np.array(alone).reshape(-1, WIDTH), atol=1e-12
            )


def test_large_scores_do_not_overflow() -> None:
    model = model_of(False)
    loss, grads = model.value_and_grad([[[1e3] * WIDTH, [-1e3] * WIDTH, [0.0] * WIDTH]])
    assert np.isfinite(float(loss)) and all(np.isfinite(np.asarray(g)).all() for g in grads.values())


def test_vectors_without_numbers() -> None:
    model = ar.compile(ar.Map(ar.Vector(0)) >> ar.MultiHeadAttention(1) >> ar.Sum(), seed=0)
    assert model([[[], []], []]).shape == (2, 0)
