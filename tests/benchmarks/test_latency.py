"""The benchmark of latency at a tiny size: all systems give the same scores, cold and warm."""

from __future__ import annotations

import json

import numpy as np
import pytest

from benchmarks import command, latency


@pytest.mark.parametrize("name", latency.names())
def test_systems_give_the_same_scores(name):
    parameters = latency._parameters(5)
    trees = latency.random_trees(6, 7)
    ours, other = (latency.build(system, parameters, 5) for system in ("arrows", name))
    for tree in trees:
        np.testing.assert_allclose(other(tree), ours(tree), rtol=1e-4, atol=1e-5)


def test_a_tiny_run_has_every_system_cold_and_warm(tmp_path, monkeypatch):
    measured = latency.run
    monkeypatch.setattr(latency, "names", lambda: ["arrows", "numpy-hand"])
    monkeypatch.setattr(latency, "run", lambda **options: measured(state=3, words=3, **options))
    target = tmp_path / "results.jsonl"
    options = command.parser().parse_args(["latency", "--quick", "--json", str(target)])
    assert command.measure(options) == 0
    _, *results = map(json.loads, target.read_text(encoding="utf-8").splitlines())
    assert [(r["config"]["mode"], r["system"]) for r in results] == [
        (mode, name) for mode in ("cold", "warm") for name in ("arrows", "numpy-hand")
    ]
    for result in results[:2]:
        assert len(result["runs"]) == 2 and result["build_s"] > 0
    for result in results[2:]:
        assert len(result["runs"]) == 90 and result["p99_ms"] >= result["p50_ms"] > 0
