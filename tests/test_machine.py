"""Threads of NumPy's matrix products: set for good, for a while, and by the command line."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

import arrows as ar
from arrows import machine
from benchmarks import timing

settable = pytest.mark.skipif(not machine.settable(), reason="the threads of this BLAS cannot be set")


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    with machine.limited_to(machine.threads()):
        yield


@settable
def test_threads_are_set_from_now_on_or_for_a_while() -> None:
    for count in (2, 1, 2):
        ar.set_threads(count)
        assert machine.threads() == count
    with pytest.raises(KeyError, match=r"^1$"), machine.limited_to(1):
        raise KeyError(machine.threads())
    assert machine.threads() == 2


@settable
def test_the_library_is_told_and_not_only_asked() -> None:
    """Asks NumPy's own library in a new process, whose environment sets another number of threads."""
    code = "import arrows as ar, threadpoolctl as t; ar.set_threads(3); print(t.threadpool_info())"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"OPENBLAS_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "'num_threads': 3" in done.stdout


@pytest.mark.parametrize(
    ("count", "error", "text"),
    [
        (0, ar.ArrowValueError, "at least 1, not 0"),
        (1.0, ar.ArrowTypeError, "an integer, not 1.0"),
        (True, ar.ArrowTypeError, "an integer, not True"),
        ("2", ar.ArrowTypeError, "an integer, not '2'"),
    ],
)
def test_what_is_no_number_of_threads(count: Any, error: type[Exception], text: str) -> None:
    before = machine.threads()
    with pytest.raises(error, match=text):
        ar.set_threads(count)
    assert machine.threads() == before


class Without:
    """Stands for a process whose libraries are unknown, as where NumPy uses Apple's Accelerate."""

    def select(self, **_: Any) -> Any:
        return self

    def limit(self, **_: Any) -> Any:
        return machine.ThreadpoolController().select(user_api="no such interface").limit(limits=1)

    lib_controllers: tuple[Any, ...] = ()


def test_without_a_library_that_is_known_threads_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "_products", Without)
    assert (machine.threads(), machine.settable()) == (machine.cores(), False)
    with pytest.warns(RuntimeWarning, match="threads .* cannot be set"):
        ar.set_threads(1)
    assert timing.best_threads({"a": lambda: None}) == {"a": machine.cores()}
    ar.show_config(text := io.StringIO())
    assert len(text.getvalue().splitlines()) >= 2


def test_the_configuration_says_what_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENBLAS_CORETYPE", "Prescott")
    monkeypatch.delenv("OPENBLAS_L2_SIZE", raising=False)
    ar.show_config(text := io.StringIO())
    first, *_ = lines = text.getvalue().splitlines()
    assert re.fullmatch(r"arrows \S+, Python 3\.\S+, NumPy \S+; \d+ cores", first)
    assert any(line.startswith("numba: ") and "CuPy: " in line for line in lines)
    assert lines[-1].startswith("warning: OPENBLAS_CORETYPE=Prescott pins the BLAS")
