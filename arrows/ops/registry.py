"""The table of primitives, which a user may add to.

A new primitive is one object and one line that binds it.  Here is the error function's cheap cousin,
`softsign`, ``x / (1 + |x|)``, whose derivative is ``1 / (1 + |x|)**2``:

>>> import numpy as np
>>> from arrows import ops
>>> def kernel(xp):
...     def run(x, out=None):
...         return xp.divide(x, xp.abs(x) + 1, out=out)
...
...     return run
>>> def vjp(g, result, x):
...     return (g / ops.square(ops.abs(x) + 1.0),)
>>> _ = ops.register(ops.Primitive("doc_softsign", lambda x: x, kernel, vjp, elementwise=True))
>>> def softsign(x):
...     return ops.bind(ops.get("doc_softsign"), x)

It works at once on arrays, inside Functions and in batches; `check_primitive` holds its rule, kernel,
derivative and lifting against each other:

>>> softsign(np.array([-1.0, 0.0, 3.0])).tolist()
[-0.5, 0.0, 0.75]
>>> ops.check_primitive(ops.get("doc_softsign"), np.array([-1.0, 0.5, 3.0]))
>>> ops.unregister("doc_softsign")
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from arrows.ops.primitive import Primitive
from arrows.typesys.errors import ArrowValueError

_primitives: dict[str, Primitive] = {}


def register(primitive: Primitive) -> Primitive:
    """Add a primitive; return it.  The example at the top of this module writes one from scratch.

    Raises:
        ArrowValueError: the name is taken by another primitive, or is no name.

    >>> from arrows.ops import get
    >>> register(get("add")) is get("add")
    True
    """
    if not isinstance(primitive, Primitive):
        raise ArrowValueError(f"register takes a Primitive, got {type(primitive).__name__}")
    if not primitive.name.isidentifier():
        raise ArrowValueError(f"a primitive's name is a Python name, got {primitive.name!r}")
    if _primitives.setdefault(primitive.name, primitive) is not primitive:
        raise ArrowValueError(f"there is a primitive named {primitive.name!r} already; take another name")
    return primitive


def unregister(name: str) -> None:
    """Take a primitive out of the table (for tests and notebooks that define one twice).

    >>> unregister("no_such_primitive")
    Traceback (most recent call last):
    ...
    arrows.typesys.errors.ArrowValueError: there is no primitive named 'no_such_primitive'
    """
    get(name)
    del _primitives[name]


def get(name: str) -> Primitive:
    """The primitive of that name.

    Raises:
        ArrowValueError: there is none.

    >>> get("matmul")
    Primitive(matmul)
    """
    try:
        return _primitives[name]
    except KeyError:
        raise ArrowValueError(f"there is no primitive named {name!r}") from None


def primitives() -> Mapping[str, Primitive]:
    """All primitives by name, as a live read-only view.

    >>> "softmax" in primitives()
    True
    """
    return MappingProxyType(_primitives)
