"""What runs on tensors: `Apply`, `Constant`, `Read` and `SideOutput`."""

from __future__ import annotations

from typing import Any

from arrows.combinators import Apply, Read, Unfit
from arrows.engine.reference.walk import Located, Walk
from arrows.engine.values import ExamplePath, LeafError, describe, describe_error
from arrows.inference import Typed
from arrows.ops import IndexOutOfRange, ShapeError
from arrows.typesys import ArrowValueError, types as T


def apply(walk: Walk, typed: Typed, value: Any, path: ExamplePath) -> Located:
    walk.count_node(typed)
    form = typed.form
    assert isinstance(form, Apply)
    if form.no_elements and isinstance(typed.input, T.Sequence) and not value:
        walk.fail(typed, path, form.no_elements, None)
    try:
        return walk.semantics.apply(typed, value), path
    except ArrowValueError:  # a parameter or a kernel is wrong, not the example
        raise
    except (ArithmeticError, LookupError, ShapeError, ValueError) as error:
        reason, hint = describe_error(error), ""
        if isinstance(error, IndexOutOfRange):
            reason, hint = out_of_range(typed, error)
        walk.fail(typed, path, reason, None, hint)


def out_of_range(typed: Typed, error: IndexOutOfRange) -> tuple[str, str]:
    """Makes the reason and the hint for an index that is out of range, of a layer inside too."""
    form, trace = typed.form, typed.trace
    assert isinstance(form, Apply) and trace is not None
    tables = {id(owner): owner for owner, spec, _ in trace.parameters if spec.shape[:1] == (error.size,)}
    layers = [owner for owner in tables.values() if isinstance(owner, Apply)]
    if len(layers) != 1 or layers[0] is form:
        return form.out_of_range(error)
    reason, hint = layers[0].out_of_range(error)
    return f"{layers[0].label} ({layers[0].site}): {reason}", hint


def constant(walk: Walk, typed: Typed, value: object, path: ExamplePath) -> Located:
    if typed.trace is not None:
        walk.count_node(typed)
    return walk.semantics.constant(typed), path


def read(walk: Walk, typed: Typed, value: object, path: ExamplePath) -> Located:
    form, result = typed.form, value
    assert isinstance(form, Read)
    if form.function is not None:
        try:
            result = form.function(value)
        except Unfit as error:
            walk.fail(typed, path, str(error), error)
        except Exception as error:  # noqa: BLE001 (user code: all is reported with its place)
            no_length = f"expected something with a length, got {describe(value)}"
            walk.fail(typed, path, no_length if form.counts else describe_error(error), error)
    if isinstance(typed.output, T.Input):
        return result, path
    walk.count_node(typed)
    try:
        return walk.semantics.read(typed, result), path
    except LeafError as error:
        if form.counts:
            walk.fail(typed, path, f"the length {error}", error)
        walk.fail(typed, path, str(error), error, error.hint)


def side_output(walk: Walk, typed: Typed, value: Any, path: ExamplePath) -> Located:
    walk.count_node(typed)
    walk.semantics.collect(typed, value)
    return None if isinstance(typed.output, T.Void) else value, path
