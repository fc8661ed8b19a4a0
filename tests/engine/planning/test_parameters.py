"""Parameters: names, order, first values, sharing within and between models."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import arrows as ar

devices = pytest.mark.parametrize("device", ["cpu", "fake"])


def host(model: ar.Model, name: str) -> Any:
    return ar.to_numpy(model.params[name])


@ar.fix
def tree(me: Any) -> Any:
    cell, table = ar.TreeLSTM(3, children=2), ar.Embedding(7, 3)
    leaf = (ar.Scalar("int32") >> table & ar.Zeros((cell.state, cell.state))) >> cell
    pair = (ar.Zeros([3]) & (ar.GetItem(0) >> me & ar.GetItem(1) >> me)) >> cell
    return ar.OneOf(lambda t: isinstance(t, tuple), {True: pair, False: leaf})


# ------------------------------------------------------------------------------------------ names


@devices
def test_names_shapes_and_order(device: str) -> None:
    block = tree >> ar.GetItem(0) >> ar.FC(4) >> ar.FC(5, name="out") >> ar.FC(2, bias=False)
    model = ar.compile(block, device=device)
    assert {name: (array.shape, array.dtype.name) for name, array in model.params.items()} == {
        "TreeLSTM_1/weight": ((9, 15), "float32"),
        "TreeLSTM_1/bias": ((15,), "float32"),
        "Embedding_1/weight": ((7, 3), "float32"),
        "FC_1/weight": ((3, 4), "float32"),
        "FC_1/bias": ((4,), "float32"),
        "out/weight": ((4, 5), "float32"),
        "out/bias": ((5,), "float32"),
        "FC_2/weight": ((5, 2), "float32"),
    }
    assert len(model.params) == 8 and "FC_2/bias" not in model.params
    assert repr(model.params).startswith("{TreeLSTM_1/weight: float32[9, 15], ")


def test_unknown_names() -> None:
    model = ar.compile(ar.Vector(2) >> ar.FC(2))
    with pytest.raises(KeyError, match="no parameter 'FC_2/weight'; there are FC_1/weight, FC_1/bias"):
        model.params["FC_2/weight"]
    with pytest.raises(KeyError, match="no parameter"):
        model.params["FC_2/weight"] = np.zeros(1)
    assert "FC_1/weight" in model.params and "nothing" not in model.params
    with pytest.raises(KeyError, match="there are none"):
        ar.compile(ar.Scalar()).params["x"]


# ------------------------------------------------------------------------------------------ sharing


@devices
def test_two_models_share_live_arrays(device: str) -> None:
    dense, out = ar.FC(2), ar.FC(1)
    training = ar.Vector(2) >> dense >> ar.FC(3) >> out >> ar.Function(lambda x: x.sum()) >> ar.Metric("loss")
    one = ar.compile(training, loss="loss", device=device)
    # The layers are matched by themselves: here they have other names.
    two = ar.compile(ar.Vector(3) >> out, params=one.params, device=device)
    assert list(two.params) == ["FC_1/weight", "FC_1/bias"]
    assert two.params["FC_1/weight"] is one.params["FC_3/weight"]
    one.params["FC_3/weight"][...] = 1
    one.params["FC_3/bias"][...] = 10
    assert ar.to_numpy(two([[1, 2, 3]])).tolist() == [[16]]
    three = ar.compile(ar.Vector(3) >> out, params=two.params, device=device)
    three.params["FC_1/bias"] = three.device.to_device(np.array([20], "float32"))
    assert ar.to_numpy(two([[1, 2, 3]])).tolist() == [[26]]
    assert ar.to_numpy(two.eval([1, 2, 3])).tolist() == [26]


def test_sharing_needs_the_layers() -> None:
    one = ar.compile(ar.Vector(2) >> ar.FC(2))
    with pytest.raises(ar.ArrowValueError, match="'FC_1/weight' is of another layer"):
        ar.compile(ar.Vector(2) >> ar.FC(2), params=one.params)  # another layer, whatever its name
    dense = ar.FC(2)
    one = ar.compile(ar.Vector(2) >> dense)
    with pytest.raises(ar.ArrowValueError, match=r"float32\[2, 2\], and float64\[2, 2\] in the model"):
        ar.compile(ar.Vector(2) >> dense, params=one.params, float_type="float64")
    with pytest.raises(ar.ArrowValueError, match=r"float32\[2, 2\], and float32\[3, 2\] in the model"):
        ar.compile(ar.Vector(3) >> dense, params=one.params)
    with pytest.raises(ar.ArrowValueError, match="not on the device 'fake'"):
        ar.compile(ar.Vector(2) >> dense, params=one.params, device="fake")


@devices
def test_a_plain_dict_goes_by_name_and_is_copied(device: str) -> None:
    arrays = {
        "FC_1/weight": np.arange(4, dtype="float32").reshape(2, 2).T,
        "FC_1/bias": np.ones(2, "float32"),
        "extra": np.zeros(9),
    }
    model = ar.compile(ar.Vector(2) >> ar.FC(2), params=arrays, device=device)
    assert host(model, "FC_1/weight").tolist() == [[0, 2], [1, 3]] and list(model.params) == list(arrays)[:2]
    arrays["FC_1/bias"][...] = 5
    assert host(model, "FC_1/bias").tolist() == [1, 1]
    # By name, so another block's layers get the values too; and from another device.
    other = ar.compile(ar.Vector(2) >> ar.FC(2), params=dict(model.params))
    assert host(other, "FC_1/weight").tolist() == [[0, 2], [1, 3]]
    assert not np.shares_memory(host(other, "FC_1/weight"), host(model, "FC_1/weight"))


def test_a_plain_dict_that_does_not_fit() -> None:
    """The first parameter that does not fit is named, with both shapes."""
    block = ar.Vector(2) >> ar.FC(2) >> ar.FC(3)
    fits = {name: np.zeros(array.shape, "float32") for name, array in ar.compile(block).params.items()}
    for wrong, text in (
        ({"FC_1/weight": np.zeros((3, 3), "float32")}, "is float32[3, 3], and float32[2, 2] in the model"),
        ({"FC_1/weight": None}, "is missing"),
        ({"FC_1/weight": np.zeros((2, 2))}, "is float64[2, 2], and float32[2, 2] in the model"),
    ):
        with pytest.raises(ar.ArrowValueError) as caught:
            ar.compile(block, params={**fits, **wrong})
        assert str(caught.value) == f"the given parameters do not fit the model: 'FC_1/weight' {text}"
    for value in ([[0.0, 0.0], [0.0, 0.0]], "text", 1.0, None):
        with pytest.raises(ar.ArrowValueError, match="'FC_1/weight'"):
            ar.compile(block, params={**fits, "FC_1/weight": value})


def test_masked_elements_are_no_parameters() -> None:
    """What stands under a mask would become a number like the others."""
    block = ar.Vector(2) >> ar.FC(2)
    model = ar.compile(block)
    half = np.ma.masked_array(np.ones(2, "float32"), mask=[False, True])
    with pytest.raises(ar.ArrowValueError, match="with masked elements does not fit"):
        model.params["FC_1/bias"] = half
    assert host(model, "FC_1/bias").tolist() == [0, 0]
    with pytest.raises(ar.ArrowValueError, match=r"'FC_1/bias' is float32\[2\] with masked elements"):
        ar.compile(block, params={**model.params, "FC_1/bias": half})
    model.params["FC_1/bias"] = np.ma.masked_array(np.ones(2, "float32"))
    assert host(model, "FC_1/bias").tolist() == [1, 1]


# ------------------------------------------------------------------------------------------ first values


def test_first_values_depend_on_seed_and_name() -> None:
    def weight(seed: int, name: str | None = None) -> Any:
        return host(ar.compile(ar.Vector(2) >> ar.FC(3, name=name), seed=seed), f"{name or 'FC_1'}/weight")

    assert np.array_equal(weight(0), weight(0))
    assert not np.array_equal(weight(0), weight(1))
    assert not np.array_equal(weight(0), weight(0, "other"))
    assert np.array_equal(weight(2**40), weight(2**40))


def test_initializers() -> None:
    def ranges(generator: Any, shape: tuple[int, ...], dtype: str) -> Any:
        return np.arange(np.prod(shape)).reshape(shape)

    model = ar.compile(ar.Vector(2) >> ar.FC(3, initializer=ranges))
    assert host(model, "FC_1/weight").tolist() == [[0, 1, 2], [3, 4, 5]]
    assert host(model, "FC_1/weight").dtype == "float32"
