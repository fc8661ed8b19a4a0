"""The parameters of a model: names, first values, sharing between models, and moving to another device."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from arrows.arrays import Array, HostArray
from arrows.combinators import Block
from arrows.engine.device import Device, ParameterLock, host_array, is_device_array
from arrows.engine.reference import parameters
from arrows.engine.values import ForeignArrayError, describe_error, import_array, lends_memory
from arrows.inference import Typed
from arrows.ops import Parameter
from arrows.typesys import ArrowTypeError, ArrowValueError, Side, SourceLine, masked_elements, message

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
    return str(getattr(owner, "site", "an unknown place"))


class SharedArrays:
    """The live arrays of the models that share some of them.  They lie on one device.

    Attributes:
        lock: lets threads take turns with them.
        device: where they lie.
        arrays: by layer and parameter.
        stays: why they cannot move to another device; None: they can.
    """

    def __init__(self, lock: ParameterLock, device: Device) -> None:
        self.lock, self.device = lock, device
        self.arrays: dict[Key, Array] = {}
        self.stays: str | None = None

    def move(self, device: Device) -> None:
        """Moves all arrays to a device; the caller holds the lock.

        Raises:
            ArrowValueError: they cannot move.
        """
        if device is self.device:
            return
        if self.stays is not None:
            raise ArrowValueError(message(f"cannot move a model to {device.name!r}", reason=self.stays))
        # All copies are there before the first array changes hands: memory may run out half-way.
        moved = {key: device.to_device(host_array(array)) for key, array in self.arrays.items()}
        self.arrays.update(moved)
        self.device = device
        self.lock.updates += 1


class Params(Mapping[str, Any]):
    """The live parameters of a model by name, in the order of the expression; arrays of the model's device.

    Assign into an array (``params["FC_1/weight"][...] = x``) or to a name (``params["FC_1/weight"] = x``) to
    change a parameter; models that share it see the change.  To a name you may assign an array of NumPy, of
    any device, or of another library (with ``__dlpack__``); it must have the parameter's shape and element
    type, and is copied.

    Args:
        shared: the arrays, with those of models that share some.
        owners: the layer and the description of each parameter, by name.

    Example:
        >>> import arrows as ar
        >>> import numpy as np
        >>> model = ar.compile(ar.Vector(3) >> ar.FC(2))
        >>> {name: array.shape for name, array in model.params.items()}
        {'FC_1/weight': (3, 2), 'FC_1/bias': (2,)}
        >>> model.params["FC_1/bias"] = np.array([1, 2], "float32")
        >>> model.params["FC_1/bias"].tolist()
        [1.0, 2.0]
    """

    def __init__(self, shared: SharedArrays, owners: Mapping[str, tuple[object, Parameter]]) -> None:
        self.shared = shared
        self._owners = owners

    @property
    def lock(self) -> ParameterLock:
        """The lock of all models that share some of the arrays."""
        return self.shared.lock

    @property
    def device(self) -> Device:
        """Where the arrays lie."""
        return self.shared.device

    def __getitem__(self, name: str) -> Any:
        try:
            return self.of(*self._owners[name])
        except KeyError:
            names = ", ".join(self._owners) or "none"
            raise KeyError(f"no parameter {name!r}; there are {names}") from None

    def __setitem__(self, name: str, value: object) -> None:
        array = self[name]
        values = array_of(f"parameter {name!r}", self.device, value)
        if not _fits(values, array.shape, array.dtype):
            raise ArrowValueError(
                f"parameter {name!r} is {_described(array)}, and {_described(values)} does not fit"
            )
        array[...] = values if self.device.is_array(values) else self.device.to_device(np.asarray(values))
        self.lock.updates += 1

    def __iter__(self) -> Iterator[str]:
        return iter(self._owners)

    def __len__(self) -> int:
        return len(self._owners)

    def __repr__(self) -> str:
        return "{" + ", ".join(f"{name}: {_described(array)}" for name, array in self.items()) + "}"

    def of(self, owner: object, spec: Parameter) -> Array:
        """The live array of a layer's parameter."""
        return self.shared.arrays[id(owner), spec.name]

    def host(self, owner: object, spec: Parameter) -> HostArray:
        """A layer's parameter, on the host."""
        return host_array(self.of(owner, spec))

    def owner(self, name: str) -> tuple[object, Parameter]:
        """The layer and the description of a parameter."""
        return self._owners[name]

    def find(self, owner: object, spec: Parameter) -> Array | None:
        """As `of`; None for a layer that this model has not."""
        has = any(each is owner and other.name == spec.name for each, other in self._owners.values())
        return self.of(owner, spec) if has else None


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
    shared = _shared_with(source, device)
    owners = owned_parameters(typed)
    for name, (owner, spec) in owners.items():
        _make(shared, device, seed, source, (name, owner, spec))
    return Params(shared, owners)


