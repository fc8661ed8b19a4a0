"""Names the layers of a model and their parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arrows.combinators import Block
from arrows.engine.reference import parameters
from arrows.inference import Typed
from arrows.ops import Parameter
from arrows.typesys import ArrowTypeError, message

if TYPE_CHECKING:
    from arrows.engine.planning.parameters import Params

Key = tuple[int, str]
"""The identity of a layer, and the name of a parameter in it."""


def named_parameters(typed: Typed) -> dict[str, Parameter]:
    """The parameters that a model of this expression has, by name; no array is made.

    Raises:
        ArrowTypeError: two layers have the same name.
    """
    return {name: spec for name, (_, spec) in owned_parameters(typed).items()}


def owned_parameters(typed: Typed) -> dict[str, tuple[object, Parameter]]:
    """The parameters of an expression by name, each with its layer.

    Raises:
        ArrowTypeError: two layers have the same name.
    """
    names = LayerNames()
    return {f"{names.of(owner)}/{spec.name}": (owner, spec) for owner, spec in parameters(typed)}


def layer_name(params: Params, owner: object) -> str:
    """The name of a layer, with which those of its parameters begin."""
    owned = ((name, *params.owner(name)) for name in params)
    return next(name.removesuffix(f"/{spec.name}") for name, each, spec in owned if each is owner)


class LayerNames:
    """Names layers: by their ``name``, else by their kind and a number in the order in which they come."""

    def __init__(self) -> None:
        # By identity: the layer, its name, and its kind, which is None if its maker has named it.
        self._named: dict[int, tuple[object, str, str | None]] = {}

    def of(self, owner: object) -> str:
        """The name of a layer.

        Raises:
            ArrowTypeError: another layer has it.
        """
        if id(owner) in self._named:
            return self._named[id(owner)][1]
        name, kind = getattr(owner, "name", None), None
        if name is None:
            kind = owner.kind if isinstance(owner, Block) else type(owner).__name__
            name = f"{kind}_{1 + sum(other == kind for _, _, other in self._named.values())}"
        for other, taken, _ in self._named.values():
            if taken == name:
                raise ArrowTypeError(
                    message(
                        f"cannot name the parameters of two layers {name!r}",
                        reason=f"one was made at {_site(other)}, another at {_site(owner)}, "
                        "and parameters go by the name of their layer",
                        hint="give one another name=, or use one layer in both places to share its weights",
                    )
                )
        self._named[id(owner)] = owner, name, kind
        return name


def _site(owner: object) -> str:
    return str(owner.site) if isinstance(owner, Block) else "an unknown place"
