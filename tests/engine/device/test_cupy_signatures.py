"""What arrows calls of CuPy is what CuPy 13 and 14 have, by their own signatures, without CuPy or a GPU."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

import arrows as ar
from arrows.engine.device import get_device
from arrows.testing.fake import FakeArray, xp
from arrows.training import Adam
from tests.agree import check
from tests.engine.device.cupy_signatures import (
    RECORDS,
    VERSIONS,
    array_names,
    check_call,
    checked,
    installed,
    installed_version,
    module_calls,
    module_names,
    names,
    record,
)
from tests.engine.test_batching import cases, order_of
from tests.marks import KERNELS

PACKAGE = Path(ar.__file__).parent
SOURCES = sorted(PACKAGE.rglob("*.py"))


@pytest.mark.parametrize("version", VERSIONS)
def test_everything_that_arrows_uses_is_recorded(version: int) -> None:
    assert sorted(record(version)) == names()


@pytest.mark.skipif(installed_version() not in VERSIONS, reason="CuPy is not installed")
def test_the_record_is_what_cupy_says() -> None:
    version = installed_version()
    assert version is not None
    assert installed() == record(version), "python -m tests.engine.device.cupy_signatures"


def test_calls_in_the_sources_fit() -> None:
    count = 0
    for path in SOURCES:
        for line, name, arguments, keywords in module_calls(ast.parse(path.read_text(encoding="utf-8"))):
            if name in names():
                try:
                    check_call(name, arguments, keywords)
                except TypeError as error:
                    pytest.fail(f"{path.relative_to(PACKAGE.parent)}:{line}: {error}")
                count += 1
            else:
                where = f"{path.relative_to(PACKAGE.parent)}:{line}"
                pytest.fail(f"{where}: xp.{name} is not recorded: add it to the files of {RECORDS}")
    assert count > 100


@pytest.mark.parametrize(
    "source",
    [
        "xp.sum(a, axis=0, where=mask)",
        "device.xp.take(a, i, axis=0, mode='clip')",
    ],
)
def test_a_wrong_call_is_refused(source: str) -> None:
    [(_, name, arguments, keywords)] = module_calls(ast.parse(source))
    with pytest.raises(TypeError, match=rf"cupy\.{name}\(.*of version 13"):
        check_call(name, arguments, keywords)


@pytest.fixture
def checked_fake(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """Makes the fake device's module and arrays check every call; how often each was called."""
    calls: dict[str, int] = {}

    def counting(name: str, function: Any) -> Any:
        inner = checked(name, function)

        def call(*arguments: Any, **keywords: Any) -> Any:
            calls[name] = calls.get(name, 0) + 1
            return inner(*arguments, **keywords)

        return call

    for name in module_names():
        monkeypatch.setattr(xp, name, counting(name, getattr(xp, name)), raising=False)
    for name in array_names():
        attribute = vars(FakeArray)[name]
        if record(14)[f"ndarray.{name}"] is not None and callable(attribute) and name != "tolist":
            monkeypatch.setattr(FakeArray, name, counting(f"ndarray.{name}", attribute))
    return calls


@pytest.mark.nightly
def test_calls_of_random_models_fit(checked_fake: dict[str, int]) -> None:
    @settings(max_examples=25, suppress_health_check=list(HealthCheck), deadline=None)
    @given(data=st.data())
    def one(data: st.DataObject) -> None:
        case = data.draw(cases())
        check(case, order_of(data, case), "float64", 1e-9, "fake", "strata")

    one()
    assert sum(checked_fake.values()) > 1000


@pytest.mark.parametrize("name", ["fake", KERNELS])
def test_calls_of_training_fit(name: str, checked_fake: dict[str, int]) -> None:
    word = ar.Scalar("int32") >> ar.Embedding(5, 3)
    words = ar.Map(word >> ar.Dropout(0.5) >> ar.FC(3, activation=ar.ops.tanh)) >> ar.Sum()
    block = words >> ar.FC(1) >> ar.Function(lambda v: (v[0] - 1.0) ** 2)
    model = ar.compile(block, device=get_device(name))
    optimizer = Adam(0.1, clip_norm=1.0, weight_decay=0.1)
    for _ in range(2):
        model.train_step([[1, 2, 0], [3], []], optimizer)
    assert checked_fake["empty"]
    assert np.isfinite(ar.to_numpy(model.params[next(iter(model.params))])).all()
