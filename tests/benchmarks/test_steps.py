"""Under the schedule `strata`, the benchmark networks take the fewest possible steps."""

from __future__ import annotations

import pytest

from benchmarks import steps


@pytest.fixture(scope="module")
def results():
    return list(steps.run(quick=True))


def test_strata_reach_the_bound(results):
    of_arrows = {r.config["mode"]: dict(r.figures) for r in results if r.system == "arrows"}
    assert sorted(of_arrows) == ["attention", "bilstm", "bilstm-char", "residual", "treelstm"]
    for name, figures in of_arrows.items():
        assert figures["steps"] == figures["bound"], name


def test_no_schedule_is_below_it(results):
    for result in results:
        assert result.figures["steps"] >= result.figures["bound"], (result.config, result.system)
        assert result.figures["nodes"] > result.figures["steps"]
    slower = {
        r.config["mode"] for r in results if r.system == "depth" and r.figures["steps"] > r.figures["bound"]
    }
    assert slower >= {"treelstm", "bilstm", "residual"}  # what strata are for
