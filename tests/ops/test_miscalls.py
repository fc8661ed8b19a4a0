"""Operations that a function calls with other arguments, and names of other libraries, are named."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import arrows as ar
from arrows import ops
from arrows.typesys.names import foreign_names

OPS: Any = ops


def refused(function: Callable[[Any], Any], read: Any = None) -> str:
    """The error of a function, its words on one line."""
    with pytest.raises(ar.ArrowTypeError) as caught:
        ar.infer((ar.Vector(3) if read is None else read) >> ar.Function(function))
    return " ".join(str(caught.value).split())


def own(x: Any) -> Any:
    return x


own.__qualname__ = "shape"  # as a property of tensors


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (lambda x: own(x, dim=1), "raised TypeError: shape() got an unexpected keyword argument 'dim'"),  # type: ignore[call-arg]
        (lambda x: OPS.segment_sum(x, axs=-1), "got an unexpected keyword argument 'axs' (at test_misc"),
        (lambda x: OPS.softmax(x, axs=-1), "hint did you mean axis=?"),
        (lambda x: x ^ 2, "TypeError: unsupported operand type(s) for ^: tensor and 'int'"),
        (lambda x: OPS.softmax(x, dim=-1), "hint did you mean axis=?"),
        (lambda x: x.sum(keepdim=True), "hint did you mean keepdims=?"),
        (lambda x: OPS.exp(x, 2), "TypeError: exp() takes 1 positional argument but 2 were given"),
        (lambda x: x.softmax(), "a tensor of a Function has no attribute 'softmax'"),
        (lambda x: x.softmax(), "hint did you mean ops.softmax?"),
        (lambda x: x.unsqueeze(0), "hint did you mean x[None], or x[:, None]?"),
        (lambda x: x.item(), "hint did you mean x itself: a value is not known"),
        (lambda x: x.zebra(), "has no attribute 'zebra' (at test_miscalls.py:"),
        (lambda x: x >> ar.Identity(), "has no operator >> (at test_miscalls.py:"),
        (lambda x: OPS.cat([x, x]), "has no attribute 'cat'; did you mean ops.concat?"),
    ],
)
def test_what_a_function_miscalls(function: Callable[[Any], Any], words: str) -> None:
    assert words in refused(function)


def test_the_line_that_raised_is_named() -> None:
    def long(x: Any) -> Any:
        y = x + 1
        return y[missing]  # type: ignore[name-defined]  # noqa: F821

    line = inspect.getsourcelines(long)[1] + 2
    assert f"NameError: name 'missing' is not defined (at test_miscalls.py:{line})" in refused(long)


def test_layers_in_functions() -> None:
    layer = ar.FC(2)
    assert "a tensor of a Function has no attribute 'relu'" in refused(lambda x: layer(x).relu())


def test_names_of_operations() -> None:
    for name, likely in (
        ("cat", "ops.concat"),
        ("log_sigmoid", "-ops.softplus(-x)"),
        ("sigmiod", "ops.sigmoid"),
    ):
        with pytest.raises(AttributeError) as caught:
            getattr(OPS, name)
        assert str(caught.value) == f"module 'arrows.ops' has no attribute {name!r}; did you mean {likely}?"
    with pytest.raises(AttributeError) as caught:
        OPS.zebra
    assert str(caught.value) == "module 'arrows.ops' has no attribute 'zebra'"
    with pytest.raises(ImportError, match=r"cannot import name 'cat' .* did you mean ops\.concat\?"):
        exec("from arrows.ops import cat", {})
    assert not hasattr(OPS, "cat")


def test_foreign_names_are_none_of_ours_and_say_what_there_is() -> None:
    assert not foreign_names()["operation"].keys() & set(ops.__all__)
    assert not [name for name in foreign_names()["tensor_of_function"] if hasattr(ops.TensorLike, name)]
    tables = (foreign_names()["operation"], foreign_names()["tensor_of_function"])
    for text in (text for table in tables for text in table.values()):
        for word in text.replace("(", " ").replace(",", " ").replace(")", " ").split():
            start, _, rest = word.partition(".")
            thing = {"ar": ar, "ops": ops, "numpy": np}.get(start)
            for part in rest.split(".") if thing is not None else []:
                thing = getattr(thing, part.rstrip(":"))
