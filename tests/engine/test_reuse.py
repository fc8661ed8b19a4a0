"""Programs that use the same things again, and models that are used again: after any script of calls, a model
says what the reference says."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import assume, given, strategies as st

import arrows as ar
from arrows.engine.device import available
from tests.compare import close, dense
from tests.engine.python_loops import loops_as_python
from tests.engine.scripts import Models, scripts
from tests.generate import cases
from tests.profile import NIGHTLY, counted, draws

PARTS = 4
"""How many tests share the work, so that processes can."""

PRODUCTIONS = [None, "tables", "repeated"]
"""What stands outermost: anything, or what uses the same things again."""

LENGTHS = (12, 36) if NIGHTLY else (1, 12)
"""Of the scripts: from, to."""

DEVICES = ("cpu", "cpu", "fake")

FLOAT32: dict[str, Any] = {"float_type": "float32", "tolerance": 1e-4}

Patch = pytest.MonkeyPatch


@pytest.fixture
def python_loops() -> Iterator[None]:
    """Loops run as Python: to compile them would take hours."""
    with loops_as_python():
        yield


def run_scripts(
    record: Any,
    name: str,
    sizes: tuple[int, int],
    at_least: tuple[int, int],
    *,
    devices: tuple[str, ...] = DEVICES,
    depth: int = 3,
    **options: Any,
) -> None:
    """Draws blocks, each with examples and a script, and runs the scripts.

    Args:
        record: pytest's `record_property`.
        name: tells the seeds apart.
        sizes: how many blocks in `make test`, and nightly.
        at_least: how many pairs of a model and a batch must be compared then.
        devices: to draw from.
        depth: how deep productions may nest.
        options: of `Models`.
    """
    with counted(record, at_least[NIGHTLY]) as count:

        @draws(*sizes, name)
        @given(data=st.data())
        def pairs(data: st.DataObject) -> None:
            case = data.draw(cases(depth, production=data.draw(st.sampled_from(PRODUCTIONS)), noise=False))
            device = data.draw(st.sampled_from(devices), "device")
            script = data.draw(scripts(len(case.examples), device, *LENGTHS), "script")
            models = Models(case, device, **options)
            for action in script:
                compared = models.do(action)
                count.pairs += compared is not None
                count.examples += compared or 0
            models.at_the_end()

        pairs()


@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.usefixtures("python_loops")
def test_whatever_is_used_again_batched_is_one_by_one(part: int, record_property: Any) -> None:
    run_scripts(record_property, f"part {part}", (10, 100), (20, 1_200))


def test_whatever_is_used_again_in_float32(record_property: Any) -> None:
    sizes, at_least = (12, 60), (24, 600)
    run_scripts(record_property, "float32", sizes, at_least, devices=("cpu",), fused=False, **FLOAT32)


@pytest.mark.skipif(not available(), reason="numba is not installed")
def test_whatever_is_used_again_with_numba(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: Patch, record_property: Any
) -> None:
    """Compiled chains, each of which takes half a second."""
    monkeypatch.setenv("ARROWS_CACHE", str(tmp_path_factory.mktemp("chains")))
    sizes, at_least = (2, 30), (2, 300)
    run_scripts(record_property, "numba", sizes, at_least, devices=("cpu",), depth=1, fused=True, **FLOAT32)


@pytest.mark.parametrize(("device", "schedule"), [("fake", "strata"), ("cpu", "depth"), ("cpu", "agenda")])
def test_dropout_depends_on_no_schedule_and_no_order(
    device: str, schedule: str, record_property: Any
) -> None:
    """The reference does not drop: what a schedule gives is what one node a step gives."""
    with counted(record_property, 40 if NIGHTLY else 10) as count:

        @draws(5, 60, schedule)
        @given(data=st.data())
        def pairs(data: st.DataObject) -> None:
            case = data.draw(cases(production=data.draw(st.sampled_from(PRODUCTIONS)), dropout=0.5))
            assume(case.loss != "" and case.examples)
            options: dict[str, Any] = {"loss": case.loss, "float_type": "float64", "seed": 3}
            alone = ar.compile(case.block, schedule="none", **options)
            model = ar.compile(case.block, schedule=schedule, device=device, **options)
            assume(not any(Models(case, "cpu").alone(alone, n).kink for n in range(len(case.examples))))
            order = data.draw(st.permutations(range(len(case.examples))), "order")
            for again in (order, order[:1]):
                batch = [case.examples[n] for n in again]
                (value, grads), (wanted, right) = (
                    one.value_and_grad(batch, inputs=case.inputs, ids=again) for one in (model, alone)
                )
                assert close(*map(float, map(ar.to_numpy, (value, wanted))), 1e-9)
                assert grads.keys() == right.keys()
                for name, gradient in right.items():
                    as_lists = [
                        dense(g) if name in model.params else ar.to_numpy(g).tolist()
                        for g in (grads[name], gradient)
                    ]
                    assert close(*as_lists, 1e-9), name
                count.pairs += 1
                count.examples += len(batch)

        pairs()
