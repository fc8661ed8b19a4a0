"""The parameters of a model: names, first values, and sharing between models."""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from arrows.combinators import Block
from arrows.engine.device import Device, ParameterLock, host_array
from arrows.inference import Typed
from arrows.ops import Parameter
from arrows.ops.arrays import Array, HostArray
from arrows.typesys import ArrowTypeError, ArrowValueError
from arrows.typesys.dtypes import masked_elements
from arrows.typesys.errors import message

Key = tuple[int, str]
"""The identity of a layer, and the name of a parameter in it."""


@dataclass(frozen=True, eq=False, slots=True)
class LiveParameter:
    """A parameter of a model.

    Attributes:
        owner: its layer, which is kept alive so that its identity stays its own.
        spec: the layer's description of it.
        array: its values, on the model's device.
    """

    owner: object
    spec: Parameter
    array: Array


class Params(Mapping[str, Any]):
    """The live parameters of a model by name, in the order of the expression; arrays of the model's device.

    Assign into an array (``params["FC_1/weight"][...] = x``) or to a name (``params["FC_1/weight"] = x``) to
    change a parameter; models that share it see the change.

    Args:
        lock: the lock of all models that share some of the arrays.
        parameters: the parameters by name.

    Example:
        >>> import arrows as ar
        >>> model = ar.compile(ar.Vector(3) >> ar.FC(2))
        >>> {name: array.shape for name, array in model.params.items()}
        {'FC_1/weight': (3, 2), 'FC_1/bias': (2,)}
    """

    def __init__(self, lock: ParameterLock, parameters: Mapping[str, LiveParameter]) -> None:
        self.lock = lock
        self._parameters = parameters
        self._arrays = {(id(each.owner), each.spec.name): each.array for each in parameters.values()}

    def __getitem__(self, name: str) -> Any:
        try:
            return self._parameters[name].array
        except KeyError:
            names = ", ".join(self._parameters) or "none"
            raise KeyError(f"no parameter {name!r}; there are {names}") from None

    def __setitem__(self, name: str, value: object) -> None:
        array = self[name]
        if not _fits(value, array.shape, array.dtype):
            raise ArrowValueError(
                f"parameter {name!r} is {_described(array)}, and {_described(value)} does not fit"
            )
        array[...] = value

    def __iter__(self) -> Iterator[str]:
        return iter(self._parameters)

    def __len__(self) -> int:
        return len(self._parameters)

    def __repr__(self) -> str:
        return "{" + ", ".join(f"{name}: {_described(array)}" for name, array in self.items()) + "}"

    def of(self, owner: object, spec: Parameter) -> Array:
        """The live array of a layer's parameter."""
        return self._arrays[id(owner), spec.name]

    def host(self, owner: object, spec: Parameter) -> HostArray:
        """A layer's parameter, on the host."""
        return host_array(self.of(owner, spec))

    def owner(self, name: str) -> tuple[object, Parameter]:
        """The layer and the description of a parameter."""
        parameter = self._parameters[name]
        return parameter.owner, parameter.spec


def make_params(typed: Typed, device: Device, seed: int, source: Mapping[str, Any] | None) -> Params:
    """Makes a model's parameters.

    Args:
        typed: the typed expression.
        device: the model's device.
        seed: first values depend on it and on the parameter's name alone.
        source: None for first values; another model's `Params` for its live arrays, where it has the same
            layers; any other mapping for values by name.

    Raises:
        ArrowTypeError: two layers have the same name.
        ArrowValueError: a parameter is missing in ``source``, or has another shape or element type there.
    """
    parameters: dict[str, LiveParameter] = {}
    problems: list[str] = []
    for name, (owner, spec) in _named_parameters(typed).items():
        if source is None:
            values: Any = device.to_device(first_values(spec, seed, name))
        elif isinstance(source, Params):
            values = source._arrays.get((id(owner), spec.name))
        else:
            values = source.get(name)
        if values is None:
            other = isinstance(source, Params) and name in source
            reason = "of another layer object; dict(params) copies by name" if other else "missing"
            problems.append(f"{name!r}: {reason}")
        elif not _fits(values, spec.shape, spec.dtype):
            problems.append(
                f"{name!r}: {_described(values)} given, {spec.dtype}{list(spec.shape)} in the model"
            )
        else:
            if isinstance(source, Params):
                if not device.is_array(values):
                    raise ArrowValueError(f"the given parameters are not on the device {device.name!r}")
            elif source is not None:
                values = device.to_device(np.array(host_array(values)))
            parameters[name] = LiveParameter(owner, spec, values)
    if problems:
        raise ArrowValueError("\n  ".join(["the given parameters do not fit the model:", *problems]))
    return Params(source.lock if isinstance(source, Params) else ParameterLock(), parameters)


def named_parameters(typed: Typed) -> dict[str, Parameter]:
    """The parameters that a model of this expression has, by name; no array is made.

    Raises:
        ArrowTypeError: two layers have the same name.
    """
    return {name: spec for name, (_, spec) in _named_parameters(typed).items()}


def _named_parameters(typed: Typed) -> dict[str, tuple[object, Parameter]]:
    names = _layer_names(typed)
    return {f"{names[id(owner)]}/{spec.name}": (owner, spec) for owner, spec in _parameters(typed)}


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
    owners: dict[str, object] = {}
    counts: Counter[str] = Counter()
    for owner, _ in _parameters(typed):
        if id(owner) in names:
            continue
        name = getattr(owner, "name", None)
        if name is None:
            class_name = type(owner).__name__
            counts[class_name] += 1
            name = f"{class_name}_{counts[class_name]}"
        if name in owners:
            raise ArrowTypeError(
                message(
                    f"cannot name the parameters of two layers {name!r}",
                    reason=f"one was made at {_site(owners[name])}, another at {_site(owner)}, "
                    "and parameters go by the name of their layer",
                    hint="give one another name=, or use one layer in both places to share its weights",
                )
            )
        names[id(owner)] = name
        owners[name] = owner
    return names


def _site(owner: object) -> str:
    return str(owner.site) if isinstance(owner, Block) else "an unknown place"


def first_values(spec: Parameter, seed: int, name: str) -> HostArray:
    generator = np.random.default_rng([seed, zlib.crc32(name.encode())])
    values = spec.initializer(generator, spec.shape, spec.dtype)
    if masked_elements(values):
        raise ArrowValueError(f"the initializer of {name!r} gave {_described(values)}; fill it first")
    array = np.asarray(values)
    if array.shape != spec.shape:
        raise ArrowValueError(
            f"the initializer of {name!r} gave an array of shape {list(array.shape)}, not {list(spec.shape)}"
        )
    # A copy: two models never share what one initializer keeps.
    return np.array(array, dtype=spec.dtype, order="C")


def _fits(value: Any, shape: tuple[int, ...], dtype: str) -> bool:
    """Whether a value can be a parameter's."""
    if getattr(value, "shape", None) != shape or masked_elements(value):
        return False
    return bool(np.dtype(value.dtype) == np.dtype(dtype))


def _described(value: object) -> str:
    if masked := masked_elements(value):
        return f"{type(value).__name__} with {masked} masked element{'s' if masked > 1 else ''}"
    return (
        f"{value.dtype}{list(value.shape)}"
        if hasattr(value, "dtype") and hasattr(value, "shape")
        else type(value).__name__
    )
