"""The tools of the benchmarks: order and number of runs, threads, reports, and the machine's description."""

from __future__ import annotations

import gc
import inspect
import json
import os
import subprocess
import sys

import pytest

from arrows.bench import NAMES, command, machine, timing
from arrows.bench.report import Result, duration, json_lines, ratios, table


class Ticks:
    """A clock that moves when told to."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_systems_take_turns_and_the_first_round_does_not_count():
    clock, order = Ticks(), []

    def system(name, seconds):
        def run():
            order.append(name)
            clock.now += seconds if len(order) > 3 else 100.0
            assert not gc.isenabled()

        return run

    systems = {"a": system("a", 1.0), "b": system("b", 2.0), "c": system("c", 3.0)}
    seconds = timing.interleaved(systems, 3, clock=clock)
    assert seconds == {"a": [1.0] * 3, "b": [2.0] * 3, "c": [3.0] * 3}
    rounds = [order[i : i + 3] for i in range(0, len(order), 3)]
    assert all(sorted(names) == ["a", "b", "c"] for names in rounds)
    assert {names[0] for names in rounds[1:]} == {"a", "b", "c"}
    assert gc.isenabled()


def test_threads_are_set_for_each_system_and_put_back(monkeypatch):
    blas, seen = machine.Blas(), {}
    before = blas.threads
    systems = {name: lambda name=name: seen.update({name: blas.threads}) for name in ("one", "usual")}
    timing.interleaved(systems, 1, threads={"one": 1})
    assert seen == {"one": 1 if blas.settable else before, "usual": before}
    assert blas.threads == before


def test_what_a_system_raises_comes_out_and_leaves_no_trace():
    blas = machine.Blas()
    before = blas.threads

    def fail():
        raise RuntimeError("no")

    with pytest.raises(RuntimeError, match="no"):
        timing.interleaved({"a": fail}, 1, threads={"a": 1})
    assert gc.isenabled() and blas.threads == before


def test_without_openblas_the_number_of_threads_is_left_alone(monkeypatch):
    monkeypatch.setattr(machine, "_openblas", lambda: (None, "", ""))
    blas = machine.Blas()
    assert (blas.kernel, blas.threads, blas.settable) == ("", machine.cores(), False)
    blas.set_threads(1)
    assert timing.best_threads({"a": lambda: None}) == {"a": machine.cores()}
    assert machine.describe()["blas"]["kernel"] == ""


@pytest.mark.parametrize("name", NAMES)
def test_every_name_is_a_benchmark(name):
    bench = command.benchmark(name)
    assert name == bench.NAME and {"quick", "data"} <= set(inspect.signature(bench.run).parameters)


RESULTS = [
    Result("b", {"mode": "train"}, "arrows", [1.0, 2.0, 9.0], {"trees/s": 1234.5}),
    Result("b", {"mode": "train"}, "one-by-one", [8.0, 7.0, 9.0]),
    Result("b", {"mode": "lower"}, "numpy-hand", [1e-4]),
]


def test_ratios_are_of_medians_within_a_task():
    assert ratios(RESULTS) == [1.0, 4.0, None]


def test_json_has_the_machine_and_one_object_a_line():
    first, *lines = map(json.loads, json_lines({"cores": 2}, RESULTS))
    assert first == {"machine": {"cores": 2}}
    assert lines[1] == {
        "bench": "b",
        "config": {"mode": "train"},
        "system": "one-by-one",
        "median_s": 8.0,
        "runs": [8.0, 7.0, 9.0],
        "ratio_to_arrows": 4.0,
    }
    assert lines[0]["trees/s"] == 1234.5 and lines[2]["ratio_to_arrows"] is None


def test_the_table_groups_tasks_and_draws_bars():
    head, ours, theirs, other, alone = table(RESULTS).splitlines()
    assert (head, other) == ("b, mode train", "b, mode lower")
    assert "trees/s 1,234" in ours and "1.00 x" in ours and "4.00 x" in theirs and "100 µs" in alone
    assert theirs.count("■") == 30 and 7 <= ours.count("■") <= 8 and "■" not in alone


def test_an_empty_table():
    assert table([]) == ""


@pytest.mark.parametrize(("seconds", "text"), [(0.0, "0.0 µs"), (0.9996, "1000 ms"), (59.0, "59.000 s ")])
def test_durations(seconds, text):
    assert duration(seconds) == text


def test_pins_are_seen_and_removed():
    code = "import json; from arrows.bench.machine import describe; print(json.dumps(describe()['pins']))"
    pinned = os.environ | {"OPENBLAS_CORETYPE": "Haswell"}
    for environment, pins in [(pinned, {"OPENBLAS_CORETYPE": "Haswell"}), (machine.unpinned(pinned), {})]:
        done = subprocess.run(
            [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
        )
        assert json.loads(done.stdout) == pins
