"""`Shift`, `Window`, `Conv1d` and `At`: what they mean, that they batch, and what they refuse."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pytest

import arrows as ar

NUMBERS = ar.Map(ar.Scalar())
LENGTHS = (4, 0, 1, 7, 2, 4)


def sentences(width: int = 3) -> list[list[list[float]]]:
    random = np.random.default_rng(0)
    return [random.standard_normal((length, width)).tolist() for length in LENGTHS]


def floats(values: Any) -> list[float]:
    return [float(value) for value in values]


def convolution(padding: Any, stride: int, dilation: int, device: str = "cpu") -> ar.Model:
    layer = ar.Conv1d(5, 3, stride=stride, padding=padding, dilation=dilation, name="filters")
    squares = ar.Map(ar.Function(lambda x: ar.ops.sum(x * x))) >> ar.Sum() >> ar.Metric("loss")
    block = ar.Map(ar.Vector(3, name="x")) >> layer >> (ar.Identity() & squares)
    random = np.random.default_rng(1)
    params = {"filters/weight": random.standard_normal((3, 3, 5)), "filters/bias": random.standard_normal(5)}
    return ar.compile(block, loss="loss", float_type="float64", params=params, device=device)


@pytest.mark.parametrize("dilation", [1, 2])
@pytest.mark.parametrize(("padding", "stride"), [("same", 1), (0, 1), (0, 2), (1, 1), (1, 3), (1, 2)])
def test_convolutions_are_those_of_pytorch(padding: Any, stride: int, dilation: int) -> None:
    torch = pytest.importorskip("torch")
    model = convolution(padding, stride, dilation)
    theirs = torch.nn.Conv1d(3, 5, 3, stride, padding, dilation, dtype=torch.float64)
    with torch.no_grad():
        theirs.weight.copy_(torch.tensor(model.params["filters/weight"]).permute(2, 1, 0))
        theirs.bias.copy_(torch.tensor(model.params["filters/bias"]))
    total, inputs = torch.zeros((), dtype=torch.float64), []
    rows, _ = model(sentences())
    for got, sentence in zip(rows.tolist(), sentences(), strict=True):
        x = torch.tensor(sentence, dtype=torch.float64).reshape(-1, 3).requires_grad_()
        inputs.append(x)
        padded = len(x) + 2 * (dilation if padding == "same" else padding)
        if not len(x) or padded <= 2 * dilation:  # too short: PyTorch refuses these
            assert not len(got)
            continue
        y = theirs(x.T[None])[0].T
        np.testing.assert_allclose(got, y.detach().numpy(), atol=1e-12)
        total = total + (y * y).sum()
    (total / len(LENGTHS)).backward()
    _, grads = model.value_and_grad(sentences(), inputs=["x"])
    weight = theirs.weight.grad.permute(2, 1, 0).numpy()
    np.testing.assert_allclose(grads["filters/weight"], weight, atol=1e-9)
    np.testing.assert_allclose(grads["filters/bias"], theirs.bias.grad.numpy(), atol=1e-9)
    for got, x in zip(grads["x"], inputs, strict=True):
        wanted = np.zeros(x.shape) if x.grad is None else x.grad.numpy()
        np.testing.assert_allclose(np.reshape(got, (-1, 3)), wanted, atol=1e-9)


def test_a_place_beyond_the_ends_is_refused() -> None:
    block = (ar.GetItem(0) >> NUMBERS & ar.GetItem(1) >> ar.Scalar("int32")) >> ar.At(name="best")
    model = ar.compile(block)
    assert model([([1, 2], 1), ([3], 0)]).tolist() == [2, 3]
    for place in (2, -1):
        with pytest.raises(ar.InputError) as caught:
            model([([1, 2], 1), ([3, 4], place)])
        text = str(caught.value)
        assert "best" in text and "example 1" in text
        assert f"place {place} is none of 2 elements, which are counted from 0; a default, as" in text
        with pytest.raises((ar.InputError, IndexError), match=f"place {place} is none of 2 elements"):
            block.eval(([3, 4], place))


@pytest.mark.parametrize("sequences", [[[1]], [[1], []], [[], [2], [3, 4]]])
def test_a_place_beyond_the_ends_has_the_default(sequences: list[list[float]]) -> None:
    """Also where a batch has one element in all, so that no other stands in for what is not there."""
    block = (ar.GetItem(0) >> NUMBERS & ar.GetItem(1) >> ar.Scalar("int32")) >> ar.At(default=7.0)
    for place in (-1, 0, 1, 5):
        examples = [(sequence, place) for sequence in sequences]
        wanted = [sequence[place] if 0 <= place < len(sequence) else 7 for sequence in sequences]
        assert ar.compile(block)(examples).tolist() == wanted
        assert [float(block.eval(example)) for example in examples] == wanted


REFUSED: list[tuple[Any, str]] = [
    (lambda: ar.Vector(3) >> ar.Shift(1), "Shift moves the elements of a sequence, but float32[3] is not a"),
    (lambda: ar.Shift(1), "Shift moves tensors, and the input is a Python object"),
    (
        lambda: ar.Map(ar.Scalar() & ar.Scalar()) >> ar.Window(3),
        "Window joins elements that are tensors",
    ),
    (lambda: ar.Scalar() >> ar.Broadcast() >> ar.Window(3), "it has no end"),
    (lambda: ar.Map(ar.Scalar("int8")) >> ar.Shift(1, default=128), "the default 128 is not int8"),
    (lambda: NUMBERS >> ar.At(), "put them side by side first: (sequence & place) >> ar.At()"),
    (lambda: (NUMBERS & ar.Scalar("int32") & ar.Scalar()) >> ar.At(), "(sequence & place) >> ar.At()"),
    (lambda: (NUMBERS & ar.GetItem("i")) >> ar.At(), "read it by ar.Scalar('int32')"),
    (lambda: (NUMBERS & ar.Scalar()) >> ar.At(), "a place is one integer, and item 1 is float32"),
    (lambda: (ar.Scalar() & ar.Scalar("int32")) >> ar.At(), "item 0 is float32"),
    (lambda: NUMBERS >> ar.Conv1d(2, 3), "the input of Conv1d must be a sequence of vectors of floats"),
]


@pytest.mark.parametrize(("build", "text"), REFUSED, ids=[text[:30] for _, text in REFUSED])
def test_inputs_of_a_wrong_type(build: Any, text: str) -> None:
    with pytest.raises(ar.ArrowTypeError) as caught:
        ar.infer(build())
    assert text in " ".join(str(caught.value).split())


@pytest.mark.parametrize(
    ("build", "error", "text"),
    [
        (lambda: ar.Shift(cast("Any", 1.5)), ar.ArrowTypeError, "the number of places must be an integer"),
        (lambda: ar.Shift(10**30), ar.ArrowValueError, "the number of places must be at most 2,147,483,647"),
        (lambda: ar.Window(0), ar.ArrowValueError, "the kernel_size must be at least 1, not 0"),
        (lambda: ar.Window(3, stride=0), ar.ArrowValueError, "the stride must be at least 1"),
        (
            lambda: ar.Window(3, padding=2),
            ar.ArrowValueError,
            "half of what a window spans, 1, not 2",
        ),
        (lambda: ar.Window(3, padding="full"), ar.ArrowTypeError, "the padding is 'same', 'causal', 'valid'"),
        (lambda: ar.Conv1d(2, 3, dilation=0), ar.ArrowValueError, "the dilation must be at least 1"),
        (lambda: ar.Conv1d(0, 3), ar.ArrowValueError, "the size of Conv1d is at least 1, got 0"),
        (lambda: ar.Shift(1, default=[1.0]), ar.ArrowTypeError, "the default must be a number, not [1.0]"),
        (lambda: ar.At(default="x"), ar.ArrowTypeError, "the default must be a number, not 'x'"),
    ],
)
def test_bad_arguments(build: Any, error: Any, text: str) -> None:
    with pytest.raises(error) as caught:
        build()
    assert text in " ".join(str(caught.value).split())
