"""The benchmark of inference at a tiny size: every expression is well-typed and of about the right size."""

from __future__ import annotations

import gc
import json

import pytest

import arrows as ar
from benchmarks import command, infer
from benchmarks.expressions import EXPRESSIONS, count


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_mixes_are_well_typed_and_of_their_size(name):
    block = EXPRESSIONS[name](300)
    assert 0.6 * 300 <= count(block) <= 1.4 * 300
    assert sum(1 for _ in ar.infer(block).walk()) <= count(block)


def test_a_tiny_run_has_every_task_and_writes_its_json(tmp_path, capsys, monkeypatch):
    measured = infer.run
    monkeypatch.setattr(infer, "run", lambda **options: measured(sizes=(40, 80), **options))
    target = tmp_path / "results.jsonl"
    options = command.parser().parse_args(["infer", "--quick", "--json", str(target)])
    assert command.measure(options) == 0
    assert gc.isenabled()
    _, *results = map(json.loads, target.read_text(encoding="utf-8").splitlines())
    assert [r["config"]["mode"] for r in results] == [name for name in EXPRESSIONS for _ in range(2)]
    for small, large in zip(results[::2], results[1::2], strict=True):
        assert small["growth"] == 1 and large["growth"] == large["µs/block"] / small["µs/block"]
        assert small["config"]["blocks"] < large["config"]["blocks"]
        assert len(small["runs"]) == 3 and small["µs/block"] > 0
    assert "infer, mode recursion" in capsys.readouterr().out
