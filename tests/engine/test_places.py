"""`Shift`, `Window`, `Conv1d` and `At`: what they mean, that they batch, and what they refuse."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pytest

import arrows as ar
from tests.agree import agree

NUMBERS = ar.Map(ar.Scalar())
VECTORS = ar.Map(ar.Vector(3))
LENGTHS = (4, 0, 1, 7, 2, 4)


def sentences(width: int = 3) -> list[list[list[float]]]:
    random = np.random.default_rng(0)
    return [random.standard_normal((length, width)).tolist() for length in LENGTHS]


def floats(values: Any) -> list[float]:
    return [float(value) for value in values]


@pytest.mark.parametrize("by", [1, -1, 2, 0, 9, -9])
def test_shifts(by: int) -> None:
    wanted = [float(i - by + 1) if 0 <= i - by < 4 else 0.0 for i in range(4)]
    assert floats((NUMBERS >> ar.Shift(by)).eval([1, 2, 3, 4])) == wanted
    agree(NUMBERS >> ar.Shift(by), [[1, 2, 3], [], [7], [1, 2, 3, 4, 5]], loss="-")


def test_a_shift_may_bring_in_a_default() -> None:
    words = ar.Map(ar.Scalar("int32")) >> ar.Shift(2, default=-1)
    assert [int(x) for x in words.eval([5, 6, 7])] == [-1, -1, 5]
    block = ar.Map(ar.Vector(2)) >> ar.Shift(-1, default=[0.5, 1.5])
    assert [x.tolist() for x in block.eval([[1, 2], [3, 4]])] == [[3, 4], [0.5, 1.5]]
    agree(block >> ar.Sum(), [[[1, 2], [3, 4]], [], [[5, 6]]], loss="-")


@pytest.mark.parametrize("dilation", [1, 2])
@pytest.mark.parametrize("stride", [1, 2, 3])
@pytest.mark.parametrize("padding", ["same", "causal", "valid", 0, 1])
@pytest.mark.parametrize("size", [3, 4])
def test_windows(size: int, padding: Any, stride: int, dilation: int) -> None:
    span = dilation * (size - 1)
    ends = {
        "same": (span // 2, span - span // 2),
        "causal": (span, 0),
        "valid": (0, 0),
        0: (0, 0),
        1: (1, 1),
    }[padding]
    block = NUMBERS >> ar.Window(size, padding=padding, stride=stride, dilation=dilation, default=-1)
    for count in range(9):
        numbers = np.concatenate([[-1.0] * ends[0], np.arange(1.0, count + 1), [-1.0] * ends[1]])
        starts = range(0, max(len(numbers) - span, 0), stride) if count else range(0)
        wanted = [numbers[start : start + span + 1 : dilation].tolist() for start in starts]
        assert [window.tolist() for window in block.eval(list(range(1, count + 1)))] == wanted, count


def test_windows_batch() -> None:
    agree(VECTORS >> ar.Window(2, padding="causal") >> ar.Sum(), sentences(), loss="-")


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


@pytest.mark.parametrize("device", ["cpu", "fake", "fake-kernels"])
def test_a_convolution_is_a_window_and_a_layer(device: str) -> None:
    model = convolution("same", 1, 1, device)
    flat = ar.Function(lambda x: ar.ops.reshape(x, (9,)))
    plain = ar.Map(ar.Vector(3)) >> ar.Window(3) >> ar.Map(flat >> ar.FC(5, name="filters"))
    weight, bias = (ar.to_numpy(model.params[f"filters/{part}"]) for part in ("weight", "bias"))
    params = {"filters/weight": np.asarray(weight).reshape(9, 5), "filters/bias": np.asarray(bias)}
    other = ar.compile(plain, float_type="float64", params=params)
    rows, _ = model(sentences())
    for got, wanted in zip(rows.tolist(), other(sentences()).tolist(), strict=True):
        np.testing.assert_allclose(got, wanted, atol=1e-12)


def test_a_convolution_learns() -> None:
    layer = ar.Conv1d(2, 3, padding="same", activation=ar.ops.tanh)
    agree(VECTORS >> layer >> ar.Sum(), sentences(), loss="-")


def test_the_element_at_a_computed_place() -> None:
    place = ar.Scalar("int32") >> ar.Function(lambda i: i * 2)
    block = (ar.GetItem(0) >> VECTORS & ar.GetItem(1) >> place) >> ar.At(default=0.25)
    examples = [(sentences()[0], 1), (sentences()[1], 0), (sentences()[3], 3), (sentences()[3], 4), ([], -1)]
    values = agree(block, examples, loss="-")
    wanted = [sentences()[0][2], [0.25] * 3, sentences()[3][6], [0.25] * 3, [0.25] * 3]
    np.testing.assert_allclose(np.asarray(values), wanted, rtol=1e-6)
    pairs = (
        ar.Map(ar.GetItem(0) >> ar.Vector(3) & ar.GetItem(1) >> ar.Scalar("int32")) & ar.Constant(1, "int64")
    ) >> ar.At()
    x, i = pairs.eval([([1, 2, 3], 7), ([4, 5, 6], 8)])
    assert (x.tolist(), int(i)) == ([4, 5, 6], 8)


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


REFUSED: list[tuple[Any, str]] = [
    (lambda: ar.Vector(3) >> ar.Shift(1), "Shift moves the elements of a sequence, but float32[3] is not a"),
    (lambda: ar.Shift(1), "Shift moves tensors, and the input is a Python object"),
    (
        lambda: ar.Map(ar.Scalar() & ar.Scalar()) >> ar.Window(3),
        "Window joins elements that are tensors",
    ),
    (lambda: ar.Scalar() >> ar.Broadcast() >> ar.Window(3), "it has no end"),
    (lambda: NUMBERS >> ar.Shift(1, default=[1.0]), "the default [1.0] does not fit the elements"),
    (lambda: NUMBERS >> ar.At(), "put them side by side first: (sequence & place) >> ar.At()"),
    (lambda: (NUMBERS & ar.Scalar("int32") & ar.Scalar()) >> ar.At(), "(sequence & place) >> ar.At()"),
    (lambda: (NUMBERS & ar.GetItem("i")) >> ar.At(), "ar.Nth() takes such a place"),
    (lambda: (NUMBERS & ar.Scalar()) >> ar.At(), "a place is one integer, and item 1 is float32"),
    (lambda: (ar.Scalar() & ar.Scalar("int32")) >> ar.At(), "item 0 is float32, which has no elements"),
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
        (lambda: ar.Shift(10**30), ar.ArrowValueError, "it moves by at most 2,147,483,647 places"),
        (lambda: ar.Window(0), ar.ArrowValueError, "the size is at least 1 and at most 10,000, not 0"),
        (lambda: ar.Window(3, stride=0), ar.ArrowValueError, "the stride is at least 1"),
        (
            lambda: ar.Window(3, padding=2),
            ar.ArrowValueError,
            "half of what a window spans, 1, not 2",
        ),
        (lambda: ar.Window(3, padding="full"), ar.ArrowTypeError, "the padding is 'same', 'causal', 'valid'"),
        (lambda: ar.Conv1d(2, 3, dilation=0), ar.ArrowValueError, "the dilation is at least 1"),
        (lambda: ar.Conv1d(0, 3), ar.ArrowValueError, "the size of Conv1d is at least 1, got 0"),
        (lambda: ar.At(default="x"), ar.ArrowTypeError, "the default must be a number, not 'x'"),
    ],
)
def test_bad_arguments(build: Any, error: Any, text: str) -> None:
    with pytest.raises(error) as caught:
        build()
    assert text in " ".join(str(caught.value).split())


def test_they_print_as_they_are_written() -> None:
    assert (
        ar.Window(3, padding=1, stride=2, default=0.5).label == "Window(3, padding=1, stride=2, default=0.5)"
    )
    assert ar.Shift(-2).label == "Shift(-2)"
    assert ar.At(default=1).label == "At(default=1)"
