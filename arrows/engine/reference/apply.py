"""What runs on tensors: `Apply`, `Constant`, `Read`, `Transform`, `Metric` and `Tap`."""

from __future__ import annotations

from typing import Any

from arrows.combinators import Apply, Transform, Unfit
from arrows.engine.reference.field_reads import fields_of
from arrows.engine.reference.walk import Located, Walk
from arrows.engine.values import ExamplePath, LeafError, describe_error
from arrows.inference import Typed
from arrows.ops import IndexOutOfRange, ShapeError
from arrows.typesys import ArrowValueError
from arrows.typesys import types as T


def apply(walk: Walk, typed: Typed, value: Any, path: ExamplePath) -> Located:
    walk.count_node(typed)
    form = typed.form
    assert isinstance(form, Apply)
    least, most = form.counts
    if isinstance(typed.input, T.Sequence) and not least <= len(value) <= (most or len(value)):
        walk.fail(typed, path, form.miscounted(len(value)), None)
    try:
        return walk.semantics.apply(typed, value), path
    except ArrowValueError:  # a parameter or a kernel is wrong, not the example
        raise
    except (ArithmeticError, LookupError, ShapeError, ValueError) as error:
        reason = str(error) if isinstance(error, IndexOutOfRange) else describe_error(error)
        walk.fail(typed, path, reason, error)


def constant(walk: Walk, typed: Typed, value: object, path: ExamplePath) -> Located:
    if typed.trace is not None:
        walk.count_node(typed)
    return walk.semantics.constant(typed), path


def read(walk: Walk, typed: Typed, value: object, path: ExamplePath) -> Located:
    walk.count_node(typed)
    try:
        return walk.semantics.read(typed, value), path
    except LeafError as error:
        walk.fail(typed, path, str(error), error, error.hint)


def transform(walk: Walk, typed: Typed, value: object, path: ExamplePath) -> Located:
    form = typed.form
    assert isinstance(form, Transform)
    try:
        result = form.function(value)
    except Unfit as error:
        walk.fail(typed, path, str(error), error)
    except Exception as error:  # noqa: BLE001 (user code: all is reported with its place)
        walk.fail(typed, path, describe_error(error), error)
    fields = walk.fields_read.get(id(form))
    if fields is None:
        fields = walk.fields_read[id(form)] = fields_of(form.function)
    for key in fields:
        path = path.child(key)
    return result, path


def metric(walk: Walk, typed: Typed, value: Any, path: ExamplePath) -> Located:
    walk.count_node(typed)
    label = None
    if isinstance(typed.input, T.Tuple):
        value, label = value
    walk.semantics.metric(typed, value, label)
    return None, path


def tap(walk: Walk, typed: Typed, value: object, path: ExamplePath) -> Located:
    walk.count_node(typed)
    walk.semantics.tap(typed, value)
    return value, path
