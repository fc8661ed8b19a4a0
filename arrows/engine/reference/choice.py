"""`Choice`: a key picks the case that runs."""

from __future__ import annotations

from typing import Any

from arrows.combinators import Choice
from arrows.engine.reference.walk import Located, Walk
from arrows.engine.values import ExamplePath, Recursion, describe_error, describe_key
from arrows.inference import Typed


def choice(walk: Walk, typed: Typed, value: Any, path: ExamplePath) -> Recursion[Located]:
    form = typed.form
    assert isinstance(form, Choice)
    cases = list(typed.parts)
    if form.key is None:
        selector = cases.pop(0)
        key, _ = yield walk.visit(selector, value, path)
    else:
        try:
            key = form.key(value)
        except Exception as error:  # noqa: BLE001 (user code: all is reported with its place)
            walk.fail(typed, path, f"the key function raised {describe_error(error)}", error)
    numbers = walk.case_numbers.get(id(form))
    if numbers is None:
        numbers = walk.case_numbers[id(form)] = {key: i for i, key in enumerate(form.keys)}
    try:
        case = cases[numbers[key]]
    except (KeyError, TypeError) as error:
        keys = ", ".join(map(describe_key, form.keys[:8])) + (", ..." if len(form.keys) > 8 else "")
        walk.fail(typed, path, f"there is no case for the key {describe_key(key)}; there are {keys}", error)
    except Exception as error:  # noqa: BLE001 (a key's own __hash__ or __eq__ may raise anything)
        reason = f"the key {describe_key(key)} cannot be looked up: {describe_error(error)}"
        walk.fail(typed, path, reason, error)
    result: Located = yield walk.visit(case, value, path)
    return result
