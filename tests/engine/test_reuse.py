"""Programs that use the same things again, and models that are used again: after any script of calls, a model
says what the reference says."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import arrows as ar
from arrows.engine.device import jit
from tests.compare import close
from tests.engine.python_loops import loops_as_python
from tests.profile import NIGHTLY, counted, draws
from tests.reuse.check import Models, dense, scripts
from tests.reuse.program import objects, programs

PARTS = 4
"""How many tests share the work, so that processes can."""

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
    most: int = 8,
    **options: Any,
) -> None:
    """Draws programs, each with examples and a script, and runs the scripts.

    Args:
        record: pytest's `record_property`.
        name: tells the seeds apart.
        sizes: how many programs in `make test`, and nightly.
        at_least: how many pairs of a model and a batch must be compared then.
        devices: to draw from.
        most: statements in a program.
        options: of `Models`.
    """
    with counted(record, at_least[NIGHTLY]) as count:

        @draws(*sizes, name)
        @given(data=st.data())
        def pairs(data: st.DataObject) -> None:
            program = data.draw(programs(most), "program")
            examples = data.draw(st.lists(objects(), min_size=1, max_size=5), "examples")
            device = data.draw(st.sampled_from(devices), "device")
            script = data.draw(scripts(len(examples), device, *LENGTHS), "script")
            models = Models(program, examples, device, **options)
            for action in script:
                compared = models.do(action)
                count.pairs += compared is not None
                count.examples += compared or 0
            models.at_the_end()

        pairs()


@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.usefixtures("python_loops")
def test_whatever_is_used_again_batched_is_one_by_one(part: int, record_property: Any) -> None:
    run_scripts(record_property, f"part {part}", (10, 1600), (20, 25_000))


def test_whatever_is_used_again_in_float32(record_property: Any) -> None:
    sizes, at_least = (12, 400), (24, 5_000)
    run_scripts(record_property, "float32", sizes, at_least, devices=("cpu",), fused=False, **FLOAT32)


@pytest.mark.skipif(not jit.available(), reason="numba is not installed")
def test_whatever_is_used_again_with_numba(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: Patch, record_property: Any
) -> None:
    """Compiled chains, each of which takes half a second."""
    monkeypatch.setenv("ARROWS_CACHE", str(tmp_path_factory.mktemp("chains")))
    sizes, at_least = (2, 120), (2, 1_500)
    run_scripts(record_property, "numba", sizes, at_least, devices=("cpu",), most=3, fused=True, **FLOAT32)


@pytest.mark.parametrize("schedule", ["strata", "depth", "agenda"])
def test_dropout_in_what_is_used_again_depends_on_no_schedule(schedule: str, record_property: Any) -> None:
    """The reference knows no chance: what a schedule gives is what one node a step gives."""
    with counted(record_property, 300 if NIGHTLY else 10) as count:

        @draws(5, 400, schedule)
        @given(data=st.data())
        def pairs(data: st.DataObject) -> None:
            program = data.draw(programs(), "program")
            examples = data.draw(st.lists(objects(), min_size=1, max_size=4), "examples")
            block = program.block(rate=0.5)
            alone = ar.compile(block, loss=program.loss, float_type="float64", schedule="none", seed=3)
            model = ar.compile(
                block, loss=program.loss, float_type="float64", schedule=schedule, params=alone.params, seed=3
            )
            assume(
                not any(Models(program, examples, "cpu").alone(alone, n).kink for n in range(len(examples)))
            )
            order = data.draw(st.permutations(range(len(examples))), "order")
            for again in (order, order[:1]):
                batch = [examples[n] for n in again]
                (value, grads), (wanted, right) = (
                    one.value_and_grad(batch, inputs=program.inputs, ids=again) for one in (model, alone)
                )
                assert close(value, wanted, 1e-9)
                assert grads.keys() == right.keys()
                for name, gradient in right.items():
                    as_lists = [
                        dense(g) if name in model.params else g.tolist() for g in (grads[name], gradient)
                    ]
                    assert close(*as_lists, 1e-9), name
                count.pairs += 1
                count.examples += len(batch)

        pairs()
