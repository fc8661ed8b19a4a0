"""The inputs of a model that have names, whose gradients can be asked for."""

from __future__ import annotations

from collections.abc import Container, Iterable

from arrows.combinators import Read
from arrows.engine.planning.plan import Plan
from arrows.typesys.errors import ArrowTypeError, ArrowValueError, message


def input_names(inputs: Iterable[str], params: Container[str]) -> tuple[str, ...]:
    """The names that a caller gives, each once.

    Args:
        inputs: the names.
        params: the names of the parameters.

    Raises:
        ArrowTypeError: something else than names.
        ArrowValueError: an input has the name of a parameter.

    >>> input_names(iter(["x", "y", "x"]), ())
    ('x', 'y')
    """
    if isinstance(inputs, str) or not isinstance(inputs, Iterable):
        raise ArrowTypeError(f"inputs must be a list of names, not {inputs!r}")
    listed = list(inputs)
    wrong = [name for name in listed if not isinstance(name, str)]
    if wrong:
        raise ArrowTypeError(f"inputs must be a list of names, and {wrong[0]!r} is none")
    taken = sorted(name for name in listed if name in params)
    if taken:
        raise ArrowValueError(f"an input and a parameter are both named {taken[0]!r}; rename the input")
    return tuple(dict.fromkeys(listed))


def read_sites(plan: Plan, name: str) -> list[int]:
    """The sites that read an input.

    Raises:
        ArrowValueError: no input has the name.
        ArrowTypeError: it has no gradient.
    """
    sites = plan.lowered.sites.sites
    forms = {s.index: s.typed.form for s in sites if s.typed is not None}
    named = {s: form.name for s, form in forms.items() if isinstance(form, Read) and form.name}
    found = [s for s, known in named.items() if known == name]
    if not found:
        names = sorted(set(named.values()))
        raise ArrowValueError(f"no input is named {name!r}; named inputs are {names or 'none'}")
    if not all(sites[s].outputs[0].dtype.startswith("float") for s in found):
        raise ArrowTypeError(
            message(
                f"cannot differentiate with respect to the input {name!r}",
                reason=f"it is {sites[found[0]].outputs[0]}, and only floats have gradients",
            )
        )
    types = {sites[s].outputs[0] for s in found}
    if len(types) > 1:
        raise ArrowTypeError(
            message(
                f"cannot differentiate with respect to the input {name!r}",
                reason=f"inputs of two types have that name: {' and '.join(sorted(map(str, types)))}",
                hint="give them two names",
            )
        )
    return found
