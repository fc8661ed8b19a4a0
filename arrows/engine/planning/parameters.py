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
        self.lock.updates += 1

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
    maker = _Maker(device, seed, source)
    parameters: dict[str, LiveParameter] = {}
    problems: list[str] = []
    for name, (owner, spec) in _named_parameters(typed).items():
        try:
            parameters[name] = maker.make(name, owner, spec)
        except _UnfitParameter as unfit:
            problems.append(str(unfit))
    if problems:
        raise ArrowValueError("\n  ".join([_UNFIT, *problems]))
    return Params(maker.lock, parameters)


_UNFIT = "the given parameters do not fit the model:"


class _UnfitParameter(Exception):
    """Says what is wrong with a parameter that the caller handed in."""


@dataclass(frozen=True, eq=False, slots=True)
class _Maker:
    """Makes parameters; attributes as the arguments of `make_params`."""

    device: Device
    seed: int
    source: Mapping[str, Any] | None

    @property
    def lock(self) -> ParameterLock:
        """The lock of the source's models if parameters are shared, else a new one."""
        return self.source.lock if isinstance(self.source, Params) else ParameterLock()

    def make(self, name: str, owner: object, spec: Parameter) -> LiveParameter:
        """Makes one parameter.

        Raises:
            _UnfitParameter: the given one is missing, or of another shape or element type.
        """
        device, source = self.device, self.source
        if source is None:
            values: Any = device.to_device(first_values(spec, self.seed, name))
        elif isinstance(source, Params):
            values = source._arrays.get((id(owner), spec.name))
        else:
            values = source.get(name)
        if values is None:
            other = isinstance(source, Params) and name in source
            reason = "of another layer object; dict(params) copies by name" if other else "missing"
            raise _UnfitParameter(f"{name!r}: {reason}")
        if not _fits(values, spec.shape, spec.dtype):
            raise _UnfitParameter(
                f"{name!r}: {_described(values)} given, {spec.dtype}{list(spec.shape)} in the model"
            )
        if isinstance(source, Params):
            if not device.is_array(values):
                raise ArrowValueError(f"the given parameters are not on the device {device.name!r}")
        elif source is not None:
            values = device.to_device(np.array(host_array(values)))
        return LiveParameter(owner, spec, values)


class GrowingParams(Params):
    """Parameters that are made when a layer is first called, as a program on the fly does.

    Layers without a name are numbered in the order of their first calls.

    Args:
        device, seed, source: as in `make_params`.

    Attributes:
        waiting: the values that were loaded for layers that have not been called since, by parameter name.
    """

    def __init__(self, device: Device, seed: int, source: Mapping[str, Any] | None) -> None:
        self._maker = _Maker(device, seed, source)
        self._names = LayerNames()
        self._grown: dict[str, LiveParameter] = {}
        self.waiting: Mapping[str, Array] = {}
        self._only_from: str | None = None
        super().__init__(self._maker.lock, self._grown)

    def __getitem__(self, name: str) -> Any:
        if name in self.waiting:
            raise KeyError(f"parameter {name!r} was loaded, and waits for the first call of its layer")
        return super().__getitem__(name)

    def expect(self, values: Mapping[str, Array], only_from: str | None = None) -> None:
        """Keeps values for layers that have not been called yet, in place of those that it kept before.

        Args:
            values: by parameter name, on the device.
            only_from: the file that they come from, if layers that it lacks are refused from now on; None
                gives such layers their first values.
        """
        self.waiting, self._only_from = dict(values), only_from

    def ensure(self, owner: object, spec: Parameter) -> None:
        """Makes a layer's parameter unless it is there.

        Raises:
            ArrowTypeError: the layer had other parameters before, for another type of input; or two layers
                have one name.
            ArrowValueError: the parameters that were given or loaded lack it, or hold one that does not fit.
        """
        name = f"{self._names.of(owner)}/{spec.name}"
        if name in self._grown:
            before = self._grown[name].spec
            if (before.shape, before.dtype) != (spec.shape, spec.dtype):
                raise ArrowTypeError(
                    f"parameter {name!r} is {before.type}, and this input would make it {spec.type}; "
                    "a layer has one input type: use another layer here"
                )
            return
        self._check_loaded(name, spec)
        try:
            parameter = self._maker.make(name, owner, spec)
        except _UnfitParameter as unfit:
            raise ArrowValueError("\n  ".join([_UNFIT, str(unfit)])) from None
        if name in self.waiting:
            parameter.array[...] = self.waiting[name]
            self.waiting = {other: array for other, array in self.waiting.items() if other != name}
        self._grown[name] = parameter
        self._arrays[id(owner), spec.name] = parameter.array

    def _check_loaded(self, name: str, spec: Parameter) -> None:
        """Refuses a new parameter that is not as it was loaded."""
        values, file = self.waiting.get(name), self._only_from
        attempt = reason = hint = ""
        if values is not None and not _fits(values, spec.shape, spec.dtype):
            attempt = f"cannot use parameter {name!r} as it was loaded"
            reason = (
                f"parameter {name!r} is {_described(values)} in {file or 'the saved state'}, and this call "
                f"would make it {spec.type}"
            )
        elif values is None and file is not None:
            attempt = f"cannot make parameter {name!r}"
            reason = f"parameter {name!r} is not in {file}, from which parameters were loaded"
            if self.waiting:
                hint = f"name the layer as there; for their layers wait {', '.join(sorted(self.waiting))}"
        if reason:
            raise ArrowValueError(message(attempt, reason=reason, hint=hint))


def named_parameters(typed: Typed) -> dict[str, Parameter]:
    """The parameters that a model of this expression has, by name; no array is made.

    Raises:
        ArrowTypeError: two layers have the same name.
    """
    return {name: spec for name, (_, spec) in _named_parameters(typed).items()}


def _named_parameters(typed: Typed) -> dict[str, tuple[object, Parameter]]:
    names = LayerNames()
    return {f"{names.of(owner)}/{spec.name}": (owner, spec) for owner, spec in _parameters(typed)}


def _parameters(typed: Typed) -> Iterator[tuple[object, Parameter]]:
    seen: set[Key] = set()
    for occurrence in typed.walk():
        for owner, spec, _ in occurrence.trace.parameters if occurrence.trace is not None else ():
            if (id(owner), spec.name) not in seen:
                seen.add((id(owner), spec.name))
                yield owner, spec


class LayerNames:
    """Names layers: by their ``name``, else by their class and a number in the order in which they come."""

    def __init__(self) -> None:
        self._names: dict[int, str] = {}
        self._owners: dict[str, object] = {}
        self._counts: Counter[str] = Counter()

    def of(self, owner: object) -> str:
        """The name of a layer.

        Raises:
            ArrowTypeError: another layer has it.
        """
        if id(owner) in self._names:
            return self._names[id(owner)]
        name = getattr(owner, "name", None)
        if name is None:
            class_name = type(owner).__name__
            self._counts[class_name] += 1
            name = f"{class_name}_{self._counts[class_name]}"
        if name in self._owners:
            raise ArrowTypeError(
                message(
                    f"cannot name the parameters of two layers {name!r}",
                    reason=f"one was made at {_site(self._owners[name])}, another at {_site(owner)}, "
                    "and parameters go by the name of their layer",
                    hint="give one another name=, or use one layer in both places to share its weights",
                )
            )
        self._names[id(owner)] = name
        self._owners[name] = owner
        return name


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
    # A copy, since an initializer may return the same array to two models.
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
