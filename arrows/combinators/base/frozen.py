"""The class of classes whose objects are immutable after `__init__`."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from arrows.combinators.base.arguments import type_refusal
from arrows.typesys import refuse_arguments


class Freezing(type):
    """Seals each object of a class when its `__init__` has ended; says what is wrong with its arguments.

    Derived classes, those of users too, have a plain `__init__`, in which they set attributes.
    """

    if not TYPE_CHECKING:  # type checkers take the arguments of a class from its `__init__`

        def __call__(cls, *args: Any, **keywords: Any) -> Any:
            # Not when Python makes the class, since a decorator such as `@dataclass` may change it then.
            if "_examined" not in cls.__dict__:
                _examine(cls)
                cls._examined = True
            try:
                made = super().__call__(*args, **keywords)
            except TypeError as error:
                if error.__traceback__.tb_next is None:  # Python could not call `__init__` with these
                    sized = cls.foreign != "block" and args and isinstance(args[-1], int)
                    hint = "the sizes of the input are inferred, not given" if sized else ""
                    table = cls.foreign
                    refuse_arguments(cls.__init__, args, keywords, call=cls.__name__, table=table, hint=hint)
                raise
            made.__dict__["_sealed"] = True
            return made

        @property
        def __signature__(cls) -> inspect.Signature:
            signature = inspect.signature(cls.__init__)
            return signature.replace(parameters=[*signature.parameters.values()][1:])


def _examine(cls: Any) -> None:
    """Refuses a class of objects that are no frozen values.

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
