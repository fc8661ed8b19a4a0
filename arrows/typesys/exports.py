"""What a file of the package exports, named once: where a door imports it, or where the file defines it."""

from __future__ import annotations

from collections.abc import Mapping


def exported(names: Mapping[str, object], *more: str) -> list[str]:
    """The public names in a module's `globals()` that the package defines, and more.

    Of modules, numbers and texts nothing says where they come from: a door adds their names itself.

    >>> from arrows import layers
    >>> "FC" in exported(vars(layers)), "annotations" in exported(vars(layers))
    (True, False)
    """
    own = (name for name, thing in names.items() if getattr(thing, "__module__", "").startswith("arrows."))
    return sorted([*more, *(name for name in own if not name.startswith("_"))])


def defined(names: Mapping[str, object]) -> list[str]:
    """The public names in a module's `globals()` that the module itself defines.

    >>> from arrows.layers import initializers
    >>> "zeros" in defined(vars(initializers)), "exports" in defined(vars(initializers))
    (True, False)
    """
    own = (name for name, x in names.items() if getattr(x, "__module__", "") == names["__name__"])
    return sorted(name for name in own if not name.startswith("_"))