def _shared_with(source: Mapping[str, Any] | None, device: Device) -> SharedArrays:
    """The source's arrays if parameters are shared, else new ones."""
    return source.shared if isinstance(source, Params) else SharedArrays(ParameterLock(), device)


def _make(
    shared: SharedArrays,
    device: Device,
    seed: int,
    source: Mapping[str, Any] | None,
    parameter: tuple[str, object, Parameter],
) -> Array:
    """Makes one parameter, of which name, layer and description are given, unless it is shared.

    Raises:
        ArrowValueError: the given one is missing, or of another shape or element type.
    """
    name, owner, spec = parameter
    if source is None:
        values: Any = first_values(spec, seed, name, owner)
    elif isinstance(source, Params):
        values = source.find(owner, spec)
    elif (values := source.get(name)) is not None:
        values = array_of(f"the given parameter {name!r}", device, values)
    if values is None:
        other = isinstance(source, Params) and name in source
        reason = "of another layer object; dict(params) copies by name" if other else "missing"
        raise ArrowValueError(f"the given parameters do not fit the model: {name!r} is {reason}")
    if not _fits(values, spec.shape, spec.dtype):
        raise ArrowValueError(
            f"the given parameters do not fit the model: {name!r} is {_described(values)}, and "
            f"{spec.dtype}{list(spec.shape)} in the model"
        )
    if isinstance(source, Params):
        if shared.device is not device:
            raise ArrowValueError(f"the given parameters are not on the device {device.name!r}")
        return values  # type: ignore[no-any-return]
    if source is not None:
        values = values.copy() if device.is_array(values) else np.array(values)
    array: Array = values if device.is_array(values) else device.to_device(values)
    shared.arrays[id(owner), spec.name] = array
    return array


class GrowingParams(Params):
    """Parameters that are made when a layer is first called, as a program on the fly does.

    Layers without a name are numbered in the order of their first calls.

    Args:
        device, seed, source: as in `make_params`.

    Attributes:
        waiting: the values that were loaded for layers that have not been called since, by parameter name.
    """

    def __init__(self, device: Device, seed: int, source: Mapping[str, Any] | None) -> None:
        self._made_of = device, seed, source
        self._names = LayerNames()
        self._grown: dict[str, tuple[object, Parameter]] = {}
        self._lines: dict[str, SourceLine] = {}  # where each was first used
        self.waiting: Mapping[str, Array] = {}
        self._only_from: str | None = None
        super().__init__(_shared_with(source, device), self._grown)
        self.shared.stays = "a network on the fly has these parameters, and stays on its device"

    def __getitem__(self, name: str) -> Any:
        if name in self.waiting:
            raise KeyError(f"parameter {name!r} was loaded, and waits for the first call of its layer")
        return super().__getitem__(name)

    def expect(self, values: Mapping[str, Array], only_from: str | None = None) -> None:
        """Keeps values for layers that have not been called yet, in place of those that it kept before.

        Args:
            values: by parameter name, on the device; of no parameter that is there.
            only_from: the file that they come from, if layers that it lacks are refused from now on; None
                gives such layers their first values.
        """
        self.waiting, self._only_from = dict(values), only_from

    def ensure(self, owner: object, spec: Parameter) -> None:
        """Makes a layer's parameter unless it is there.

        Raises:
            ArrowTypeError: the layer had another parameter of this name before, for another type of input; or
                two layers have one name.
            ArrowValueError: the parameters that were given or loaded lack it, or hold one that does not fit.
        """
        name = f"{self._names.of(owner)}/{spec.name}"
        if name in self._grown:
            differs = self._grown[name][1].difference(spec)
            if differs is not None:
                raise ArrowTypeError(
                    f"parameter {name!r} is {differs[0]} for the call at {self._lines[name]}, and this one "
                    f"would make it {differs[1]}; a layer may be called on several types where its "
                    "parameters are the same for all: use another layer here"
                )
            return
        self._check_loaded(name, spec)
        array = _make(self.shared, *self._made_of, (name, owner, spec))
        if name in self.waiting:
            array[...] = self.waiting[name]
            self.waiting = {other: values for other, values in self.waiting.items() if other != name}
        self._lines[name] = SourceLine.here()
        self._grown[name] = owner, spec

    def _check_loaded(self, name: str, spec: Parameter) -> None:
        """Refuses a new parameter that is not as it was loaded."""
        values, file = self.waiting.get(name), self._only_from
        if values is not None and not _fits(values, spec.shape, spec.dtype):
            there = f"{_described(values)} in {file or 'the saved state'}"
            reason = f"parameter {name!r} is {there}, and this call would make it {spec.type}"
            raise ArrowValueError(message(f"cannot use parameter {name!r} as it was loaded", reason=reason))
        if values is None and file is not None:
            reason = f"parameter {name!r} is not in {file}, from which parameters were loaded"
            waiting = ", ".join(sorted(self.waiting))
            hint = waiting and f"name the layer as there; for their layers wait {waiting}"
            raise ArrowValueError(message(f"cannot make parameter {name!r}", reason=reason, hint=hint))


