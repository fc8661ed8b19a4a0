"""The base class of values that are immutable after `__init__`."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import ClassVar, NoReturn, Self

from arrows.combinators.base.arguments import type_refusal
from arrows.typesys.did_you_mean import refuse_arguments


class Frozen:
    """A value whose attributes are set in `__init__` and nowhere else.

    Derived classes, those of users too, have a plain `__init__`; when it ends, the object is frozen.
    """

    _sealed: bool
    _examined: ClassVar[bool]

    def __new__(cls, *args: object, **kwargs: object) -> Self:
        # At the first object of a class, since a decorator such as `@dataclass` may still change the class
        # after Python has made it.
        if "_examined" not in cls.__dict__:
            _examine(cls)
            cls._examined = True
        return super().__new__(cls)

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


def _examine(cls: type[Frozen]) -> None:
    """Lets each `__init__` of a class seal its objects; refuses a class of objects that are no frozen values.

    Raises:
        ArrowTypeError: the class compares its objects, or keeps attributes in slots.
    """
    if cls.__eq__ is not object.__eq__ or cls.__hash__ is not object.__hash__:
        raise type_refusal(
            f"make a {cls.__name__}",
            "blocks compare by identity, since a layer shares its parameters with itself alone; "
            f"{cls.__name__} compares its objects by an __eq__ of its own",
            hint="@dataclass(eq=False) makes no __eq__; else leave out __eq__ and __hash__",
        )
    for owner in cls.__mro__:
        if owner.__dict__.get("__slots__"):
            raise type_refusal(
                f"make a {cls.__name__}",
                f"a block is copied and pickled with its __dict__, and {owner.__name__} has slots",
                hint="leave out slots=True, or __slots__",
            )
        init = owner.__dict__.get("__init__")
        if init is not None and issubclass(owner, Frozen) and not hasattr(init, "seals"):
            owner.__init__ = _sealing(init, owner.__name__)  # type: ignore[method-assign]


def _sealing(init: Callable[..., None], owner: str) -> Callable[..., None]:
    """Wraps `init`, so that it seals the object at its end if it is the `__init__` of the object's class."""

    @functools.wraps(init)
    def sealed(self: Frozen, *args: object, **kwargs: object) -> None:
        try:
            init(self, *args, **kwargs)
        except TypeError as error:
            walk = error.__traceback__
            if walk is not None and walk.tb_next is None:  # Python could not call it with these arguments
                own = type(self).__init__ is sealed  # else a subclass calls it, whose code is wrong
                call = type(self).__name__ if own else owner
                refuse_arguments(init, args, kwargs, call=call, table="block")
            raise
        if type(self).__init__ is sealed:
            self.__dict__["_sealed"] = True

    sealed.seals = True  # type: ignore[attr-defined]
    return sealed
