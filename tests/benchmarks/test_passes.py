"""`python -m benchmarks.passes`: every pass is left out, of small networks."""

from __future__ import annotations

from itertools import count

import arrows as ar
from arrows.engine.program.pipeline import BACKWARD, FORWARD, LAST
from benchmarks import passes
from benchmarks.passes import PASSES, Network


def test_every_pass_on_numpy_is_measured() -> None:
    assert {*PASSES} == {each.__name__ for each in (*FORWARD, *BACKWARD, *LAST)} | {"reuse"}


def test_ratios_are_of_steps_without_a_pass_to_steps_with_it(monkeypatch) -> None:
    network = Network(ar.Vector(2) >> ar.FC(1) >> ar.Function(ar.ops.sum), [[1, 2], [3, 4]], 2, None)
    found = passes.ratios(network, ["fold", "reuse"], rounds=2, clock=count().__next__)
    assert found == {"fold": 1.0, "reuse": 1.0}
    monkeypatch.setattr(passes, "NETWORKS", {"small": lambda: network})
    head, _, row = passes.lines(["fold"])
    assert head == "| without | small |" and row.startswith("| `fold` | ")
