"""How `arrows` itself runs a block: on NumPy alone, compiled where numba is there, and one by one."""

from __future__ import annotations

import importlib.util
from typing import Any

import arrows as ar


def compiled() -> tuple[str, ...]:
    """The name of the compiled system, where numba is installed.

    >>> compiled() in ((), ("arrows-jit",))
    True
    """
    return ("arrows-jit",) if importlib.util.find_spec("numba") is not None else ()


def variants(block: Any, *, one_by_one: bool = True, **options: Any) -> dict[str, Any]:
    """Models of one block that share the same live parameters.

    Args:
        block: what to compile.
        one_by_one: also one node at a time, the same kernels without batching.
        options: for `arrows.compile`.

    Returns:
        System -> model: `arrows` on NumPy alone, `arrows-jit` where numba is installed, `one-by-one`.

    >>> sorted(variants(ar.Scalar() >> ar.Function(lambda x: x * x)).keys() - {"arrows-jit"})
    ['arrows', 'one-by-one']
    """
    first = ar.compile(block, jit=False, **options)
    options["params"] = first.params
    models = {"arrows": first}
    for name in compiled():
        models[name] = ar.compile(block, jit=True, **options)
    if one_by_one:
        models["one-by-one"] = ar.compile(block, jit=False, schedule="none", **options)
    return models
