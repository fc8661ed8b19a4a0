"""What an installation computes with, in a few lines."""

from __future__ import annotations

import io

import arrows as ar
from arrows import machine


def test_it_says_what_there_is(monkeypatch):
    monkeypatch.setenv("OPENBLAS_CORETYPE", "Prescott")
    text = io.StringIO()
    ar.show_config(text)
    first, second, third, *warnings = text.getvalue().splitlines()
    assert "cores; Python 3." in first and "NumPy" in first
    assert "GFLOP/s on 1" in second
    assert third.startswith("numba: ") and "CuPy: " in third
    assert any(line.startswith("warning: OPENBLAS_CORETYPE=Prescott pins the BLAS") for line in warnings)


def test_a_quiet_machine_without_pins_warns_of_nothing():
    assert machine.slowdowns({"load": None, "pins": {}}) == []
    (warning,) = machine.slowdowns({"load": 3.2, "pins": {}})
    assert warning.startswith("the machine is busy (load 3.2)")
