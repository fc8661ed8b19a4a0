"""The base class of values that are immutable after `__init__`."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import NoReturn

from arrows.typesys.did_you_mean import refuse_arguments
from arrows.typesys.foreign_names import BLOCK


class Frozen:
    """A value whose attributes are set in `__init__` and nowhere else.

    Derived classes, those of users too, have a plain `__init__`; when it ends, the object is frozen.
    """

    _sealed: bool

    def __init_subclass__(cls, **kwargs: object) -> None:
        super().__init_subclass__(**kwargs)
        init = cls.__dict__.get("__init__")
        if init is not None:
            cls.__init__ = _sealing(init)  # type: ignore[method-assign]

    @property
    def label(self) -> str:
        """The object in a few words."""
        return type(self).__name__

    def __setattr__(self, name: str, value: object) -> None:
        if "_sealed" in self.__dict__:
            raise AttributeError(
                f"blocks are frozen: cannot set {name!r} of {self.label}; make a new block instead"
            )
        object.__setattr__(self, name, value)

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"blocks are frozen: cannot delete {name!r} of {self.label}")

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update(state)


def _sealing(init: Callable[..., None]) -> Callable[..., None]:
    """Wraps `init`, so that it seals the object at its end if it is the `__init__` of the object's class."""

    @functools.wraps(init)
    def sealed(self: Frozen, *args: object, **kwargs: object) -> None:
        try:
            init(self, *args, **kwargs)
        except TypeError as error:
            walk = error.__traceback__
            if walk is not None and walk.tb_next is None:  # Python could not call it with these arguments
                refuse_arguments(init.__qualname__.split(".")[-2], init, args, kwargs, BLOCK)
            raise
        if type(self).__init__ is sealed:
            self.__dict__["_sealed"] = True

    return sealed
