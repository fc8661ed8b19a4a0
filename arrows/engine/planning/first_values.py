"""First values of parameters: what their initializers give, by the model's seed."""

from __future__ import annotations

import zlib

import numpy as np

from arrows.combinators import Block
from arrows.engine.values import describe_error
from arrows.ops import Parameter
from arrows.ops.arrays import HostArray
from arrows.typesys import ArrowValueError
from arrows.typesys.dtypes import masked_elements
from arrows.typesys.errors import Side, message


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
    try:
        return _first_values(spec, seed, name)
    except ArrowValueError as error:
        layer = [Side(owner.label, "", owner.site)] if isinstance(owner, Block) else []
        words = message(f"cannot make parameter {name!r}", layer, reason=str(error))
        raise ArrowValueError(words) from error.__cause__


def _first_values(spec: Parameter, seed: int, name: str) -> HostArray:
    generator = np.random.default_rng([seed, zlib.crc32(name.encode())])
    try:
        values = spec.initializer(generator, spec.shape, spec.dtype)
    except Exception as error:
        raise ArrowValueError(f"the initializer of {name!r} raised {describe_error(error)}") from error
    if masked := masked_elements(values):
        words = f"{type(values).__name__} with {masked} masked element{'s' if masked > 1 else ''}"
        raise ArrowValueError(f"the initializer of {name!r} gave {words}; fill it first")
    array = np.asarray(values)
    if array.dtype.kind not in "biuf":
        raise ArrowValueError(f"the initializer of {name!r} gave no numbers, where {spec.type} is wanted")
    if array.shape != spec.shape:
        shapes = f"{list(array.shape)}, not {list(spec.shape)}"
        raise ArrowValueError(f"the initializer of {name!r} gave an array of shape {shapes}")
    # A copy, since an initializer may return the same array to two models.
    return np.array(array, dtype=spec.dtype, order="C")
