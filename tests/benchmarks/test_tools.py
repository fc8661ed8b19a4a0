"""The tools of the benchmarks: order and number of runs, threads, reports, and the machine's description."""

from __future__ import annotations

import gc
import inspect
import json
import os
import subprocess
import sys
from types import SimpleNamespace

import pytest

from arrows import machine
from benchmarks import NAMES, command, timing
from benchmarks.machine import unpinned
from benchmarks.report import Result, duration, json_lines, ratios, table


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
    before, seen = machine.threads(), {}
    systems = {name: lambda name=name: seen.update({name: machine.threads()}) for name in ("one", "usual")}
    timing.interleaved(systems, 1, threads={"one": 1})
    assert seen == {"one": 1 if machine.settable() else before, "usual": before}
    assert machine.threads() == before


def test_what_a_system_raises_comes_out_and_leaves_no_trace():
    before = machine.threads()

    def fail():
        raise RuntimeError("no")

    with pytest.raises(RuntimeError, match="no"):
        timing.interleaved({"a": fail}, 1, threads={"a": 1})
    assert gc.isenabled() and machine.threads() == before


@pytest.mark.parametrize("name", NAMES)
def test_every_name_is_a_benchmark(name):
    bench = command.benchmark(name)
    assert name == bench.NAME and {"quick", "data"} <= set(inspect.signature(bench.run).parameters)


MACHINE = {
    "cpu": "a CPU",
    "cores": 2,
    "python": "3",
    "numpy": "2",
    "blas": {"name": "b", "version": "1", "kernel": "k"},
    "gemm_gflops": {"1": 1.0},
    "load": 0.0,
    "pins": {},
}
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


def test_json_is_written_when_it_is_measured_and_outlives_an_interrupt(tmp_path, monkeypatch, capsys):
    """A run that is cut off after its second row: each line is in the file as soon as it was measured."""
    path = tmp_path / "results.jsonl"
    path.write_text("of another day\n" * 99, encoding="utf-8")
    lines = []

    def run(**_):
        for result in RESULTS[:2]:
            lines.append(path.read_text(encoding="utf-8").splitlines())
            yield result
        lines.append(path.read_text(encoding="utf-8").splitlines())
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "benchmark", lambda name: SimpleNamespace(run=run))
    monkeypatch.setattr(command, "describe", lambda: MACHINE)
    options = command.parser().parse_args(["treelstm", "--json", str(path)])
    with pytest.raises(KeyboardInterrupt):
        command.measure(options)
    assert [len(there) for there in lines] == [1, 2, 3]
    written = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert written == [json.loads(line) for line in json_lines(MACHINE, RESULTS[:2])]
    assert "measured one-by-one train" in capsys.readouterr().err


@pytest.mark.parametrize("place", ["", "nowhere/f"])
def test_results_that_cannot_be_written_are_told_before_measuring(place, tmp_path, monkeypatch):
    def run(**_):
        yield pytest.fail("it measured")

    monkeypatch.setattr(command, "benchmark", lambda name: SimpleNamespace(run=run))
    monkeypatch.setattr(command, "describe", lambda: MACHINE)
    with pytest.raises(OSError, match=r"a directory|no such folder"):
        command.measure(command.parser().parse_args(["steps", "--json", str(tmp_path / place)]))


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
    code = "import json; from benchmarks.machine import describe; print(json.dumps(describe()['pins']))"
    pins = {"OPENBLAS_CORETYPE": "Haswell", "OPENBLAS_L2_SIZE": "512"}
    pinned = os.environ | pins
    for environment, seen in [(pinned, pins), (unpinned(pinned), {})]:
        done = subprocess.run(
            [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
        )
        assert json.loads(done.stdout) == seen
