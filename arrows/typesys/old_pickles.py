"""Pickles of earlier versions: refused with words, where Python would say that a module has no such name.

A pickle names the functions and classes that it is made of.  A module that lost such a name sets its
`__getattr__` to what `refusal_of` returns.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Collection
from typing import NoReturn


def refusal_of(module: str, names: Collection[str], what: str, hint: str) -> Callable[[str], NoReturn]:
    """The `__getattr__` of a module whose names stand in pickles of earlier versions.

    Args:
        module: the name of the module.
        names: what earlier versions had there.
        what: what such a pickle holds.
        hint: what to do instead.

    Returns:
        A function of a name. It raises `pickle.UnpicklingError` for those names, else `AttributeError`.

    >>> refusal_of("arrows.x", {"Old"}, "a set", "prepare it again")("Old")
    Traceback (most recent call last):
    ...
    _pickle.UnpicklingError: an earlier version of arrows pickled a set here; prepare it again
    """

    def refuse(name: str) -> NoReturn:
        if name in names:
            raise pickle.UnpicklingError(f"an earlier version of arrows pickled {what} here; {hint}")
        raise AttributeError(f"module {module!r} has no attribute {name!r}")

    return refuse