def array_of(what: str, device: Device, value: object) -> Any:
    """What a user hands in as a parameter: an array of the device or of the host; no array as it is.

    Raises:
        ArrowValueError: an array of another library that cannot be read; ``what`` names the parameter.
    """
    if device.is_array(value) or isinstance(value, np.ndarray):
        return value
    if isinstance(value, np.generic):
        return np.asarray(value)
    if is_device_array(value):
        return host_array(value)  # between devices, by way of the host
    if lends_memory(value):
        try:
            return import_array(device, value)
        except ForeignArrayError as error:
            raise ArrowValueError(f"{what} cannot be read from {type(value).__name__}: {error}") from error
    return value


def _fits(value: Any, shape: tuple[int, ...], dtype: str) -> bool:
    """Whether a value can be a parameter's."""
    alike = getattr(value, "shape", None) == shape and not masked_elements(value)
    return alike and bool(np.dtype(value.dtype) == np.dtype(dtype))


def _described(value: Any) -> str:
    if not (hasattr(value, "dtype") and hasattr(value, "shape")):
        return type(value).__name__
    return f"{value.dtype}{list(value.shape)}{' with masked elements' * bool(masked_elements(value))}"


def first_values(spec: Parameter, seed: int, name: str, owner: object) -> HostArray:
    """The first values of a parameter, which depend on the seed and its name alone.

    Args:
        spec: the parameter.
        seed: of the model.
        name: of the parameter, with its layer's.
        owner: the layer, for messages.

    Raises:
        ArrowValueError: the initializer raised, or gave something else; it names the layer and its line.

    >>> ones = Parameter("scale", (2,), "float32", lambda generator, shape, dtype: np.ones(shape, dtype))
    >>> first_values(ones, 0, "Scale_1/scale", None).tolist()
    [1.0, 1.0]
    """

    def failed(reason: str) -> ArrowValueError:
        layer = [Side(owner.label, "", owner.site)] if isinstance(owner, Block) else []
        return ArrowValueError(
            message(f"cannot make parameter {name!r}", layer, reason=f"its initializer {reason}")
        )

    try:
        generator = np.random.default_rng([seed, zlib.crc32(name.encode())])
        array = np.asanyarray(spec.initializer(generator, spec.shape, spec.dtype))  # a mask stays
    except Exception as error:
        raise failed(f"raised {describe_error(error)}") from error
    if array.shape != spec.shape or array.dtype.kind not in "biuf" or masked_elements(array):
        raise failed(f"gave {_described(array)}, where {spec.type} is wanted")
    # A copy, since an initializer may return the same array to two models.
    return np.array(array, dtype=spec.dtype, order="C")
