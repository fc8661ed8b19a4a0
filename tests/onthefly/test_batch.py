"""A batch: what may be done with its tensors, when, and what is said of the rest."""

from __future__ import annotations

import re
from typing import Any

import pytest

import arrows as ar


def said(error: pytest.ExceptionInfo[BaseException]) -> str:
    """A message, with `LINE` for the line of this file that it names."""
    return re.sub(r"test_batch\.py:\d+", "LINE", str(error.value))


@pytest.mark.parametrize(
    "ask",
    [
        lambda h, x: h.numpy(x),
        lambda h, x: h.numpy({"a": [x]}),
        lambda h, x: h.tensor(x),
        lambda h, x: h.value_and_grad(x),
        lambda h, x: h.timeline(x),
        lambda h, x: h.sum([h.tensor(1.0), x]),
        lambda h, x: h.sum([x, x]),
        lambda h, x: ar.FC(2)(h.tensor([1.0]), x),
        lambda h, x: ar.LSTMCell(2)(h.tensor([1.0]), (x, x)),
        lambda h, x: h(ar.Sum(), [x, x]),
        lambda h, x: h(ar.Map(ar.Sum()), [[x, x]]),
        lambda h, x: h.run_all([yielding(x)]),
    ],
)
@pytest.mark.parametrize("kind", ["tensor", "zeros"])
def test_tensors_of_another_batch_are_refused(ask: Any, kind: str) -> None:
    net = ar.OnTheFly()
    with net.batch() as g, net.batch() as h:
        for n in range(5):
            h.tensor(float(n))
        x = g.tensor(1.0) if kind == "tensor" else g.zeros([])
        with pytest.raises(ar.ArrowTypeError) as error:
            ask(h, x)
    of = "LazyTensor(float32 of a value that came in)" if kind == "tensor" else "LazyConstant(float32)"
    assert said(error) == (
        f"cannot compute at LINE\n  {of} belongs to another batch\n"
        "  hint  bring its value over as numbers: g.tensor(x.numpy())"
    )


def yielding(x: Any) -> Any:
    return (yield x)


def test_numbers_with_tensors_among_them_are_refused():
    """NumPy would make numbers of them, and their gradients would be lost."""
    net = ar.OnTheFly()
    with net.batch() as g:
        x = g.tensor(1.0)
        for attempt in (
            lambda: g.tensor([x, x]),
            lambda: g.tensor([[1.0], (x,)]),
            lambda: ar.FC(2)([[x], [x]]),
        ):
            with pytest.raises(ar.ArrowTypeError) as error:
                attempt()
            assert said(error) == (
                "cannot read a value at LINE\n"
                "  there are tensors among its numbers, which are not known yet\n"
                "  hint  ops.stack makes a tensor of tensors"
            )
        assert not g.timelines
