"""Training with batches of so many nodes, and of examples of like size."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import arrows as ar
from arrows.training import SGD, train

EXAMPLES = [[float(n)] * (1 + n * 7 % 13) for n in range(40)]
RULES = [ar.ByNodes(60), ar.Bucketed(6, pool=3), ar.Bucketed(ar.ByNodes(60), pool=2)]


def make_model() -> ar.Model:
    total = ar.Map(ar.Scalar()) >> ar.Sum() >> ar.Function(lambda x: ar.ops.stack([x / 100.0, x * 0.0 + 1.0]))
    block = total >> ar.FC(1, name="fc") >> ar.Dropout(0.3)
    return ar.compile(block >> ar.Function(lambda y: (y[0] - 1.0) ** 2))


class Stopped(Exception):
    pass


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_a_run_is_resumed_within_an_epoch(rule: Any, tmp_path: Path) -> None:
    def run(name: str, *, stop: int | None = None, resume: bool = False) -> tuple[list[int], Any]:
        model, sizes = make_model(), []
        step = model.train_step

        def counted(batch: Any, *arguments: Any, **named: Any) -> Any:
            if stop is not None and len(sizes) == stop:
                raise Stopped
            sizes.append(len(batch))
            return step(batch, *arguments, **named)

        model.train_step = counted  # type: ignore[method-assign]
        train(
            model,
            EXAMPLES,
            SGD(0.01),
            epochs=3,
            batch_size=rule,
            checkpoint_path=tmp_path / name,
            checkpoint_every=1,
            resume=resume,
            progress=False,
        )
        return sizes, {name: ar.to_numpy(value) for name, value in model.params.items()}

    sizes, whole = run("whole")
    assert sum(sizes) == 3 * len(EXAMPLES)
    with pytest.raises(Stopped):
        run("parts", stop=len(sizes) // 3 + 2)
    rest, parts = run("parts", resume=True)
    assert rest == sizes[len(sizes) // 3 + 2 :]
    assert all(np.array_equal(whole[name], parts[name]) for name in whole)


def test_what_does_not_go_together() -> None:
    with pytest.raises(ar.ArrowTypeError, match=r"whole number, or ByNodes\(\.\.\.\) or Bucketed"):
        train(make_model(), EXAMPLES, SGD(0.01), batch_size="64", progress=False)  # type: ignore[arg-type]
    fc = ar.FC(1, name="fc")
    learner = ar.OnTheFly().learner(lambda g, x: ar.ops.sum(fc(g.tensor(x))))
    with pytest.raises(ar.ArrowTypeError, match="needs to know how many nodes each example has"):
        train(learner, [[1.0, 2.0]], SGD(0.01), batch_size=ar.ByNodes(60), progress=False)


def test_a_mapped_set_knows_its_nodes_too(tmp_path: Path) -> None:
    ends = []
    for cache in (None, tmp_path / "set"):
        model = make_model()
        train(
            model,
            model.prepare(EXAMPLES, cache=cache),
            SGD(0.01),
            epochs=2,
            batch_size=RULES[2],
            progress=False,
        )
        ends.append({name: ar.to_numpy(value) for name, value in model.params.items()})
    assert all(np.array_equal(ends[0][name], ends[1][name]) for name in ends[0])
