"""What all tests share: hypothesis profiles, time limits, and the rule for tests that need a CUDA device."""

from __future__ import annotations

import gc
import os
import signal

# The products of tests are small, and two workers whose BLAS threads wait for each other stand still.
# NumPy reads this when it is first imported, and so do the processes that tests start.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# Compiling each of thousands of random models would take hours; tests of compiled chains ask for it.
os.environ.setdefault("ARROWS_JIT", "0")

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import engine

from tests.profile import NIGHTLY

# A failure of a random program is made smaller by running many more: half a minute of that is enough.
engine.MAX_SHRINKING_SECONDS = 30

# A test run in the background of a script inherits an ignored Ctrl-C and hands it on to what it starts.
signal.signal(signal.SIGINT, signal.default_int_handler)

settings.register_profile(
    "ci",
    deadline=None,
    max_examples=30,
    derandomize=True,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile(
    "nightly",
    deadline=None,
    max_examples=2000,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


def pytest_collection_finish() -> None:
    """Takes what has been imported and collected out of the garbage collector's way, which hundreds of
    benchmarked runs and large tests ask to look at everything."""
    gc.collect()
    gc.freeze()


def cuda_is_there() -> bool:
    """Whether CuPy imports and sees at least one device."""
    try:
        import cupy

        return bool(cupy.cuda.runtime.getDeviceCount())
    except Exception:  # noqa: BLE001 - a broken driver says so in many ways; all of them mean: no device here
        return False


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Gives tests for the night four hours, and skips those marked `gpu` where no CUDA device is present."""
    for item in items:
        # Some take minutes of a processor, which are an hour or two where ten others compute.
        if NIGHTLY or item.get_closest_marker("nightly"):
            item.add_marker(pytest.mark.timeout(4 * 3600))
    marked = [item for item in items if item.get_closest_marker("gpu")]
    if marked and not cuda_is_there():
        for item in marked:
            item.add_marker(pytest.mark.skip(reason="no CuPy with a CUDA device here"))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """How many pairs of a random model and a batch were compared with the reference, if any."""
    sums: dict[str, int] = {}
    for report in terminalreporter.getreports("passed"):
        for name, value in report.user_properties:
            if name in ("pairs", "examples", "mutants", "laws"):
                sums[name] = sums.get(name, 0) + int(str(value))
    if sums:
        words = ", ".join(f"{count} {name}" for name, count in sums.items())
        terminalreporter.write_line(f"random checks: {words}; seed {os.environ.get('ARROWS_TEST_SEED', '0')}")
