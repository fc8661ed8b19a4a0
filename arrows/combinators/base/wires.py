"""Wires: placeholders for values, inside the body of an arrow or the scope of a Composition.

A wire can be passed to blocks and taken apart. It refuses everything that needs a value, and says what to do
instead.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Generic, Literal, NoReturn, TypeVar, TypeVarTuple, overload

import numpy as np

from arrows.combinators.base.arguments import type_refusal
from arrows.typesys import ArrowTypeError, SourceLine
from arrows.typesys.errors import message

if TYPE_CHECKING:
    from arrows.combinators.base.recorder import CallRecorder

A = TypeVar("A")
B_co = TypeVar("B_co", covariant=True)
As = TypeVarTuple("As")


class WireAttributeError(ArrowTypeError, AttributeError):
    """A wire lacks the attribute; it is an `AttributeError` too, so that `hasattr` answers False."""


class Wire(Generic[B_co]):
    """A value of an arrow's body: pass it to blocks, take it apart by `wire[key]` or `ar.unpack`.

    Attributes:
        recorder: the recorder of the calls on it.
        place: its number among the recorder's wires; None for an item that nothing has read so far.
        parent, key, arity: for an item, the wire that it belongs to, its key there, and the number of items
            if it came from `ar.unpack`.
        site: the line that made it.

    Raises:
        ArrowTypeError: it is iterated, tested, or used as if it held a value.

    Example:
        >>> import arrows as ar
        >>> @ar.arrow
        ... def swap(pair):
        ...     return pair[1], pair[0]
        >>> swap.eval((1, 2))
        (2, 1)
    """

    __slots__ = ("arity", "key", "parent", "place", "recorder", "site")

    def __init__(
        self,
        recorder: CallRecorder,
        place: int | None,
        parent: Wire[Any] | None = None,
        key: object = None,
        arity: int | None = None,
    ) -> None:
        self.recorder = recorder
        self.place = place
        self.parent = parent
        self.key = key
        self.arity = arity
        self.site = SourceLine.here()

    @overload
    def __getitem__(self: Wire[tuple[A, *As]], key: Literal[0], /) -> Wire[A]: ...
    @overload
    def __getitem__(self: Wire[tuple[Any, A, *As]], key: Literal[1], /) -> Wire[A]: ...
    @overload
    def __getitem__(self: Wire[tuple[Any, Any, A, *As]], key: Literal[2], /) -> Wire[A]: ...
    @overload
    def __getitem__(self: Wire[tuple[Any, Any, Any, A, *As]], key: Literal[3], /) -> Wire[A]: ...
    @overload
    def __getitem__(self, key: str | slice, /) -> Wire[Any]: ...
    def __getitem__(self, key: object, /) -> Any:
        return Wire(self.recorder, None, self, key)

    def __iter__(self) -> Iterator[Any]:
        self._refuse("iterate over", f"a wire has no length until the {self.recorder.kind} runs", _UNPACK)

    def __len__(self) -> int:  # noqa: PLE0303  it always raises
        self._refuse(
            "take the length of", f"a wire has no length until the {self.recorder.kind} runs", _UNPACK
        )

    def __bool__(self) -> bool:  # noqa: PLE0304  it always raises
        self._refuse(
            "test",
            f"{self.recorder.a_region} runs once, before there is any value",
            "choose by value with ar.OneOf(key)",
        )

    # Python would compare wires as objects, so all would differ, and an `if` would always take one branch.
    def __eq__(self, other: object) -> NoReturn:
        self._refuse(
            "compare",
            f"a wire carries no value until the {self.recorder.kind} runs",
            "choose by value with ar.OneOf(key); tensors are compared in ar.Function(lambda x, y: x == y)",
        )

    __ne__ = __eq__
    __hash__ = object.__hash__

    def __contains__(self, item: object) -> NoReturn:
        self._refuse(
            "test what is in",
            f"a wire carries no value until the {self.recorder.kind} runs",
            f"choose by what it contains with ar.OneOf(lambda x: {item!r} in x, ...) or ar.Optional",
        )

    if not TYPE_CHECKING:  # for type checkers a wire has no other attributes

        def __getattr__(self, name: str) -> NoReturn:
            if name.startswith("_") or name in Wire.__slots__:  # what Python, NumPy and the like ask for
                raise AttributeError(name)
            wire = self.describe()
            hint = f"read a field with {wire}[{name!r}]"
            if hasattr(dict, name):
                hint = f"read a field with {wire}['name']; for anything else: ar.InputTransform(f)({wire})"
            elif hasattr(np.ndarray, name):
                call = "()" if callable(getattr(np.ndarray, name)) else ""
                hint += f"; to compute something, use a block: ar.Function(lambda x: x.{name}{call})({wire})"
            raise WireAttributeError(
                message(
                    f"cannot take the attribute {name!r} of a wire at {SourceLine.here()}",
                    at=self.recorder.inside,
                    reason=f"a wire carries no object until the {self.recorder.kind} runs",
                    hint=hint,
                )
            )

    def _number(self, *_: object, **__: object) -> NoReturn:
        self._refuse(
            "calculate with",
            f"a wire carries no number until the {self.recorder.kind} runs",
            "put the formula into a block: ar.Function(lambda x, y: x * y)(u, v)",
        )

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _number
    __truediv__ = __rtruediv__ = __matmul__ = __rmatmul__ = __pow__ = __neg__ = __float__ = __int__ = _number
    __lt__ = __le__ = __gt__ = __ge__ = __abs__ = __mod__ = __rmod__ = __floordiv__ = __rfloordiv__ = _number
    # NumPy asks for these (with an array on the left of an operator too), and `arrows.ops` for the last.
    __array__ = __array_ufunc__ = __array_function__ = _no_tensor = _number

    def reads(self, *_: object) -> NoReturn:
        """Wires do not read; blocks do."""
        self._refuse("call reads on", *self.recorder.why_wires_do_not_read(self))

    def _refuse(self, attempt: str, reason: str, hint: str) -> NoReturn:
        raise type_refusal(f"{attempt} a wire", reason, at=self.recorder.inside, hint=hint)

    def __repr__(self) -> str:
        return f"<wire {self.describe()} of {self.recorder.title}>"

    def describe(self) -> str:
        """Describes the wire in messages."""
        keys: list[str] = []
        wire: Wire[Any] = self
        while wire.parent is not None:
            keys.append(f"[{wire.key!r}]" if not isinstance(wire.key, slice) else "[slice]")
            wire = wire.parent
        return wire.recorder.words(wire) + "".join(reversed(keys))


_UNPACK = (
    "take it apart with `a, b = ar.unpack(wire, 2)` or with wire[0]; "
    "go over a sequence with ar.Map or ar.Fold"
)
