"""Names of a convolution's parameters; its numbers are tested beside windows."""

from __future__ import annotations

import re

import pytest

import arrows as ar


def test_its_parameters_go_by_its_kind():
    block = ar.Map(ar.Vector(2)) >> ar.Conv1d(3, 2) >> ar.Conv1d(3, 2, name="second")
    assert set(ar.compile(block).params) == {
        "Conv1d_1/weight", "Conv1d_1/bias", "second/weight", "second/bias",
    }  # fmt: skip


def test_it_is_printed_as_it_is_written():
    assert str(ar.Conv1d(2, 3)) == "Conv1d(2, 3)"
    block = ar.Conv1d(2, 3, stride=2, padding="valid", dilation=4, activation=ar.ops.tanh, bias=False)
    assert str(block) == ("Conv1d(2, 3, padding='valid', stride=2, dilation=4, activation=tanh, bias=False)")
    assert str(ar.Conv1d(2, 3, name="own")) == "Conv1d(2, 3, name='own')"


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: ar.Conv1d(0, 3), "the size of Conv1d is at least 1, got 0"),
        (lambda: ar.Conv1d(2, 0), "cannot make a Conv1d .* the kernel_size must be at least 1"),
        (lambda: ar.Conv1d(2, 2.0), "cannot make a Conv1d .* the kernel_size must be an integer, not 2.0"),
        (lambda: ar.Conv1d(2, 3, stride=0), "cannot make a Conv1d .* the stride must be at least 1"),
        (lambda: ar.Conv1d(2, 3, padding=2), "cannot make a Conv1d .* the padding is .* at most half .* 1"),
        (lambda: ar.Conv1d(2, 3, padding="full"), "cannot make a Conv1d .* the padding is 'same', 'causal'"),
        (lambda: ar.Vector(3) >> ar.Conv1d(2, 3), r"Conv1d joins .* but float32\[3\] is not a sequence"),
        (lambda: ar.Conv1d(2, 3), r"read .* first: ar.Map\(...\) >> ar.Conv1d\(2, 3\)"),
        (
            lambda: ar.Map(ar.Scalar()) >> ar.Conv1d(2, 3),
            r"a sequence of vectors of floats, not of float32 .* hint .* x.reshape\(1\)",
        ),
        (
            lambda: ar.Map(ar.Vector(2, "int32")) >> ar.Conv1d(2, 3),
            r"a sequence of vectors of floats, not of int32\[2\]",
        ),
    ],
)
def test_refusals(make, text):
    with pytest.raises((ar.ArrowTypeError, ar.ArrowValueError)) as caught:
        ar.infer(make())
    assert re.search(text, " ".join(str(caught.value).split()))


def test_scalars_by_the_way_of_the_hint():
    block = ar.Map(ar.Scalar()) >> ar.Map(ar.Function(lambda x: x.reshape(1))) >> ar.Conv1d(2, 3, padding=1)
    assert [y.shape for y in block.eval([1, 2])] == [(2,), (2,)]
