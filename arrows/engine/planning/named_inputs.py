"""The inputs of a model that have names, whose gradients can be asked for."""

from __future__ import annotations

from collections.abc import Container, Iterable

from arrows.combinators import Read
from arrows.engine.lowering import ReadSite
from arrows.engine.planning.plan import Plan
from arrows.typesys import ArrowTypeError, ArrowValueError
from arrows.typesys.errors import message


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


def read_sites(plan: Plan, name: str) -> list[ReadSite]:
    """Returns the sites that read the inputs of a name, which have one type.

    Raises:
        ArrowValueError: no input has the name.
        ArrowTypeError: the input has no gradient, or inputs of two types have the name.
    """
    reads = [
        (site, site.typed.form.name)
        for site in plan.lowered.sites
        if isinstance(site, ReadSite) and isinstance(site.typed.form, Read) and site.typed.form.name
    ]
    sites = [site for site, site_name in reads if site_name == name]
    if not sites:
        names = sorted({site_name for _, site_name in reads})
        raise ArrowValueError(f"no input is named {name!r}; named inputs are {names or 'none'}")
    types = sorted({site.outputs[0] for site in sites}, key=str)
    if not all(type.dtype.startswith("float") for type in types):
        raise ArrowTypeError(
            message(
                f"cannot differentiate with respect to the input {name!r}",
                reason=f"it is {sites[0].outputs[0]}, and only floats have gradients",
            )
        )
    if len(types) > 1:
        raise ArrowTypeError(
            message(
                f"cannot differentiate with respect to the input {name!r}",
                reason=f"inputs of two types have that name: {' and '.join(map(str, types))}",
                hint="give them two names",
            )
        )
    return sites
