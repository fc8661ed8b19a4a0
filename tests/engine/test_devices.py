"""A model on its device: parameters that are assigned, and a model that moves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import arrows as ar
from arrows.engine.device import get_device
from arrows.training import Adam, load_state, save_state
from tests.foreign import Foreign

devices = pytest.mark.parametrize("device", ["cpu", "fake"])
ELSEWHERE = {"cpu": "fake", "fake": "cpu"}
EXAMPLES = [[1, 2, 0], [3], [2, 2]]


def block() -> Any:
    word = ar.Scalar("int32") >> ar.Embedding(4, 3, name="table")
    words = ar.Map(word >> ar.FC(3, activation=ar.ops.tanh, name="cell")) >> ar.Sum()
    return words >> ar.FC(1, name="out") >> ar.Function(lambda v: (v[0] - 1.0) ** 2)


def host(model: Any) -> dict[str, Any]:
    return {name: ar.to_numpy(array).copy() for name, array in model.params.items()}


# ------------------------------------------------------------------------------------------ assigning


@devices
@pytest.mark.parametrize("wrap", [np.asarray, Foreign, get_device("fake").to_device])
def test_a_parameter_is_assigned_from_anywhere(device: str, wrap: Any) -> None:
    model, values = ar.compile(block(), device=device), np.float32([[1], [2], [3]])
    array = model.params["out/weight"]
    model.params["out/weight"] = wrap(values)
    assert model.params["out/weight"] is array
    assert np.array_equal(ar.to_numpy(array), values)
    again = ar.compile(block(), device=device, params={name: wrap(v) for name, v in host(model).items()})
    assert np.array_equal(ar.to_numpy(again.params["out/weight"]), values)
    values[...] = 7  # it was copied
    assert ar.to_numpy(again.params["out/weight"])[0] == 1


@devices
@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (np.ones((3, 1)), r"is float32\[3, 1\], and float64\[3, 1\] does not fit$"),
        (Foreign(np.ones(3, "float32")), r"parameter 'out/weight' is .*, and float32\[3\] does not fit$"),
        ([[1.0], [2.0], [3.0]], "and list does not fit"),
        (3, "and int does not fit"),
    ],
)
def test_what_does_not_fit_names_the_parameter(device: str, value: Any, reason: str) -> None:
    model = ar.compile(block(), device=device)
    before = host(model)
    with pytest.raises(ar.ArrowValueError, match=reason):
        model.params["out/weight"] = value
    assert all(np.array_equal(before[name], array) for name, array in host(model).items())


@devices
def test_assigning_shows_in_the_next_call(device: str) -> None:
    """What is computed of parameters alone is kept between calls, but not past an assignment."""
    model = ar.compile(ar.Vector(2) >> ar.FC(1, name="fc"), device=device)
    model([[1.0, 1.0]])
    model.params["fc/weight"] = np.float32([[1], [2]])
    assert ar.to_numpy(model([[1.0, 1.0]])).tolist() == [[3.0]]


# ------------------------------------------------------------------------------------------ moving


@devices
@pytest.mark.parametrize("average", [None, 0.9])
def test_an_optimizer_follows(device: str, average: float | None, tmp_path: Path) -> None:
    model, stays = ar.compile(block(), device=device), ar.compile(block())
    optimizer, other = Adam(0.1, average=average, clip_norm=1.0), Adam(0.1, average=average, clip_norm=1.0)
    for step in range(4):
        if step == 2:
            model.to(ELSEWHERE[device])
            save_state(tmp_path / "run", model, optimizer)  # before the state has followed
        model.train_step(EXAMPLES, optimizer)
        stays.train_step(EXAMPLES, other)
    for name, array in host(stays).items():
        assert np.allclose(host(model)[name], array, atol=1e-5), name
    if average is not None:
        model.to(device)
        with optimizer.use_averages(model), other.use_averages(stays):
            assert np.allclose(host(model)["out/weight"], stays.params["out/weight"], atol=1e-5)
    load_state(tmp_path / "run", model, optimizer)
    assert optimizer.steps == 2
    model.train_step(EXAMPLES, optimizer)
