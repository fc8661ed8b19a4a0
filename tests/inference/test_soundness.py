"""What `infer` says of a block is what runs: dtype, shape and keys of every value, and of the results."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

import arrows as ar
from arrows import combinators as core
from arrows.combinators import AnyBlock, core_form
from arrows.engine.reference.interpreter import MEANINGS, Endless
from arrows.inference import Typed
from arrows.typesys import types as T
from tests.generate import PRODUCTIONS, RESULTS, cases
from tests.profile import draws

EACH = (1, 60)
MEETINGS = ("records_that_meet", "records_that_are_read_before", "records_that_become_objects", "met")
"""What is made of tuples with keys that meet; all of it is drawn more often."""


class Keyed(tuple[Any, ...]):  # noqa: SLOT001 (a tuple has no slots with values)
    """A tuple on its way through an expression: it keeps the keys that it was made with."""

    labels: tuple[Any, ...] | None = None


def keyed(t: T.Type, value: Any) -> Any:
    """A value with the keys of its type, at every level."""
    if isinstance(t, T.Tuple):
        pair = Keyed(keyed(item, x) for item, x in zip(t.items, value, strict=True))
        pair.labels = t.labels
        return pair
    if isinstance(t, T.Sequence):
        return [keyed(t.element, x) for x in value]
    return value


def made(typed: Typed, value: Any) -> Any:
    """A value with the keys that the block itself gives it."""
    form = typed.form
    if isinstance(form, core.Fan):
        whole = Keyed(value)
        whole.labels = form.labels
        return whole
    if isinstance(form, core.Apply):
        assert typed.trace is not None
        return keyed(typed.trace.output, value)
    if isinstance(form, core.Constant):
        return keyed(typed.output, value)
    return value


def misfit(t: T.Type, value: Any) -> str:
    """Where a value on its way is not of its type; empty if it is."""
    if isinstance(t, T.Tensor):
        found = value.array
        return "" if (found.shape, str(found.dtype)) == (t.shape, t.dtype) else f"{t}: {found!r}"
    if isinstance(t, T.Tuple):
        if not isinstance(value, tuple) or len(value) != len(t.items):
            return f"{t}: {value!r}"
        labels = getattr(value, "labels", None)
        if t.labels is not None and isinstance(value, Keyed) and labels != t.labels:
            return f"{t} has the keys {labels}"
        return next(filter(None, map(misfit, t.items, value)), "")
    if isinstance(t, T.Sequence):
        return next(filter(None, (misfit(t.element, x) for x in value)), "")
    if isinstance(t, T.Broadcast):
        return misfit(t.element, value.element) if isinstance(value, Endless) else f"{t}: {value!r}"
    return "" if isinstance(t, T.Input) or value is None else f"{t}: {value!r}"


@pytest.fixture
def wires(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Checks every value on its way against its type; a list of those that do not fit."""
    wrong: list[str] = []

    def checked(form: type[AnyBlock], meaning: Callable[..., Any]) -> Callable[..., Any]:
        def given(walk: Any, typed: Typed, value: Any, path: Any) -> Any:
            result = meaning(walk, typed, value, path)
            return seen(typed, value, result) if isinstance(result, tuple) else later(typed, value, result)

        def later(typed: Typed, value: Any, result: Iterator[Any]) -> Iterator[Any]:
            located = yield result
            return seen(typed, value, located)

        def seen(typed: Typed, value: Any, located: tuple[Any, Any]) -> tuple[Any, Any]:
            result, path = located
            if form is core.Item and isinstance(value, Keyed):
                key, labels = typed.form.key, value.labels
                if isinstance(key, slice):
                    result = Keyed(result)
                    result.labels = None if labels is None else labels[key]
                elif labels is not None and key in labels and typed.form.arity is None:
                    # The same arrow means the same item, alone and where other tuples come too.
                    same = result is value[labels.index(key)]
                    wrong.extend([] if same else [f"{typed.form.label} of {labels} is another item"])
            else:
                result = made(typed, result)
            if text := misfit(typed.output, result):
                wrong.append(f"{typed.form.label} gives {text}")
            return result, path

        return given

    for form, meaning in MEANINGS.items():
        monkeypatch.setitem(MEANINGS, form, checked(form, meaning))
    return wrong


def misfit_of_result(t: T.Type, result: Any, count: int | None) -> str:
    """Where a result is not of its type: of one example, or of a batch of `count` rows."""
    if isinstance(t, T.Tensor):
        found = np.asarray(result)
        shape = t.shape if count is None else (count, *t.shape)
        return "" if (found.shape, str(found.dtype)) == (shape, t.dtype) else f"{t}: {found!r}"
    if isinstance(t, T.Tuple):
        if getattr(result, "labels", None) != t.labels or len(result) != len(t.items):
            return f"{t}: {result!r}"
        parts = zip(t.items, result, strict=True)
        return next(filter(None, (misfit_of_result(item, x, count) for item, x in parts)), "")
    if isinstance(t, T.Sequence):
        if count is None:
            return next(filter(None, (misfit_of_result(t.element, x, None) for x in result)), "")
        if len(result.offsets) != count + 1:
            return f"{t}: {result!r}"
        return misfit_of_result(t.element, result.values, int(result.offsets[-1]))
    return "" if isinstance(t, T.Input) or result is None else f"{t}: {result!r}"


@pytest.mark.parametrize("kind", [*PRODUCTIONS, *RESULTS])
def test_what_infer_prints_is_what_runs(kind: str, wires: list[str]) -> None:
    chosen = {"result" if kind in RESULTS else "production": kind}

    @draws(*(6, 600) if kind in MEETINGS else EACH, kind)
    @given(data=st.data())
    def sound(data: st.DataObject) -> None:
        case = data.draw(cases(**chosen))  # type: ignore[arg-type]
        typed = ar.infer(case.block)
        assert str(ar.infer(case.block)) == str(typed)
        wires.clear()
        model = ar.compile(case.block, loss=None)
        for example in case.examples:
            text = misfit_of_result(typed.output, model.eval(example), None)
            assert not text, text
        assert not wires, wires[0]
        assert str(model.typed) == str(typed)
        text = misfit_of_result(typed.output, model(case.examples), len(case.examples))
        assert not text, text
        for occurrence in typed.walk():
            form = occurrence.form
            if core_form(form) is core.Tap and not T.holds(occurrence.output, T.Input):
                # A tap lists its values by example.
                text = misfit_of_result(
                    T.Sequence(occurrence.output), model.taps[form.key], len(case.examples)
                )
                assert not text, text

    sound()
