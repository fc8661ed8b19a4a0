"""Names the layers of a model and their parameters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from arrows.combinators import Block
from arrows.inference import Typed
from arrows.ops import Parameter
from arrows.typesys import ArrowTypeError
from arrows.typesys.errors import message

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
    return {f"{names.of(owner)}/{spec.name}": (owner, spec) for owner, spec in _parameters(typed)}


def layer_name(params: Params, owner: object) -> str:
    """The name of a layer, with which those of its parameters begin."""
    owned = ((name, *params.owner(name)) for name in params)
    return next(name.removesuffix(f"/{spec.name}") for name, each, spec in owned if each is owner)


def _parameters(typed: Typed) -> Iterator[tuple[object, Parameter]]:
    seen: set[Key] = set()
    for occurrence in typed.walk():
        for owner, spec, _ in occurrence.trace.parameters if occurrence.trace is not None else ():
            if (id(owner), spec.name) not in seen:
                seen.add((id(owner), spec.name))
                yield owner, spec


@dataclass(frozen=True, slots=True)
class _NamedLayer:
    """A layer with its name; ``kind`` is None if its maker has named it."""

    owner: object
    name: str
    kind: str | None


class LayerNames:
    """Names layers: by their ``name``, else by their kind and a number in the order in which they come."""

    def __init__(self) -> None:
        self._named: dict[int, _NamedLayer] = {}
        # The next two are made of `_named`, and made again if an interrupt came before both followed it.
        self._owners: dict[str, object] = {}
        self._counts: Counter[str | None] = Counter()

    def of(self, owner: object) -> str:
        """The name of a layer.

        Raises:
            ArrowTypeError: another layer has it.
        """
        if id(owner) in self._named:
            return self._named[id(owner)].name
        if self._counts.total() != len(self._named):
            self._owners = {each.name: each.owner for each in self._named.values()}
            self._counts = Counter(each.kind for each in self._named.values())
        name, kind = getattr(owner, "name", None), None
        if name is None:
            kind = owner.kind if isinstance(owner, Block) else type(owner).__name__
            name = f"{kind}_{self._counts[kind] + 1}"
        if name in self._owners:
            raise ArrowTypeError(
                message(
                    f"cannot name the parameters of two layers {name!r}",
                    reason=f"one was made at {_site(self._owners[name])}, another at {_site(owner)}, "
                    "and parameters go by the name of their layer",
                    hint="give one another name=, or use one layer in both places to share its weights",
                )
            )
        self._named[id(owner)] = _NamedLayer(owner, name, kind)
        self._owners[name] = owner
        self._counts[kind] += 1
        return name


def _site(owner: object) -> str:
    return str(owner.site) if isinstance(owner, Block) else "an unknown place"
