"""The parameters of a model: names, first values, and sharing between models."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from arrows.combinators import Block
from arrows.engine.device import Device, ParameterLock, host_array
from arrows.inference import Typed
from arrows.ops import Parameter
from arrows.typesys.errors import ArrowTypeError, ArrowValueError, message
from arrows.typesys.masked import masked_elements

Array = Any
Key = tuple[int, str]  # identity of the layer, name of the parameter in it


class Params(Mapping[str, Array]):
    """The live parameters of a model by name, in the order of the expression; arrays of the model's device.

    Assign into an array (``params["FC_1/weight"][...] = x``) or to a name (``params["FC_1/weight"] = x``) to
    change a parameter; models that share it see the change.

    Example:
        >>> import arrows as ar
        >>> model = ar.compile(ar.Vector(3) >> ar.FC(2))
        >>> {name: array.shape for name, array in model.params.items()}
        {'FC_1/weight': (3, 2), 'FC_1/bias': (2,)}
    """

    def __init__(self, lock: ParameterLock) -> None:
        self.lock = lock  # of all models that share some of the arrays
        self._names: dict[str, Key] = {}
        self._owners: dict[
            Key, tuple[object, Parameter]
        ] = {}  # keeps the layers, and so their identities, alive
        self._arrays: dict[Key, Array] = {}

    def __getitem__(self, name: str) -> Array:
        try:
            return self._arrays[self._names[name]]
        except KeyError:
            raise KeyError(f"no parameter {name!r}; there are {', '.join(self._names) or 'none'}") from None

    def __setitem__(self, name: str, value: Any) -> None:
        mine = self[name]
        if not _fits(value, mine.shape, mine.dtype):
            raise ArrowValueError(
                f"parameter {name!r} is {mine.dtype}{list(mine.shape)}, and {_described(value)} does not fit"
            )
        mine[...] = value

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __repr__(self) -> str:
        return "{" + ", ".join(f"{name}: {a.dtype}{list(a.shape)}" for name, a in self.items()) + "}"

    def of(self, owner: object, spec: Parameter) -> Array:
        """The live array of a layer's parameter."""
        return self._arrays[id(owner), spec.name]

    def host(self, owner: object, spec: Parameter) -> np.ndarray:
        """A layer's parameter, on the host."""
        return host_array(self.of(owner, spec))

    def keys_by_name(self) -> Mapping[str, Key]:
        """For each name, the key of its parameter (identity of the layer, name in it)."""
        return self._names

    def owner(self, name: str) -> tuple[object, Parameter]:
        """The layer and the description of a parameter."""
        return self._owners[self._names[name]]


def make_params(typed: Typed, device: Device, seed: int, given: Mapping[str, Any] | None) -> Params:
    """Makes a model's parameters.

    Args:
        typed: the typed expression.
        device: the model's device.
        seed: first values depend on it and on the parameter's name alone.
        given: None: first values; another model's `Params`: its live arrays where it has the same layers; any
            other mapping: values by name.

    Raises:
        ArrowTypeError: two layers have the same name.
        ArrowValueError: a parameter is missing in ``given``, or has another shape or element type there.
    """
    params = Params(given.lock if isinstance(given, Params) else ParameterLock())
    names = _layer_names(typed)
    problems: list[str] = []
    for owner, spec in _parameters(typed):
        key = (id(owner), spec.name)
        name = f"{names[id(owner)]}/{spec.name}"
        params._names[name] = key
        params._owners[key] = owner, spec
        if isinstance(given, Params):
            found = given._arrays.get(key)
        elif given is not None:
            found = given.get(name)
        else:
            found = device.to_device(_first_values(spec, seed, name))
        if found is None:
            other = isinstance(given, Params) and name in given
            problems.append(
                f"{name!r}: of another layer object; dict(params) copies by name"
                if other
                else f"{name!r}: missing"
            )
        elif not _fits(found, spec.shape, spec.dtype):
            problems.append(
                f"{name!r}: {_described(found)} given, {spec.dtype}{list(spec.shape)} in the model"
            )
        elif isinstance(given, Params):
            if not device.is_array(found):
                raise ArrowValueError(f"the given parameters are not on the device {device.name!r}")
            params._arrays[key] = found
        else:
            params._arrays[key] = found if given is None else device.to_device(np.array(host_array(found)))
    if problems:
        raise ArrowValueError("\n  ".join(["the given parameters do not fit the model:", *problems]))
    return params


def named_parameters(typed: Typed) -> dict[str, Parameter]:
    """The parameters that a model of this expression has, by name; no array is made.

    Raises:
        ArrowTypeError: two layers have the same name.
    """
    names = _layer_names(typed)
    return {f"{names[id(owner)]}/{spec.name}": spec for owner, spec in _parameters(typed)}


def _parameters(typed: Typed) -> Iterator[tuple[object, Parameter]]:
    seen: set[Key] = set()
    for occurrence in typed.walk():
        for owner, spec, _ in occurrence.trace.parameters if occurrence.trace is not None else ():
            if (id(owner), spec.name) not in seen:
                seen.add((id(owner), spec.name))
                yield owner, spec


def _layer_names(typed: Typed) -> dict[int, str]:
    """A layer is called by its ``name``, else by its class and a number in the order of the expression."""
    names: dict[int, str] = {}
    taken: dict[str, object] = {}
    counts: dict[str, int] = {}
    for owner, _ in _parameters(typed):
        if id(owner) in names:
            continue
        kind = type(owner).__name__
        name = getattr(owner, "name", None)
        if name is None:
            counts[kind] = counts.get(kind, 0) + 1
            name = f"{kind}_{counts[kind]}"
        if name in taken:
            first = taken[name]
            raise ArrowTypeError(
                message(
                    f"cannot name the parameters of two layers {name!r}",
                    reason=f"one was made at {_site(first)}, another at {_site(owner)}, and parameters go by "
                    "the name of their layer",
                    hint="give one another name=, or use one layer in both places to share its weights",
                )
            )
        names[id(owner)] = name
        taken[name] = owner
    return names


def _site(owner: object) -> str:
    return str(owner.site) if isinstance(owner, Block) else "an unknown place"


def _first_values(spec: Parameter, seed: int, name: str) -> np.ndarray:
    generator = np.random.default_rng([seed, zlib.crc32(name.encode())])
    values = spec.initializer(generator, spec.shape, spec.dtype)
    if masked_elements(values):
        raise ArrowValueError(f"the initializer of {name!r} gave {_described(values)}; fill it first")
    array = np.asarray(values)
    if array.shape != spec.shape:
        raise ArrowValueError(
            f"the initializer of {name!r} gave an array of shape {list(array.shape)}, not {list(spec.shape)}"
        )
    return np.array(
        array, dtype=spec.dtype, order="C"
    )  # a copy: two models never share what one initializer keeps


def _fits(value: Any, shape: tuple[int, ...], dtype: Any) -> bool:
    """Whether a value can be a parameter's."""
    if getattr(value, "shape", None) != shape or masked_elements(value):
        return False
    return bool(np.dtype(value.dtype) == np.dtype(dtype))


def _described(value: Any) -> str:
    if masked := masked_elements(value):
        return f"{type(value).__name__} with {masked} masked element{'s' if masked > 1 else ''}"
    return f"{value.dtype}{list(value.shape)}" if hasattr(value, "dtype") else type(value).__name__
