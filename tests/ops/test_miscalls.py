"""Operations that a function calls with other arguments, and names of other libraries, are named."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import arrows as ar
from arrows import ops
from arrows.typesys.did_you_mean import foreign_names

OPS: Any = ops


def refused(function: Callable[[Any], Any], read: Any = None) -> str:
    """The error of a function, its words on one line."""
    with pytest.raises(ar.ArrowTypeError) as caught:
        ar.infer((ar.Vector(3) if read is None else read) >> ar.Function(function))
    return " ".join(str(caught.value).split())


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (
            lambda x: OPS.sort(x, axis=0),
            "ops.sort has no argument 'axis': it takes x, descending (at test_miscalls.py:",
        ),
        (lambda x: OPS.softmax(x, dim=-1), "hint did you mean axis=?"),
        (lambda x: OPS.sum(x, keepdim=True), "hint did you mean keepdims=?"),
        (
            lambda x: OPS.top_k(x),
            "ops.top_k missing 1 required positional argument: 'k': it takes x, k, larg",
        ),
        (lambda x: OPS.round(x, 2), "ops.round takes 1 positional argument but 2 were given: it takes x"),
        (lambda x: x.sum(dim=0), "x.sum has no argument 'dim': it takes axis, keepdims"),
        (lambda x: x.cumsum(0, False, 3), "x.cumsum takes from 1 to 3 positional arguments but 4 were given"),
        (lambda x: x.softmax(), "a tensor of a Function has no attribute 'softmax'"),
        (lambda x: x.softmax(), "hint did you mean ops.softmax?"),
        (lambda x: x.unsqueeze(0), "hint did you mean x[None], or x[:, None]?"),
        (lambda x: x.item(), "hint did you mean x itself: a value is not known"),
        (lambda x: x.zebra(), "has no attribute 'zebra' (at test_miscalls.py:"),
        (lambda x: OPS.sort(x, -1), "sort: descending is True or False, got -1"),
        (lambda x: x ^ 2, "a tensor (float32[3]) has no operator ^"),
        (lambda x: x << 2, "hint x * 4 in place of x << 2"),
        (lambda x: OPS.cat([x, x]), "has no attribute 'cat'; did you mean ops.concat?"),
    ],
)
def test_what_a_function_miscalls(function: Callable[[Any], Any], words: str) -> None:
    assert words in refused(function)


def gather(x: Any) -> Any:
    """A function of a user's that is called as an operation is."""
    return x


def test_other_functions_are_left_alone() -> None:
    wrong: Any = gather
    assert "TypeError: gather() got an unexpected keyword argument 'axis'" in refused(
        lambda x: wrong(x, axis=0)
    )
    assert "TypeError: abs() takes exactly one argument (2 given)" in refused(lambda x: abs(x, 3))  # type: ignore[call-arg]

    def inside(x: Any) -> Any:
        def top_k(x: Any) -> Any:
            return x

        wrong: Any = top_k
        return wrong(x, 3)

    assert "top_k() takes 1 positional argument but 2 were given" in refused(inside)
    assert "ops.top_k" not in refused(inside)


def test_errors_within_an_operation_say_what_they_say() -> None:
    words = refused(lambda x: ops.sum(x, axis="last"))  # type: ignore[arg-type]
    assert "ops.sum has no argument" not in words


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
    for name, likely in (("cat", "ops.concat"), ("topk", "ops.top_k"), ("sigmiod", "ops.sigmoid")):
        with pytest.raises(AttributeError) as caught:
            getattr(OPS, name)
        assert str(caught.value) == f"module 'arrows.ops' has no attribute {name!r}; did you mean {likely}?"
    with pytest.raises(AttributeError) as caught:
        OPS.zebra
    assert str(caught.value) == "module 'arrows.ops' has no attribute 'zebra'"
    with pytest.raises(ImportError, match=r"cannot import name 'topk' .* did you mean ops\.top_k\?"):
        exec("from arrows.ops import topk", {})
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
