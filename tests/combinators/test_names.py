"""Names that no file can hold are refused where they are given; all others go through everything."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

import arrows as ar
from arrows.training import load, save
from tests.profile import draws

ops = ar.ops


class Own(ar.Layer[Any, Any]):
    """A user's layer with a parameter of any name."""

    def __init__(self, parameter: str) -> None:
        super().__init__()
        self.parameter = parameter

    def parameters(self, input: Any) -> tuple[ops.Parameter, ...]:
        return (ops.Parameter(self.parameter, input.shape, input.dtype, ar.initializers.constant(1.0)),)

    def forward(self, p: Any, x: Any) -> Any:
        return p[self.parameter] * x


def composition(name: str) -> ar.Block[Any, Any]:
    whole = ar.Composition(name=name)
    with whole.scope():
        whole.output.reads(whole.input)
    return whole


def declared(name: str) -> ar.Block[Any, Any]:
    return ar.ForwardDeclaration(name=name).resolve_to(ar.Scalar())


MAKERS: dict[str, Callable[[str], Any]] = {
    "FC": lambda name: ar.FC(1, name=name),
    "Vector": lambda name: ar.Vector(2, name=name),
    "Function": lambda name: ar.Function(lambda x: x, name=name),
    "Metric": ar.Metric,
    "Tap": ar.Tap,
    "Composition": composition,
    "ForwardDeclaration": declared,
    "Parameter": lambda name: ops.Parameter(name, (2,), "float32", ar.initializers.constant(1.0)),
}


@pytest.mark.parametrize("name", ["a\0b", "\0", "a\ud800", "\udfff", "\ud800\udc00"])
@pytest.mark.parametrize("kind", MAKERS)
def test_names_that_no_file_can_hold_are_refused(kind: str, name: str) -> None:
    with pytest.raises(ar.ArrowValueError, match=r"null character|half a character") as caught:
        MAKERS[kind](name)
    text = str(caught.value)
    assert ascii(name)[1:-1] in text and "\0" not in text
    text.encode()


@pytest.mark.parametrize("name", ["a\0b", "a\ud800"])
def test_a_layer_of_a_users_own_is_told_of_its_parameters_name(name: str) -> None:
    with pytest.raises(ar.ArrowTypeError, match=r"null character|half a character"):
        ar.infer(ar.Vector(2) >> Own(name))


def test_long_names_are_told_in_short() -> None:
    with pytest.raises(ar.ArrowValueError) as caught:
        ar.FC(1, name="x" * 10**6 + "\0")
    assert len(str(caught.value)) < 500


TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=5)


@draws(15, 2000)
@given(layer=TEXT, parameter=TEXT, metric=TEXT, tap=TEXT, read=TEXT, key=st.text(st.characters(), max_size=5))
def test_every_other_name_goes_through_everything(
    layer: str, parameter: str, metric: str, tap: str, read: str, key: str, tmp_path_factory: Any
) -> None:
    """Compiled, trained, printed, saved and loaded; keys of examples may be any text at all."""
    path: Path = tmp_path_factory.getbasetemp() / "names.safetensors"
    cell = ar.FC(2, name=layer) >> Own(parameter)
    block = ar.Record({key: ar.Vector(2, name=read) >> ar.Tap(tap) >> cell}) >> ar.GetItem(key)
    block = block >> ar.Function(lambda x: ops.sum(x * x)) >> ar.Metric(metric)
    model = ar.compile(block, loss=metric)
    examples = [{key: [1, 2]}, {key: [3, 4]}]
    names = [read] if read not in model.params else None
    value, grads = model.value_and_grad(examples, inputs=names)
    assert np.isfinite(value) and f"{layer}/weight" in grads
    assert len(model.metrics[metric].values) == 2 and len(model.taps[tap]) == 2
    save(model, path)
    other = ar.compile(block, loss=metric, seed=1)
    load(other, path)
    for name, array in model.params.items():
        assert np.array_equal(array, other.params[name]), name
    assert str(ar.infer(block)) and repr(model)
    with pytest.raises(ar.InputError):
        model([{}])
