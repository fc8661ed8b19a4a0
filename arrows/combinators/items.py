"""Element access: `GetItem`, `Slice`, `Reverse`, `Nth`, `GroupBy`, and which objects have items."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Sized
from enum import Enum
from typing import Any

from arrows.combinators.base.arguments import require_integer, set_name, wrong_argument, wrong_value
from arrows.combinators.base.block import A, AnyBlock, B, Block
from arrows.combinators.base.wires import Wire, checked_key
from arrows.combinators.inputs import Unfit
from arrows.typesys import types as T


class NoItem(Enum):
    """What an item gives that there is not, where the user does not say it: an error."""

    ERROR = "error"

    def __repr__(self) -> str:
        return "an error"


class Item(Block[A, B]):
    """The core form of element access: takes one item, or a slice.

    Attributes:
        key: an index, a slice, a key or a label.
        arity: how many items the input must have (`ar.unpack`), or None. All of them, `slice(None)`, are then
            a tuple, of a sequence too (`Stack`).
        default: the Python object to give if there is no such item; `NoItem.ERROR` if that is an error.
        takes: what it takes in words, if that is a tuple of so many items, and no sequence.
    """

    kind = "GetItem"
    key: Any
    arity: int | None
    default: Any
    of_objects = False
    """Whether it takes items of Python objects alone."""
    takes: str

    def __init__(
        self,
        key: object,
        *,
        arity: int | None = None,
        default: object = NoItem.ERROR,
        takes: str = "",
        name: str | None = None,
    ) -> None:
        set_name(self, name)
        self.key = checked_key(key)
        self.arity = arity
        self.default = default
        self.takes = takes

    def place(self, t: T.Tuple) -> int | None:
        """The position of the item in a tuple; None if there is no such item.

        What takes a tuple apart takes its items by position, whatever its labels are.
        """
        assert not isinstance(self.key, slice)
        return t.place(self.key) if self.arity is None else self.key % self.arity

    def arguments(self) -> list[str]:
        return [repr(self.key), *([] if self.default is NoItem.ERROR else [f"default={self.default!r}"])]


class GetItem(Item[Any, Any]):
    """Takes an item: `x[key]` of a Python object, an item of a tuple by position or label, or an element of a
    sequence.

    If an object has attributes and no items, such as a dataclass, a key that is text takes the attribute.

    Args:
        key: index, slice, key, or name of an attribute. A tuple's labels go before positions.
        default: the Python object to give where a Python object has no such item or attribute; left out,
            such an example is refused. An item that is None is there, and stays None.
        name: the name in messages.

    Raises:
        ArrowTypeError: at `compile`, a tuple that has no such item, an input without items, or a default
            where the input is no Python object.
        InputError: at evaluation, an object or sequence that has no such item or attribute.

    Source: TensorFlow Fold, `td.GetItem`, `td.Slice`.

    Example:
        >>> import arrows as ar
        >>> ar.GetItem("word").eval({"word": "tree"})
        'tree'
        >>> ar.GetItem("word", default="").eval({})
        ''
        >>> from dataclasses import dataclass
        >>> @dataclass
        ... class Leaf:
        ...     word: str
        >>> ar.GetItem("word").eval(Leaf("tree"))
        'tree'
    """

    def __init__(self, key: object, *, default: object = NoItem.ERROR, name: str | None = None) -> None:
        if isinstance(default, (Block, Wire)):
            raise wrong_argument(
                "a GetItem",
                f"the default is a Python object, which the next block reads, not {default!r:.60}",
                hint="for zeros, or a block's result: ar.GetItem(key, default=None) >> ar.Optional(f, block)",
            )
        super().__init__(key, default=default, name=name)


class Slice(Item[Any, Any]):
    """A part of a sequence, a Python sequence or a tuple, as `x[start:stop:step]` takes it.

    Args:
        start: the first index; negative counts from the end; the beginning if not given.
        stop: the index after the last; the end if not given.
        step: the distance from one index to the next; -1 goes backward.
        name: the name in messages.

    Raises:
        ArrowTypeError: a place is no integer; at `compile`, an input without items, or an endless sequence.
        ArrowValueError: the step is 0.
        InputError: at evaluation, a Python object that has no slices.

    Source: TensorFlow Fold, `td.Slice`.

    Example:
        >>> import arrows as ar
        >>> ar.Slice(start=1).eval("tree"), ar.Slice(stop=-1, step=2).eval([1, 2, 3, 4])
        ('ree', [1, 3])
    """

    def __init__(
        self,
        *,
        start: int | None = None,
        stop: int | None = None,
        step: int | None = None,
        name: str | None = None,
    ) -> None:
        for word, place in (("start", start), ("stop", stop), ("step", step)):
            if place is not None:
                require_integer("a Slice", word, place)
        if step == 0:
            raise wrong_value("a Slice", "the step must not be 0")
        super().__init__(slice(start, stop, step), name=name)

    def arguments(self) -> list[str]:
        words = (("start", self.key.start), ("stop", self.key.stop), ("step", self.key.step))
        return [f"{word}={place}" for word, place in words if place is not None]


class Reverse(Item[Any, Any]):
    """Reverses a sequence, a Python sequence or a tuple.

    Args:
        name: the name in messages.

    Raises:
        ArrowTypeError: at `compile`, an input without items, or an endless sequence.
        InputError: at evaluation, a Python object that has no slices.

    Example:
        >>> import arrows as ar
        >>> ar.Reverse().eval("tree"), ar.Reverse().eval([1, 2])
        ('eert', [2, 1])
    """

    def __init__(self, *, name: str | None = None) -> None:
        super().__init__(slice(None, None, -1), name=name)

    def arguments(self) -> list[str]:
        return []


class Nth(AnyBlock):
    """Takes the element at a place that the example itself holds: from (sequence, place) to the element.

    The place is a Python object, an integer, negative from the end. The sequence is a Python sequence, a
    sequence, or a tuple whose items have one type; a place known beforehand is `GetItem(place)`.

    Args:
        name: the name in messages.

    Raises:
        ArrowTypeError: at `compile`, no such pair, an endless sequence, or a place that is a tensor.
        InputError: at evaluation, a place that is no integer, or beyond the end.

    Source: TensorFlow Fold, `td.Nth`.

    Example:
        >>> import arrows as ar
        >>> ar.Nth().eval((["a", "b", "c"], -1))
        'c'
        >>> block = (ar.GetItem("of") >> ar.Map(ar.Scalar()) & ar.GetItem("at")) >> ar.Nth()
        >>> ar.compile(block)([{"of": [1, 2, 3], "at": 1}]).tolist()
        [2.0]
    """

    from_end = True
    """Whether a negative place counts from the end; else there is no element at it."""


class GroupBy(AnyBlock):
    """Groups elements by places that the example itself holds.

    From (elements, places, groups) to a sequence of sequences, one for each element of `groups`, of which
    only the number counts. Element i goes to the group at place i; within a group the order stays, and a
    group may be empty. Nothing is computed: a `Map` over the groups of a batch runs as one operation.

    Places are Python objects: integers from 0, as many as there are elements. Elements and groups are Python
    containers, sequences, or tuples whose items have one type.

    Args:
        name: the name in messages.

    Raises:
        ArrowTypeError: at `compile`, no such triple, an endless sequence, or places that are tensors.
        InputError: at evaluation, a place that is no integer, is negative, or is beyond the last group; more
            or fewer places than elements.

    Example:
        >>> import arrows as ar
        >>> mentions = ar.GetItem("mentions") >> ar.Map(ar.Scalar())
        >>> block = (mentions & ar.GetItem("of") & ar.GetItem("people")) >> ar.GroupBy() >> ar.Map(ar.Sum())
        >>> people = {"people": ["Ann", "Bob", "Cy"], "mentions": [1, 2, 4], "of": [0, 2, 0]}
        >>> [float(x) for x in block.eval(people)]
        [5.0, 0.0, 2.0]
    """


def take(x: Any, key: Any) -> Any:
    """Takes an item of a Python object, as `GetItem` does.

    The item is `x[key]`, except that text names an attribute if `x` is a NamedTuple, or if `x` cannot be
    indexed, such as a dataclass. If there is no such item, it raises what Python raises.

    Example:
        >>> from types import SimpleNamespace
        >>> take({"word": 1}, "word"), take(SimpleNamespace(word=2), "word"), take([3], 0)
        (1, 2, 3)
    """
    if not isinstance(key, str) or not has_attributes(x):
        return x[key]
    if isinstance(x, tuple) and hasattr(tuple, key) and key not in attributes(x):
        raise AttributeError(f"{key!r} is a method")  # a method of every tuple, such as `count`, is no field
    return getattr(x, key)


def take_of(x: Any, key: Any, count: int) -> Any:
    """Takes an item of a Python object that has so many; an object without a length may have any.

    Raises:
        Unfit: it has more, or fewer.

    Example:
        >>> take_of((1, 2), 0, 2)
        1
    """
    if isinstance(x, Sized) and len(x) != count:
        raise Unfit(f"expected {count} item{'s' if count > 1 else ''} to take apart, got {len(x)}")
    return x[key]


def take_or_default(x: object, key: object, default: object) -> Any:
    """Takes an item of a Python object as `take` does; gives the default if there is no such item.

    What has no items at all, such as None or a number, raises as in `take`.

    Example:
        >>> take_or_default({"word": None}, "word", 0), take_or_default([3], 1, 0)
        (None, 0)
    """
    try:
        return take(x, key)
    except LookupError:
        return default
    except AttributeError:
        if type(x).__module__ == "builtins":
            raise
        return default


def has_attributes(x: Any) -> bool:
    """Whether text as a key means an attribute of `x`."""
    kind = type(x)
    if isinstance(x, tuple):
        return hasattr(kind, "_fields") and kind.__getitem__ is tuple.__getitem__
    return not hasattr(kind, "__getitem__")


def attributes(x: object) -> list[str]:
    """Lists the attributes of an object that hold data: its fields, if it declares any.

    Example:
        >>> from types import SimpleNamespace
        >>> attributes(SimpleNamespace(word=2, _secret=3)), attributes(None)
        (['word'], [])
    """
    if not has_attributes(x) or type(x).__module__ == "builtins":
        return []
    if isinstance(x, tuple):
        return list(x._fields)  # type: ignore[attr-defined]  # a NamedTuple
    if dataclasses.is_dataclass(x):
        return [field.name for field in dataclasses.fields(x)]
    try:
        names = [name for name in dir(x) if not name.startswith("_")]
        return [name for name in names if not callable(inspect.getattr_static(x, name, None))]
    except Exception:  # noqa: BLE001 (an object's own __dir__ may raise anything)
        return []
