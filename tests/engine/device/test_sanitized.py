"""Kernels touch only memory that is theirs, at addresses that a GPU takes: see `sanitized`."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from arrows.testing.host_kernels import host_compiler
from tests.engine.device.sanitized import FAULTS, SANITIZERS
from tests.profile import NIGHTLY

ROOT = Path(__file__).resolve().parents[3]


@cache
def libraries() -> str | None:
    """What must be loaded before Python, so that its memory is watched; None where the compiler lacks it."""
    compiler = host_compiler()
    if compiler is None or sys.platform != "linux":
        return None
    names = [
        subprocess.run(
            [compiler, f"-print-file-name={name}"], capture_output=True, text=True, check=False
        ).stdout.strip()
        for name in ("libasan.so", "libubsan.so")
    ]
    if not all(os.path.isabs(name) and os.path.exists(name) for name in names):
        return None
    return ":".join(names)


def sanitized(argument: str) -> subprocess.CompletedProcess[str]:
    preload = libraries()
    if preload is None:
        pytest.skip(f"the host's compiler has no {SANITIZERS[1]}")
    # Python's own allocator would hide where an array ends; what a process never frees is no matter here.
    watched = {"LD_PRELOAD": preload, "ASAN_OPTIONS": "detect_leaks=0", "PYTHONMALLOC": "malloc"}
    return subprocess.run(
        [sys.executable, "-m", "tests.engine.device.sanitized", argument],
        cwd=ROOT,
        env={**os.environ, **watched},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.nightly
@pytest.mark.parametrize("fault", FAULTS)
def test_a_wrong_address_is_found(fault: str) -> None:
    done = sanitized(fault)
    assert done.returncode and "nothing was found" not in done.stdout
    assert {"outside": "heap-buffer-overflow", "misaligned": "misaligned address"}[fault] in done.stderr


@pytest.mark.nightly
def test_nothing_is_found_in_models() -> None:
    done = sanitized("300" if NIGHTLY else "10")
    assert done.returncode == 0, done.stderr[-4000:]
    assert done.stdout == "nothing was found\n"
